"""ADWIN: alarm when the older and the newer part of all rewards differ, at any split between buckets of growing size.

Bifet, Gavalda (2007), "Learning from time-changing data with adaptive windowing", ADWIN2 (Section 4). The n rewards
since the arm was cleared are kept as sums of buckets of 1, 2, 4, ... rewards, at most ``buckets`` (M, 5) of a size:
when there is one more, the two oldest become one of the next size. At a split into n0 older and n1 newer rewards it
is an alarm when

    |mean of the older - mean of the newer| >= sqrt(ln(4 n / delta) / (2 m)),    1 / m = 1 / n0 + 1 / n1.

Then the oldest bucket is dropped, until no split is an alarm: the window adapts by itself. (Clearing the arm drops
all.)

False alarms (Theorem 3.1): for independent rewards in [0, 1] of one mean the chance of an alarm is at most ``delta``
*per reward*. So the default is T^-1.5: an arm of T rewards then raises one with probability at most 1/sqrt(T). This
is the bound of the theorem; the variant with a variance that the authors' experiments use (a normal approximation) is
not.

Memory and time are O(M log n) per arm and test. But a test is made only when it could be an alarm: m times the
squared difference of means is the Gaussian likelihood ratio (sigma^2 = 1/2), which grows by at most n / (n + 1) (y -
mean)^2 with a reward, see :mod:`sigshift.detectors.hull`. Rewards count in the order in which they arrive.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real, whole
from sigshift.detectors.hull import SLACK
from sigshift.kernel import kernel

PAPER = "Bifet, Gavalda 2007"

SIZES = 50  # buckets of up to 2^49 rewards


class Params(NamedTuple):
    """What the kernels read."""

    log_delta: float
    buckets: int


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    told: np.ndarray  # the rewards in the window
    total: np.ndarray  # their sum
    bound: np.ndarray  # at least the largest n0 n1 / n times squared difference of means
    needed: np.ndarray  # at most its threshold
    used: np.ndarray  # [arm, size] how many buckets of 2^size rewards
    sums: np.ndarray  # [arm, size, i] their sums, the oldest first


def configure(horizon, *, delta: float | None = None, buckets: int = 5) -> Params:
    """What the user says, checked."""
    if delta is None:
        delta = float(max(horizon, 2)) ** -1.5
    else:
        delta = real("delta", delta, "The chance of a false alarm per reward; None is T^-1.5.", above=0.0, below=1.0)
    return Params(float(np.log(delta)), whole("buckets", buckets, 1, "Buckets of a size; the paper's M is 5."))


def init(p, arms):
    """The state before the first reward."""
    return State(
        told=np.zeros(arms, np.int64),
        total=np.zeros(arms),
        bound=np.zeros(arms),
        needed=np.zeros(arms),
        used=np.zeros((arms, SIZES), np.int64),
        sums=np.zeros((arms, SIZES, p.buckets + 1)),
    )


@kernel
def observe(p, s, a, y):
    """Take in the reward y of arm a; whether its rewards have changed."""
    n = s.told[a]
    if n > 0:
        s.bound[a] += n / (n + 1.0) * (y - s.total[a] / n) ** 2
    s.told[a] = n + 1
    s.total[a] += y
    store(s.used[a], s.sums[a], y)
    if s.bound[a] <= s.needed[a] - SLACK:
        return False
    changed = False
    while True:
        s.needed[a] = 0.5 * (np.log(4.0 * s.told[a]) - p.log_delta)
        if s.bound[a] <= s.needed[a] - SLACK:
            return changed
        s.bound[a] = largest(s.used[a], s.sums[a], float(s.told[a]), s.total[a])
        if s.bound[a] < s.needed[a]:
            return changed
        changed = True
        drop(s, a)


@kernel
def store(used, sums, y):
    """Add a bucket of one reward, and merge where there are too many."""
    size = 0
    most = sums.shape[1]
    while True:
        sums[size, used[size]] = y
        used[size] += 1
        if used[size] < most or size == SIZES - 1:
            return
        y = sums[size, 0] + sums[size, 1]
        for i in range(2, most):
            sums[size, i - 2] = sums[size, i]
        used[size] -= 2
        size += 1


@kernel
def largest(used, sums, n, total):
    """The largest n0 n1 / n times squared difference of means, over all splits between buckets."""
    most = 0.0
    before = 0.0
    older = 0.0
    for size in range(SIZES - 1, -1, -1):
        for i in range(used[size]):
            before += 2.0**size
            older += sums[size, i]
            if before < n:
                off = older - before / n * total
                most = max(most, off * off * n / (before * (n - before)))
    return most


@kernel
def drop(s, a):
    """Forget the oldest bucket."""
    size = SIZES - 1
    while s.used[a, size] == 0:
        size -= 1
    s.told[a] -= 2**size
    s.total[a] -= s.sums[a, size, 0]
    s.used[a, size] -= 1
    for i in range(s.used[a, size]):
        s.sums[a, size, i] = s.sums[a, size, i + 1]


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    s.told[a] = 0
    s.total[a] = 0.0
    s.bound[a] = 0.0
    s.needed[a] = 0.0
    s.used[a, :] = 0
