"""EXP3-IX: exponential weights over losses whose estimates are biased a little, in place of uniform play.

Neu (2015), "Explore no more: improved high-probability regret bounds for non-stochastic bandits", Algorithm 1. Arm a is
played with probability p(a) in proportion to ``exp(-eta L(a))``; its loss 1 - y adds ``(1 - y) / (p(a) + gamma)`` to
``L(a)``. Always ``gamma = eta / 2``. Theorem 1 sets ``eta = sqrt(2 log(K) / (K T))`` for a known number of rounds T
(``rounds=T``), and ``sqrt(log(K) / (K t))`` in round t = 1, 2, ... otherwise (the default). ``eta`` can also be given.

Only differences of losses matter: they are kept relative to the smallest. The paper has no delay: a late reward acts on
arrival, with the probability and the gamma of its decision. A new arm is level with the best one.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real, whole
from sigshift.kernel import kernel
from sigshift.rng import uniform
from sigshift.sampling import pick

PAPER = "Neu 2015"
GUARANTEE = (
    "adversarial: with probability 1 - delta regret <= 4 sqrt(K T log K) + (2 sqrt(K T / log K) + 1) log(2 / delta)"
)
TOLD = "rounds (optional)"


class Params(NamedTuple):
    eta: float
    fading: bool  # eta is divided by the root of the round


class State(NamedTuple):
    key: np.uint64
    losses: np.ndarray
    weights: np.ndarray


def configure(arms, *, rounds: int | None = None, eta: float | None = None) -> Params:
    if eta is not None:
        return Params(real("eta", eta, "The rate of learning; None is the paper's choice.", above=0.0), False)
    rate = float(np.sqrt(np.log(arms) / arms))
    if rounds is None:
        return Params(rate, True)
    rounds = whole("rounds", rounds, 1, "Pass the number of rounds to play, or None for the rate that falls.")
    return Params(rate * float(np.sqrt(2.0 / rounds)), False)


def init(p, arms, key):
    return State(key, np.zeros(arms), np.ones(arms))


@kernel
def rate(p, t):
    return p.eta / np.sqrt(t + 1.0) if p.fading else p.eta


@kernel
def select(p, s, t):
    eta = rate(p, t)
    least = s.losses[0]
    for a in range(s.losses.size):
        least = min(least, s.losses[a])
    total = 0.0
    for a in range(s.losses.size):
        s.losses[a] -= least
        s.weights[a] = np.exp(-eta * s.losses[a])
        total += s.weights[a]
    return pick(s.weights, 1.0 / total, 0.0, uniform(s.key, t, 0))


@kernel
def update(p, s, t, a, y, q):
    s.losses[a] += (1.0 - y) / (q + 0.5 * rate(p, t))
