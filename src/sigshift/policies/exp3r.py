"""EXP3.R: EXP3 that starts over when the rewards of its exploration show that another arm has become better.

Allesiardo, Feraud (2015), "EXP3 with drift detection for the switching bandit problem", Algorithm 2. EXP3 mixes in a
share ``gamma`` of uniform play; the rewards of that share are free of bias, and only they are looked at. An interval
is over when each arm has gamma H / K of them (H = ``interval``). Then, with b the arm that EXP3 plays most, everything
starts over if some arm a has

    mean(a) - mean(b) >= 2 sqrt(K ln(1 / delta) / (2 gamma H)),

and in any case the next interval begins. The defaults are those of the paper's corollary: gamma =
sqrt(K ln(K) ln(T) / T), ``delta`` = sqrt(ln(T) / (K T)), H = C sqrt(T ln(T)). The paper leaves C (``scale``) open. The
bound hardly depends on T, and with C = 1 it is above 1 (1.2 for three arms, 1.4 for ten): no difference of means would
ever reach it. Here C = 4, which halves it.

Whether a round belongs to the uniform share is drawn before the arm, and can be drawn again: so a late reward finds its
place. One that was decided before the last restart counts for nothing.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel
from sigshift.rng import uniforms

PAPER = "Allesiardo, Feraud 2015"
GUARANTEE = "S switches, far apart and large enough: O(S sqrt(K T log(K) log(T)))"

START, NOW, RESTARTS, CLOCKS = range(4)


class Params(NamedTuple):
    gamma: float
    needed: float  # rewards of each arm that make an interval
    bound: float  # of the difference of means


class State(NamedTuple):
    key: np.uint64
    clock: np.ndarray  # the first round that counts, the next round, the number of restarts
    logs: np.ndarray  # [arm] the logarithms of the weights, the largest of them 0
    weights: np.ndarray  # [arm] exp(logs)
    seen: np.ndarray  # [arm] rewards of the uniform share in this interval
    total: np.ndarray  # [arm] their sum
    restarts: np.ndarray  # the rounds of the restarts


def configure(
    arms,
    horizon,
    *,
    gamma: float | None = None,
    delta: float | None = None,
    interval: float | None = None,
    scale: float = 4.0,
) -> Params:
    log = float(np.log(max(horizon, 2)))
    scale = real("scale", scale, "The paper leaves the constant open; 4 by default.", above=0.0)
    if gamma is None:
        gamma = min(1.0, float(np.sqrt(arms * max(np.log(arms), 0.1) * log / horizon)))
    gamma = real("gamma", gamma, "The share of uniform play; None is the paper's choice.", above=0.0, most=1.0)
    if delta is None:
        delta = min(0.5, float(np.sqrt(log / (arms * horizon))))
    delta = real("delta", delta, "The level of the test; None is the paper's choice.", above=0.0, below=1.0)
    if interval is None:
        interval = max(1.0, scale * float(np.sqrt(horizon * log)))
    interval = real("interval", interval, "The rounds of an interval; None is scale sqrt(T ln T).", least=1.0)
    bound = 2.0 * float(np.sqrt(arms * np.log(1.0 / delta) / (2.0 * gamma * interval)))
    return Params(gamma, gamma * interval / arms, bound)


def init(p, arms, key):
    return State(
        key=key,
        clock=np.zeros(CLOCKS, np.int64),
        logs=np.zeros(arms),
        weights=np.ones(arms),
        seen=np.zeros(arms),
        total=np.zeros(arms),
        restarts=np.zeros(16, np.int64),
    )


@kernel
def select(p, s, t):
    s.clock[NOW] = t + 1
    arms = s.weights.size
    coin, which = uniforms(s.key, t, 0, 0)
    total = 0.0
    for a in range(arms):
        total += s.weights[a]
    arm = arms - 1
    if coin < p.gamma:
        arm = int(which * arms)
    else:
        left = which * total
        for a in range(arms - 1):
            if left < s.weights[a]:
                arm = a
                break
            left -= s.weights[a]
    return arm, min(1.0, (1.0 - p.gamma) * s.weights[arm] / total + p.gamma / arms)


@kernel
def update(p, s, t, a, y, q):
    if t < s.clock[START]:
        return
    arms = s.weights.size
    s.logs[a] += min(1.0, p.gamma * y / (q * arms))
    if s.logs[a] > 0.0:
        top = s.logs[a]
        for b in range(arms):
            s.logs[b] -= top
            s.weights[b] = np.exp(s.logs[b])
    else:
        s.weights[a] = np.exp(s.logs[a])
    coin, _ = uniforms(s.key, t, 0, 0)
    if coin < p.gamma:
        s.seen[a] += 1.0
        s.total[a] += y
        if s.seen[a] >= p.needed:
            end_interval(p, s)


@kernel
def end_interval(p, s):
    """If every arm has rewards enough, look for an arm that has become better, and begin the next interval."""
    arms = s.weights.size
    played = 0
    for a in range(arms):
        if s.seen[a] < p.needed:
            return
        if s.weights[a] > s.weights[played]:
            played = a
    drift = False
    for a in range(arms):
        drift = drift or s.total[a] / s.seen[a] - s.total[played] / s.seen[played] >= p.bound
    for a in range(arms):
        s.seen[a] = 0.0
        s.total[a] = 0.0
        if drift:
            s.logs[a] = 0.0
            s.weights[a] = 1.0
    if drift:
        s.clock[START] = s.clock[NOW]
        s.restarts[s.clock[RESTARTS]] = s.clock[NOW]
        s.clock[RESTARTS] += 1


@kernel
def crowded(p, s):
    return s.clock[RESTARTS] + 1 >= s.restarts.size


def grow(p, s):
    """The same state with room for twice as many restarts."""
    return s._replace(restarts=np.concatenate([s.restarts, np.zeros_like(s.restarts)]))


def restarts(p, s):
    return s.restarts[: s.clock[RESTARTS]]
