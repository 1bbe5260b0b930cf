"""Two halves of a window, the detector of M-UCB: alarm when the newer half and the older half differ.

Cao, Wen, Kveton, Xie (2019), "Nearly optimal adaptive procedure with change detection for piecewise-stationary
bandit", Algorithm 1. Of the last ``window`` (w, even) rewards of an arm, once there are as many, it is an alarm when

    |sum of the newer w/2 - sum of the older w/2| > limit.

``limit`` (the paper's b) is that of its Remark 1 unless given, ``sqrt(w ln(2 K T^2) / 2)``. Then, by Hoeffding, a test
on w independent rewards in [0, 1] of one mean fails with probability at most 1 / (K T^2): the chance of any false
alarm in T rounds, all arms together, is at most 1 / (K T).

The paper derives w from the smallest change to be found, ``gap`` (its delta):
``w = 4 / gap^2 (sqrt(ln(2 K T^2)) + sqrt(ln(2 T)))^2``; a change of that size is then found within w/2 rewards with
probability 1 - 1/T. That is long: 7400 rewards for gap = .2, K = 10, T = 10^5. Without ``gap`` and ``window`` it is
200 (Besson et al. 2022 run 200 and 800). A limit of w/2 or more can never be exceeded, and is refused. Cost: O(1) per
reward, w numbers per arm. Rewards count in the order in which they arrive.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, refuse, whole
from sigshift.kernel import kernel

PAPER = "Cao, Wen, Kveton, Xie 2019"
TOLD = "gap (optional)"

MOST_REWARDS = 10**7  # of each arm
SMALLEST_GAP = 1e-6


class Params(NamedTuple):
    """What the kernels read."""

    window: int
    limit: float


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    told: np.ndarray  # its rewards
    newer: np.ndarray  # the sum of the newer half
    older: np.ndarray  # the sum of the older half
    ring: np.ndarray  # [arm, place] the last of them, and zeros


def configure(
    arms, horizon, *, window: int | None = None, gap: float | None = None, limit: float | None = None
) -> Params:
    """What the user says, checked."""
    log = float(np.log(2.0 * arms) + 2.0 * np.log(horizon))
    not_both(window=window, gap=gap)
    if gap is not None:
        gap = real("gap", gap, "The smallest change of a mean that is to be found.", least=SMALLEST_GAP, most=1.0)
        half = int(np.ceil(2.0 / gap**2 * (np.sqrt(log) + np.sqrt(np.log(2.0 * horizon))) ** 2))
        window = 2 * half
    elif window is None:
        window = 200
    window = whole("window", window, 2, "The rewards that are compared: an even number.", MOST_REWARDS)
    if window % 2:
        raise refuse("window", "must be even", window, "Its halves are compared.")
    if limit is None:
        limit = float(np.sqrt(0.5 * window * log))
    limit = real("limit", limit, "The paper's b; None is sqrt(w ln(2 K T^2) / 2).", least=0.0)
    if limit >= window / 2:
        raise refuse("window", f"must be more than twice the limit of {limit:.4g}", window, "Nothing could be found.")
    return Params(window, limit)


def init(p, arms):
    """The state before the first reward."""
    return State(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms), np.zeros((arms, p.window)))


@kernel
def observe(p, s, a, y):
    """Take in the reward y of arm a; whether its rewards have changed."""
    half = p.window // 2
    place = s.told[a] % p.window
    middle = s.ring[a, place - half if place >= half else place + half]
    s.older[a] += middle - s.ring[a, place]
    s.newer[a] += y - middle
    s.ring[a, place] = y
    s.told[a] += 1
    return s.told[a] >= p.window and abs(s.newer[a] - s.older[a]) > p.limit


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    for i in range(min(s.told[a], p.window)):
        s.ring[a, i] = 0.0
    s.told[a] = 0
    s.newer[a] = 0.0
    s.older[a] = 0.0
