"""AdSwitch: eliminate arms, go back to check the eliminated ones, and start over when any arm has changed.

Auer, Gajane, Ortner (COLT 2019), "Adaptively tracking the best bandit arm with an unknown number of distribution
changes", Algorithm 1. In an episode every arm is GOOD or BAD. The arm played is the one played least recently among
the GOOD arms and those BAD ones that have sampling obligations. With m_a[s, t] and n_a[s, t] the mean and the number
of a's rewards in the rounds s to t of the episode, after each round t:

    (3) a new episode, if for a GOOD arm a and some s1 <= s2 <= t, s <= t
        |m_a[s1, s2] - m_a[s, t]| > sqrt(2 ln(T) / n_a[s1, s2]) + sqrt(2 ln(T) / n_a[s, t])
    (4) a new episode, if for a BAD arm a and some s
        |m_a[s, t] - mean(a)| > gap(a) / 4 + sqrt(2 ln(T) / n_a[s, t])
    (1) a becomes BAD, if for some s
        max over GOOD b of m_b[s, t] - m_a[s, t] > sqrt(C1 ln(T) / (n_a[s, t] - 1))
    (2) and then mean(a) = m_a[s, t], and gap(a) is the left-hand side of (1).

Before each round, in episode l, every BAD arm and every e = 1/2, 1/4, ... with e >= gap(a) / 16 begin a check with
probability e sqrt(l / (K T ln(T))): the arm is played floor(2 ln(T) / e^2) more times.

``detection`` is the 2 of (3), (4) and the length of a check; ``eviction`` is C1. The paper wants C1 "sufficiently
large", its proof more than 8 (2n - 1) / n: None is 8 * detection, its limit of 16 for detection=2. ``checking`` is a
factor of the probability of a check, 1 in the paper. With these constants an arm is evicted after 16 ln(T) / gap^2 of
its rewards, so a horizon must be long to gain anything; smaller ones can be played, but are not proven.

Readings (docs/policies/unknown-changes.md has them all). The intervals of (3) may overlap, as its indices allow. If
several s evict an arm, the longest interval counts. When all are evicted at once, a new episode begins: something must
have changed. ln(T) is at least ln(2).

Cost. Tried one by one, (3) has O(t^3) intervals in round t. Here (3) and (4) are decided exactly, over all intervals:
with S the cumulated rewards of an arm, the lower bound (S[k] - S[j]) / (k - j) - sqrt(c / (k - j)) is largest in j at
a vertex of the lower convex hull of the points (j, S[j]), because -sqrt(c (k - j)) is convex in j. The hull of k
rewards has O(log k) vertices on average (independent rewards). Two intervals contradict each other if and only if the
largest lower bound so far exceeds the least upper bound so far (which is the same thing for 1 - reward).

(1) compares two arms, whose counts may differ; there the paper's Remark 3 is followed, which tests intervals of certain
lengths only. Counted in rewards of GOOD arms, the starts s are those after g of them, g a multiple of 2^i, while no
more than 8 * 2^i have come since. So for every s one is tried that keeps 3/4 of the rewards, and as GOOD arms are
played in turn and none returns, 3/4 of those of each (but for one). Nothing is evicted that would not be with all s,
and an arm that stays GOOD is at most about sqrt(4/3) as far behind: the guarantee keeps its form, with that factor in
its constant. All tests sleep until enough rewards have come to matter.

A reward that comes late counts from its arrival on, in the order of arrival; one from before the episode is dropped.
Arms may then have unequal counts: n_a - 1 in (1) is the smaller of that and n_b, which is the same without delay.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.detectors.hull import FIT, ROOM, ROUND, SUM, push
from sigshift.kernel import inlined_kernel, kernel
from sigshift.rng import uniform

PAPER = "Auer, Gajane, Ortner 2019"
GUARANTEE = "L changes, not told: O(sqrt((L + 1) K T log(T))), eviction large enough"

# The entries of the state's ``clock``.
START = 0  # the episode's first round
EPISODES = 1
AGE = 2  # rewards of GOOD arms in this episode
OVER = 3  # a new episode begins with the next round: by itself (1), or by decree (2)
DUE = 4  # AGE at which (1) must next be tested
UNCHECKED = 5  # arms that were evicted by the last reward
RESTARTS = 6
CLOCKS = 7

NEVER = 2**62
SLACK = 1e-9  # tests are woken a little early, so that rounding never delays one
STARTS = 4  # starts of each power of two that are tried at once
FINEST = 30  # checks for changes of less than 2^-30 would take longer than any horizon


class Params(NamedTuple):
    threshold: float  # C1 ln(T)
    confidence: float  # detection * ln(T)
    rate: float  # the probability of a check is e * rate * sqrt(episode)
    coarsest: int  # starts are multiples of 2^coarsest: in shorter intervals (1) cannot hold
    levels: int


class State(NamedTuple):
    key: np.uint64
    clock: np.ndarray
    load: np.ndarray  # at least the expected number of checks that begin in a round
    good: np.ndarray  # [arm]
    retired: np.ndarray  # [arm] never to be played again
    last: np.ndarray  # [arm] the round in which it was last played
    asked: np.ndarray  # [arm] how often in this episode
    until: np.ndarray  # [arm] sampling obligations: play it until it has been asked so often
    mean: np.ndarray  # [arm] of a BAD arm, by (2)
    gap: np.ndarray
    quiet: np.ndarray  # [arm] the probability that no check of it begins
    told: np.ndarray  # [arm] its rewards in this episode
    total: np.ndarray  # [arm] their sum
    points: np.ndarray  # [arm, side, i, :] the vertices of the hull: the upper one for side 0, the lower one for side 1
    sizes: np.ndarray  # [arm, side] how many
    bar: np.ndarray  # [arm, side] what a lower bound must exceed: of GOOD arms the largest so far, of BAD ones (4)
    wake: np.ndarray  # [arm, side] what `told` must be before it can
    short: np.ndarray  # whether the state should grow
    unchecked: np.ndarray  # [arm] evicted by the last reward
    found: np.ndarray  # [arm] the longest interval that evicts it: its start
    grid: np.ndarray  # [i] the starts that are tried
    due: np.ndarray  # [i] AGE at which each must next be tested
    grid_told: np.ndarray  # [i, arm] `told` at that start
    grid_sum: np.ndarray  # [i, arm] and the sum of the rewards
    restarts: np.ndarray  # the rounds of the restarts


def configure(arms, horizon, *, detection: float = 2.0, eviction: float | None = None, checking: float = 1.0) -> Params:
    detection = real("detection", detection, "The paper has 2; 0.2 can be played.", above=0.0)
    if eviction is None:
        eviction = 8.0 * detection
    else:
        eviction = real("eviction", eviction, "The constant C1; None is 8 * detection, as in the paper.", above=0.0)
    checking = real("checking", checking, "The paper has 1; 0 means that BAD arms are not checked.", least=0.0)
    log = float(np.log(max(horizon, 2)))
    threshold = eviction * log
    coarsest = 0
    while 8 * 2**coarsest <= 2.0 * threshold + 1.0 and coarsest < FINEST:
        coarsest += 1
    return Params(
        threshold=threshold,
        confidence=detection * log,
        rate=checking / float(np.sqrt(arms * float(horizon) * log)),
        coarsest=coarsest,
        levels=max(1, int(horizon).bit_length() - coarsest + 1),
    )


def init(p, arms, key):
    starts = 1 + STARTS * p.levels
    state = State(
        key=key,
        clock=np.zeros(CLOCKS, np.int64),
        load=np.zeros(1),
        good=np.zeros(arms, np.bool_),
        retired=np.zeros(arms, np.bool_),
        last=np.full(arms, -1, np.int64),
        asked=np.zeros(arms, np.int64),
        until=np.zeros(arms, np.int64),
        mean=np.zeros(arms),
        gap=np.zeros(arms),
        quiet=np.ones(arms),
        told=np.zeros(arms, np.int64),
        total=np.zeros(arms),
        points=np.zeros((arms, 2, ROOM, FIT + 1)),
        sizes=np.ones((arms, 2), np.int64),
        bar=np.zeros((arms, 2)),
        wake=np.zeros((arms, 2), np.int64),
        short=np.zeros(1, np.bool_),
        unchecked=np.zeros(arms, np.bool_),
        found=np.zeros(arms, np.int64),
        grid=np.zeros(starts, np.int64),
        due=np.zeros(starts, np.int64),
        grid_told=np.zeros((starts, arms), np.int64),
        grid_sum=np.zeros((starts, arms)),
        restarts=np.zeros(16, np.int64),
    )
    state.clock[OVER] = 2
    return state


@kernel
def select(p, s, t):
    if s.clock[OVER] > 0:
        begin_episode(p, s, t)
    chosen = least_recent(s)
    chance = 1.0
    if s.load[0] > 0.0:
        if uniform(s.key, t, 0) < s.load[0]:
            chosen, chance = begin_checks(p, s, t, chosen)
        for b in range(s.good.size):  # whoever sleeps still and would have come before the chosen one
            if sleeps(s, b) and s.last[b] < s.last[chosen]:
                chance *= s.quiet[b]
    s.last[chosen] = t
    s.asked[chosen] += 1
    return chosen, chance


@inlined_kernel
def sleeps(s, a):
    """Whether arm a is BAD and has no obligation."""
    return not s.good[a] and not s.retired[a] and s.until[a] <= s.asked[a]


@inlined_kernel
def least_recent(s):
    """The arm played least recently among those that do not sleep."""
    chosen = -1
    for a in range(s.good.size):
        if (s.good[a] or s.until[a] > s.asked[a]) and (chosen < 0 or s.last[a] < s.last[chosen]):
            chosen = a
    return chosen


@kernel
def begin_checks(p, s, t, chosen):
    """Begin the checks of round t; the arm that is now played, and the probability that it is awake.

    The first check in order of the arms is drawn by one number, the first among the later arms by the next, and so on.
    Of several checks of an arm the longest counts.
    """
    awake = 1.0
    draws = 0
    left = uniform(s.key, t, 0)
    reached = 0.0
    survival = 1.0
    for a in range(s.good.size):
        if s.good[a] or s.retired[a]:
            continue
        i = finest(s.gap[a])
        while i >= 1:
            probability = chance_of(p, s, i)
            reached += survival * probability
            if left < reached:
                if sleeps(s, a) and s.last[a] < s.last[chosen]:
                    chosen = a
                    awake = 1.0 - s.quiet[a]
                s.until[a] = max(s.until[a], s.asked[a] + length_of(p, i))
                draws += 1
                left = uniform(s.key, t, draws)
                reached = 0.0
                survival = 1.0
                break
            survival *= 1.0 - probability
            i -= 1
    return chosen, awake


@inlined_kernel
def finest(gap):
    """The largest i with 2^-i >= gap / 16."""
    i = 0
    while i < FINEST and 2.0 ** -(i + 1) >= gap / 16.0:
        i += 1
    return i


@inlined_kernel
def chance_of(p, s, i):
    return min(1.0, 2.0**-i * p.rate * np.sqrt(float(s.clock[EPISODES])))


@inlined_kernel
def length_of(p, i):
    return max(1, int(min(p.confidence * 4.0**i, 2.0**50)))


@kernel
def begin_episode(p, s, t):
    """Every arm is GOOD again and nothing is known."""
    if s.clock[OVER] == 1:
        s.restarts[s.clock[RESTARTS]] = t
        s.clock[RESTARTS] += 1
        if s.clock[RESTARTS] + 1 >= s.restarts.size:
            s.short[0] = True
    s.clock[START] = t
    s.clock[EPISODES] += 1
    s.clock[AGE] = 0
    s.clock[OVER] = 0
    s.clock[UNCHECKED] = 0
    s.load[0] = 0.0
    for a in range(s.good.size):
        s.good[a] = not s.retired[a]
        s.asked[a] = 0
        s.until[a] = 0
        s.quiet[a] = 1.0
        s.told[a] = 0
        s.total[a] = 0.0
        s.unchecked[a] = False
        s.grid_told[0, a] = 0
        s.grid_sum[0, a] = 0.0
        for side in range(2):
            s.sizes[a, side] = 1
            s.bar[a, side] = -1.0 - np.sqrt(p.confidence)
            s.wake[a, side] = 0
    for i in range(1, s.grid.size):
        s.grid[i] = NEVER
        s.due[i] = NEVER
    s.grid[0] = 0
    s.due[0] = int(min(p.threshold, 2.0**50))
    s.clock[DUE] = s.due[0]


@kernel
def update(p, s, t, a, y, q):
    clock = s.clock
    if t < clock[START] or clock[OVER] > 0:
        return
    if s.told[a] > 0:  # intervals may begin after the rewards so far
        push(s.points[a], s.sizes[a], s.short, float(s.told[a]), s.total[a])
    s.told[a] += 1
    s.total[a] += y
    if changed(p, s, a):
        clock[OVER] = 1
        return
    if not s.good[a]:
        return
    clock[AGE] += 1
    if clock[AGE] >= clock[DUE]:
        evict(p, s)
    if clock[AGE] & ((1 << p.coarsest) - 1) == 0:
        begin_interval(p, s)


@kernel
def changed(p, s, a):
    """Conditions (3) and (4) after a reward of arm a."""
    if s.clock[UNCHECKED] > 0:
        s.clock[UNCHECKED] = 0
        for b in range(s.good.size):
            if s.unchecked[b]:
                s.unchecked[b] = False
                if b != a and (exceeds(p, s, b, 0) or exceeds(p, s, b, 1)):
                    return True
    for side in range(2):
        if s.told[a] >= s.wake[a, side] and exceeds(p, s, a, side) and not s.good[a]:
            return True
    return s.good[a] and s.bar[a, 0] + s.bar[a, 1] > 1.0


@kernel
def exceeds(p, s, a, side):
    """Whether some interval of arm a that ends now has a lower bound above the bar, which follows if a is GOOD.

    Side 1 is that of the rewards, side 0 that of 1 - reward, whose lower bounds are upper bounds of the rewards. Both
    are at most 1, so a number of them is needed before an interval that has begun can have one, and before one that is
    to begin can: until then the arm need not be looked at.
    """
    now = float(s.told[a])
    vertices = s.points[a, side]
    bar = s.bar[a, side]
    largest = bar
    missing = p.confidence / max(1.0 - bar, SLACK)
    for i in range(s.sizes[a, side]):
        n = now - vertices[i, ROUND]
        gain = s.total[a] - vertices[i, SUM]
        if side == 0:
            gain = n - gain
        less = n * bar + np.sqrt(p.confidence * n) - gain
        missing = min(missing, less)
        if less < SLACK:
            largest = max(largest, gain / n - np.sqrt(p.confidence / n))
    if s.good[a]:
        s.bar[a, side] = largest
    rest = min(missing / max(1.0 - bar, SLACK), 2.0**50) * (1.0 - SLACK) - SLACK
    s.wake[a, side] = s.told[a] + 1 + int(max(0.0, rest))
    return largest > bar


@kernel
def evict(p, s):
    """Condition (1) for all starts that are due, then (2)."""
    arms = s.good.size
    for a in range(arms):
        s.found[a] = NEVER
    s.clock[DUE] = NEVER
    for i in range(s.grid.size):
        if s.due[i] <= s.clock[AGE]:
            s.due[i] = s.clock[AGE] + 1 + compare(p, s, i)
        s.clock[DUE] = min(s.clock[DUE], s.due[i])
    left = 0
    for a in range(arms):
        if s.found[a] < NEVER:
            leave(p, s, a)
        if s.good[a]:
            left += 1
    if left == 0:
        s.clock[OVER] = 1


@kernel
def compare(p, s, i):
    """All GOOD arms on the interval that begins at start i; returns how many rewards may come before the next time."""
    arms = s.good.size
    fewest = NEVER
    most = 0
    best = 0.0
    for a in range(arms):
        if s.good[a]:
            n = s.told[a] - s.grid_told[i, a]
            fewest = min(fewest, n)
            most = max(most, n)
            if n > 0:
                best = max(best, (s.total[a] - s.grid_sum[i, a]) / n)
    least = 2.0**50
    for a in range(arms):
        if not s.good[a]:
            continue
        n = s.told[a] - s.grid_told[i, a]
        mean = (s.total[a] - s.grid_sum[i, a]) / n if n > 0 else 0.0
        if fewest >= most - 1:  # always so without delay: the best arm decides, whoever it is
            least = min(least, judge(p, s, i, a, n - 1, mean, best - mean))
        else:
            for b in range(arms):
                if b != a and s.good[b]:
                    m = s.told[b] - s.grid_told[i, b]
                    other = (s.total[b] - s.grid_sum[i, b]) / m if m > 0 else 0.0
                    least = min(least, judge(p, s, i, a, min(n - 1, m), mean, other - mean))
    return int(max(0.0, least * (1.0 - SLACK) - SLACK))


@inlined_kernel
def judge(p, s, i, a, n, mean, gap):
    """Whether a falls behind by this gap; how many rewards cannot make it so. One moves the gap by at most 1/n."""
    if n <= p.threshold:  # the right-hand side is at least 1
        return np.floor(p.threshold) - n
    side = np.sqrt(p.threshold / n)
    if gap > side:
        if s.grid[i] < s.found[a]:
            s.found[a] = s.grid[i]
            s.mean[a] = mean
            s.gap[a] = gap
        elif s.grid[i] == s.found[a]:
            s.gap[a] = max(s.gap[a], gap)
        return 0.0
    return (side - gap) * n / (1.0 + side / 2.0)


@kernel
def leave(p, s, a):
    """Arm a becomes BAD."""
    s.good[a] = False
    s.until[a] = 0
    s.unchecked[a] = True
    s.clock[UNCHECKED] += 1
    s.bar[a, 0] = 1.0 - s.mean[a] + s.gap[a] / 4.0
    s.bar[a, 1] = s.mean[a] + s.gap[a] / 4.0
    s.wake[a, 0] = 0
    s.wake[a, 1] = 0
    s.quiet[a] = 1.0
    for i in range(1, finest(s.gap[a]) + 1):
        s.quiet[a] *= 1.0 - chance_of(p, s, i)
        s.load[0] += chance_of(p, s, i)


@kernel
def begin_interval(p, s):
    """A start of the grid; the one whose place it takes is 8 times its power of two old."""
    age = s.clock[AGE]
    level = p.coarsest
    while (age >> level) & 1 == 0:
        level += 1
    i = 1 + STARTS * min(level - p.coarsest, p.levels - 1) + (age >> (level + 1)) % STARTS
    s.grid[i] = age
    s.due[i] = age + int(min(p.threshold, 2.0**50))
    s.clock[DUE] = min(s.clock[DUE], s.due[i])
    for a in range(s.good.size):
        s.grid_told[i, a] = s.told[a]
        s.grid_sum[i, a] = s.total[a]


@kernel
def crowded(p, s):
    return s.short[0]


def grow(p, s):
    """The same state with twice the room for the hulls and the restarts."""
    wider = {name: np.concatenate([getattr(s, name)] * 2, axis) for name, axis in (("points", 2), ("restarts", 0))}
    s.short[0] = False
    return s._replace(**wider)


def retire_arm(p, s, a):
    """The arm is neither GOOD nor BAD from now on; its place stays. Without GOOD arms a new episode begins."""
    s.retired[a] = True
    s.good[a] = False
    s.unchecked[a] = False
    s.until[a] = 0
    if not s.good.any():
        s.clock[OVER] = 2
    return s


def add_arm(p, s, fresh):
    """An addition is a change by decree: a new episode, with the memory of the restarts."""
    fresh.retired[:-1] = s.retired
    fresh.last[:-1] = s.last
    fresh.clock[[EPISODES, RESTARTS]] = s.clock[[EPISODES, RESTARTS]]
    return fresh._replace(restarts=s.restarts)


def restarts(p, s):
    return s.restarts[: s.clock[RESTARTS]]


def inspect(p, s, origin, names):
    """The episode, and what is known of the arms that have been evicted."""
    arms = range(s.good.size)
    bad = [
        {
            "arm": names[a],
            "mean": float(s.mean[a]),
            "gap": float(s.gap[a]),
            "plays_left": max(0, int(s.until[a] - s.asked[a])),
        }
        for a in arms
        if not s.good[a] and not s.retired[a]
    ]
    return {
        "episode": int(s.clock[EPISODES]),
        "episode_start": origin + int(s.clock[START]),
        "good": [names[a] for a in arms if s.good[a]],
        "bad": bad,
    }
