"""Thompson sampling: draw a mean for every arm from its posterior, play the arm whose draw is largest.

Agrawal and Goyal (2012), "Analysis of Thompson sampling for the multi-armed bandit problem", Algorithm 2, for
``law="beta"``: Beta(1 + successes, 1 + failures), where a reward y strictly between 0 and 1 counts as a success with
probability y. Agrawal and Goyal (2013), "Further optimal regret bounds for Thompson sampling", Algorithm 2, for
``law="gaussian"``: N(sum / (n + 1), 1 / (n + 1)) for n rewards with that sum.

The posterior knows the rewards that have arrived. While some are on their way its draws still differ, so that no arm
is asked again and again (Chapelle and Li 2011 saw this). The probability of the arm chosen is not known: nan.
"""

import math
from typing import NamedTuple

import numpy as np

from sigshift.checks import choice
from sigshift.kernel import kernel
from sigshift.sampling import POSTERIORS, as_success, best_sample

PAPER = "Thompson 1933; Agrawal, Goyal 2012, 2013"
GUARANTEE = "stationary: regret O(sum of log(T) / gap), the optimal constant for coins; O(sqrt(K T log T)) always"


class Params(NamedTuple):
    law: int


class State(NamedTuple):
    key: np.uint64
    total: np.ndarray  # of the rewards (or of the coins they became)
    number: np.ndarray
    draws: np.ndarray  # room for a round's uniforms


def configure(*, law: str = "beta") -> Params:
    return Params(POSTERIORS.index(choice("law", law, POSTERIORS)))


def init(p, arms, key):
    return State(key, np.zeros(arms), np.zeros(arms), np.zeros((2, arms)))


@kernel
def select(p, s, t):
    return best_sample(p.law, s.total, s.number, s.draws, s.key, t), math.nan


@kernel
def update(p, s, t, a, y, q):
    s.total[a] += as_success(p.law, y, s.key, t)
    s.number[a] += 1.0


@kernel
def chosen(p, s, t, a):
    """Another hand chose the arm: nothing to remember before its reward comes."""


@kernel
def forget(p, s, a):
    s.total[a] = 0.0
    s.number[a] = 0.0
