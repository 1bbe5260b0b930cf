"""The oracle of Proposition 1: uniform play among the arms that are still safe. It must know the environment.

Suk and Kpotufe (COLT 2022), "Tracking most significant arm switches in bandits". In round t of a significant phase
G_t holds the arms without significant regret on any interval of the phase up to t (Definition 1, computed exactly by
:func:`sigshift.analysis.phases.phases`), and each of them is played with probability 1 / |G_t|. It is the yardstick of
what META aims at, not a rival: rewards teach it nothing. G_t changes at most K times in a phase, so a round is O(1).

The paper bounds the regret by log(K) times the sum over phases of sqrt(K length). Its proof ends with the harmonic
number H_K = 1 + 1/2 + ... + 1/K in place of log(K), and that one is true (tests/test_policies.py has a case of two
arms between the two bounds).
"""

import functools
from importlib import import_module
from typing import NamedTuple

import numpy as np

from sigshift.kernel import kernel
from sigshift.rng import uniform

PAPER = "Suk, Kpotufe 2022"
GUARANTEE = "any changes: H_K sum over significant phases of sqrt(K length); not a rival, it knows the truth"
FIXED_ARMS = True
PHASE, COUNT, UNTIL = 0, 1, 2


class Params(NamedTuple):
    starts: np.ndarray  # the first round of each significant phase, and one that never comes
    unsafe_at: np.ndarray  # [phase, arm] the round from which the arm is not safe, or -1


class State(NamedTuple):
    key: np.uint64
    clock: np.ndarray  # the phase, the number of safe arms, the round at which they change
    safe: np.ndarray  # the safe arms, in order


@functools.lru_cache(maxsize=2)
def configure(environment) -> Params:
    found = import_module("sigshift.analysis.phases").phases(environment)  # a layer above, so met at run time
    return Params(np.append(found.starts, np.iinfo(np.int64).max), np.array(found.unsafe_at, np.int64, order="C"))


def init(p, arms, key):
    return State(key, np.array([-1, 0, 0]), np.zeros(arms, np.int64))


@kernel
def select(p, s, t):
    if t >= s.clock[UNTIL]:
        _enter(p, s, t)
    count = s.clock[COUNT]
    return s.safe[int(uniform(s.key, t, 0) * count)], 1.0 / count


@kernel
def update(p, s, t, a, y, q):
    pass


@kernel
def _enter(p, s, t):
    """List the arms that are safe in round t, and find the round at which the list changes."""
    while p.starts[s.clock[PHASE] + 1] <= t:
        s.clock[PHASE] += 1
    phase = s.clock[PHASE]
    until = p.starts[phase + 1]
    count = 0
    for a in range(s.safe.size):
        end = p.unsafe_at[phase, a]
        if end < 0 or t < end:
            s.safe[count] = a
            count += 1
            if end >= 0:
                until = min(until, end)
    s.clock[COUNT] = count
    s.clock[UNTIL] = until
