"""Discounted Thompson sampling: a posterior whose evidence fades by the factor ``discount`` in every round.

Raj and Kalyani (2017), "Taming non-stationary bandits: a Bayesian approach", Algorithm 1, for ``law="beta"``: with

    S(a) <- discount S(a) + y 1{a played},    F(a) <- discount F(a) + (1 - y) 1{a played}

the arm of the largest draw from Beta(1 + S(a), 1 + F(a)) is played. The prior does not fade: an arm that has not been
played for long is as uncertain as a new one, and that is all of the exploration. (A reward strictly between 0 and 1
becomes a coin, as in ``thompson``.) ``law="gaussian"`` is in the manner of Qi, Wang, Zhu (2023), "Discounted Thompson
sampling for non-stationary bandit problems": N(S / (N + 1), 1 / (N + 1)) with the faded number of rewards N. They
have N where we, with Agrawal and Goyal, have N + 1, which is defined before the first reward and bounds the deviation
of an arm that has faded.

The papers leave the discount to the user, or to constants that nobody knows. Without it, it is 1 - sqrt(L / T) / 4
from ``changes=L`` (told) or L = 1, that of ``d_ucb``.

Late rewards: evidence fades with the rounds since its decision, whenever it comes.
"""

import math
from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, not_both, real, whole
from sigshift.indices import discount_for
from sigshift.kernel import kernel
from sigshift.sampling import POSTERIORS, as_success, best_sample

PAPER = "Raj, Kalyani 2017; Qi, Wang, Zhu 2023"
GUARANTEE = "none proved for beta; gaussian: about sqrt(L T) for L changes (of the form with N for N + 1)"
TOLD = "changes (optional)"

FADED = 1e-30  # evidence too small to change a posterior; slower to compute with as it nears the smallest number


class Params(NamedTuple):
    law: int
    discount: float


class State(NamedTuple):
    key: np.uint64
    total: np.ndarray
    number: np.ndarray
    draws: np.ndarray  # room for a round's uniforms
    clock: np.ndarray  # the last round chosen for


def configure(horizon, *, law: str = "beta", changes: int | None = None, discount: float | None = None) -> Params:
    not_both(changes=changes, discount=discount)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if discount is None:
        discount = discount_for(horizon, changes)
    cure = "The share of evidence kept in a round; None derives it from the horizon."
    discount = real("discount", discount, cure, above=0.0, most=1.0)
    return Params(POSTERIORS.index(choice("law", law, POSTERIORS)), discount)


def init(p, arms, key):
    return State(key, np.zeros(arms), np.zeros(arms), np.zeros((2, arms)), np.zeros(1, np.int64))


@kernel
def select(p, s, t):
    arm = best_sample(p.law, s.total, s.number, s.draws, s.key, t)
    fade(p, s, t)
    return arm, math.nan


@kernel
def update(p, s, t, a, y, q):
    weight = 1.0
    if t < s.clock[0]:
        weight = p.discount ** float(s.clock[0] - t)
    s.total[a] += weight * as_success(p.law, y, s.key, t)
    s.number[a] += weight


@kernel
def fade(p, s, t):
    s.clock[0] = t
    for a in range(s.total.size):
        total = p.discount * s.total[a]
        count = p.discount * s.number[a]
        s.total[a] = total if total > FADED else 0.0
        s.number[a] = count if count > FADED else 0.0


@kernel
def chosen(p, s, t, a):
    fade(p, s, t)


@kernel
def forget(p, s, a):
    s.total[a] = 0.0
    s.number[a] = 0.0
