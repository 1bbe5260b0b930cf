"""SW-UCB: UCB that knows the last `window` rounds only.

Garivier, Moulines (2011), "On upper-confidence bound policies for switching bandit problems" (Algorithm 2 of the 2008
version). Play the arm with the largest mean + sqrt(exploration * ln(min(t, window)) / n), where n counts its decisions
among the last ``window`` rounds, the mean is over their rewards, and t rounds have been; an arm without any goes first.

``window`` is the paper's 2 sqrt(T ln T / L) with ``changes=L`` (told); without it, and for L = 0, L = 1 is taken. The
theorem wants ``exploration`` > 1/2, the paper's experiments have the default 1/2. A window of fewer rounds than arms
learns nothing, as each arm is then always without any when its turn comes.

A late reward joins the window in the place of its decision's round; it is ignored if that round has left. An arm that
has decisions but no rewards within counts with mean 1. Memory is one window; sums are made anew once in a turn, so that
rounding errors do not add up. A retired arm keeps its place.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.indices import CLOCK, FIRST, MOST_ROUNDS, WAITING, arrive, enter, leave, share, window_for
from sigshift.kernel import inlined_kernel

PAPER = "Garivier, Moulines 2011"
GUARANTEE = "L changes: O(K sqrt(L T log T) / gap^2) if told L (exploration > 1/2)"
TOLD = "changes (optional)"

UNTOLD = 1.0


class Params(NamedTuple):
    window: int
    full: float  # ln(window)
    exploration: float


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


def configure(horizon, *, changes: int | None = None, window: int | None = None, exploration: float = 0.5) -> Params:
    not_both(changes=changes, window=window)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if window is None:
        window = window_for(horizon, changes)
    window = whole("window", window, 1, "The number of rounds that are remembered; None is the paper's.", MOST_ROUNDS)
    return Params(
        window,
        float(np.log(window)),
        real("exploration", exploration, "The paper's xi; above 1/2 in its theorem.", least=0.0),
    )


KNOB = ("changes", "window")


def grid(windows, arms, horizon):
    """What :mod:`sigshift.policies.bob` may tune: the windows themselves."""
    return np.unique(windows).astype(np.float64)


@inlined_kernel
def tuned(p, knob):
    """The same with this window; the state must have room for it."""
    return Params(int(knob), np.log(knob), p.exploration)


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
        width=np.zeros(arms),
    )


@inlined_kernel
def select(p, s, t):
    while s.clock[FIRST] < t - p.window:
        _refresh(s, leave(s))
    log = p.full if t >= p.window else np.log(max(float(t), 1.0))
    root = np.sqrt(p.exploration * log)
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
