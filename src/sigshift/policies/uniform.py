"""Uniform play: every arm with probability 1/K in every round. The yardstick of doing nothing."""

from typing import NamedTuple

import numpy as np

from sigshift.kernel import kernel, unmoved
from sigshift.rng import uniform

PAPER = "-"
GUARANTEE = "none; regret T times the mean gap"
LEARNS = False


class Params(NamedTuple):
    pass


class State(NamedTuple):
    key: np.uint64
    pulls: np.ndarray


def init(p, arms, key):
    return State(key, np.zeros(arms, np.int64))


@kernel
def select(p, s, t):
    arms = s.pulls.size
    return int(uniform(s.key, t, 0) * arms), 1.0 / arms


chosen = unmoved


@kernel
def update(p, s, t, a, y, q):
    s.pulls[a] += 1
