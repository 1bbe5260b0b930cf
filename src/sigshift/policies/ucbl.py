"""UCBL: play the arm with the largest mean + Laplace's confidence radius, which holds for all times at once.

Maillard (2019), "Mathematics of statistical sequential decision making", and the base of UCBL-CPD in Mukherjee and
Maillard (2019). After n plays of an arm, in round t, its index is

    mean + sqrt((1 + 1/n) ln(sqrt(n + 1) / delta) / (2 n)),    delta = 1/t.

With late rewards n counts the decisions and the mean is over the rewards that have come (1 before the first).
"""

from typing import NamedTuple

import numpy as np

from sigshift.kernel import kernel

PAPER = "Mukherjee, Maillard 2019"
GUARANTEE = "stationary: regret O(K log(T) / gap)"


class Params(NamedTuple):
    pass


class State(NamedTuple):
    asked: np.ndarray
    told: np.ndarray
    mean: np.ndarray
    inverse: np.ndarray  # (1 + 1/n) / (2 n), n = asked
    log: np.ndarray  # ln(sqrt(n + 1))


def init(p, arms, key):
    return State(np.zeros(arms), np.zeros(arms), np.ones(arms), np.zeros(arms), np.zeros(arms))


@kernel
def select(p, s, t):
    log = np.log(t + 1.0)
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        index = s.mean[a] + np.sqrt(s.inverse[a] * (s.log[a] + log)) if s.asked[a] > 0.0 else np.inf
        if index > largest:
            largest = index
            best = a
    chosen(p, s, t, best)
    return best, 1.0


@kernel
def update(p, s, t, a, y, q):
    s.told[a] += 1.0
    s.mean[a] += (y - s.mean[a]) / s.told[a]


@kernel
def chosen(p, s, t, a):
    s.asked[a] += 1.0
    n = s.asked[a]
    s.inverse[a] = (1.0 + 1.0 / n) / (2.0 * n)
    s.log[a] = 0.5 * np.log(n + 1.0)


@kernel
def forget(p, s, a):
    s.asked[a] = 0.0
    s.told[a] = 0.0
    s.mean[a] = 1.0
