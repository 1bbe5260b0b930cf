"""SWA: play every arm M times, then always the one with the largest mean over its own last M rewards.

Levine, Crammer, Mannor (NIPS 2017), "Rotting bandits", Algorithm 1, with
``M = ceil(scale (16 sigma^2 T^2 log(sqrt(2) T) / K^2)^(1/3))``. Its bound is least at ``scale`` (the paper's alpha) =
``(2 top)^(-2/3)``, where ``top`` is the highest mean there is: 1 here, so .63. ``scale`` may be given instead (the
paper's experiments tune it to .2), or M itself as ``window``. ``sigma`` is that of sub-Gaussian rewards, 1/2 for all
within [0, 1]. Where the horizon is not known the policy runs in epochs of doubling length, which is the paper's wSWA.

The paper has no delay: with late rewards the first K M rounds count decisions, and the means are over the rewards told,
in the order in which they come (fewer than M while they are missing; 1 before the first). Equal arms: the first one.
Arms may come and go: M stays what it was, and a new arm is first played M times. The room for an arm's rewards is
therefore that of the M of a single arm, K^(2/3) times what is in use.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, refuse, whole
from sigshift.kernel import kernel

PAPER = "Levine, Crammer, Mannor 2017"
GUARANTEE = "rested rotting: regret O((sigma^2 K T^2 log T)^(1/3)) to the greedy oracle, told the horizon"
TOLD = "sigma (optional)"

MOST_KEPT = 2**31


class Params(NamedTuple):
    window: int
    room: int  # whatever the number of arms


class State(NamedTuple):
    window: np.ndarray  # M, as it was when the policy began
    asked: np.ndarray
    told: np.ndarray
    total: np.ndarray  # of the rewards kept
    kept: np.ndarray  # [arm, place]: the last M rewards of the arm, in a ring


def configure(arms, horizon, *, sigma: float = 0.5, scale: float | None = None, window: int | None = None) -> Params:
    not_both(scale=scale, window=window)
    sigma = real("sigma", sigma, "1/2 covers all rewards within [0, 1].", above=0.0, most=0.5)
    if scale is not None:
        scale = real("scale", scale, "The paper's choice is .63.", above=0.0, most=1e9)
    factor = 2.0 ** (-2 / 3) if scale is None else scale
    if window is None:
        rounds = float(horizon)
        length = factor * (16.0 * sigma**2 * rounds**2 * np.log(np.sqrt(2.0) * rounds)) ** (1 / 3)
        window, room = (max(1, int(min(np.ceil(length / several ** (2 / 3)), 2.0**62))) for several in (arms, 1))
    else:
        window = room = whole("window", window, 1, "It is how many of an arm's last rewards are kept.")
    if room * arms > MOST_KEPT:
        raise refuse("window", f"must keep at most {MOST_KEPT} rewards of all arms", room, "Pass a smaller one.")
    return Params(window, room)


def init(p, arms, key):
    window = np.full(1, p.window)
    return State(window, np.zeros(arms, np.int64), np.zeros(arms, np.int64), np.zeros(arms), np.zeros((arms, p.room)))


@kernel
def select(p, s, t):
    arms = s.asked.size
    window = s.window[0]
    best = 0
    for a in range(arms):
        if s.asked[a] < s.asked[best]:
            best = a
    if s.asked[best] >= window:
        largest = -1.0
        for a in range(arms):
            mean = s.total[a] / min(s.told[a], window) if s.told[a] > 0 else 1.0
            if mean > largest:
                largest = mean
                best = a
    s.asked[best] += 1
    return best, 1.0


@kernel
def update(p, s, t, a, y, q):
    window = s.window[0]
    place = s.told[a] % window
    s.total[a] += y - s.kept[a, place]
    s.kept[a, place] = y
    s.told[a] += 1
    if place == window - 1:  # once around: let no rounding pile up
        total = 0.0
        for i in range(window):
            total += s.kept[a, i]
        s.total[a] = total
