"""Indices that several policies share: the Bernoulli divergence with its upper bound, windows, and discounting.

The kl index of an arm with mean m, count n and level f is the largest q with ``n kl(m, q) <= f``, where ``kl(m, q) =
m ln(m/q) + (1-m) ln((1-m)/(1-q))``. Indices crowd near 1: they are compared by their *depth* ``-ln(1 - q)``.

To find the largest index none has to be solved. ``kl(m, q) = h(m) - m ln q - (1-m) ln(1-q)`` with a number ``h(m)``
that changes with the mean only; so whether an index exceeds a given q takes no logarithm. A *bar* q that only one arm
exceeds proves that it is the best one. The bar of the last round often still does; else Newton's steps from it to all
indices, which take no logarithm either, say where it should be. Where no bar is found, because arms are tied or far
from it, their indices are solved by a function of (m, f/n) alone: equal statistics are exact ties, and the first wins.
"""

import numpy as np

from sigshift.kernel import inlined_kernel, kernel

# What a bar holds: the room above it, ln q, and ln(1 - q).
ROOM, LOG, LOG_ROOM = 0, 1, 2
BARS = 4  # how many are tried
CLOSE = 1e-9  # two arms whose distances to the bar are relatively as close are told apart by solving them
DROP = 1e-3  # how much more room than the largest index the bar leaves then
LEAST, HIGHEST = 1e-300, 1.0 - 1e-9  # the rooms that it may leave; means below the least are 0

TAIL = 16.0  # -ln(1 - q) from which on the equation is solved for that logarithm
ENOUGH = 1e-8  # a Newton step relatively as short as this leaves an error that no float shows
STEPS = 60

# What a window's clock holds: the next round, the first round that is still within, and its place in the ring.
NEXT, FIRST, SLOT, CLOCK = 0, 1, 2, 3
WAITING = -1.0  # in place of a reward that has not come

# What a discounted policy's weights hold: that of the present round's decision, and the sum over all decisions.
WEIGHT, SUM, WEIGHTS = 0, 1, 2
HEAVY = 1e100  # the weight at which all are scaled back


# The Bernoulli divergence


@kernel
def negative_entropy(mean):
    """``m ln m + (1-m) ln(1-m)``."""
    if mean <= 0.0 or mean >= 1.0:
        return 0.0
    return mean * np.log(mean) + (1.0 - mean) * np.log(1.0 - mean)


@kernel
def divergence(mean, q):
    """``kl(m, q)`` for 0 <= m, q <= 1; precise for close ones too."""
    if mean == q:
        return 0.0
    if q <= 0.0 or q >= 1.0:
        return np.inf
    total = 0.0
    if mean >= LEAST:
        total -= mean * np.log1p((q - mean) / mean)
    if mean < 1.0:
        total -= (1.0 - mean) * np.log1p((mean - q) / (1.0 - mean))
    return max(total, 0.0)


@kernel
def kl_upper(mean, level):
    """The largest q with ``kl(mean, q) <= level``."""
    return 1.0 - np.exp(-kl_depth(mean, level))


@kernel
def kl_depth(mean, level):
    """``-ln(1 - q)`` for the q of :func:`kl_upper`: it grows with q, and tells those apart that are close to 1."""
    if mean >= 1.0:
        return np.inf
    if level <= 0.0:
        return -np.log(1.0 - mean)
    if mean < LEAST:
        return level
    rest = 1.0 - mean
    entropy = negative_entropy(mean)
    depth = (level - entropy) / rest  # an upper bound of z = -ln(1 - q): it leaves out -m ln q
    if depth > TAIL:
        return _tail(mean, level - entropy, depth)
    # Upper bounds of q - m: kl is the integral of (x-m) / (x (1-x)), and x (1-x) <= 1/4 and <= q (1-m); the depth.
    half = level * rest
    gap = min(half + np.sqrt(half * (half + 2.0 * mean)), np.sqrt(0.5 * level))
    deepest = rest - np.exp(-depth)
    if 0.0 < deepest < gap:
        gap = deepest
    for _ in range(STEPS):
        # Newton's step for sqrt(kl), which is nearly straight in q
        value = -mean * np.log1p(gap / mean) - rest * np.log1p(-gap / rest)
        slope = gap / ((mean + gap) * (rest - gap))
        after = gap - 2.0 * (value - np.sqrt(max(value, 0.0) * level)) / slope
        if not 0.0 < after < rest:
            after = 0.5 * (gap + rest) if after >= rest else 0.5 * gap
        close = abs(after - gap) <= ENOUGH * min(gap, rest - gap)
        gap = after
        if close:
            break
    return -np.log(rest - gap)


