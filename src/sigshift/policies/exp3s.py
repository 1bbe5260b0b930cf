"""EXP3.S: EXP3 whose arms share their weight, so that it follows a best arm that switches.

Auer, Cesa-Bianchi, Freund, Schapire (2002), "The nonstochastic multiarmed bandit problem", Section 8. Arms are played
as in EXP3; the reward y of arm a, played with probability q, changes the weights to

    w(i) exp(gamma y / (q K) 1{i = a}) + (e alpha / K) sum(w),    alpha = 1 / T.

``switches=S`` (told) takes Corollary 8.3, ``gamma = min(1, sqrt(K (H ln(K T) + e) / ((e - 1) T)))``: the paper counts
the segments of the best arm, H = S + 1. Without it ("S-free") Corollary 8.2, ``gamma = min(1, sqrt(K ln(K T) / T))``:
regret O(H sqrt(K T ln(K T))) for all H at once.

Only ratios of weights matter: they are scaled to mean 1 in each step and stay above about alpha, so that nothing over-
or underflows however long the run. The paper has no delay: a step (the sharing too) is taken when a reward arrives,
with the propensity of its decision. A new arm enters with the mean weight. The exponent is at most 1 by itself; it is
held there for rewards that come after arms have been retired.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.kernel import inlined_kernel, kernel, unmoved
from sigshift.rng import uniform
from sigshift.sampling import pick

PAPER = "Auer, Cesa-Bianchi, Freund, Schapire 2002"
GUARANTEE = "S switches of the best arm: O(sqrt(S K T log(K T))) if told S, else O(S sqrt(K T log(K T)))"
TOLD = "switches (optional)"


class Params(NamedTuple):
    gamma: float
    share: float  # e * alpha


class State(NamedTuple):
    key: np.uint64
    weights: np.ndarray


def configure(
    arms, horizon, *, switches: int | None = None, gamma: float | None = None, alpha: float | None = None
) -> Params:
    not_both(switches=switches, gamma=gamma)
    if switches is not None:
        switches = whole("switches", switches, 0, "Pass the number of switches of the best arm, or None.")
    if gamma is None and switches is not None:
        gamma = share_for(switches + 1, arms, horizon)
    elif gamma is None:
        gamma = min(1.0, float(np.sqrt(arms * np.log(float(arms) * horizon) / horizon)))
    else:
        gamma = real("gamma", gamma, "The share of uniform play; None is the paper's choice.", above=0.0, most=1.0)
    if alpha is None:
        alpha = 1.0 / horizon
    else:
        alpha = real("alpha", alpha, "The share of weight spread in a round; None is 1/T.", above=0.0, most=1.0)
    return Params(gamma, float(np.e) * alpha)


def share_for(segments, arms, horizon):
    """The gamma of Corollary 8.3."""
    rate = (segments * np.log(float(arms) * horizon) + np.e) / (np.e - 1.0)
    return min(1.0, float(np.sqrt(arms * rate / horizon)))


KNOB = ("switches", "gamma")


def grid(segments, arms, horizon):
    """What :mod:`sigshift.policies.bob` may tune: the gamma for so many segments of the best arm."""
    return np.unique([share_for(count, arms, horizon) for count in segments])


@inlined_kernel
def tuned(p, knob):
    """The same with this gamma."""
    return Params(knob, p.share)


def init(p, arms, key):
    return State(key, np.ones(arms))


@kernel
def select(p, s, t):
    arms = s.weights.size
    total = 0.0
    for a in range(arms):
        total += s.weights[a]
    return pick(s.weights, (1.0 - p.gamma) / total, p.gamma / arms, uniform(s.key, t, 0))


chosen = unmoved


@kernel
def update(p, s, t, a, y, q):
    arms = s.weights.size
    total = 0.0
    for i in range(arms):
        total += s.weights[i]
    gain = s.weights[a] * (np.exp(min(1.0, p.gamma * y / (q * arms))) - 1.0)
    scale = arms / ((1.0 + p.share) * total + gain)
    spread = p.share * total / arms * scale
    s.weights[a] += gain
    for i in range(arms):
        s.weights[i] = s.weights[i] * scale + spread
