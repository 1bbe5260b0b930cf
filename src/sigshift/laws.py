"""Reward laws: the reward of (key, run, round, arm) as a pure function, in [0, 1] and with exactly the mean asked.

The stream of :mod:`sigshift.sampling` is the run.

- ``bernoulli``: one call of Philox and a comparison;
- ``deterministic``: the mean itself;
- ``beta``: Beta(mean c, (1 - mean) c) with the concentration c, variance mean (1 - mean) / (c + 1); two gammas by
  Marsaglia and Tsang (ACM TOMS 2000), kept as logarithms so that tiny shapes do not end in 0 / 0;
- ``normal``: N(location, sd^2) truncated to [0, 1], the location solved so that the mean *after* truncation is the
  mean asked; sampled by rejection, in the tail by that of Robert (Statistics and Computing 1995).

A mean of 0 or 1 leaves every law no choice.
"""

import math

import numpy as np

from sigshift.kernel import cached_kernel, kernel
from sigshift.law_names import BERNOULLI, BETA, DETERMINISTIC, LAWS, NORMAL
from sigshift.rng import uniforms
from sigshift.sampling import ATTEMPT_SHIFT, ATTEMPTS, log_gamma_draw, standard_normal

__all__ = ["BERNOULLI", "BETA", "DETERMINISTIC", "LAWS", "NORMAL", "draw", "fill", "single", "truncated_location"]

SMALLEST_MEAN = 1e-150  # below it squares underflow; no reward can tell it from 0
ROOT_HALF = math.sqrt(0.5)
DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)

FAR = 8.5  # a border so many deviations away moves the mean by less than 1e-16
TAIL = 16.0  # sd / mean from which the series of `tail_border` is exact to 1e-12
TAIL_EXPONENT = 31.0  # exp(-31) = 3e-14: what the upper border then still weighs
NEWTON_STEPS = 60
NEWTON_TOLERANCE = 1e-10  # of the mean, which itself is at most 1/2


@kernel
def draw(law, spread, mean, key, t, run, arm):  # type: ignore[no-untyped-def]
    """The reward of ``arm`` in round ``t`` of a run; ``spread`` is the law's concentration or deviation."""
    if law == BERNOULLI:
        first, _ = uniforms(key, t, run, arm)
        return 1.0 if first < mean else 0.0
    if law == DETERMINISTIC or mean <= 0.0 or mean >= 1.0:
        return float(mean)
    if law == BETA:
        return beta(spread, mean, key, t, run, arm)
    reward = normal(spread, min(mean, 1.0 - mean), key, t, run, arm)
    return 1.0 - reward if mean > 0.5 else reward


@kernel
def beta(concentration, mean, key, t, run, arm):  # type: ignore[no-untyped-def]
    """A beta reward: the share of one gamma in the sum of two."""
    shape = max(mean, SMALLEST_MEAN) * concentration
    ratio = 0.0  # the logarithm of the failure's gamma over the success's
    for which in range(2):  # a loop, so that the gamma is compiled once
        ratio = log_gamma_draw(shape, key, t, run, arm, which) - ratio
        shape = (1.0 - mean) * concentration
    if ratio < 0.0:
        return 1.0 / (1.0 + math.exp(ratio))
    odds = math.exp(-ratio)
    return odds / (1.0 + odds)


@kernel
def normal(sd, mean, key, t, run, arm):  # type: ignore[no-untyped-def]
    """A truncated normal reward of mean at most 1/2."""
    location = truncated_location(max(mean, SMALLEST_MEAN), sd)
    border = -location / sd
    if border < 0.5:
        for attempt in range(ATTEMPTS):
            reward = location + sd * standard_normal(key, t, run, arm, attempt)
            if 0.0 <= reward <= 1.0:
                return reward
        return mean
    rate = 0.5 * (border + math.sqrt(border * border + 4.0))
    for attempt in range(ATTEMPTS):
        first, accept = uniforms(key, t, run, arm | attempt << ATTEMPT_SHIFT)
        excess = -math.log(1.0 - first) / rate
        off = excess - 1.0 / rate
        if sd * excess <= 1.0 and math.log(1.0 - accept) <= -0.5 * off * off:
            return sd * excess
    return mean


@kernel
def truncated_location(mean, sd):  # type: ignore[no-untyped-def]
    """The location whose normal law, truncated to [0, 1], has this mean (0 < mean <= 1/2).

    The location lies within [-sd^2 / mean, mean]. Newton's method on 1 / mean, which is nearly linear in the
    location near the border, kept within that bracket.
    """
    if mean >= FAR * sd:
        return mean
    if sd >= TAIL * mean and 0.5 / (sd * sd) + 1.0 / mean >= TAIL_EXPONENT:
        return -sd * tail_border(mean / sd)
    low = -sd * sd / mean
    high = mean
    location = mean - sd * min(1.0, 0.5 * sd / mean)
    for _ in range(NEWTON_STEPS):
        if not low < location < high:
            location = 0.5 * (low + high)
        reached, slope = truncated_mean(location, sd)
        excess = reached - mean
        if abs(excess) <= NEWTON_TOLERANCE * mean:
            break
        if excess > 0.0:
            high = location
        else:
            low = location
        location -= excess * reached / (mean * slope)
    return location


@kernel
def truncated_mean(location, sd):  # type: ignore[no-untyped-def]
    """The mean of N(location, sd^2) truncated to [0, 1], and its derivative by the location."""
    low = -location / sd
    high = (1.0 - location) / sd
    mass = 0.5 * (math.erfc(low * ROOT_HALF) - math.erfc(high * ROOT_HALF))
    at_low = DENSITY_AT_0 * math.exp(-0.5 * low * low) / mass
    at_high = DENSITY_AT_0 * math.exp(-0.5 * high * high) / mass
    shift = at_low - at_high
    return location + sd * shift, 1.0 + low * at_low - high * at_high - shift * shift


@kernel
def tail_border(x):  # type: ignore[no-untyped-def]
    """The border from which a standard normal draw exceeds it by ``x`` on average, for small ``x``.

    The reverted series of x = 1/b - 2/b^3 + 10/b^5 - 74/b^7 + ..., the mean excess over b.
    """
    z = x * x
    series = 1.0 + z * (-2.0 + z * (2.0 + z * (-10.0 + z * (82.0 + z * (-898.0 + z * (12018.0 - 187626.0 * z))))))
    return series / x


@cached_kernel
def single(law, spread, mean, key, t, run, arm):  # type: ignore[no-untyped-def]
    """:func:`draw`, for Python."""
    return draw(law, spread, mean, key, t, run, arm)


@cached_kernel
def fill(law, spread, starts, means, first, key, run, out):  # type: ignore[no-untyped-def]
    """Write the rewards of all arms in the rounds from ``first`` on to ``out[rounds, arms]``."""
    segment = np.searchsorted(starts, first, side="right") - 1
    for row in range(out.shape[0]):
        while starts[segment + 1] <= first + row:
            segment += 1
        for arm in range(out.shape[1]):
            out[row, arm] = draw(law, spread, means[segment, arm], key, first + row, run, arm)
