"""Generalised likelihood ratio for rewards with Gaussian noise: alarm when the means before and after a split differ.

The statistic of Siegmund and Venkatraman (1995), with the thresholds of Besson, Kaufmann, Maillard, Seznec (2022).
With n rewards since the arm was cleared, it is an alarm when

    max over 1 <= i < n of  i (n - i) / n (mean of first i - mean of last n - i)^2 / (2 sigma^2) >= beta(n).

``sigma`` is the standard deviation of the noise, or what makes it sub-Gaussian: 0.5 (default) is right for all
rewards in [0, 1], and a smaller value finds changes sooner where the noise is known to be small. For Bernoulli
rewards ``glr`` is never later at the same ``delta``: its divergence is at least this one with sigma = 0.5 (Pinsker).

``threshold="practical"`` (default) is ``beta = ln(n^1.5 / delta)``; nothing is proven for it. ``threshold="proven"``
is ``beta = 2 T(ln(3 n^1.5 / delta) / 2) + 6 ln(1 + ln n)``, T as in ``glr``: its proof bounds moment generating
functions by those of a family of laws (the mixture martingales of Kaufmann and Koolen 2021), and is the same for
Gaussian and Bernoulli laws. So an arm whose rewards are independent, sigma-sub-Gaussian and of one mean raises an
alarm, *ever*, with probability at most ``delta``, 1/sqrt(T) unless given. ``every`` and ``splits_every`` (1 is exact)
as in ``glr``; so is the cost.
"""

from typing import NamedTuple

from sigshift.checks import real
from sigshift.detectors import hull
from sigshift.detectors.hull import State, clear, crowded, grow, init
from sigshift.kernel import kernel

__all__ = ["PAPER", "Params", "State", "clear", "configure", "crowded", "grow", "init", "observe"]

PAPER = "Siegmund, Venkatraman 1995; Besson, Kaufmann, Maillard, Seznec 2022"
TOLD = "sigma (optional)"


class Params(NamedTuple):
    """What the kernels read."""

    variance: float
    proven: bool
    log_delta: float
    every: int
    splits_every: int


def configure(
    horizon,
    *,
    sigma: float = 0.5,
    threshold: str = "practical",
    delta: float | None = None,
    every: int = 1,
    splits_every: int = 1,
) -> Params:
    """What the user says, checked."""
    sigma = real("sigma", sigma, "The noise's standard deviation; 0.5 holds for all rewards in [0, 1].", above=0.0)
    return Params(sigma**2, *hull.tests(horizon, threshold, delta, every, splits_every))


@kernel
def likelihood(m, total):
    """The largest log-likelihood of m rewards of this sum, times the variance, without what has no mean in it."""
    return 0.5 * total * total / m


@kernel
def tangent(n, total):
    """Slope and offset of the log-likelihood at their mean; it leaves nothing."""
    mean = total / n
    return mean, -0.5 * mean * mean, 0.0


@kernel
def alone(y):
    """The log-likelihood of one reward."""
    return 0.5 * y * y


@kernel
def scale(p):
    """The likelihood ratio has been multiplied with the variance."""
    return p.variance


largest = hull.largest_ratio(likelihood)
observe = hull.observing(largest, tangent, alone, scale)
