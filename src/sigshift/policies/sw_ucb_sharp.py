"""SW-UCB#: UCB over a window that grows like a power of the time.

Wei, Srivastava (2018), "On abruptly-changing and slowly-varying multiarmed bandit problems" (ACC; arXiv:1802.08380),
Algorithm 2. After t rounds the window has min(ceil(scale * t^alpha), t) rounds; play the arm with the largest mean +
sqrt((1 + alpha) ln t / n), where n counts its decisions in the window and the mean is over their rewards; an arm
without any goes first.

For O(T^nu) changes the paper has alpha = (1 - nu) / 2. It is told nu; here that follows from ``changes=L`` and the
horizon, L = T^nu, and is 0 without it, so that ``alpha`` is 1/2. For means that move by at most O(T^-kappa) a round it
has min(1, 3 kappa / 4): pass that as ``alpha``. ``scale`` is its lambda > 0, which it leaves open; 1 here. Windows are
then short (141 rounds at T = 20,000), and with a bonus this wide little is learnt on problems of many arms.

Late rewards, memory (the window of round T) and retired arms are as in ``sw_ucb``.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.indices import CLOCK, FIRST, WAITING, arrive, enter, leave, share
from sigshift.kernel import inlined_kernel

PAPER = "Wei, Srivastava 2018"
GUARANTEE = "O(T^nu) changes: O(T^((1 + nu) / 2) log T) if told nu"
TOLD = "changes (optional)"

UNTOLD = 1.0


class Params(NamedTuple):
    alpha: float
    scale: float
    longest: int  # the window of the last round


class State(NamedTuple):
    clock: np.ndarray
    arms: np.ndarray  # the ring of the window
    rewards: np.ndarray
    retired: np.ndarray
    asked: np.ndarray
    told: np.ndarray
    total: np.ndarray
    mean: np.ndarray
    width: np.ndarray  # 1 / sqrt(asked)


def configure(horizon, *, changes: int | None = None, alpha: float | None = None, scale: float = 1.0) -> Params:
    not_both(changes=changes, alpha=alpha)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if alpha is None:
        alpha = (1.0 - exponent(horizon, changes)) / 2.0
    alpha = real("alpha", alpha, "The window grows like t^alpha; None is the paper's.", least=0.0, most=1.0)
    scale = real("scale", scale, "The paper's lambda: the window is scale * t^alpha.", above=0.0)
    return Params(alpha, scale, int(min(np.ceil(scale * float(horizon) ** alpha), horizon)))


def exponent(horizon: int, changes: int | None) -> float:
    """The nu in L = T^nu; 0 if nothing, or no change, is said."""
    return min(float(np.log(changes) / np.log(horizon)), 1.0) if changes and horizon > 1 else 0.0


def init(p, arms, key):
    return State(
        clock=np.zeros(CLOCK, np.int64),
        arms=np.zeros(p.longest + 1, np.int64),
        rewards=np.full(p.longest + 1, WAITING),
        retired=np.zeros(arms, np.bool_),
        asked=np.zeros(arms),
        told=np.zeros(arms),
        total=np.zeros(arms),
        mean=np.full(arms, UNTOLD),
        width=np.zeros(arms),
    )


@inlined_kernel
def select(p, s, t):
    window = min(int(np.ceil(p.scale * float(t) ** p.alpha)), p.longest)
    while s.clock[FIRST] < t - window:
        _refresh(s, leave(s))
    root = np.sqrt((1.0 + p.alpha) * np.log(max(float(t), 1.0)))
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        index = s.mean[a] + root * s.width[a] if s.asked[a] > 0.0 else np.inf
        if index > largest and not s.retired[a]:
            largest = index
            best = a
    enter(s, t, best)
    _refresh(s, best)
    return best, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    if arrive(s, t, a, y):
        _refresh(s, a)


@inlined_kernel
def _refresh(s, a):
    """What follows from an arm's counts."""
    s.mean[a] = share(s.total[a], s.told[a], UNTOLD)
    s.width[a] = 1.0 / np.sqrt(s.asked[a])


def retire_arm(p, s, a):
    """Never choose the arm again; its rounds leave the window in their time."""
    s.retired[a] = True
    return s
