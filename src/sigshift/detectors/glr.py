"""Generalised likelihood ratio for Bernoulli rewards: alarm when two means fit an arm's rewards much better than one.

Besson, Kaufmann, Maillard, Seznec (2022), "Efficient change-point detection for tackling piecewise-stationary
bandits", Section 2. With n rewards since the arm was cleared, kl the divergence of Bernoulli laws, it is an alarm when

    max over 1 <= i < n of  i kl(mean of first i, mean of all) + (n - i) kl(mean of last n - i, mean of all) >= beta(n).

``threshold="practical"`` (default) is ``beta = ln(n^1.5 / delta)``, what the authors run; nothing is proven for it.
``threshold="proven"`` is that of their theorem, ``beta = 2 T(ln(3 n^1.5 / delta) / 2) + 6 ln(1 + ln n)`` with T(x)
about x + ln(x) (in :func:`sigshift.detectors.hull.two_means`, exactly). Then an arm whose rewards in [0, 1] are
independent and of one mean raises an alarm, *ever*, with probability at most ``delta``. ``delta`` is 1/sqrt(T) unless
given.

Every split is tested after every reward, exactly, for the price of a few: see :mod:`sigshift.detectors.hull`. The
authors' code tests in every 10th round and one split in 5 or 10, to save time: here ``every`` counts the arm's
rewards and ``splits_every`` keeps the splits after i = splits_every, 2 splits_every, ... Both are 1. Rewards between 0
and 1 are treated as the paper does (kl of means). Rewards count in the order in which they arrive.
"""

from typing import NamedTuple

import numpy as np

from sigshift.detectors import hull
from sigshift.detectors.hull import State, clear, crowded, grow, init
from sigshift.kernel import kernel

__all__ = ["PAPER", "Params", "State", "clear", "configure", "crowded", "grow", "init", "observe"]

PAPER = "Besson, Kaufmann, Maillard, Seznec 2022"


class Params(NamedTuple):
    """What the kernels read."""

    proven: bool
    log_delta: float
    every: int
    splits_every: int


def configure(
    horizon, *, threshold: str = "practical", delta: float | None = None, every: int = 1, splits_every: int = 1
) -> Params:
    """What the user says, checked."""
    return Params(*hull.tests(horizon, threshold, delta, every, splits_every))


@kernel
def entropy(x):
    """The number x ln(x), which is 0 at 0."""
    return x * np.log(x) if x > 0.0 else 0.0


@kernel
def likelihood(m, total):
    """The largest log-likelihood of m rewards of this sum."""
    return entropy(total) + entropy(m - total) - entropy(m)


@kernel
def tangent(n, total):
    """Slope and offset of the log-likelihood at a mean near theirs, kept off 0 and 1; and by how much it is less."""
    mean = (total + 0.5) / (n + 1.0)
    offset = np.log(1.0 - mean)
    slope = np.log(mean) - offset
    return slope, offset, likelihood(n, total) - slope * total - offset * n


@kernel
def alone(y):
    """At least the log-likelihood of one reward, y ln(y) + (1 - y) ln(1 - y): entropy in bits is >= 4 y (1 - y)."""
    return FOUR_BITS * y * (y - 1.0)


@kernel
def scale(p):
    """The statistic is the likelihood ratio itself."""
    return 1.0


FOUR_BITS = 4.0 * float(np.log(2.0))

largest = hull.largest_ratio(likelihood)
split = hull.best_split(likelihood)
observe = hull.observing(largest, tangent, alone, scale)
