"""SAO: plays as if rewards were stochastic, tests whether they are, and falls back to EXP3.P if they are not.

Bubeck and Slivkins (2012), "The best of both worlds: stochastic and adversarial bandits", Algorithm 2. All arms are
active at first. Active arms share their probability evenly; arm i, deactivated in round tau(i) at probability q(i),
keeps ``q(i) tau(i) / t``. With H the mean of the importance-weighted rewards over t rounds (0 where another arm was
played), M the plain mean over the n rewards of the arm, b = log(10 K T^3 / delta) and

    width(t) = sqrt(4 K b / t + 5 (K b / t)^2)

an active arm i is deactivated when the largest H of an active arm exceeds H(i) by more than 6 width(t). EXP3.P
begins, for good, when for any arm, with u = min(t, tau(i)),

    |H(i) - M(i)| > sqrt(2 b / n) + sqrt(4 (K u / t^2 + (t - u) / (q(i) tau(i) t)) b + 5 (K b / u)^2),

or when for a deactivated one the largest H of an active arm exceeds H(i) by more than 10 width(tau(i) - 1) or by no
more than 2 width(tau(i)). These are the deviations that Bernstein's inequality allows to a martingale of that
variance and largest step; we have checked each constant against that.

EXP3.P (Bubeck and Cesa-Bianchi 2012, Theorem 3.2) has the weights ``exp(eta G)`` where every round adds ``(y 1{a
played} + bias) / q(a)`` to G(a), mixed with ``gamma`` of uniform play: eta = 0.95 sqrt(log(K) / (T K)), gamma = 1.05
sqrt(K log(K) / T), bias = sqrt(log(K / delta) / (T K)). The bounds hold with probability 1 - ``delta``; without it
delta = 1 / T, so that they hold in expectation. b is about 4 log T: an arm of gap 0.4 among 10 is deactivated after
some 500,000 rounds if T is a million, and until then this is uniform play. Sound, but for long horizons only.

The paper has no delay: here t counts the rewards that have come. EXP3.P starts from nothing and leaves out the
rewards of earlier decisions; the bias of the arms that were not played is that of the newest probabilities.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel
from sigshift.rng import uniform
from sigshift.sampling import pick

PAPER = "Bubeck, Slivkins 2012"
GUARANTEE = "stochastic: O(K log(K T)^2 / gap); adversarial: O(sqrt(K T) log(K T)^2)"
FIXED_ARMS = True

HEARD, NOW, FALLBACK = range(3)
CLOCKS = 3
NEVER = -1
SMALLEST_CLOCK = 1e-100  # round 0, whose deviations are as good as infinite


class Params(NamedTuple):
    log: float
    eta: float
    gamma: float
    bias: float


class State(NamedTuple):
    key: np.uint64
    chances: np.ndarray
    active: np.ndarray
    weighted: np.ndarray  # sums of y / q
    plain: np.ndarray  # sums of y
    number: np.ndarray
    since: np.ndarray  # tau, or 0
    before: np.ndarray  # the probability at tau
    gains: np.ndarray  # of EXP3.P, relative to the largest
    clock: np.ndarray  # rewards told, the last round chosen for, the last one before EXP3.P


def configure(arms, horizon, *, delta: float | None = None) -> Params:
    if delta is None:
        delta = 1.0 / max(horizon, 2)
    delta = real("delta", delta, "The probability that the bounds fail; None is 1/T.", above=0.0, below=1.0)
    log = float(np.log(10.0 * arms / delta) + 3.0 * np.log(horizon))
    spread = float(np.log(arms))
    return Params(
        log=log,
        eta=0.95 * float(np.sqrt(spread / (horizon * arms))),
        gamma=min(1.0, 1.05 * float(np.sqrt(arms * spread / horizon))),
        bias=float(np.sqrt(np.log(arms / delta) / (horizon * arms))),
    )


def init(p, arms, key):
    return State(
        key=key,
        chances=np.full(arms, 1.0 / arms),
        active=np.ones(arms, np.bool_),
        weighted=np.zeros(arms),
        plain=np.zeros(arms),
        number=np.zeros(arms),
        since=np.zeros(arms),
        before=np.zeros(arms),
        gains=np.zeros(arms),
        clock=np.array([0, 0, NEVER]),
    )


@kernel
def select(p, s, t):
    s.clock[NOW] = t
    return pick(s.chances, 1.0, 0.0, uniform(s.key, t, 0))


@kernel
def update(p, s, t, a, y, q):
    if s.clock[FALLBACK] != NEVER:
        if t > s.clock[FALLBACK]:
            learn(p, s, a, y, q)
        return
    s.clock[HEARD] += 1
    s.weighted[a] += y / q
    s.plain[a] += y
    s.number[a] += 1.0
    told = float(s.clock[HEARD])
    if consistent(p, s, told):
        share(s, told)
    else:
        s.clock[FALLBACK] = s.clock[NOW]
        mix(p, s)


@kernel
def consistent(p, s, t):
    """Deactivate what is bad; whether the rewards still look stochastic."""
    arms = s.chances.size
    width = deviation(p, arms / t, arms / t)
    top = -np.inf
    for i in range(arms):
        if s.active[i]:
            top = max(top, s.weighted[i] / t)
    for i in range(arms):
        gap = top - s.weighted[i] / t
        if s.active[i]:
            if gap > 6.0 * width:
                s.active[i] = False
                s.since[i] = t
                s.before[i] = s.chances[i]
        else:
            at, before = arms / s.since[i], arms / max(s.since[i] - 1.0, SMALLEST_CLOCK)
            if gap <= 2.0 * deviation(p, at, at) or gap > 10.0 * deviation(p, before, before):
                return False
        if s.number[i] > 0.0:
            spread = width
            if not s.active[i]:
                u = s.since[i]
                spread = deviation(p, arms * u / (t * t) + (t - u) / (s.before[i] * u * t), arms / u)
            if abs(s.weighted[i] / t - s.plain[i] / s.number[i]) > np.sqrt(2.0 * p.log / s.number[i]) + spread:
                return False
    return True


@kernel
def deviation(p, variance, step):
    """What Bernstein's inequality allows to a mean."""
    return np.sqrt(4.0 * variance * p.log + 5.0 * (step * p.log) ** 2)


@kernel
def share(s, t):
    """The probabilities of the next round: deactivated arms keep less and less, the others share the rest."""
    rest = 1.0
    number = 0
    for i in range(s.chances.size):
        if s.active[i]:
            number += 1
        else:
            s.chances[i] = s.before[i] * s.since[i] / (t + 1.0)
            rest -= s.chances[i]
    for i in range(s.chances.size):
        if s.active[i]:
            s.chances[i] = rest / number


@kernel
def learn(p, s, a, y, q):
    """A step of EXP3.P."""
    for i in range(s.gains.size):
        s.gains[i] += (y + p.bias) / q if i == a else p.bias / s.chances[i]
    mix(p, s)


@kernel
def mix(p, s):
    arms = s.gains.size
    top = s.gains[0]
    for i in range(arms):
        top = max(top, s.gains[i])
    total = 0.0
    for i in range(arms):
        s.gains[i] -= top
        s.chances[i] = np.exp(p.eta * s.gains[i])
        total += s.chances[i]
    for i in range(arms):
        s.chances[i] = (1.0 - p.gamma) * s.chances[i] / total + p.gamma / arms


def restarts(p, s):
    return s.clock[FALLBACK:] if s.clock[FALLBACK] != NEVER else s.clock[:0]
