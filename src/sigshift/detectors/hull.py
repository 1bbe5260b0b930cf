"""What the likelihood-ratio detectors share: the walk's convex hull, on which the best split lies, and thresholds.

A generalised likelihood ratio compares the best fit of one mean with the best fit of two. With F(m, S) the largest
log-likelihood of m rewards of sum S (up to what all fits have in common), that is, for rewards of sums S_0, ..., S_n,

    G_n = max over i of F(i, S_i) + F(n - i, S_n - S_i) - F(n, S_n).

F is a largest value of functions linear in (m, S): it is convex, positively homogeneous, and so subadditive.

1. *Which splits.* The sum is convex in the point (i, S_i). So its maximum is attained at a vertex of the convex hull
   of the walk (0, S_0), ..., (n, S_n): the exact maximum needs O(log n) evaluations on a stationary stream. Upper and
   lower hull are stacks (the monotone chain); a reward costs amortised O(1). F(i, S_i) is kept with its vertex.
2. *When to look.* F is subadditive: F(m + 1, S + y) <= F(m, S) + F(1, y). So for every split

       G_{n+1}(i) <= max(G_n(i), 0) + F(1, y) + F(n, S_n) - F(n + 1, S_{n+1}),

   with equality at the new split i = n, where G_n is 0. A running bound on the statistic costs O(1) per reward; the
   hull is looked at when the bound reaches a threshold, and the bound is then the statistic itself.
3. Thresholds grow with n: while the bound is below the last one that was computed, no new one is needed.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, real, whole
from sigshift.kernel import kernel

# The columns of a vertex.
ROUND = 0  # rewards up to the split
SUM = 1  # their sum
FIT = 2  # F(ROUND, SUM)

ROOM = 64  # vertices per hull at the start

SLACK = 1e-6  # the bound is taken for reached a little early, so that rounding never delays a test


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    told: np.ndarray  # its rewards
    total: np.ndarray  # their sum
    fit: np.ndarray  # F(told, total)
    bound: np.ndarray  # at least the statistic
    needed: np.ndarray  # at most the threshold
    points: np.ndarray  # [arm, upper or lower, vertex, column] the hulls
    sizes: np.ndarray  # [arm, upper or lower] how many vertices they have
    short: np.ndarray  # whether a hull should grow


def tests(horizon, threshold, delta, every, splits_every):
    """What the user says of the threshold and of which tests are made, checked."""
    choice("threshold", threshold, ["practical", "proven"])
    if delta is None:
        delta = 1.0 / np.sqrt(max(horizon, 2))
    else:
        delta = real("delta", delta, "The probability of a false alarm; None is 1/sqrt(T).", above=0.0, below=1.0)
    return (
        threshold == "proven",
        float(np.log(delta)),
        whole("every", every, 1, "Test after every so many rewards of an arm; 1 is exact."),
        whole("splits_every", splits_every, 1, "Test one split in so many; 1 is exact."),
    )


def init(p, arms):
    """The state before the first reward; every hull is the one point (0, 0)."""
    return State(
        told=np.zeros(arms, np.int64),
        total=np.zeros(arms),
        fit=np.zeros(arms),
        bound=np.zeros(arms),
        needed=np.zeros(arms),
        points=np.zeros((arms, 2, ROOM, 3)),
        sizes=np.ones((arms, 2), np.int64),
        short=np.zeros(1, np.bool_),
    )


@kernel
def take(likelihood, alone, scale, p, s, a, y):
    """Take in the reward y of arm a; whether the statistic is ``scale`` times the threshold, or more.

    ``likelihood`` is F, ``alone`` is F(1, y).
    """
    n = s.told[a] + 1
    total = s.total[a] + y
    fit = likelihood(float(n), total)
    bound = s.bound[a] + max(alone + s.fit[a] - fit, 0.0)
    s.told[a] = n
    s.total[a] = total
    s.fit[a] = fit
    changed = False
    if bound > s.needed[a] - SLACK and n % p.every == 0:
        needed = scale * beta(p.proven, p.log_delta, float(n))
        if bound > needed - SLACK:
            bound = largest(likelihood, s.points[a], s.sizes[a], float(n), total, fit)
            changed = bound >= needed
        s.needed[a] = needed
    s.bound[a] = bound
    if n % p.splits_every == 0:
        push(s.points[a], s.sizes[a], s.short, float(n), total, fit)
    return changed


@kernel
def push(points, sizes, short, n, total, fit):
    """Add the point (n, total) to the upper and the lower hull of one arm; ``short`` says that they should grow.

    Without room (many rewards came before the state could grow) the last vertex makes place: a split is not tested,
    which can only delay an alarm.
    """
    room = points.shape[1]
    for side in range(2):
        chain = points[side]
        sign = 1.0 - 2.0 * side
        size = sizes[side]
        while size > 1:
            rounds = chain[size - 1, ROUND] - chain[size - 2, ROUND]
            rise = chain[size - 1, SUM] - chain[size - 2, SUM]
            turn = rise * (n - chain[size - 1, ROUND]) - rounds * (total - chain[size - 1, SUM])
            if sign * turn > 0.0:
                break
            size -= 1
        if size == room:
            size -= 1
        chain[size, ROUND] = n
        chain[size, SUM] = total
        chain[size, FIT] = fit
        size += 1
        sizes[side] = size
        if 2 * size > room:
            short[0] = True


@kernel
def largest(likelihood, points, sizes, n, total, fit):
    """The largest likelihood ratio over all splits."""
    most = fit  # that of no split
    for side in range(2):
        for i in range(1, sizes[side]):
            later = likelihood(n - points[side, i, ROUND], total - points[side, i, SUM])
            most = max(most, points[side, i, FIT] + later)
    return most - fit


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    s.told[a] = 0
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
    return s._replace(points=np.concatenate([s.points, np.zeros_like(s.points)], axis=2))


@kernel
def beta(proven, log_delta, n):
    """The threshold beta(n, delta) of Besson et al. (2022), as proven or as used in practice."""
    if not proven:
        return 1.5 * np.log(n) - log_delta
    return 2.0 * two_means(0.5 * (np.log(3.0) + 1.5 * np.log(n) - log_delta)) + 6.0 * np.log(1.0 + np.log(n))


@kernel
def two_means(x):
    """The function written T(x) by Kaufmann and Koolen (2021), about x + ln(x)."""
    half = 0.5 * (inverse(1.0 + x) + LOG_TWO_ZETA)
    if half >= 1.0 / LOG_Z + np.log(LOG_Z):
        u = inverse(half)
        return 2.0 * np.exp(1.0 / u) * u
    return 3.0 * (half - np.log(LOG_Z))


LOG_Z = float(np.log(1.5))
LOG_TWO_ZETA = float(np.log(np.pi**2 / 3.0))  # ln(2 zeta(2))


@kernel
def inverse(x):
    """The u >= 1 with u - ln(u) = x, for x >= 1: Newton's steps, which fall to it from above."""
    u = x + np.log(x + np.sqrt(2.0 * (x - 1.0))) + 1.0
    for _ in range(20):
        step = (u - np.log(u) - x) / (1.0 - 1.0 / u) if u > 1.0 else 0.0
        u -= step
        if step <= 1e-14 * u:
            break
    return u
