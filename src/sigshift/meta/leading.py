"""What the calibrated META exploits by: an index on the rewards of each arm since it last changed for certain.

Three statistics of an arm a, each of its own rewards:

*What is known*: number and mean since the arm was last forgotten. In a round that explores nothing, the arm is played
whose index is largest, the largest q with ``N kl(mean, q) <= index * ln(n / sqrt(N))``, n the rounds since it was
forgotten. The arm of the largest mean is the *leader*.

*What was recent*: number and sum since its last change. After the n-th of these rewards some windows of the latest w
end at a power of two that divides n, 2^j: w = 2 2^j, 3 2^j (and 1). Means that differ by more than chance,

    w kl(new, all) + (n - w) kl(old, all) > change * (ln(3 sqrt(t)) + 1.5 ln(1 + n / w)),

are a change, and the window is all that is recent from then on. There are two windows for each reward on average.

*At what level* it is known: the mean over its rewards of what the leader paid recently in these rounds. So it can be
said what it would pay now if all had changed alike: its mean, plus what the leader pays, less that level.

An arm whose latest window is likely to beat the leader, ``w kl(new, leader) > promotion * ln(t)``, is known by this
window alone from then on: its index is large, it is played, and if that was chance, a few rounds show it. This finds
an arm that has risen unseen some four times sooner than a test for a change of its own mean.
"""

from typing import NamedTuple

import numpy as np

from sigshift.indices import divergence, kl_best, negative_entropy, new_bar, share
from sigshift.kernel import inlined_kernel, kernel

SIZES = 48  # windows of up to 3 * 2^47 rewards
UNTOLD = 0.5

# What learn() has found.
NOTHING, CHANGED, PROMOTED = 0, 1, 2


class Params(NamedTuple):
    """What the kernels read."""

    lightness: float
    change: float
    promotion: float


class State(NamedTuple):
    """What is known of each arm."""

    leader: np.ndarray
    since: np.ndarray  # the round in which it was forgotten; rewards of earlier decisions count for nothing
    asked: np.ndarray  # its decisions since
    told: np.ndarray  # their rewards that have come
    total: np.ndarray  # and the sum of these
    level: np.ndarray  # the sum, over these rewards, of what the leader paid recently
    mean: np.ndarray
    entropy: np.ndarray  # the negative entropy of the mean
    room: np.ndarray  # the right side of the index; -1 for an arm that may not be played
    bar: np.ndarray
    recent: np.ndarray  # how many rewards it has had since its last change
    paid: np.ndarray  # and their sum
    first: np.ndarray  # how many of them came at once
    marks: np.ndarray  # [arm, j, i] the sum of the recent rewards at the latest multiples of 2^j
    found: np.ndarray  # size and sum of the window that was found last


def init(arms: int) -> State:
    """Nothing is known."""
    return State(
        leader=np.zeros(1, np.int64),
        since=np.zeros(arms, np.int64),
        asked=np.zeros(arms),
        told=np.zeros(arms),
        total=np.zeros(arms),
        level=np.zeros(arms),
        mean=np.full(arms, UNTOLD),
        entropy=np.full(arms, negative_entropy(UNTOLD)),
        room=np.zeros(arms),
        bar=new_bar(),
        recent=np.zeros(arms, np.int64),
        paid=np.zeros(arms),
        first=np.zeros(arms, np.int64),
        marks=np.zeros((arms, SIZES, 4)),
        found=np.zeros(2),
    )


@inlined_kernel
def best_index(s):
    """The arm of the largest index."""
    return kl_best(s.mean, s.entropy, s.asked, s.room, s.bar)


@inlined_kernel
def allow(p, s, a, t):
    """Let the index of arm a have the room that is right in round t, if it may be played at all."""
    if s.room[a] < 0.0:
        return
    n = s.asked[a]
    age = t + 1.0 - s.since[a] + n
    s.room[a] = p.lightness * np.log(max(age / np.sqrt(max(n, 1.0)), 1.0))


@kernel
def pay(s):
    """What the leader has paid recently."""
    leader = s.leader[0]
    return s.paid[leader] / s.recent[leader] if s.recent[leader] > 0 else UNTOLD


