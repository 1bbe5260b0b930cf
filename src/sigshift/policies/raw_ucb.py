"""RAW-UCB: an upper bound over each window of an arm's last rewards, and the least of them is its index.

Seznec, Menard, Lazaric, Valko (AISTATS 2020), "A single algorithm for both restless and rested rotting bandits",
Algorithm 1: play the arm with the largest ``min over h of mean of its last h rewards + c(h)``, where
``c(h) = sqrt(2 alpha sigma^2 log(t) / h)``. What an arm paid long ago can only make it look worse than it looked
then: its rewards never rise. ``sigma`` is that of sub-Gaussian rewards, 1/2 for all within [0, 1]. ``alpha`` = 4 is
the least that the theorems cover, and with sigma = 1/2 the width is exactly UCB1's; the paper's experiments have 1.4.

The plain form remembers every reward and looks at all windows. This is EFF-RAW-UCB: windows that grow by ``ratio`` and
are renewed as in :mod:`sigshift.policies.fewa` (2 is quick; the paper finds 1.1 as good as all windows). Only the
logarithm moves an arm's index between two of its own plays; so each arm keeps the window whose bound is the least and
the width at which another one becomes that. A round costs O(K), and O(log n) for the arm played.

The paper has no delay. With late rewards the windows are over the rewards told, in the order in which they come; the
bound of the longest window counts the decisions without reward as if they were in it, as UCB1 does here, so that an arm
which waits is not asked again and again. Before an arm's first reward its mean is 1. Equal arms: the first one.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import inlined_kernel, kernel
from sigshift.policies.fewa import gather, window_lengths

PAPER = "Seznec, Menard, Lazaric, Valko 2020"
GUARANTEE = "rotting, rested or not: regret O(sigma sqrt(K T log T)) to the greedy oracle if rested (alpha >= 4)"
TOLD = "sigma (optional)"

SLACK = 1e-12  # a bound is renewed a little early, so that rounding never delays it


class Params(NamedTuple):
    spread: float  # sqrt(2 alpha) sigma: what sqrt(log(t) / h) is multiplied with
    windows: np.ndarray
    narrow: np.ndarray  # 1 / sqrt(windows)


class State(NamedTuple):
    asked: np.ndarray
    told: np.ndarray
    filled: np.ndarray  # the number of windows that an arm has filled
    mean: np.ndarray  # [arm, window]
    total: np.ndarray  # [arm, window] of the rewards for the next renewal
    rewards: np.ndarray  # [arm, window] and their number
    base: np.ndarray  # the index of an arm is base + width * slope ...
    slope: np.ndarray
    until: np.ndarray  # ... as long as the width stays below this


def configure(*, alpha: float = 4.0, sigma: float = 0.5, ratio: float = 2.0) -> Params:
    alpha = real("alpha", alpha, "The exponent of the confidence 1 / t^alpha; the theorems need 4.", least=0.0)
    sigma = real("sigma", sigma, "1/2 covers all rewards within [0, 1].", above=0.0, most=0.5)
    windows = window_lengths(ratio)
    return Params(float(np.sqrt(2.0 * alpha)) * sigma, windows, 1.0 / np.sqrt(windows))


def init(p, arms, key):
    windows = (arms, p.windows.size)
    counts = (np.zeros(arms, np.int64), np.zeros(arms, np.int64), np.zeros(arms, np.int64))
    gathered = (np.zeros(windows), np.zeros(windows), np.zeros(windows, np.int64))
    return State(*counts, *gathered, np.full(arms, np.inf), np.zeros(arms), np.full(arms, np.inf))


@kernel
def select(p, s, t):
    width = p.spread * np.sqrt(np.log(t + 1.0))
    best = 0
    largest = -np.inf
    for a in range(s.base.size):
        if width >= s.until[a]:
            bound(p, s, a, width)
        index = s.base[a] + width * s.slope[a]
        if index > largest:
            largest = index
            best = a
    chosen(p, s, t, best)
    return best, 1.0


@inlined_kernel
def bound(p, s, a, width):
    """Find the window of arm a with the least bound, and the width at which it is so no longer."""
    last = s.filled[a] - 1
    if last < 0:
        s.until[a] = np.inf
        s.base[a] = 1.0 if s.asked[a] > 0 else np.inf
        s.slope[a] = 1.0 / np.sqrt(s.asked[a]) if s.asked[a] > 0 else 0.0
        return
    longest = 1.0 / np.sqrt(p.windows[last] + max(s.asked[a] - s.told[a], 0))
    base = s.mean[a, last]
    slope = longest
    lowest = base + width * slope
    for j in range(last):
        index = s.mean[a, j] + width * p.narrow[j]
        if index < lowest:
            lowest = index
            base = s.mean[a, j]
            slope = p.narrow[j]
    s.base[a] = base
    s.slope[a] = slope
    ahead = np.inf  # the nearest crossing is ahead / closing: no division until it is found
    closing = 1.0
    for j in range(last, -1, -1):
        narrow = longest if j == last else p.narrow[j]
        if narrow < slope and (s.mean[a, j] - base) * closing < ahead * (slope - narrow):
            ahead = s.mean[a, j] - base
            closing = slope - narrow
    s.until[a] = ahead / closing * (1.0 - SLACK)


@kernel
def update(p, s, t, a, y, q):
    s.told[a] += 1
    s.filled[a] = gather(p.windows, s.mean[a], s.total[a], s.rewards[a], s.filled[a], y)
    s.until[a] = 0.0


@inlined_kernel
def chosen(p, s, t, a):
    s.asked[a] += 1
    s.until[a] = 0.0


@kernel
def forget(p, s, a):
    s.asked[a] = 0
    s.told[a] = 0
    s.filled[a] = 0
    s.total[a, 0] = 0.0
    s.rewards[a, 0] = 0
    s.until[a] = 0.0
