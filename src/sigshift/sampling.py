"""Draws that laws and policies share, each a function of a counter: from weights, normal, gamma, beta, a posterior.

The counter of :mod:`sigshift.rng` holds the round (two words), a word ``stream`` and ``arm | attempt << 16``. So a
draw that rejects proposals takes fresh numbers by counting attempts, and no two arms ever share one.

- ``pick``: an arm with probability ``factor weights[a] + least``;
- ``standard_normal``: Box and Muller, one of the two;
- ``log_gamma_draw``: Marsaglia and Tsang (ACM TOMS 2000), as a logarithm, so that tiny shapes do not underflow;
- ``beta_draw``: shapes of at least 1, by rejection as in algorithm BB of Cheng (Communications of the ACM 1978), less
  than 1.5 attempts on average (without its test that saves two logarithms half of the time: the branch costs more); a
  shape of 1 by inversion;
- ``best_sample``: Thompson sampling's choice, the arm whose draw from its posterior is largest; ``best_beta`` draws for
  those arms only that may be it.
"""

import math

import numpy as np

from sigshift.kernel import kernel
from sigshift.rng import uniform, uniforms

ATTEMPT_SHIFT = 16
ATTEMPTS = 1 << 16
TWO_PI = 2.0 * math.pi
SMALLEST_UNIFORM = 2.0**-54
LOG_4 = math.log(4.0)
NEARLY_1 = 1.0 + 1e-9  # nearer to 1 the constants of BB drown in rounding; the density changes by less than 1e-7

# What the posterior of an arm is; the streams of the draws from it, of the coins of `as_success`, of the proposals.
BETA_POSTERIOR, GAUSSIAN_POSTERIOR = 0, 1
POSTERIORS = ("beta", "gaussian")
SAMPLE_STREAM, COIN_STREAM, PROPOSAL_STREAM = 0, 1, 2
LIKELY = 0.5  # from this chance of a proposal on it is cheaper to draw at once
NEVER = 60.0  # the exponent of a chance that is smaller than the steps of a uniform number


@kernel
def pick(weights, factor, least, chance):  # type: ignore[no-untyped-def]
    """The arm that the uniform number ``chance`` falls on, and its probability ``factor weights[a] + least``."""
    for a in range(weights.size):
        q = factor * weights[a] + least
        if chance < q:
            return a, min(1.0, q)
        chance -= q
    heaviest = 0  # the probabilities, rounded, add up to less than the number drawn
    for a in range(weights.size):
        if weights[a] > weights[heaviest]:
            heaviest = a
    return heaviest, min(1.0, factor * weights[heaviest] + least)


@kernel
def standard_normal(key, t, stream, arm, attempt):  # type: ignore[no-untyped-def]
    """A standard normal draw (Box and Muller)."""
    radius, angle = uniforms(key, t, stream, arm | attempt << ATTEMPT_SHIFT)
    return box_muller(radius, angle)


@kernel
def box_muller(radius, angle):  # type: ignore[no-untyped-def]
    """A standard normal number from two uniform ones."""
    return math.sqrt(-2.0 * math.log(1.0 - radius)) * math.cos(TWO_PI * angle)


@kernel
def log_gamma_draw(shape, key, t, stream, arm, which):  # type: ignore[no-untyped-def]
    """The logarithm of a gamma draw; a shape below 1 is that of shape + 1 times U^(1 / shape).

    Attempt ``n`` of gamma ``which`` (0 or 1) takes the counters ``4 n + 2 which`` and the next.
    """
    d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for attempt in range(2 * which, ATTEMPTS, 4):
        x = standard_normal(key, t, stream, arm, attempt)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            accept, boost = uniforms(key, t, stream, arm | (attempt + 1) << ATTEMPT_SHIFT)
            if math.log(1.0 - accept) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                logarithm = math.log(d * v)
                return logarithm + math.log(1.0 - boost) / shape if shape < 1.0 else logarithm
    return math.log(d)


@kernel
def beta_draw(first_shape, second_shape, chance, accept, key, t, stream, arm):  # type: ignore[no-untyped-def]
    """A beta draw; both shapes are at least 1. The pair of uniforms of attempt 0 is given."""
    a = min(first_shape, second_shape)
    b = max(first_shape, second_shape)
    if a < NEARLY_1:
        share = math.exp(math.log(1.0 - chance) / b)  # of shapes b and 1
        return share if second_shape == a else 1.0 - share
    both = a + b
    steep = math.sqrt((both - 2.0) / (2.0 * a * b - both))
    w = a
    for attempt in range(1, ATTEMPTS):
        chance = max(chance, SMALLEST_UNIFORM)
        logit = math.log(chance / (1.0 - chance))
        v = steep * logit
        w = a * math.exp(v)
        r = a * v + logit - LOG_4
        if r + both * math.log(both / (b + w)) >= math.log(chance * chance * (1.0 - accept)):
            break
        chance, accept = uniforms(key, t, stream, arm | attempt << ATTEMPT_SHIFT)
    return (w if first_shape == a else b) / (b + w)


@kernel
def as_success(law, y, key, t):  # type: ignore[no-untyped-def]
    """What a posterior learns from the reward of round t: ``beta`` tosses a coin of that mean (Agrawal and Goyal)."""
    if law == BETA_POSTERIOR and 0.0 < y < 1.0:
        return 1.0 if uniform(key, t, COIN_STREAM) < y else 0.0
    return y


