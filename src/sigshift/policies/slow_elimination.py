"""Slow elimination: successive elimination for means that drift, where an arm sleeps until it could be best again.

After Krishnamurthy and Gopalan (2021), "On slowly-varying non-stationary bandits": every mean moves by at most
``drift`` in a round (told), so that an arm seen to be worse by a gap can be left alone for at least gap / (2 drift)
rounds. This is their idea and not their text: windows, test and waking are derived here, so that they hold with
explicit constants.

A window of n rewards of arm a with mean M and mean round R says of its mean in round t, by Hoeffding's inequality,
that

    |mean(a, t) - M| <= sqrt(b / (2 n)) + drift (t - R),    b = log(2 T^2 / delta),

for all windows at once with probability 1 - ``delta`` (1 / T without it). The interval of an arm is the intersection
of those of all windows so far, so it widens by ``drift`` on both sides in a round and shrinks with rewards. Windows
are, for every power of two up to the most useful n, from that many to less than twice that many of the newest
rewards. An arm is awake unless its interval lies below that of another. The arms awake are played in turn; one that
wakes has new windows, since old rewards would only blur them, and keeps its interval. On that event no arm asleep is
ever the best one.

Without ``drift`` it is 1 / T: no mean then changes by more than 1 over the whole run. If the interval of an arm gets
empty the means drift faster than told (or an event of probability delta has happened): what is known of it is
dropped.

Late rewards count at the round of their decision. Turns are by decisions, so that no arm is asked again and again.
"""

import math
from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel

PAPER = "after Krishnamurthy, Gopalan 2021"
GUARANTEE = "drift at most as told: an arm asleep is not the best one, in all rounds with probability 1 - delta"
TOLD = "drift (optional)"


class Params(NamedTuple):
    drift: float
    log: float
    levels: int


class State(NamedTuple):
    lower: np.ndarray  # of the mean, plus drift times the round
    upper: np.ndarray  # of the mean, minus drift times the round
    last: np.ndarray  # the round of the last decision
    awake: np.ndarray
    old: np.ndarray  # [arm, level, :]: number, sum, sum of rounds of the newest full block of 2^level rewards
    new: np.ndarray  # the same of the rewards after it


def configure(horizon, *, drift: float | None = None, delta: float | None = None) -> Params:
    if drift is None:
        drift = 1.0 / horizon
    drift = real("drift", drift, "By how much a mean changes in a round at most; None is 1/T.", above=0.0, most=1.0)
    if delta is None:
        delta = 1.0 / max(horizon, 2)
    delta = real("delta", delta, "The probability that the intervals fail; None is 1/T.", above=0.0, below=1.0)
    log = math.log(2.0 / delta) + 2.0 * math.log(horizon)
    useful = min(float(horizon), (log / 8.0) ** (1.0 / 3.0) / drift ** (2.0 / 3.0))  # least sqrt(b / (2 n)) + drift n
    return Params(drift, log, math.ceil(math.log2(max(useful, 1.0))) + 1)


def init(p, arms, key):
    return State(
        lower=np.full(arms, -np.inf),
        upper=np.full(arms, np.inf),
        last=np.full(arms, -1),
        awake=np.ones(arms, np.bool_),
        old=np.zeros((arms, p.levels, 3)),
        new=np.zeros((arms, p.levels, 3)),
    )


@kernel
def select(p, s, t):
    leader = 0
    for a in range(s.lower.size):
        if s.lower[a] > s.lower[leader]:
            leader = a
    border = s.lower[leader] - 2.0 * p.drift * t
    next_arm = -1
    for a in range(s.lower.size):
        if a != leader and s.upper[a] < border:
            s.awake[a] = False
            continue
        if not s.awake[a]:
            s.awake[a] = True
            clear(p, s, a)
        if next_arm < 0 or s.last[a] < s.last[next_arm]:
            next_arm = a
    s.last[next_arm] = t
    return next_arm, 1.0


@kernel
def update(p, s, t, a, y, q):
    size = 1.0
    for level in range(p.levels):
        s.new[a, level, 0] += 1.0
        s.new[a, level, 1] += y
        s.new[a, level, 2] += t
        if s.new[a, level, 0] >= size:
            for i in range(3):
                s.old[a, level, i] = s.new[a, level, i]
                s.new[a, level, i] = 0.0
        size *= 2.0
        if s.old[a, level, 0] > 0.0:
            number = s.old[a, level, 0] + s.new[a, level, 0]
            mean = (s.old[a, level, 1] + s.new[a, level, 1]) / number
            shift = p.drift * (s.old[a, level, 2] + s.new[a, level, 2]) / number
            radius = np.sqrt(0.5 * p.log / number)
            s.lower[a] = max(s.lower[a], mean - radius + shift)
            s.upper[a] = min(s.upper[a], mean + radius - shift)
    newest = 0
    for b in range(s.last.size):
        newest = max(newest, s.last[b])
    if s.lower[a] - s.upper[a] > 2.0 * p.drift * newest:
        s.lower[a] = -np.inf
        s.upper[a] = np.inf
        clear(p, s, a)


@kernel
def clear(p, s, a):
    """Begin new windows."""
    for level in range(p.levels):
        for i in range(3):
            s.old[a, level, i] = 0.0
            s.new[a, level, i] = 0.0