@kernel
def follow(s):
    """The leader is the arm of the largest mean that may be played; levels are its own from now on."""
    best = s.leader[0]
    for a in range(s.mean.size):
        better = s.mean[a] > s.mean[best] or s.told[best] == 0.0 or s.room[best] < 0.0
        if better and s.told[a] > 0.0 and s.room[a] >= 0.0:
            best = a
    if best != s.leader[0]:
        rise = -pay(s)
        s.leader[0] = best
        rise += pay(s)
        for a in range(s.mean.size):
            s.level[a] += s.told[a] * rise


@kernel
def forget(p, s, a, t, n, total):
    """Arm a is known by its last n rewards only."""
    s.since[a] = t
    s.told[a] = n
    s.asked[a] = n
    s.total[a] = total
    s.level[a] = n * pay(s)
    estimate(s, a)
    allow(p, s, a, t)


@kernel
def fade(p, s, a, t, n):
    """What is known of arm a weighs no more than n rewards."""
    if s.told[a] > n:
        share = n / s.told[a]
        s.told[a] = n
        s.asked[a] = n
        s.total[a] *= share
        s.level[a] *= share
        allow(p, s, a, t)


@kernel
def add(p, s, a, t, n, total):
    """Rewards of arm a that were seen elsewhere."""
    s.told[a] += n
    s.total[a] += total
    s.level[a] += n * pay(s)
    estimate(s, a)
    allow(p, s, a, t)


@kernel
def recall(s, a, n, total):
    """Arm a has had n rewards since its last change."""
    s.recent[a] = n
    s.paid[a] = total
    s.first[a] = n


@inlined_kernel
def estimate(s, a):
    """What the index reads of arm a: its mean and the negative entropy of that."""
    s.mean[a] = share(s.total[a], s.told[a], UNTOLD)
    s.entropy[a] = negative_entropy(s.mean[a])


@inlined_kernel
def learn(p, s, a, y, t):
    """A reward of arm a. Returns what it shows; ``found`` has the window."""
    s.told[a] += 1.0
    s.total[a] += y
    s.level[a] += pay(s)
    estimate(s, a)
    s.recent[a] += 1
    s.paid[a] += y
    n, total, level = s.recent[a], s.paid[a], pay(s)
    shown = NOTHING
    size = 0
    while n % (1 << size) == 0:
        marks = s.marks[a, size]
        place = n >> size
        for count in range(1 if size == 0 else 2, 4):
            w = count << size
            if shown == NOTHING and n - w > s.first[a]:
                x = total - marks[(place - count) & 3]
                if _changed(p, n, total, w, x, t):
                    shown = CHANGED
                elif a != s.leader[0] and _beats(p, s, a, w, x, level, t):
                    shown = PROMOTED
                if shown != NOTHING:
                    s.found[0] = w
                    s.found[1] = x
        marks[place & 3] = total
        size += 1
    return shown


@inlined_kernel
def _beats(p, s, a, w, x, level, t):
    """Does the window promise more than the leader, and more than is known of the arm?"""
    if x <= w * level or x <= w * s.mean[a] or s.told[a] <= w:
        return False
    return w * divergence(min(x / w, 1.0), level) > p.promotion * np.log(t + 1.0)


@kernel
def _changed(p, n, total, w, x, t):
    """Do the last w of n rewards differ from those before by more than chance?"""
    mean = total / n
    gap = x / w - (total - x) / (n - w)
    bar = p.change * (np.log(3.0 * np.sqrt(t + 1.0)) + 1.5 * np.log(1.0 + n / w))
    if w * (n - w) * gap * gap <= bar * mean * (1.0 - mean) * n:  # at least the statistic: kl <= chi-square
        return False
    return _fit(float(w), x) + _fit(float(n - w), total - x) - _fit(float(n), total) > bar


@kernel
def _fit(m, total):
    """The largest log-likelihood of m rewards of this sum."""
    return _entropy(total) + _entropy(m - total) - _entropy(m)


@inlined_kernel
def _entropy(x):
    return x * np.log(x) if x > 0.0 else 0.0
