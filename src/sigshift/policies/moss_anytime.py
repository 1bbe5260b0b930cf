"""MOSS-anytime: MOSS with the rounds so far in place of the horizon.

Degenne, Perchet (2016), "Anytime optimal algorithms in stochastic multi-armed bandits". In round t = 1, 2, ... play the
arm with the largest mean + sqrt((1 + alpha) / 2 * max(ln(t / (K n)), 0) / n), each once to begin with. The default,
``alpha=1.35``, is the one for which the paper states its bound.

n counts decisions and the mean is over the rewards that have come (1 before the first), as in UCB1.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.indices import share
from sigshift.kernel import inlined_kernel

PAPER = "Degenne, Perchet 2016"
GUARANTEE = "stationary: regret O(sqrt(K T)) for any means, at all T at once (alpha = 1.35)"

UNTOLD = 1.0


class Params(NamedTuple):
    factor: float  # (1 + alpha) / 2


class State(NamedTuple):
    clock: np.ndarray  # rounds forgotten
    asked: np.ndarray
    told: np.ndarray
    total: np.ndarray
    mean: np.ndarray
    log: np.ndarray  # ln(asked)
    width: np.ndarray  # 1 / sqrt(asked)


def configure(*, alpha: float = 1.35) -> Params:
    alpha = real("alpha", alpha, "The width of the bonus; the paper's value is 1.35.", least=0.0)
    return Params((1.0 + alpha) / 2.0)


def init(p, arms, key):
    return State(
        clock=np.zeros(1),
        asked=np.zeros(arms),
        told=np.zeros(arms),
        total=np.zeros(arms),
        mean=np.full(arms, UNTOLD),
        log=np.zeros(arms),
        width=np.full(arms, np.inf),
    )


@inlined_kernel
def select(p, s, t):
    part = (t + 1.0 - s.clock[0]) / s.mean.size
    log = np.log(part)
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        if s.asked[a] <= 0.0:
            index = np.inf
        elif s.asked[a] < part:
            index = s.mean[a] + np.sqrt(p.factor * (log - s.log[a])) * s.width[a]
        else:
            index = s.mean[a]
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
    s.log[a] = np.log(s.asked[a])
    s.width[a] = 1.0 / np.sqrt(s.asked[a])


@inlined_kernel
def forget(p, s, a):
    """As if the arm had never been asked, and its rounds had not been."""
    s.clock[0] += s.asked[a]
    s.asked[a] = 0.0
    s.told[a] = 0.0
    s.total[a] = 0.0
    s.mean[a] = UNTOLD
