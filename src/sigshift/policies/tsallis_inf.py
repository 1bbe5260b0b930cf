"""Tsallis-INF: mirror descent with the Tsallis entropy of power 1/2, optimal for stochastic and adversarial rewards.

Zimmert and Seldin (2021), "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", Algorithm 1
with alpha = 1/2 and Theorem 1. In round t = 1, 2, ... arm a is played with probability

    w(a) = 4 / (eta (L(a) - x))^2,    x such that they add up to 1,

and its loss 1 - y changes the estimates L. ``estimator="iw"`` (importance weights) has eta = 2 / sqrt(t) and adds
``(1 - y) / w(a)`` to L(a). ``estimator="rv"`` (reduced variance) has eta = 4 / sqrt(t) and adds, with ``B(i) = 1/2``
if ``w(i) >= eta^2`` and else 0, B(i) to every L(i) and ``(1 - y - B(a)) / w(a)`` to that of the arm played.

Newton's method finds ``z = eta (smallest L - x)``, which lies in [2, 2 sqrt(K)], from that of the round before. The
sum of the w(a) is a convex function that falls: from the left of the root every step stays there and the first step
from the right leads there, or beyond 2. What rounding leaves is divided out, so that the probabilities are exact.

Only differences of losses matter: they are kept relative to the smallest. The paper has no delay: a late reward acts
on arrival, with the probability and the eta of its decision; the B(i) of the other arms are then those of the newest
probabilities, which do not depend on that reward either. A new arm is level with the best one.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import choice
from sigshift.kernel import kernel
from sigshift.rng import uniform
from sigshift.sampling import pick

PAPER = "Zimmert, Seldin 2021"
GUARANTEE = "adversarial: 2 sqrt(K T) + O(K log T) (rv), 4 sqrt(K T) + 1 (iw); stochastic: O(sum of log(T) / gap)"

CLOSE = 1e-12  # of the sum of the probabilities to 1
STEPS = 50
NEARLY = 1.0 - 1e-9  # equal probabilities meet eta^2 exactly in some rounds: rounding is not to decide


class Params(NamedTuple):
    reduced: bool
    eta: float  # times the root of the round


class State(NamedTuple):
    key: np.uint64
    losses: np.ndarray
    chances: np.ndarray
    root: np.ndarray  # z of the last round


def configure(*, estimator: str = "rv") -> Params:
    reduced = choice("estimator", estimator, ["rv", "iw"]) == "rv"
    return Params(reduced, 4.0 if reduced else 2.0)


def init(p, arms, key):
    return State(key, np.zeros(arms), np.full(arms, 1.0 / arms), np.full(1, 2.0 * np.sqrt(arms)))


@kernel
def select(p, s, t):
    eta = p.eta / np.sqrt(t + 1.0)
    least = s.losses[0]
    for a in range(s.losses.size):
        least = min(least, s.losses[a])
    for a in range(s.losses.size):
        s.losses[a] -= least
    z = max(2.0, s.root[0])
    total = 0.0
    for _ in range(STEPS):
        total = 0.0
        slope = 0.0
        for a in range(s.losses.size):
            half = 2.0 / (eta * s.losses[a] + z)
            w = half * half
            s.chances[a] = w
            total += w
            slope += w * half
        if abs(total - 1.0) < CLOSE:
            break
        z = max(2.0, z + (total - 1.0) / slope)
    s.root[0] = z
    for a in range(s.losses.size):
        s.chances[a] /= total
    return pick(s.chances, 1.0, 0.0, uniform(s.key, t, 0))


@kernel
def update(p, s, t, a, y, q):
    baseline = 0.0
    if p.reduced:
        enough = NEARLY * p.eta * p.eta / (t + 1.0)
        if q >= enough:
            baseline = 0.5
        for i in range(s.losses.size):
            if i == a:
                s.losses[i] += baseline
            elif s.chances[i] >= enough:
                s.losses[i] += 0.5
    s.losses[a] += (1.0 - y - baseline) / q