@kernel
def _tail(mean, excess, depth):
    """The z with ``(1-m) z - m ln(1 - exp(-z)) = excess`` by Newton's method, from above its root."""
    rest = 1.0 - mean
    for _ in range(STEPS):
        small = np.exp(-depth)
        step = (rest * depth - mean * np.log1p(-small) - excess) / (rest - mean * small / (1.0 - small))
        depth -= step
        if not abs(step) > ENOUGH:
            break
    return depth


# The largest kl index


def new_bar():
    """A bar to begin with: the array that :func:`kl_best` keeps from round to round."""
    return np.array([0.5, np.log(0.5), np.log(0.5)])


@kernel
def kl_best(mean, entropy, count, level, bar):
    """The first arm of the largest kl index; before all others one with ``count`` 0.

    All are arrays over the arms: ``entropy`` holds :func:`negative_entropy` of the means, ``level[a]`` bounds
    ``count[a] kl(mean[a], q)``; an arm with ``level[a] < 0`` is left out. ``bar`` is from :func:`new_bar`.
    """
    for _ in range(BARS):
        best, number = _scan(mean, entropy, count, level, bar)
        if number == 1:
            return best
        best, found = _approach(mean, entropy, count, level, bar)
        if not found:
            break
    return best if best >= 0 else _settle(mean, entropy, count, level, bar)


@kernel
def _scan(mean, entropy, count, level, bar):
    """The last arm above the bar, and how many there are."""
    reach, log_room = 1.0 - bar[ROOM], bar[LOG_ROOM]
    slope = bar[LOG] - log_room
    last = -1
    number = 0
    for a in range(mean.size):
        over = count[a] * (entropy[a] - mean[a] * slope - log_room)
        if (over <= level[a]) | ((mean[a] > reach) & (level[a] >= 0.0)):
            last = a
            number += 1
    return last, number


@kernel
def _approach(mean, entropy, count, level, bar):
    """Put the bar between the two largest indices, as Newton's step from the bar has them.

    Returns the first arm with count 0, or -1, and whether there is a new bar.
    """
    reach, log_room = 1.0 - bar[ROOM], bar[LOG_ROOM]
    slope = bar[LOG] - log_room
    highest, second = -np.inf, -np.inf
    for a in range(mean.size):
        if level[a] < 0.0:
            continue
        if count[a] <= 0.0:
            return a, False
        ahead = level[a] - count[a] * (entropy[a] - mean[a] * slope - log_room)
        ahead = ahead / (count[a] * (reach - mean[a])) if mean[a] < reach else np.inf
        second = max(second, min(ahead, highest))
        highest = max(highest, ahead)
    if highest == np.inf or second == -np.inf or highest - second <= CLOSE * abs(highest):
        return -1, False
    _put(bar, bar[ROOM] - 0.5 * (highest + second) * reach * bar[ROOM])
    return -1, True


@kernel
def _settle(mean, entropy, count, level, bar):
    """The largest index, by solving that of every arm above the largest one so far; the bar is put just below it."""
    best = 0
    while level[best] < 0.0:
        best += 1
    depth = kl_depth(mean[best], level[best] / count[best])
    room = np.exp(-depth)
    log = np.log1p(-room)
    for a in range(best + 1, mean.size):
        if level[a] < 0.0 or depth == np.inf:
            continue
        over = count[a] * (entropy[a] - mean[a] * log + (1.0 - mean[a]) * depth)
        if depth > 0.0 and mean[a] <= 1.0 - room and over > level[a]:
            continue
        other = kl_depth(mean[a], level[a] / count[a])
        if other > depth:
            best = a
            depth = other
            room = np.exp(-depth)
            log = np.log1p(-room)
    _put(bar, (1.0 + DROP) * room)
    return best


