"""MOSS: UCB whose bonus vanishes for arms that have had their share T/K of the rounds.

Audibert, Bubeck (2009), "Minimax policies for adversarial and stochastic bandits", Section 5. Play the arm with the
largest mean + sqrt(max(ln(T / (K n)), 0) / n), each once to begin with. There is nothing to set.

n counts decisions and the mean is over the rewards that have come (1 before the first), as in UCB1. When arms are
added or retired, K changes for an arm's bonus when it is next asked.
"""

from typing import NamedTuple

import numpy as np

from sigshift.indices import share
from sigshift.kernel import inlined_kernel

PAPER = "Audibert, Bubeck 2009"
GUARANTEE = "stationary: regret <= 49 sqrt(K T) for any means"

UNTOLD = 1.0


class Params(NamedTuple):
    horizon: float
    arms: float


class State(NamedTuple):
    asked: np.ndarray
    told: np.ndarray
    total: np.ndarray
    mean: np.ndarray
    bonus: np.ndarray


def configure(arms, horizon) -> Params:
    return Params(float(horizon), float(arms))


def init(p, arms, key):
    return State(np.zeros(arms), np.zeros(arms), np.zeros(arms), np.full(arms, UNTOLD), np.full(arms, np.inf))


@inlined_kernel
def select(p, s, t):
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        index = s.mean[a] + s.bonus[a]
        if index > largest:
            largest = index
            best = a
    chosen(p, s, t, best)
    return best, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    s.told[a] += 1.0
    s.total[a] += y
    s.mean[a] = share(s.total[a], s.told[a], UNTOLD)


@inlined_kernel
def chosen(p, s, t, a):
    """Another hand, or this policy, has chosen arm ``a`` in round ``t``."""
    s.asked[a] += 1.0
    s.bonus[a] = np.sqrt(max(np.log(p.horizon / (p.arms * s.asked[a])), 0.0) / s.asked[a])


@inlined_kernel
def forget(p, s, a):
    """As if the arm had never been asked."""
    s.asked[a] = 0.0
    s.told[a] = 0.0
    s.total[a] = 0.0
    s.mean[a] = UNTOLD
    s.bonus[a] = np.inf
