"""D-UCB: UCB whose evidence fades by a factor in every round.

Kocsis, Szepesvari (2006), "Discounted UCB"; Garivier, Moulines (2011), "On upper-confidence bound policies for
switching bandit problems" (Algorithm 1 of the 2008 version). A decision and its reward k rounds ago weigh discount^k.
Play the arm with the largest mean + 2 sqrt(exploration * ln(n) / n(a)), where n(a) is the weight of its decisions, n
that of all, and the mean is weighted; each arm once to begin with.

``discount`` is the paper's 1 - sqrt(L/T) / 4 with ``changes=L`` (told); without it, and for L = 0, L = 1 is taken. The
theorem wants ``exploration`` > 1/2, the paper's experiments have the default 1/2.

A late reward enters with the weight of its decision, faded since; an arm that has decisions but no rewards counts with
mean 1. No weight is touched to fade: instead each new one is larger, and all are scaled back about every 900 sqrt(T/L)
rounds.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.indices import SUM, WEIGHT, WEIGHTS, decide, discount_for, receive, share
from sigshift.kernel import inlined_kernel

PAPER = "Kocsis, Szepesvari 2006; Garivier, Moulines 2011"
GUARANTEE = "L changes: O(K sqrt(L T) log(T) / gap^2) if told L (exploration > 1/2)"
TOLD = "changes (optional)"

UNTOLD = 1.0


class Params(NamedTuple):
    discount: float
    exploration: float


class State(NamedTuple):
    clock: np.ndarray
    weights: np.ndarray
    asked: np.ndarray  # weights of the decisions
    told: np.ndarray  # and of those with rewards
    total: np.ndarray  # with these, the sum of the rewards
    mean: np.ndarray
    width: np.ndarray  # 1 / sqrt(asked)


def configure(
    horizon, *, changes: int | None = None, discount: float | None = None, exploration: float = 0.5
) -> Params:
    not_both(changes=changes, discount=discount)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if discount is None:
        discount = discount_for(horizon, changes)
    discount = real("discount", discount, "The weight kept from round to round; None is the paper's.", 0.01, 1.0)
    return Params(discount, real("exploration", exploration, "The paper's xi; above 1/2 in its theorem.", least=0.0))


def init(p, arms, key):
    weights = np.zeros(WEIGHTS)
    weights[WEIGHT] = 1.0
    return State(
        clock=np.zeros(1, np.int64),
        weights=weights,
        asked=np.zeros(arms),
        told=np.zeros(arms),
        total=np.zeros(arms),
        mean=np.full(arms, UNTOLD),
        width=np.full(arms, np.inf),
    )


@inlined_kernel
def select(p, s, t):
    weight = s.weights[WEIGHT]
    root = 2.0 * np.sqrt(p.exploration * np.log(max(s.weights[SUM] / weight, 1.0)) * weight)
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        index = s.mean[a] + root * s.width[a] if s.asked[a] > 0.0 else np.inf
        if index > largest:
            largest = index
            best = a
    if decide(s, t, best, p.discount):
        for a in range(s.mean.size):
            s.width[a] = 1.0 / np.sqrt(s.asked[a])
    s.width[best] = 1.0 / np.sqrt(s.asked[best])
    return best, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    receive(s, t, a, y, p.discount)
    s.mean[a] = share(s.total[a], s.told[a], UNTOLD)
