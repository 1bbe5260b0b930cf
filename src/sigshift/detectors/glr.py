"""Generalised likelihood ratio for Bernoulli rewards: alarm when two means fit an arm's rewards much better than one.

Besson, Kaufmann, Maillard, Seznec (2022), "Efficient change-point detection for tackling piecewise-stationary
bandits", Section 2. With n rewards since the arm was cleared, kl the divergence of Bernoulli laws, it is an alarm when

    max over 1 <= i < n of  i kl(mean of first i, mean of all) + (n - i) kl(mean of last n - i, mean of all) >= beta(n).

``threshold="practical"`` (default) is ``beta = ln(n^1.5 / delta)``, what the authors run; nothing is proven for it.
``threshold="proven"`` is that of their theorem, ``beta = 2 T(ln(3 n^1.5 / delta) / 2) + 6 ln(1 + ln n)`` with T(x) about
x + ln(x) (in :func:`sigshift.detectors.hull.two_means`, exactly): then the probability that an arm with a constant
mean and independent rewards in [0, 1] *ever* raises an alarm is at most ``delta``. ``delta`` is 1/sqrt(T) unless given.

Every split is tested after every reward, exactly, for the price of a few: see :mod:`sigshift.detectors.hull`. The
authors' code tests in every 10th round and one split in 5 or 10, to save time: here ``every`` counts the arm's
rewards and ``splits_every`` keeps the splits after i = splits_every, 2 splits_every, ... Both are 1. Rewards between 0
and 1 are treated as the paper does (kl of means). Rewards count in the order in which they arrive.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, real, whole
from sigshift.detectors import hull
from sigshift.kernel import kernel

PAPER = "Besson, Kaufmann, Maillard, Seznec 2022"


class Params(NamedTuple):
    """What the kernels read."""

    proven: bool
    log_delta: float
    every: int
    splits_every: int


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    count: np.ndarray  # its rewards
    total: np.ndarray  # their sum
    fit: np.ndarray  # the log-likelihood of their mean
    bound: np.ndarray  # at least the statistic
    needed: np.ndarray  # at most the threshold
    points: np.ndarray  # the hulls, see hull.py
    sizes: np.ndarray  # [arm, upper or lower] their vertices
    short: np.ndarray  # whether a hull should grow


def configure(
    horizon, *, threshold: str = "practical", delta: float | None = None, every: int = 1, splits_every: int = 1
) -> Params:
    """What the user says, checked."""
    choice("threshold", threshold, ["practical", "proven"])
    if delta is None:
        delta = 1.0 / np.sqrt(max(horizon, 2))
    else:
        delta = real("delta", delta, "The probability of a false alarm; None is 1/sqrt(T).", above=0.0, below=1.0)
    return Params(
        threshold == "proven",
        float(np.log(delta)),
        whole("every", every, 1, "Test after every so many rewards of an arm; 1 is exact."),
        whole("splits_every", splits_every, 1, "Test one split in so many; 1 is exact."),
    )


def init(p, arms):
    """The state before the first reward."""
    return State(
        count=np.zeros(arms, np.int64),
        total=np.zeros(arms),
        fit=np.zeros(arms),
        bound=np.zeros(arms),
        needed=np.zeros(arms),
        points=hull.points(arms),
        sizes=np.ones((arms, 2), np.int64),
        short=np.zeros(1, np.bool_),
    )


@kernel
def entropy(x):
    """The number x ln(x), which is 0 at 0."""
    return x * np.log(x) if x > 0.0 else 0.0


@kernel
def likelihood(m, total):
    """The largest log-likelihood of m rewards of this sum."""
    return entropy(total) + entropy(m - total) - entropy(m)


largest = hull.largest_ratio(likelihood)


@kernel
def observe(p, s, a, y):
    """Take in the reward y of arm a; whether its rewards have changed."""
    n = s.count[a] + 1
    total = s.total[a] + y
    fit = likelihood(float(n), total)
    alone = entropy(y) + entropy(1.0 - y) if 0.0 < y < 1.0 else 0.0
    bound = s.bound[a] + max(alone + s.fit[a] - fit, 0.0)
    s.count[a] = n
    s.total[a] = total
    s.fit[a] = fit
    changed = False
    if bound > s.needed[a] - hull.SLACK and n % p.every == 0:
        needed = hull.threshold(p.proven, p.log_delta, float(n))
        if bound > needed - hull.SLACK:
            bound = largest(s.points[a], s.sizes[a], float(n), total, fit)
            changed = bound >= needed
        s.needed[a] = needed
    s.bound[a] = bound
    if n % p.splits_every == 0:
        hull.push(s.points[a], s.sizes[a], s.short, float(n), total, fit)
    return changed


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    s.count[a] = 0
    s.total[a] = 0.0
    s.fit[a] = 0.0
    s.bound[a] = 0.0
    s.needed[a] = 0.0
    s.sizes[a, 0] = 1
    s.sizes[a, 1] = 1


@kernel
def crowded(p, s):
    """Whether the state should grow."""
    return s.short[0]


def grow(p, s):
    """The same state with twice the room for every hull."""
    s.short[0] = False
    return s._replace(points=hull.wider(s.points))
