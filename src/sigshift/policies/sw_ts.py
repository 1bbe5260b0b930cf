"""Sliding-window Thompson sampling: the posterior of the last ``window`` rounds.

Trovo, Paladino, Restelli, Gatti (2020), "Sliding-window Thompson sampling for non-stationary settings", Algorithm 1:
in round t play the arm of the largest draw from Beta(1 + successes, 1 + failures) over the rounds t - window, ...,
t - 1. (A reward strictly between 0 and 1 becomes a coin, as in ``thompson``.) ``law="gaussian"`` draws from
N(sum / (n + 1), 1 / (n + 1)) for n rewards in the window.

Fiandri, Metelli, Trovo (2024), under the same title, correct the analysis: it needs that no arm has too little
evidence in the window. What was chosen here: an arm that was decided for less than ``minimum`` times within the window
is played at once (the rarest first, then the first). With ``minimum=1``, our reading of their warm-up, every arm is
played at the beginning and then at least every ``window`` + K rounds; ``minimum=0`` is the algorithm of 2020. Their
Gaussian form has n for n + 1 (defined, because n is at least 1).

The papers' windows are orders. Without ``window`` it is 2 sqrt(T log(T) / L) from ``changes=L`` (told) or L = 1, as in
``sw_ucb``: that balances the order of the bound, L window + T log(T) / window. The arms that are owed take at most half
of a window.

Late rewards: one joins the window in the place of its decision's round; it is ignored if that round has left. Decisions
whose reward has not come count for the minimum, so that no arm is asked again and again. A retired arm keeps its place.
"""

import math
from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, not_both, whole
from sigshift.indices import CLOCK, FIRST, MOST_ROUNDS, WAITING, arrive, enter, leave, window_for
from sigshift.kernel import kernel
from sigshift.sampling import POSTERIORS, as_success, new_draws, posterior_sample

PAPER = "Trovo, Paladino, Restelli, Gatti 2020; Fiandri, Metelli, Trovo 2024"
GUARANTEE = "L changes: order L window + T log(T) / window for each arm, up to gaps"
TOLD = "changes (optional)"


class Params(NamedTuple):
    law: int
    window: int
    minimum: float


class State(NamedTuple):
    key: np.uint64
    clock: np.ndarray
    arms: np.ndarray  # the ring of the window
    rewards: np.ndarray
    retired: np.ndarray
    asked: np.ndarray
    told: np.ndarray
    total: np.ndarray
    draws: np.ndarray  # room for a round's uniforms


def configure(
    arms,
    horizon,
    *,
    law: str = "beta",
    changes: int | None = None,
    window: int | None = None,
    minimum: int = 1,
) -> Params:
    not_both(changes=changes, window=window)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if window is None:
        window = window_for(horizon, changes)
    window = whole(
        "window", window, 1, "The number of rounds remembered; None derives it from the horizon.", MOST_ROUNDS
    )
    minimum = whole("minimum", minimum, 0, "How often each arm is played within a window at least.")
    return Params(POSTERIORS.index(choice("law", law, POSTERIORS)), window, float(min(minimum, window // (2 * arms))))


def init(p, arms, key):
    return State(
        key=key,
        clock=np.zeros(CLOCK, np.int64),
        arms=np.zeros(p.window + 1, np.int64),
        rewards=np.full(p.window + 1, WAITING),
        retired=np.zeros(arms, np.bool_),
        asked=np.zeros(arms),
        told=np.zeros(arms),
        total=np.zeros(arms),
        draws=np.zeros((2, arms)),
    )


@kernel
def select(p, s, t):
    while s.clock[FIRST] < t - p.window:
        leave(s)
    arm = owed(p, s)
    if arm >= 0:
        enter(s, t, arm)
        return arm, 1.0
    new_draws(s.draws, s.key, t)
    best = -1
    largest = -np.inf
    for a in range(s.total.size):
        if not s.retired[a]:
            sample = posterior_sample(p.law, s.total[a], s.told[a], s.draws, s.key, t, a)
            if sample > largest:
                largest = sample
                best = a
    enter(s, t, best)
    return best, math.nan


@kernel
def owed(p, s):
    """The arm that has been played least, if that is too rarely; else -1."""
    rarest = -1
    for a in range(s.asked.size):
        if not s.retired[a] and s.asked[a] < p.minimum and (rarest < 0 or s.asked[a] < s.asked[rarest]):
            rarest = a
    return rarest


@kernel
def update(p, s, t, a, y, q):
    arrive(s, t, a, as_success(p.law, y, s.key, t))


def retire_arm(p, s, a):
    """Never choose the arm again; its rounds leave the window in their time."""
    s.retired[a] = True
    return s