@kernel
def _put(bar, room):
    """Set the bar to leave this room above it, or the nearest that it may."""
    bar[ROOM] = min(max(room, 0.25 * bar[ROOM], LEAST), HIGHEST)
    bar[LOG] = np.log1p(-bar[ROOM])
    bar[LOG_ROOM] = np.log(bar[ROOM])


# Windows. The state has `clock` (int64), `arms` and `rewards` (a ring with room for one round more than the window),
# and over the arms `asked` (decisions within), `told` (rewards within) and `total` (their sum).


@inlined_kernel
def enter(s, t, a):
    """The decision of round ``t`` enters the window, without its reward."""
    slot = _slot(s, t)
    s.arms[slot] = a
    s.rewards[slot] = WAITING
    s.asked[a] += 1.0
    s.clock[NEXT] = t + 1


@inlined_kernel
def leave(s):
    """The first round of the window leaves it; returns its arm, whose statistics have changed."""
    slot = s.clock[SLOT]
    a, y = s.arms[slot], s.rewards[slot]
    s.clock[FIRST] += 1
    s.clock[SLOT] = slot + 1 if slot + 1 < s.arms.size else 0
    s.asked[a] -= 1.0
    if y >= 0.0:
        s.told[a] -= 1.0
        s.total[a] = max(s.total[a] - y, 0.0) if s.told[a] > 0.0 else 0.0
    if slot == 0:
        _sum_anew(s)
    return a


@inlined_kernel
def arrive(s, t, a, y):
    """The reward of round ``t`` enters the window if its round is still within; returns whether it is."""
    if t < s.clock[FIRST]:
        return False
    s.rewards[_slot(s, t)] = y
    s.told[a] += 1.0
    s.total[a] += y
    return True


@inlined_kernel
def _slot(s, t):
    """The place of a round within the window in the ring."""
    slot = t - s.clock[FIRST] + s.clock[SLOT]
    return slot if slot < s.arms.size else slot - s.arms.size


@kernel
def _sum_anew(s):
    """Once in a turn of the ring, so that rounding errors do not add up."""
    for a in range(s.total.size):
        s.total[a] = 0.0
    for t in range(s.clock[FIRST], s.clock[NEXT]):
        slot = _slot(s, t)
        if s.rewards[slot] >= 0.0:
            s.total[s.arms[slot]] += s.rewards[slot]


MOST_ROUNDS = 10**8  # that a window remembers


def window_for(horizon: int, changes: int | None) -> int:
    """Garivier and Moulines' 2 sqrt(T ln T / L); one change if nothing, or none, is said."""
    return max(1, int(2.0 * np.sqrt(horizon * np.log(horizon) / max(changes or 1, 1))))


@kernel
def share(total, told, untold):
    """The mean of rewards within [0, 1], or a given value before the first."""
    return min(total / told, 1.0) if told > 0.0 else untold


# Discounting. Instead of making all of the past lighter in each round, the decisions get heavier. The state has
# `weights` and `clock` (the round of the latest decision), and over the arms `asked`, `told` and `total`: sums of
# weights. Divided by the weight of the latest decision they are those of the papers.


@inlined_kernel
def decide(s, t, a, discount):
    """The decision of round ``t``: the weights so far lose the factor ``discount``. Returns whether all were scaled."""
    s.weights[WEIGHT] /= discount
    s.weights[SUM] += s.weights[WEIGHT]
    s.asked[a] += s.weights[WEIGHT]
    s.clock[0] = t
    if s.weights[WEIGHT] < HEAVY:
        return False
    scale = 1.0 / s.weights[WEIGHT]
    s.weights[WEIGHT] = 1.0
    s.weights[SUM] *= scale
    for b in range(s.asked.size):
        s.asked[b] *= scale
        s.told[b] *= scale
        s.total[b] *= scale
    return True


@inlined_kernel
def receive(s, t, a, y, discount):
    """The reward of round ``t`` enters with the weight of its decision."""
    weight = s.weights[WEIGHT]
    if t < s.clock[0]:
        weight *= discount ** float(s.clock[0] - t)
    s.told[a] += weight
    s.total[a] += weight * y


def discount_for(horizon: int, changes: int | None) -> float:
    """Garivier and Moulines' 1 - sqrt(L/T) / 4; one change if nothing, or none, is said."""
    return 1.0 - 0.25 * float(np.sqrt(min(max(changes or 1, 1), horizon) / horizon))
