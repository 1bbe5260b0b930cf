"""kl-UCB: play the arm with the largest upper confidence bound in the sense of the Bernoulli divergence.

Garivier, Cappe (2011), "The KL-UCB algorithm for bounded stochastic bandits and beyond", Algorithm 1; Cappe, Garivier,
Maillard, Munos, Stoltz (2013), "Kullback-Leibler upper confidence bounds for optimal sequential allocation". The index
of arm a in round t = 1, 2, ... is the largest q with

    n kl(m, q) <= ln t + c ln ln t,    kl(m, q) = m ln(m/q) + (1-m) ln((1-m)/(1-q)),

n its decisions, m the mean of its rewards. The proofs take ``c=3``; 0, the default, is what both papers recommend
in practice and what published tables use. ln ln t counts as 0 below t = e.

With late rewards n counts the decisions and m is over the rewards that have come, 1/2 before the first: a waiting arm
is not asked again and again (with m = 1, as in UCB1, it would be: its index is 1 whatever n).

When another hand makes this policy forget an arm, t counts from there for that arm (``clock="arm"``: local restarts of
Besson, Kaufmann, Maillard, Seznec 2022), or for all arms t counts the decisions that are still known, the sum of n
(``clock="known"``: Liu, Lee, Shroff 2018).
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, real
from sigshift.indices import kl_best, negative_entropy, new_bar, share
from sigshift.kernel import inlined_kernel

PAPER = "Garivier, Cappe 2011; Cappe et al. 2013"
GUARANTEE = "stationary: regret ~ sum over arms of gap log(T) / kl(mean, best mean), optimal for coins (c = 3)"

UNTOLD = 0.5
NEXT, FORGOTTEN, CLOCKS = range(3)


class Params(NamedTuple):
    c: float
    known: bool  # whether t counts the decisions that are still known


class State(NamedTuple):
    clock: np.ndarray  # the next round, decisions of which nothing is known any more
    since: np.ndarray  # the round from which an arm is known
    asked: np.ndarray
    told: np.ndarray
    total: np.ndarray
    mean: np.ndarray
    entropy: np.ndarray  # the negative entropy of the mean
    level: np.ndarray
    bar: np.ndarray


def configure(*, c: float = 0.0, clock: str = "arm") -> Params:
    return Params(
        c=real("c", c, "The factor of ln ln t; 0 in practice, 3 in the proofs.", least=0.0),
        known=choice("clock", clock, ["arm", "known"]) == "known",
    )


def init(p, arms, key):
    return State(
        clock=np.zeros(CLOCKS, np.int64),
        since=np.zeros(arms, np.int64),
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
    before = -1
    level = 0.0
    for a in range(s.level.size):
        since = s.clock[FORGOTTEN] if p.known else s.since[a]
        if since != before:
            before = since
            level = _exploration(p, t + 1 - before)
        s.level[a] = level
    best = kl_best(s.mean, s.entropy, s.asked, s.level, s.bar)
    chosen(p, s, t, best)
    return best, 1.0


@inlined_kernel
def _exploration(p, t):
    log = np.log(float(t))
    return log + p.c * np.log(log) if p.c > 0.0 and log > 1.0 else log


@inlined_kernel
def update(p, s, t, a, y, q):
    s.told[a] += 1.0
    s.total[a] += y
    s.mean[a] = share(s.total[a], s.told[a], UNTOLD)
    s.entropy[a] = negative_entropy(s.mean[a])


@inlined_kernel
def chosen(p, s, t, a):
    """Another hand, or this policy, has chosen arm ``a`` in round ``t``."""
    s.clock[NEXT] = t + 1
    s.asked[a] += 1.0


@inlined_kernel
def forget(p, s, a):
    """As if the arm had never been asked; its time begins with the next round."""
    s.since[a] = s.clock[NEXT]
    s.clock[FORGOTTEN] += int(s.asked[a])
    s.asked[a] = 0.0
    s.told[a] = 0.0
    s.total[a] = 0.0
    s.mean[a] = UNTOLD
    s.entropy[a] = negative_entropy(UNTOLD)
