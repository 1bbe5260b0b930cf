"""UCB1: play the arm with the largest mean + sqrt(exploration * log(t) / n).

Auer, Cesa-Bianchi, Fischer (2002), "Finite-time analysis of the multiarmed bandit problem", Figure 1.
With late rewards n counts the decisions and the mean is over the rewards that have arrived (1 before the
first): an arm that waits for its rewards is not asked again and again. Without delay this is the paper's.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel

PAPER = "Auer, Cesa-Bianchi, Fischer 2002"
GUARANTEE = "stationary: regret O(K log(T) / gap)"


class Params(NamedTuple):
    exploration: float


class State(NamedTuple):
    asked: np.ndarray
    told: np.ndarray
    mean: np.ndarray
    width: np.ndarray  # 1 / sqrt(asked), infinite before the first


def configure(*, exploration: float = 2.0) -> Params:
    return Params(real("exploration", exploration, "The paper's value is 2.", least=0.0))


def init(p, arms, key):
    return State(np.zeros(arms), np.zeros(arms), np.ones(arms), np.full(arms, np.inf))


@kernel
def select(p, s, t):
    root = np.sqrt(p.exploration * np.log(t + 1.0))
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        index = s.mean[a] + root * s.width[a] if s.asked[a] > 0.0 else np.inf
        if index > largest:
            largest = index
            best = a
    s.asked[best] += 1.0
    s.width[best] = 1.0 / np.sqrt(s.asked[best])
    return best, 1.0


@kernel
def update(p, s, t, a, y, q):
    s.told[a] += 1.0
    s.mean[a] += (y - s.mean[a]) / s.told[a]
