"""SW-klUCB: kl-UCB that knows the last `window` rounds only.

The window of Garivier, Moulines (2011), "On upper-confidence bound policies for switching bandit problems", with the
index of kl-UCB, as compared in Besson, Kaufmann, Maillard, Seznec (2022), "Efficient change-point detection for
tackling piecewise-stationary bandits". Play the arm with the largest q with n kl(m, q) <= ln(min(t, window)), where n
counts its decisions among the last ``window`` rounds, m is the mean of their rewards, and t rounds have been; an arm
without any goes first.

``window`` is 2 sqrt(T ln T / L) with ``changes=L`` (told); without it, and for L = 0, L = 1 is taken.

Late rewards, memory and retired arms are as in ``sw_ucb``; an arm that has decisions but no rewards within the window
counts with mean 1/2, as in ``kl_ucb``.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, whole
from sigshift.indices import (
    CLOCK,
    FIRST,
    MOST_ROUNDS,
    WAITING,
    arrive,
    enter,
    kl_best,
    leave,
    negative_entropy,
    new_bar,
    share,
    window_for,
)
from sigshift.kernel import inlined_kernel

PAPER = "Garivier, Moulines 2011; Besson et al. 2022"
GUARANTEE = "none proven for this index; SW-UCB's is O(K sqrt(L T log T) / gap^2) for L changes if told L"
TOLD = "changes (optional)"

UNTOLD = 0.5


class Params(NamedTuple):
    window: int
    full: float  # ln(window)


class State(NamedTuple):
    clock: np.ndarray
    arms: np.ndarray  # the ring of the window
    rewards: np.ndarray
    retired: np.ndarray
    asked: np.ndarray
    told: np.ndarray
    total: np.ndarray
    mean: np.ndarray
    known: np.ndarray  # the mean that `entropy` is of: it changes twice a round, and often back
    entropy: np.ndarray  # the negative entropy of that
    level: np.ndarray
    bar: np.ndarray


def configure(horizon, *, changes: int | None = None, window: int | None = None) -> Params:
    not_both(changes=changes, window=window)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if window is None:
        window = window_for(horizon, changes)
    window = whole("window", window, 1, "The number of rounds that are remembered; None is the paper's.", MOST_ROUNDS)
    return Params(window, float(np.log(window)))


def init(p, arms, key):
    return State(
        clock=np.zeros(CLOCK, np.int64),
        arms=np.zeros(p.window + 1, np.int64),
        rewards=np.full(p.window + 1, WAITING),
        retired=np.zeros(arms, np.bool_),
        asked=np.zeros(arms),
        told=np.zeros(arms),
        total=np.zeros(arms),
        mean=np.full(arms, UNTOLD),
        known=np.full(arms, UNTOLD),
        entropy=np.full(arms, negative_entropy(UNTOLD)),
        level=np.zeros(arms),
        bar=new_bar(),
    )


@inlined_kernel
def select(p, s, t):
    while s.clock[FIRST] < t - p.window:
        a = leave(s)
        s.mean[a] = share(s.total[a], s.told[a], UNTOLD)
    level = p.full if t >= p.window else np.log(max(float(t), 1.0))
    for a in range(s.level.size):
        s.level[a] = -1.0 if s.retired[a] else level
        if s.mean[a] != s.known[a]:
            s.known[a] = s.mean[a]
            s.entropy[a] = negative_entropy(s.mean[a])
    best = kl_best(s.mean, s.entropy, s.asked, s.level, s.bar)
    enter(s, t, best)
    return best, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    if arrive(s, t, a, y):
        s.mean[a] = share(s.total[a], s.told[a], UNTOLD)


def retire_arm(p, s, a):
    """Never choose the arm again; its rounds leave the window in their time."""
    s.retired[a] = True
    return s