@kernel
def new_draws(draws, key, t):  # type: ignore[no-untyped-def]
    """The pairs of uniforms of all arms, for :func:`posterior_sample`: together they cost a fraction of one by one."""
    for a in range(draws.shape[1]):
        draws[0, a], draws[1, a] = uniforms(key, t, SAMPLE_STREAM, a)


@kernel
def posterior_sample(law, total, count, draws, key, t, arm):  # type: ignore[no-untyped-def]
    """A draw from an arm's posterior, given the sum of its rewards and their number.

    ``beta`` is Beta(1 + total, 1 + count - total), ``gaussian`` N(total / (count + 1), 1 / (count + 1)).
    """
    first, second = draws[0, arm], draws[1, arm]
    if law == BETA_POSTERIOR:
        return beta_draw(1.0 + total, 1.0 + count - total, first, second, key, t, SAMPLE_STREAM, arm)
    known = count + 1.0
    return total / known + box_muller(first, second) / math.sqrt(known)


@kernel
def best_sample(law, total, count, draws, key, t):  # type: ignore[no-untyped-def]
    """The arm of the largest draw from the posteriors; ``draws[2, arms]`` is room for the uniforms."""
    if law == BETA_POSTERIOR:
        return best_beta(total, count, key, t)
    new_draws(draws, key, t)
    best = 0
    largest = -np.inf
    for a in range(total.size):
        sample = posterior_sample(law, total[a], count[a], draws, key, t, a)
        if sample > largest:
            largest = sample
            best = a
    return best


@kernel
def best_beta(total, count, key, t):  # type: ignore[no-untyped-def]
    """The arm of the largest draw from Beta(1 + total, 1 + count - total), without drawing for all arms.

    The arm known best is drawn first. Another one has to be drawn only if it may exceed the largest draw x so far, and
    there its density f is small. With n = count, m = total / n < x, and v the largest u (1 - u) between m and x:

    - f(m) <= c (n + 1) with c = 1, since with e = u / m below m, and e = (1 - u) / (1 - m) above, f(u) / f(m) >= e^n;
      integrate. By Stirling's formula c = exp(1 / (12 n)) / sqrt(2 pi n m (1 - m)) will do, too;
    - f(x) = f(m) exp(-n kl(m, x)) <= f(m) exp(-n (x - m)^2 / (2 v));
    - f(y) <= f(x) exp(-slope (y - x)) beyond x, since log f is concave; slope = n (x - m) / (x (1 - x)).

    So a proposal from that exponential tail, made with the probability ``chance`` of its whole mass and accepted with
    the share of f in it, has the law of the draw beyond x; if there is none, the draw would have been below. One number
    decides for all arms up to the first proposal.
    """
    best = 0
    for a in range(1, count.size):
        if count[a] > count[best]:
            best = a
    first = best
    x = fresh_beta(total, count, key, t, best)
    left = 1.0 - uniform(key, t, PROPOSAL_STREAM)
    survival = 1.0
    for a in range(count.size):
        if a == first:
            continue
        lead = count[a] * x - total[a]
        chance = proposal_chance(total[a], count[a], lead, x) if lead > 0.0 else 1.0
        if chance > LIKELY:
            y = fresh_beta(total, count, key, t, a)
        elif left <= survival * (1.0 - chance):
            survival *= 1.0 - chance
            continue
        else:
            y = proposal(total[a], count[a], lead, chance, x, key, t, a)
            left = 1.0 - uniforms(key, t, PROPOSAL_STREAM, a + 1 | 1 << ATTEMPT_SHIFT)[0]
            survival = 1.0
        if y > x:
            x = y
            best = a
    return best


@kernel
def fresh_beta(total, count, key, t, arm):  # type: ignore[no-untyped-def]
    """A draw from the posterior of an arm."""
    chance, accept = uniforms(key, t, SAMPLE_STREAM, arm)
    return beta_draw(1.0 + total[arm], 1.0 + count[arm] - total[arm], chance, accept, key, t, SAMPLE_STREAM, arm)


@kernel
def proposal_chance(total, count, lead, x):  # type: ignore[no-untyped-def]
    """The mass of the tail that lies above the density beyond x."""
    spread = x * (1.0 - x)
    own = total * (count - total)  # n^2 m (1 - m)
    widest = spread * count
    if x > 0.5:
        widest = 0.25 * count if total + total < count else own / count
    exponent = 0.5 * lead * lead / widest
    if exponent > NEVER:
        return 0.0
    peak = 1.0
    if own > count >= 1.0:
        peak = math.sqrt(count / (TWO_PI * own)) * (1.0 + 0.1 / count)  # exp(1 / (12 n)) <= 1 + 0.1 / n
    return (count + 1.0) * min(1.0, peak) * spread / lead * math.exp(-exponent)


@kernel
def proposal(total, count, lead, chance, x, key, t, arm):  # type: ignore[no-untyped-def]
    """A draw from the tail beyond x, or -1 if it is rejected."""
    distance, accept = uniforms(key, t, PROPOSAL_STREAM, arm + 1)
    slope = lead / (x * (1.0 - x))
    step = -math.log(1.0 - distance)
    y = x + step / slope
    if y >= 1.0:
        return -1.0
    missed = count - total
    normaliser = math.lgamma(count + 2.0) - math.lgamma(total + 1.0) - math.lgamma(missed + 1.0)
    density = normaliser + total * math.log(y) + missed * math.log(1.0 - y)
    return y if math.log(1.0 - accept) < density - math.log(chance * slope) + step else -1.0
