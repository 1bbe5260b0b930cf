"""D-klUCB: kl-UCB whose evidence fades by a factor in every round.

The discount of Kocsis, Szepesvari (2006) and Garivier, Moulines (2011), "On upper-confidence bound policies for
switching bandit problems", with the index of kl-UCB, as compared in Besson, Kaufmann, Maillard, Seznec (2022),
"Efficient change-point detection for tackling piecewise-stationary bandits". A decision and its reward k rounds ago
weigh discount^k. Play the arm with the largest q with n(a) kl(m, q) <= ln(n), where n(a) is the weight of its
decisions, n that of all, and m the weighted mean of its rewards; each arm once to begin with.

``discount`` is 1 - sqrt(L/T) / 4 with ``changes=L`` (told); without it, and for L = 0, L = 1 is taken.

Late rewards and the weights are as in ``d_ucb``; an arm that has decisions but no rewards counts with mean 1/2, as in
``kl_ucb``.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.indices import (
    SUM,
    WEIGHT,
    WEIGHTS,
    decide,
    discount_for,
    kl_best,
    negative_entropy,
    new_bar,
    receive,
    share,
)
from sigshift.kernel import inlined_kernel

PAPER = "Garivier, Moulines 2011; Besson et al. 2022"
GUARANTEE = "none proven for this index; D-UCB's is O(K sqrt(L T) log(T) / gap^2) for L changes if told L"
TOLD = "changes (optional)"

UNTOLD = 0.5


class Params(NamedTuple):
    discount: float


class State(NamedTuple):
    clock: np.ndarray
    weights: np.ndarray
    asked: np.ndarray  # weights of the decisions
    told: np.ndarray  # and of those with rewards
    total: np.ndarray  # with these, the sum of the rewards
    mean: np.ndarray
    entropy: np.ndarray  # the negative entropy of the mean
    level: np.ndarray
    bar: np.ndarray


def configure(horizon, *, changes: int | None = None, discount: float | None = None) -> Params:
    not_both(changes=changes, discount=discount)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if discount is None:
        discount = discount_for(horizon, changes)
    return Params(real("discount", discount, "The weight kept from round to round; None is the paper's.", 0.01, 1.0))


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
        entropy=np.full(arms, negative_entropy(UNTOLD)),
        level=np.zeros(arms),
        bar=new_bar(),
    )


@inlined_kernel
def select(p, s, t):
    weight = s.weights[WEIGHT]
    level = np.log(max(s.weights[SUM] / weight, 1.0)) * weight
    for a in range(s.level.size):
        s.level[a] = level
    best = kl_best(s.mean, s.entropy, s.asked, s.level, s.bar)
    decide(s, t, best, p.discount)
    return best, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    receive(s, t, a, y, p.discount)
    s.mean[a] = share(s.total[a], s.told[a], UNTOLD)
    s.entropy[a] = negative_entropy(s.mean[a])
