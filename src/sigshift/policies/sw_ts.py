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

The papers' windows are orders. Without ``window`` it is ``sqrt(T log(T) / L)`` from ``changes=L`` (told) or L = 1: that
balances the two terms of the bound, L window + T log(T) / window. (The arms that are owed take at most half of it.)

Late rewards: one that comes within the window counts until the round of its decision leaves it; one that comes later is
dropped. Decisions whose reward has not come count for the minimum, so that no arm is asked again and again.
"""

import math
from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, whole
from sigshift.kernel import kernel
from sigshift.sampling import POSTERIORS, as_success, best_sample

PAPER = "Trovo, Paladino, Restelli, Gatti 2020; Fiandri, Metelli, Trovo 2024"
GUARANTEE = "L changes: order L window + T log(T) / window for each arm, up to gaps"
TOLD = "changes (optional)"

NOT_CHOSEN, NOT_TOLD = -2.0, -1.0  # in place of a reward


class Params(NamedTuple):
    law: int
    window: int
    minimum: int


class State(NamedTuple):
    key: np.uint64
    total: np.ndarray
    number: np.ndarray
    asked: np.ndarray
    rewards: np.ndarray  # [round modulo window, arm]
    clock: np.ndarray  # the last round chosen for


def configure(
    arms,
    horizon,
    *,
    law: str = "beta",
    changes: int | None = None,
    window: int | None = None,
    minimum: int = 1,
) -> Params:
    changes = 1 if changes is None else whole("changes", changes, 0, "Pass the number of changes, or None.")
    if window is None:
        window = math.ceil(math.sqrt(horizon * math.log(max(horizon, 2)) / max(changes, 1)))
    else:
        window = whole("window", window, 1, "The number of rounds remembered; None derives it from the horizon.")
    minimum = whole("minimum", minimum, 0, "How often each arm is played within a window at least.")
    return Params(POSTERIORS.index(choice("law", law, POSTERIORS)), window, min(minimum, window // (2 * arms)))


def init(p, arms, key):
    rewards = np.full((p.window, arms), NOT_CHOSEN)
    return State(key, np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64), rewards, np.zeros(1, np.int64))


@kernel
def select(p, s, t):
    rarest = 0
    for a in range(s.asked.size):
        if s.asked[a] < s.asked[rarest]:
            rarest = a
    if s.asked[rarest] < p.minimum:
        chosen(p, s, t, rarest)
        return rarest, 1.0
    arm = best_sample(p.law, s.total, s.number, s.key, t)
    chosen(p, s, t, arm)
    return arm, math.nan


@kernel
def chosen(p, s, t, a):
    """The oldest round of the window makes room for round t."""
    place = t % p.window
    for b in range(s.asked.size):
        old = s.rewards[place, b]
        if old != NOT_CHOSEN:
            s.asked[b] -= 1
            if old != NOT_TOLD:
                s.number[b] -= 1.0
                s.total[b] = s.total[b] - old if s.number[b] > 0.0 else 0.0
            s.rewards[place, b] = NOT_CHOSEN
    s.rewards[place, a] = NOT_TOLD
    s.asked[a] += 1
    s.clock[0] = t


@kernel
def update(p, s, t, a, y, q):
    place = t % p.window
    if s.clock[0] - t < p.window and s.rewards[place, a] == NOT_TOLD:
        reward = as_success(p.law, y, s.key, t)
        s.rewards[place, a] = reward
        s.total[a] += reward
        s.number[a] += 1.0


@kernel
def forget(p, s, a):
    s.total[a] = 0.0
    s.number[a] = 0.0
    s.asked[a] = 0
    for place in range(p.window):
        s.rewards[place, a] = NOT_CHOSEN
