"""UCB1: play the arm with the largest mean + sqrt(exploration * log(t) / n).

Auer, Cesa-Bianchi, Fischer (2002), "Finite-time analysis of the multiarmed bandit problem", Figure 1.
With late rewards n counts the decisions and the mean is over the rewards that have arrived (1 before the
first): an arm that waits for its rewards is not asked again and again. Without delay this is the paper's.
When another hand makes it forget an arm, t counts the decisions that are still known, sum(n), as in CUSUM-UCB (Liu,
Lee, Shroff 2018).
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import inlined_kernel

PAPER = "Auer, Cesa-Bianchi, Fischer 2002"
GUARANTEE = "stationary: regret O(K log(T) / gap)"


class Params(NamedTuple):
    exploration: float


class State(NamedTuple):
    asked: np.ndarray
    told: np.ndarray
    mean: np.ndarray
    width: np.ndarray  # 1 / sqrt(asked), infinite before the first
    forgotten: np.ndarray  # one number: decisions of which nothing is known any more


def configure(*, exploration: float = 2.0) -> Params:
    return Params(real("exploration", exploration, "The paper's value is 2.", least=0.0))


def init(p, arms, key):
    return State(np.zeros(arms), np.zeros(arms), np.ones(arms), np.full(arms, np.inf), np.zeros(1))


@inlined_kernel
def select(p, s, t):
    root = np.sqrt(p.exploration * np.log(t + 1.0 - s.forgotten[0]))
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        index = s.mean[a] + root * s.width[a] if s.asked[a] > 0.0 else np.inf
        if index > largest:
            largest = index
            best = a
    chosen(p, s, t, best)
    return best, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    s.told[a] += 1.0
    s.mean[a] += (y - s.mean[a]) / s.told[a]


@inlined_kernel
def chosen(p, s, t, a):
    """Another hand, or this policy, has chosen arm ``a`` in round ``t``."""
    s.asked[a] += 1.0
    s.width[a] = 1.0 / np.sqrt(s.asked[a])


@inlined_kernel
def forget(p, s, a):
    """As if the arm had never been asked, and its rounds had not been."""
    s.forgotten[0] += s.asked[a]
    s.asked[a] = 0.0
    s.told[a] = 0.0
    s.mean[a] = 1.0
    s.width[a] = np.inf
