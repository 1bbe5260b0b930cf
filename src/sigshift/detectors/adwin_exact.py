"""ADWIN without buckets: alarm when the older and the newer part of all rewards differ, at any split at all.

The form in which Komiyama, Fouche, Honda (2024), "Finite-time analysis of globally nonstationary multi-armed bandits",
use the adaptive window of Bifet and Gavalda (2007). With n rewards since the arm was cleared it is an alarm when for
some split 0 < i < n

    |mean of first i - mean of last n - i| > sqrt(ln(1 / delta) / (2 i)) + sqrt(ln(1 / delta) / (2 (n - i))).

ADWIN then drops the older part. Here that is left to who asks: the ADR-bandit clears everything. Beside ``adwin`` every
split is tried, not the ends of buckets only, and radii are added, not their squares: so it is later by up to a factor
of 2 in the number of rewards, for the same ``delta``.

False alarms: by Hoeffding each of the n (n + 1) / 2 stretches of consecutive rewards among n has its mean within its
radius with probability 1 - 2 delta. So independent rewards in [0, 1] of one mean raise an alarm among T of them with
probability at most T (T + 1) ``delta``: about 1 / T for T^-3, the default. The authors' experiments have 0.1 to 0.0001.

Their code tries one split in three in every tenth round; this one all of them after every reward, in time that does
not grow with n: n times the radius is sqrt(n ln(1 / delta) / 2), which grows and is concave, and so the split that
decides is a vertex of the walk's convex hull (:mod:`sigshift.detectors.hull`).
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.detectors import hull
from sigshift.detectors.hull import State, clear, crowded, grow, init
from sigshift.kernel import kernel

__all__ = ["PAPER", "Params", "State", "clear", "configure", "crowded", "grow", "init", "observe"]

PAPER = "Bifet, Gavalda 2007; Komiyama, Fouche, Honda 2024"


class Params(NamedTuple):
    """What the kernels read."""

    log_delta: float


def configure(horizon, *, delta: float | None = None) -> Params:
    """What the user says, checked."""
    delta = float(max(horizon, 2)) ** -3.0 if delta is None else delta
    delta = real("delta", delta, "The chance of a false alarm of one interval; None is T^-3.", above=0.0, below=1.0)
    return Params(float(np.log(delta)))


@kernel
def radius(p, n):
    """Hoeffding's half width of a confidence interval for the mean of n rewards."""
    return np.sqrt(-0.5 * p.log_delta / n)


@kernel
def least(p):
    """At an alarm the ratio exceeds i (n - i) / (2 n) (radius(i)^2 + radius(n - i)^2) = ln(1 / delta) / 4."""
    return -0.25 * p.log_delta


observe = hull.watching(radius, least)
