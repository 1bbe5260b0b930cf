"""Rexp3: EXP3 that starts over at regular intervals, tuned to how much the means vary in total.

Besbes, Gur, Zeevi (2014), "Stochastic multi-armed-bandit problem with non-stationary rewards", Section 4. The rounds
are cut into batches of ``batch = ceil((K log K)^(1/3) (T / V)^(2/3))`` rounds. Each batch is a run of EXP3 with
``gamma = min(1, sqrt(K log K / ((e - 1) batch)))``. ``variation=V`` (told) is the sum over the rounds of the largest
change of a mean. Without it V = 1: the regret is then O((1 + V) T^(2/3)) for the V that there is. ``batch`` and
``gamma`` can also be given. A batch is never longer than the horizon, nor shorter than one round.

The length of the batches is settled at the start, also if arms come and go. Late rewards act as in EXP3 if their
batch still lasts, and are dropped otherwise.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.kernel import kernel
from sigshift.policies import exp3

PAPER = "Besbes, Gur, Zeevi 2014"
GUARANTEE = "total variation V: O((K log K)^(1/3) V^(1/3) T^(2/3)) if told V, else O((1 + V) (K log K)^(1/3) T^(2/3))"
TOLD = "variation (optional)"

play_exp3, learn_exp3 = exp3.select, exp3.update


class Params(NamedTuple):
    gamma: float
    batch: int


class State(NamedTuple):
    key: np.uint64
    logs: np.ndarray
    weights: np.ndarray  # as in EXP3
    batch: int
    start: np.ndarray  # of the present batch


def configure(
    arms, horizon, *, variation: float | None = None, batch: int | None = None, gamma: float | None = None
) -> Params:
    not_both(variation=variation, batch=batch)
    if variation is not None:
        variation = real("variation", variation, "Pass the total variation of the means, or None.", least=0.0)
    spread = float(arms * np.log(arms))
    if batch is None:
        length = np.cbrt(spread) * np.cbrt(horizon / max(1.0 if variation is None else variation, 1e-9)) ** 2
        batch = max(1, min(int(horizon), int(np.ceil(length))))
    else:
        batch = whole("batch", batch, 1, "The number of rounds of a batch; None derives it.")
    if gamma is None:
        gamma = min(1.0, float(np.sqrt(spread / ((np.e - 1.0) * batch))))
    else:
        gamma = real("gamma", gamma, "The share of uniform play; None is the paper's choice.", above=0.0, most=1.0)
    return Params(gamma, batch)


def init(p, arms, key):
    return State(key, np.zeros(arms), np.ones(arms), p.batch, np.zeros(1, np.int64))


@kernel
def select(p, s, t):
    if t - s.start[0] >= s.batch:
        s.start[0] = t
        for a in range(s.logs.size):
            s.logs[a] = 0.0
            s.weights[a] = 1.0
    return play_exp3(p, s, t)


@kernel
def update(p, s, t, a, y, q):
    if t >= s.start[0]:
        learn_exp3(p, s, t, a, y, q)


def restarts(p, s):
    return np.arange(s.batch, s.start[0] + 1, s.batch)
