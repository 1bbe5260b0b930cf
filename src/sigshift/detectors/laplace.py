"""Two means with Laplace's confidence intervals: alarm when those before and after some split are disjoint.

Mukherjee and Maillard (2019), "Distribution-dependent and time-uniform bounds for piecewise i.i.d. bandits", the
detector of UCBL-CPD. With n rewards since the arm was cleared it is an alarm when for some split 0 < i < n

    |mean of first i - mean of last n - i| > radius(i) + radius(n - i),
    radius(n) = sqrt((1 + 1/n) ln(sqrt(n + 1) / delta) / (2 n)).

Each radius holds for all n at once with probability 1 - 2 delta (Laplace's method). ``delta`` is 1/T unless given; the
paper takes 1/t, which a detector of one arm cannot know.

The paper tries every split after every reward, in time n. So does this, in time that does not grow with n: n radius(n)
is sqrt((n + 1) ln(sqrt(n + 1) / delta) / 2), which grows and is concave, and so the split that decides is a vertex of
the walk's convex hull (:mod:`sigshift.detectors.hull`).
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.detectors import hull
from sigshift.detectors.hull import State, clear, crowded, grow, init
from sigshift.kernel import kernel

__all__ = ["PAPER", "Params", "State", "clear", "configure", "crowded", "grow", "init", "observe"]

PAPER = "Mukherjee, Maillard 2019"


class Params(NamedTuple):
    """What the kernels read."""

    log_delta: float


def configure(horizon, *, delta: float | None = None) -> Params:
    """What the user says, checked."""
    delta = 1.0 / max(horizon, 2) if delta is None else delta
    delta = real("delta", delta, "The probability of a false alarm of one interval.", above=0.0, below=1.0)
    return Params(float(np.log(delta)))


@kernel
def radius(p, n):
    """Laplace's half width of a confidence interval for the mean of n rewards, for all n at once."""
    return np.sqrt((1.0 + 1.0 / n) * (0.5 * np.log(n + 1.0) - p.log_delta) / (2.0 * n))


@kernel
def least(p):
    """At an alarm the ratio exceeds i (n - i) / (2 n) (radius(i)^2 + radius(n - i)^2) >= ln(sqrt(2) / delta) / 4."""
    return 0.25 * (0.5 * np.log(2.0) - p.log_delta)


observe = hull.watching(radius, least)
