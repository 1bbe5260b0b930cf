"""EXP3++: exponential weights whose exploration of an arm falls as soon as its gap is known.

Seldin and Slivkins (2014), "One practical algorithm for both stochastic and adversarial bandits", Algorithm 1, with
the gap estimate and the parameters of Seldin and Lugosi (2017), "An improved parametrization and analysis of the
EXP3++ algorithm for stochastic and adversarial bandits". In round t = 1, 2, ... with ``eta = sqrt(log(K) / (t K)) /
2`` arm a is played with probability

    q(a) = (1 - sum of all e) p(a) + e(a),    p(a) in proportion to exp(-eta L(a)),
    e(a) = min(1 / (2 K), eta, beta log(t) / (t gap(a)^2)),
    gap(a) = max(0, lower(a) - smallest upper),    lower, upper = mean loss -+ sqrt(alpha log(t K^(1/alpha)) / (2 n(a)))

(upper at most 1, lower at least 0, which they are without a reward); its loss 1 - y adds (1 - y) / q(a) to L(a). The
proofs want ``alpha = 3`` and ``beta = 256``, the defaults. That beta lowers the exploration of no arm before beta
log(t) / t < eta, after about 4.5 10^8 rounds with 10 arms: until then this is EXP3 with a falling rate. A smaller
beta has no proof, and shows earlier what the idea can do.

Only differences of L matter: they are kept relative to the smallest. The paper has no delay: a late reward acts on
arrival, with the probability of its decision. A new arm is level with the best one.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel
from sigshift.rng import uniform
from sigshift.sampling import pick

PAPER = "Seldin, Slivkins 2014; Seldin, Lugosi 2017"
GUARANTEE = "adversarial: 4 sqrt(K T log K); stochastic: O(sum of log(T)^2 / gap)"


class Params(NamedTuple):
    alpha: float
    beta: float


class State(NamedTuple):
    key: np.uint64
    losses: np.ndarray  # importance-weighted, summed, relative to the smallest
    told: np.ndarray
    mean: np.ndarray  # of the losses told
    chances: np.ndarray


def configure(*, alpha: float = 3.0, beta: float = 256.0) -> Params:
    alpha = real("alpha", alpha, "The width of the confidence intervals; the paper has 3.", above=0.0)
    return Params(alpha, real("beta", beta, "The exploration at a known gap; the paper has 256.", above=0.0))


def init(p, arms, key):
    return State(key, np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms))


@kernel
def select(p, s, t):
    arms = s.losses.size
    now = t + 1.0
    eta = 0.5 * np.sqrt(np.log(arms) / (now * arms))
    most = min(0.5 / arms, eta)
    least = s.losses[0]
    for a in range(arms):
        least = min(least, s.losses[a])
    total = 0.0
    for a in range(arms):
        s.losses[a] -= least
        s.chances[a] = np.exp(-eta * s.losses[a])
        total += s.chances[a]
    known = p.beta * np.log(now) / now  # times gap^-2
    if known >= most:  # as no gap is above 1
        for a in range(arms):
            s.chances[a] = (1.0 - arms * most) * s.chances[a] / total + most
        return pick(s.chances, 1.0, 0.0, uniform(s.key, t, 0))
    half = 0.5 * (p.alpha * np.log(now) + np.log(arms))
    smallest = 1.0
    for a in range(arms):
        if s.told[a] > 0.0:
            smallest = min(smallest, s.mean[a] + np.sqrt(half / s.told[a]))
    explored = 0.0
    for a in range(arms):
        explored += exploration(s, a, half, smallest, known, most)
    for a in range(arms):
        share = exploration(s, a, half, smallest, known, most)
        s.chances[a] = (1.0 - explored) * s.chances[a] / total + share
    return pick(s.chances, 1.0, 0.0, uniform(s.key, t, 0))


@kernel
def exploration(s, a, half, smallest, known, most):
    if s.told[a] == 0.0:
        return most
    gap = max(0.0, s.mean[a] - np.sqrt(half / s.told[a]) - smallest)
    return known / (gap * gap) if known < most * gap * gap else most


@kernel
def update(p, s, t, a, y, q):
    s.losses[a] += (1.0 - y) / q
    s.told[a] += 1.0
    s.mean[a] += (1.0 - y - s.mean[a]) / s.told[a]
