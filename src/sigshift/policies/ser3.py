"""SER3: successive elimination with randomised round-robin, for a best arm that stays best on average.

Allesiardo, Feraud, Maillard (2017), "The non-stationary stochastic multi-armed bandit problem", Algorithm 1. The
candidates are played once each in a random order; after the tau-th such round-robin every candidate a leaves with

    max_b mean(b) - mean(a) + epsilon >= sqrt(2 ln(4 K tau^2 / delta) / tau).

``delta=None`` and ``epsilon=None`` are 1 / (K T), as in the paper's corollaries. The order is drawn arm by arm: each
choice is uniform among those that are left. With late rewards the means are over those that have come, and tau is the
least number of them among the candidates. A new arm joins the candidates; when the last candidate is retired, all
others are candidates again.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel
from sigshift.rng import uniforms

PAPER = "Allesiardo, Feraud, Maillard 2017"
GUARANTEE = "a best arm that stays best on average: O(K log(K T) / mean gap)"

START, RESTARTS, CLOCKS = range(3)
OUT, WAITING, PLAYED = range(3)


class Params(NamedTuple):
    delta: float
    epsilon: float
    resets: float  # the probability with which a round begins everything afresh: 0 here, SER4 has it


class State(NamedTuple):
    key: np.uint64
    clock: np.ndarray  # the first round that counts, the number of restarts
    place: np.ndarray  # [arm] out, waiting for its turn in this round-robin, or played
    told: np.ndarray  # [arm] number of rewards
    mean: np.ndarray
    restarts: np.ndarray  # the rounds of the restarts


def configure(arms, horizon, *, delta: float | None = None, epsilon: float | None = None):
    return parameters(arms, horizon, delta, epsilon, 0.0)


def parameters(arms, horizon, delta, epsilon, resets):
    """What SER3 and SER4 have in common."""
    usual = min(0.5, 1.0 / (float(arms) * horizon))
    delta, epsilon = usual if delta is None else delta, usual if epsilon is None else epsilon
    cure = "None is 1 / (K T), as in the paper."
    delta = real("delta", delta, cure, above=0.0, below=1.0)
    return Params(delta, real("epsilon", epsilon, cure, least=0.0, most=1.0), resets)


def init(p, arms, key):
    clock, restarts = np.zeros(CLOCKS, np.int64), np.zeros(16, np.int64)
    return State(key, clock, np.full(arms, WAITING), np.zeros(arms), np.zeros(arms), restarts)


@kernel
def select(p, s, t):
    which, coin = uniforms(s.key, t, 0, 0)
    if t > 0 and coin < p.resets:
        begin(s, t)
    left = waiting(s)
    if left == 0:
        eliminate(p, s)
        left = waiting(s)
    turn = int(which * left)
    arm = 0
    for a in range(s.place.size):
        if s.place[a] == WAITING:
            if turn == 0:
                arm = a
            turn -= 1
    s.place[arm] = PLAYED
    return arm, 1.0 / left


@kernel
def update(p, s, t, a, y, q):
    if t >= s.clock[START]:
        s.told[a] += 1.0
        s.mean[a] += (y - s.mean[a]) / s.told[a]


@kernel
def waiting(s):
    """The number of candidates that have not had their turn."""
    left = 0
    for a in range(s.place.size):
        if s.place[a] == WAITING:
            left += 1
    return left


@kernel
def begin(s, t):
    """All arms are candidates again, and nothing is known."""
    s.restarts[s.clock[RESTARTS]] = t
    s.clock[RESTARTS] += 1
    s.clock[START] = t
    for a in range(s.place.size):
        s.place[a] = WAITING
        s.told[a] = 0.0
        s.mean[a] = 0.0


@kernel
def eliminate(p, s):
    """A round-robin is over: candidates that are clearly worse than the best one leave, and the next begins."""
    arms = s.place.size
    best = -1.0
    tau = np.inf
    for a in range(arms):
        if s.place[a] == PLAYED:
            best = max(best, s.mean[a])
            tau = min(tau, s.told[a])
    bound = np.sqrt(2.0 * np.log(4.0 * arms * tau * tau / p.delta) / tau) if tau > 0.0 else np.inf
    for a in range(arms):
        if best < 0.0:  # the last candidate has been retired
            s.place[a] = WAITING
        elif s.place[a] == PLAYED:
            s.place[a] = OUT if s.mean[a] < best and best - s.mean[a] + p.epsilon >= bound else WAITING


@kernel
def crowded(p, s):
    return s.clock[RESTARTS] + 1 >= s.restarts.size


def grow(p, s):
    """The same state with room for twice as many restarts."""
    return s._replace(restarts=np.concatenate([s.restarts, np.zeros_like(s.restarts)]))


def restarts(p, s):
    return s.restarts[: s.clock[RESTARTS]]
