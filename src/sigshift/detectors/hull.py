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

import numpy as np

from sigshift.kernel import kernel

# The columns of a vertex.
ROUND = 0  # rewards up to the split
SUM = 1  # their sum
FIT = 2  # F(ROUND, SUM)

ROOM = 64  # vertices per hull at the start

SLACK = 1e-6  # the bound is taken for reached a little early, so that rounding never delays a test


def points(arms):
    """The hulls [arm, upper or lower, vertex, column]: the one point (0, 0) each."""
    return np.zeros((arms, 2, ROOM, 3))


@kernel
def push(hull, sizes, short, n, total, fit):
    """Add the point (n, total) to the upper and the lower hull of one arm; ``short`` says that they should grow.

    Without room (several rewards came before the state could grow) the last vertex makes place: a split is not
    tested, which can only delay an alarm.
    """
    room = hull.shape[1]
    for side in range(2):
        chain = hull[side]
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


def largest_ratio(likelihood):
    """The kernel that finds the largest likelihood ratio over all splits; ``likelihood`` is F.

    A kernel is made for each F, because loops that are handed a function cannot be kept on disk.
    """

    @kernel
    def largest(hull, sizes, n, total, fit):
        most = fit  # that of no split
        for side in range(2):
            for i in range(1, sizes[side]):
                later = likelihood(n - hull[side, i, ROUND], total - hull[side, i, SUM])
                most = max(most, hull[side, i, FIT] + later)
        return most - fit

    return largest


def wider(hull):
    """The same hulls with twice the room."""
    return np.concatenate([hull, np.zeros_like(hull)], axis=2)


@kernel
def threshold(proven, log_delta, n):
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
    return 2.0 * 1.5 * (half - np.log(LOG_Z))


LOG_Z = np.log(1.5)
LOG_TWO_ZETA = np.log(np.pi**2 / 3.0)  # ln(2 zeta(2))


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
