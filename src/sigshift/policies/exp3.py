"""EXP3: exponential weights over importance-weighted rewards, with a share of uniform play.

Auer, Cesa-Bianchi, Freund, Schapire (2002), "The nonstochastic multiarmed bandit problem", Figure 1. Arm a is played
with probability ``q(a) = (1 - gamma) w(a) / sum(w) + gamma / K``; its reward y multiplies ``w(a)`` by
``exp(gamma y / (q(a) K))``. Without ``gamma``, that of Corollary 3.2 with g = T:
``min(1, sqrt(K ln K / ((e - 1) T)))``.

Only ratios of weights matter. So the state has their logarithms, which never overflow, relative to an arm that is
moved whenever one gets ahead of it by e; ``weights`` are their exponentials, kept so that a round costs one of them.
The paper has no delay: a late reward acts on arrival, with the propensity of its decision. A new arm is level, within
a factor of e, with the best one. The exponent is at most 1 by itself; it is held there for rewards that come after
arms have been retired.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel, unmoved
from sigshift.rng import uniform
from sigshift.sampling import pick

PAPER = "Auer, Cesa-Bianchi, Freund, Schapire 2002"
GUARANTEE = "adversarial: regret to the best single arm <= 2.63 sqrt(K T ln K)"

AHEAD = 1.0  # how far a logarithm gets above zero before all are moved
FAINT = 1e-200  # a sum of weights that lost its best arm to retirement


class Params(NamedTuple):
    gamma: float


class State(NamedTuple):
    key: np.uint64
    logs: np.ndarray
    weights: np.ndarray  # exp(logs)


def configure(arms, horizon, *, gamma: float | None = None) -> Params:
    if gamma is None:
        return Params(min(1.0, float(np.sqrt(arms * np.log(arms) / ((np.e - 1.0) * horizon)))))
    return Params(real("gamma", gamma, "The share of uniform play; None is the paper's choice.", above=0.0, most=1.0))


def init(p, arms, key):
    return State(key, np.zeros(arms), np.ones(arms))


@kernel
def select(p, s, t):
    arms = s.logs.size
    total = 0.0
    for a in range(arms):
        total += s.weights[a]
    if total < FAINT:
        _move(s)
        total = 0.0
        for a in range(arms):
            total += s.weights[a]
    return pick(s.weights, (1.0 - p.gamma) / total, p.gamma / arms, uniform(s.key, t, 0))


chosen = unmoved


@kernel
def update(p, s, t, a, y, q):
    if y > 0.0:
        s.logs[a] += min(1.0, p.gamma * y / (q * s.logs.size))
        if s.logs[a] > AHEAD:
            _move(s)
        else:
            s.weights[a] = np.exp(s.logs[a])


@kernel
def _move(s):
    """Make the largest weight 1."""
    top = s.logs[0]
    for a in range(s.logs.size):
        top = max(top, s.logs[a])
    for a in range(s.logs.size):
        s.logs[a] -= top
        s.weights[a] = np.exp(s.logs[a])
