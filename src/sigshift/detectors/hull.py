"""What the likelihood-ratio detectors share: the walk's convex hull, on which the best split lies, and thresholds.

A generalised likelihood ratio compares the best fit of one mean with the best fit of two. With F(m, S) the largest
log-likelihood of m rewards of sum S (up to what all fits have in common), that is, for rewards of sums S_0, ..., S_n,

    G_n = max over i of F(i, S_i) + F(n - i, S_n - S_i) - F(n, S_n).

F is the largest of functions linear in (m, S), one for each mean: so it is convex, and F(m, S) + F(m', S') >=
F(m + m', S + S').

1. *Which splits.* The sum is convex in the point (i, S_i). So its maximum is attained at a vertex of the convex hull
   of the walk (0, S_0), ..., (n, S_n): the exact maximum needs O(log n) evaluations on a stationary stream. Upper and
   lower hull are stacks (the monotone chain); a reward costs amortised O(1). F(i, S_i) is kept once it is needed.
2. *When to look.* With k more rewards y_1, ..., y_k, an old split gains at most the sum of F(1, y_j) in its later part,
   a new split has at most that above F(n, S_n), and F(n + k, .) is at least any one of the linear functions. So

       G_{n+k} <= G_n + (F(n, S_n) - slope S_n - offset n) + sum over j of (F(1, y_j) - slope y_j - offset)

   for the slope and offset of a mean close to that of the n rewards. Each reward adds to this bound, without a
   logarithm. Only when it reaches a threshold is the hull looked at.
3. Thresholds grow with n: while the bound is below the last one that was computed, no new one is needed.

Detectors with two confidence intervals alarm when for some split i the means before and after are further apart than
r(i) + r(n - i). In terms of the walk that is

    |S_i - i S_n / n| > g(i),    g(i) = (r(i) + r(n - i)) i (n - i) / n.

Where x r(x) grows and is concave in x, so is each half of g: x r(x) (1 - x/n) has the second derivative (x r)'' (1 -
x/n) - 2 (x r)' / n <= 0. Then the splits that do not alarm are a convex set, and if there is none beyond it among the
vertices of the hull there is none at all. They too are looked at only when the Gaussian likelihood ratio, whose bound
is point 2, is as large as it is at any alarm.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, real, whole
from sigshift.kernel import kernel

# The columns of a vertex.
ROUND = 0  # rewards up to the split
SUM = 1  # their sum
FIT = 2  # F(ROUND, SUM), or UNKNOWN as long as nobody has asked

UNKNOWN = np.inf

ROOM = 64  # vertices per hull at the start

SAME = 1e-9  # ratios as close as this are equal but for rounding
SLACK = 1e-6  # the bound is taken for reached a little early, so that rounding never delays a test


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    told: np.ndarray  # its rewards
    total: np.ndarray  # their sum
    slope: np.ndarray  # of the linear function that stands for F
    offset: np.ndarray
    bound: np.ndarray  # at least the statistic, infinite before the first test
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
        slope=np.zeros(arms),
        offset=np.zeros(arms),
        bound=np.full(arms, np.inf),
        needed=np.zeros(arms),
        points=np.zeros((arms, 2, ROOM, 3)),
        sizes=np.ones((arms, 2), np.int64),
        short=np.zeros(1, np.bool_),
    )


def observing(largest, tangent, alone, scale):
    """The kernel ``observe`` of a likelihood ratio; an alarm is a ratio of at least ``scale(p)`` times the threshold.

    ``largest`` comes from :func:`largest_ratio`; ``tangent(n, total)`` gives the slope, the offset and what the linear
    function leaves of F(n, total); ``alone(y)`` is F(1, y) or more. A kernel is made for each likelihood, because loops
    that are handed a function cannot be kept on disk.
    """

    @kernel
    def observe(p, s, a, y):
        s.told[a] += 1
        s.total[a] += y
        s.bound[a] += alone(y) - s.slope[a] * y - s.offset[a]
        n = s.told[a]
        changed = False
        if s.bound[a] > s.needed[a] - SLACK and n % p.every == 0:
            s.needed[a] = scale(p) * beta(p.proven, p.log_delta, float(n))
            if s.bound[a] > s.needed[a] - SLACK:
                ratio = largest(s.points[a], s.sizes[a], float(n), s.total[a])
                changed = ratio >= s.needed[a]
                s.slope[a], s.offset[a], left = tangent(float(n), s.total[a])
                s.bound[a] = ratio + left
        if n % p.splits_every == 0:
            push(s.points[a], s.sizes[a], s.short, float(n), s.total[a])
        return changed

    return observe


def largest_ratio(likelihood):
    """The kernel that finds the largest likelihood ratio over all splits; ``likelihood`` is F."""

    @kernel
    def largest(points, sizes, n, total):
        fit = likelihood(n, total)
        most = fit  # that of no split
        for side in range(2):
            for i in range(1, sizes[side]):
                before = points[side, i, ROUND]
                older = points[side, i, SUM]
                if points[side, i, FIT] == UNKNOWN:
                    points[side, i, FIT] = likelihood(before, older)
                most = max(most, points[side, i, FIT] + likelihood(n - before, total - older))
        return most - fit

    return largest


def best_split(likelihood):
    """The kernel that says where the largest likelihood ratio is: the rewards before the split, and their sum.

    Of several splits that are as good the earliest is taken.
    """

    @kernel
    def split(points, sizes, n, total):
        most = likelihood(n, total)
        rounds, part = n, total
        for side in range(2):
            for i in range(1, sizes[side]):
                before = points[side, i, ROUND]
                older = points[side, i, SUM]
                fit = likelihood(before, older) + likelihood(n - before, total - older)
                if before < n and (fit > most + SAME or (fit > most - SAME and before < rounds)):
                    most, rounds, part = max(fit, most), before, older
        return rounds, part

    return split


def watching(radius, least):
    """The kernel ``observe`` of two confidence intervals, of half widths ``radius(p, n)``, tried at every split.

    ``least(p)`` is a number that i (n - i) / (2 n) times the squared difference of means exceeds at any alarm.
    """

    @kernel
    def look(p, points, sizes, n, total):
        """Whether some split is an alarm, and the largest ratio."""
        most = 0.0
        changed = False
        enough = least(p)
        for side in range(2):
            for i in range(1, sizes[side]):
                before = points[side, i, ROUND]
                off = points[side, i, SUM] - before / n * total
                ratio = 0.5 * off * off * n / (before * (n - before))
                most = max(most, ratio)
                if ratio > enough - SLACK and not changed:
                    apart = abs(off) * n / (before * (n - before))
                    changed = apart > radius(p, before) + radius(p, n - before)
        return changed, most

    @kernel
    def observe(p, s, a, y):
        """Take in the reward y of arm a; whether its rewards have changed."""
        s.told[a] += 1
        s.total[a] += y
        s.bound[a] += 0.5 * y * y - s.slope[a] * y - s.offset[a]
        n = float(s.told[a])
        changed = False
        if s.bound[a] > least(p) - SLACK:
            changed, s.bound[a] = look(p, s.points[a], s.sizes[a], n, s.total[a])
            s.slope[a] = s.total[a] / n
            s.offset[a] = -0.5 * s.slope[a] * s.slope[a]
        push(s.points[a], s.sizes[a], s.short, n, s.total[a])
        return changed

    return observe


@kernel
def push(points, sizes, short, n, total):
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
        chain[size, FIT] = UNKNOWN
        size += 1
        sizes[side] = size
        if 2 * size > room:
            short[0] = True


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    s.told[a] = 0
    s.total[a] = 0.0
    s.slope[a] = 0.0
    s.offset[a] = 0.0
    s.bound[a] = np.inf
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
