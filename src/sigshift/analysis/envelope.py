# mypy: allow-untyped-calls
"""Definition 1 of the paper, exactly, in one pass over the means: the kernels behind :mod:`sigshift.analysis.phases`.

Arm a incurs significant regret on the rounds [s1, s2], s1 < s2, if

    sum of delta_t(a) over s1 <= t <= s2  >=  sqrt(K (s2 - s1)),   delta_t(a) = max_a' mu_t(a') - mu_t(a).

With C the running sum of the arm's gaps over the whole run the test is ``C[s2 + 1] - C[s1] >= sqrt(K * (s2 - s1))``,
in these very floating-point numbers: a quadratic scan over ``np.cumsum`` finds the same phases. Why one pass is enough:

1. *Which starts matter.* For a given s2 the best s1 has the smallest ``C[s1] + sqrt(K (s2 - s1))``. The increments of
   the root shrink with s2 - s1, so a start s1 < s2 - 1 that is at least as good as its neighbours has a gap above that
   of round s1 - 1, above the mean gap of rounds s1 - 2 and s1 - 1, and not below the root's last increment before the
   horizon, sqrt(K) / (2 sqrt(T)): the others are no candidates (those before the phase do not count as neighbours).
   That leaves out every round with a gap of zero (also the first of a phase: its successor has the same C and a
   smaller root). The start s1 = s2 - 1 has no later neighbour and is tested by itself. A round without a gap makes no
   arm unsafe: C stands still while the root grows, and for s1 = s2 - 1 one gap alone is at most 1 < sqrt(K).
2. *Which candidate is best.* Of two candidates u < u' the later one is better at first (it has not made the arm unsafe
   yet) and the earlier one from round ``u' + ((h - d^2) / (2 d))^2`` on, where h = u' - u and d = (C[u'] - C[u]) /
   sqrt(K). A stack ordered by these take-over rounds has the best candidate on top; each candidate enters and leaves
   it once. A take-over after the horizon never comes.
3. *When to test.* Thresholds grow, so an arm at distance z of its threshold is safe until its C has grown by z; and an
   interval that starts later needs at least sqrt(K n) with n the least length whose n + 1 rounds could reach it.
4. *Constant gaps.* While C stays between two powers of two, adding the same gap adds the same rounded number, so C is
   exactly linear there and is known for millions of rounds at once. A candidate's excess over its threshold is convex
   in s2 on such a stretch and negative before it: looking at the end says whether the arm becomes unsafe, bisection
   says when. And within such a stretch the gap does not rise: its first round is the only candidate.

Two candidates that tie, or miss the threshold, by no more than rounding are both kept and tested as Definition 1 says.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigshift.kernel import cached_kernel

Means = NDArray[np.float64]
Rounds = NDArray[np.int64]

STRETCH = 128  # rounds that one arm is followed before the next one is
STEPS = 256  # a row of means has fewer candidates, however long: a few for each power of two up to 2^62
RESERVE = STRETCH + STEPS  # candidates that a stretch can add

# Relative slack in comparisons that only decide what is looked at: some roundings wide, so that no tie is lost.
NEAR = 1e-12
TIE = 1e-14
ROUNDING = 1e-15
LEAST = 5e-324

# Columns of a candidate: its round, C before it, and the round from which the candidate below it is better.
START, TOTAL, TAKEOVER = 0, 1, 2

# Entries of State.counts.
SEEN, SHIFTS, KEPT, SWITCHES, CHANGES = 0, 1, 2, 3, 4


class State(NamedTuple):
    """What the pass knows between two blocks of means."""

    totals: Means  # C of each arm before the next round
    previous: Means  # C one round earlier; infinite in the first round of a phase
    alarms: Means  # an arm with a smaller C need not be tested
    unsafe: Rounds  # the round at which the arm became unsafe in this phase, or -1
    candidates: Means  # [arm, place in the stack, column]
    sizes: Rounds  # candidates of each arm
    kept: Rounds  # arms that have been best since the last counted switch
    reached: Rounds  # an unsafe arm's C is that before this round ...
    rows: Rounds  # ... which lies in this row of the block
    earlier: Means  # the means of the last row
    counts: Rounds
    variation: Means  # one number
    shifts: Rounds  # significant shifts so far
    unsafe_at: Rounds  # [complete phase, arm]


@cached_kernel
def _steady(total, gap, rounds):  # type: ignore[no-untyped-def]
    """For how many rounds (at most ``rounds``) adding ``gap`` to ``total`` adds the same floating-point number.

    Between two powers of two the sums lie on one grid, so each addition rounds the gap alike, except that one that
    falls just between two points goes to the even one: from its second step on that is always the same side.
    """
    if rounds == 1:
        return 1
    following = total + gap
    gain = following - total
    if gain == 0.0:
        return rounds
    if total <= 0.0:
        return 1
    top = math.ldexp(1.0, math.frexp(total)[1])
    if following + gap >= top or (following + gap) - following != gain:
        return 1
    steps = (top - total - gap) / gain
    if steps < 2.0:
        return 1
    return rounds if steps >= rounds else int(steps)


@cached_kernel
def _advance(total, gap, rounds):  # type: ignore[no-untyped-def]
    """The running sum after ``rounds`` additions of ``gap``, as they would come out one by one."""
    while rounds > 0:
        steps = _steady(total, gap, rounds)
        total = total + gap if steps == 1 else total + steps * ((total + gap) - total)
        rounds -= steps
    return total


@cached_kernel
def _settle(candidates, sizes, arm, end, scale, horizon):  # type: ignore[no-untyped-def]
    """Put the candidates noted above the arm's stack, up to place ``end``, on it; drop what is never the best again."""
    size = sizes[arm]
    for place in range(size, end):
        start, total = candidates[arm, place, START], candidates[arm, place, TOTAL]
        d = 0.0
        ahead = 0.0
        while size > 0:
            h = start - candidates[arm, size - 1, START]
            d = (total - candidates[arm, size - 1, TOTAL]) * scale
            ahead = h - d * d
            # The take-over start + (ahead / (2 d))^2 against that of the candidate on top, without a division.
            if ahead * ahead <= 4.0 * d * d * (candidates[arm, size - 1, TAKEOVER] * (1.0 + TIE) - start):
                break
            size -= 1
        takeover = horizon
        if size > 0:
            root = ahead / (2.0 * d)
            takeover = start + root * root
        candidates[arm, size, START] = start
        candidates[arm, size, TOTAL] = total
        candidates[arm, size, TAKEOVER] = takeover
        size += 1
    sizes[arm] = size


@cached_kernel
def _significant(candidates, arm, place, arms, s2, total):  # type: ignore[no-untyped-def]
    """Definition 1 for the interval from this candidate to s2, where ``total`` is C[s2 + 1]."""
    length = s2 - candidates[arm, place, START]
    return total - candidates[arm, place, TOTAL] >= math.sqrt(arms * length)


@cached_kernel
def _look(candidates, sizes, arm, arms, s2, total):  # type: ignore[no-untyped-def]
    """Drop candidates that have been taken over by round s2; the least distance to a threshold, or 0 if unsafe.

    Nothing is dropped if the arm is unsafe.
    """
    size = sizes[arm]
    live = size
    while live > 1 and candidates[arm, live - 1, TAKEOVER] * (1.0 + TIE) < s2:
        live -= 1
    distance = np.inf
    near = False
    for place in range(max(live - 2, 0), live):
        threshold = math.sqrt(arms * (s2 - candidates[arm, place, START]))
        missing = threshold - (total - candidates[arm, place, TOTAL])
        distance = min(distance, missing)
        near = near or missing <= NEAR * threshold
    if near:
        for place in range(size):
            if _significant(candidates, arm, place, arms, s2, total):
                return 0.0
    sizes[arm] = live
    return max(distance, LEAST)


@cached_kernel
def _bisect(candidates, arm, place, arms, first, last, t, total, gain):  # type: ignore[no-untyped-def]
    """The earliest s2 in [first, last] at which this candidate makes the arm unsafe, as it does at ``last``."""
    while first < last:
        middle = (first + last) // 2
        if _significant(candidates, arm, place, arms, middle, total + (middle + 1 - t) * gain):
            last = middle
        else:
            first = middle + 1
    return last


@cached_kernel
def _glide(candidates, sizes, arm, t, total, gain, last, arms):  # type: ignore[no-untyped-def]
    """The arm's C is ``total`` before round t and grows by ``gain`` in each round up to ``last``; t has been tested.

    Returns when the arm becomes unsafe, or -1, and then the least distance to a threshold.
    """
    if (total + 2.0 * gain) - total >= math.sqrt(arms):
        return t + 1, 0.0
    distance = _look(candidates, sizes, arm, arms, last, total + (last + 1 - t) * gain)
    if distance > 0.0:
        return -1, distance
    for place in range(sizes[arm]):
        if _significant(candidates, arm, place, arms, last, total + (last + 1 - t) * gain):
            last = _bisect(candidates, arm, place, arms, t + 1, last, t, total, gain)
    return last, 0.0


@cached_kernel
def _compare(means, row, best, earlier, kept, counts):  # type: ignore[no-untyped-def]
    """The largest change of a mean since the row before; counts changes and the least number of best-arm switches."""
    arms = means.shape[1]
    largest = 0.0
    if row > 0:
        for arm in range(arms):
            largest = max(largest, abs(means[row, arm] - means[row - 1, arm]))
    elif counts[SEEN] > 0:
        for arm in range(arms):
            largest = max(largest, abs(means[row, arm] - earlier[arm]))
    counts[CHANGES] += largest > 0.0
    still = 0
    for place in range(counts[KEPT]):
        arm = kept[place]
        kept[still] = arm
        still += means[row, arm] == best
    if still == 0:
        for arm in range(arms):
            kept[still] = arm
            still += means[row, arm] == best
        counts[SWITCHES] += counts[SEEN]
    counts[KEPT] = still
    counts[SEEN] = 1
    return largest


@cached_kernel
def _sum(starts, means, bests, last, arm, state):  # type: ignore[no-untyped-def]
    """The arm's C before round ``last``."""
    total, first, row = state.totals[arm], state.reached[arm], state.rows[arm]
    while first < last:
        gap = bests[row] - means[row, arm]
        end = min(starts[row + 1], last)
        total = total + gap if end == first + 1 else _advance(total, gap, end - first)
        first = end
        row += 1
    return total


@cached_kernel
def _walk(starts, means, bests, row, rows, first, arm, horizon, fresh, state):  # type: ignore[no-untyped-def]
    """Follow an arm that is still safe from round ``first``, in this row, to the end of the row before ``rows``.

    Returns the round at which it becomes unsafe, or -1; ``reached`` then says for which round ``totals`` holds C.
    """
    candidates, sizes = state.candidates, state.sizes
    arms = float(means.shape[1])
    least = math.sqrt(arms)
    scale = 1.0 / least
    # A start with a smaller gap than the root's last increment is worse than its successor up to the horizon.
    floor = 0.5 * least / math.sqrt(horizon) * (1.0 - NEAR)
    total, before, alarm = state.totals[arm], state.previous[arm], state.alarms[arm]
    gain_1, gain_2 = total - before, -np.inf  # the gains of the last two rounds
    end = sizes[arm]  # of the stack and of the candidates noted above it
    t = first
    best, mean, ends = bests[row:rows], means[row:rows, arm], starts[row + 1 : rows + 1]
    for i in range(best.shape[0]):
        gap = best[i] - mean[i]
        last = ends[i]
        while True:
            # One round: the intervals that end with it, then the one that starts with it.
            following = total + gap
            gain = following - total
            if following >= alarm and gain > 0.0:
                if following - before >= least:
                    state.totals[arm], state.reached[arm], state.rows[arm] = total, t, row + i
                    return t
                _settle(candidates, sizes, arm, end, scale, horizon)
                distance = _look(candidates, sizes, arm, arms, t, following)
                end = sizes[arm]
                if distance == 0.0:
                    state.totals[arm], state.reached[arm], state.rows[arm] = total, t, row + i
                    return t
                alarm = min(following + distance, total + fresh) * (1.0 - ROUNDING)
            candidates[arm, end, START] = t
            candidates[arm, end, TOTAL] = total
            end += (gain > floor) & (gain > gain_1) & (gain + gain > gain_1 + gain_2)
            t += 1
            if t < last:
                # More rounds of the same gap: as many at once as add the same number.
                steps = _steady(total, gap, last - t + 1)
                if steps > 1:
                    before = total + (steps - 1) * gain
                    following = total + steps * gain
                    if following >= alarm and gain > 0.0:
                        _settle(candidates, sizes, arm, end, scale, horizon)
                        unsafe, distance = _glide(candidates, sizes, arm, t - 1, total, gain, t + steps - 2, arms)
                        end = sizes[arm]
                        if unsafe >= 0:
                            state.totals[arm], state.reached[arm], state.rows[arm] = total, t - 1, row + i
                            return unsafe
                        alarm = min(following + distance, before + fresh) * (1.0 - ROUNDING)
                    total = before
                    gain_1 = gain
                    t += steps - 1
            before = total
            total = following
            gain_1, gain_2 = gain, gain_1
            if t == last:
                break
    _settle(candidates, sizes, arm, end, scale, horizon)
    state.totals[arm], state.previous[arm], state.alarms[arm] = total, before, alarm
    return -1


@cached_kernel
def _restart(starts, means, bests, shift, fresh, state):  # type: ignore[no-untyped-def]
    """A phase begins with round ``shift``."""
    counts = state.counts
    state.shifts[counts[SHIFTS]] = shift
    for arm in range(means.shape[1]):
        state.unsafe_at[counts[SHIFTS], arm] = state.unsafe[arm]
        total = _sum(starts, means, bests, shift, arm, state)
        state.totals[arm] = total
        state.alarms[arm] = (total + fresh) * (1.0 - ROUNDING)
        state.previous[arm] = np.inf
        state.unsafe[arm] = -1
        state.sizes[arm] = 0
    counts[SHIFTS] += 1


@cached_kernel
def _follow(starts, means, bests, row, rows, horizon, fresh, state):  # type: ignore[no-untyped-def]
    """All arms over the rows from ``row`` to the one before ``rows``."""
    arms = means.shape[1]
    first = starts[row]
    while True:
        safe = 0
        for arm in range(arms):
            if state.unsafe[arm] < 0:
                state.unsafe[arm] = _walk(starts, means, bests, row, rows, first, arm, horizon, fresh, state)
                safe += state.unsafe[arm] < 0
        if safe > 0:
            break
        # No safe arm is left: a phase begins with the round that took the last one.
        shift = state.unsafe[0]
        for arm in range(1, arms):
            shift = max(shift, state.unsafe[arm])
        _restart(starts, means, bests, shift, fresh, state)
        first = shift
        while starts[row + 1] <= first:
            row += 1
    for arm in range(arms):
        if state.unsafe[arm] >= 0:
            state.totals[arm] = _sum(starts, means, bests, starts[rows], arm, state)
            state.reached[arm], state.rows[arm] = starts[rows], rows


@cached_kernel
def _scan(starts, means, bests, row, horizon, fresh, state):  # type: ignore[no-untyped-def]
    """Go through the rows of a block from ``row`` on; the row at which larger arrays are needed, or their number."""
    rows, arms = means.shape
    while row < rows:
        end, work = row, 0
        while end < rows and work < STRETCH:
            work += min(starts[end + 1] - starts[end], STEPS)
            end += 1
        largest = 0
        for arm in range(arms):
            largest = max(largest, state.sizes[arm])
        if largest + RESERVE > state.candidates.shape[1] or state.counts[SHIFTS] + STRETCH > state.shifts.shape[0]:
            return row
        for i in range(row, end):
            best = means[i, 0]
            for arm in range(1, arms):
                best = max(best, means[i, arm])
            bests[i] = best
            state.variation[0] += _compare(means, i, best, state.earlier, state.kept, state.counts)
        _follow(starts, means, bests, row, end, horizon, fresh, state)
        row = end
    for arm in range(arms):
        state.earlier[arm] = means[rows - 1, arm]
    return row


def least_significant(arms: int) -> float:
    """The least significant regret: sqrt(K n) for the least n >= 1 whose n + 1 rounds can reach it.

    (n + 1)^2 >= K n first holds at n = 1 for K <= 4, and at n = K - 2 for more arms.
    """
    return math.sqrt(arms * (1 if arms <= 4 else arms - 2))


def follow(state: State, starts: Rounds, means: Means, horizon: int) -> State:
    """The state after a block: ``means[i]`` are the means of the rounds ``starts[i] <= t < starts[i + 1]``."""
    state.rows[:] = 0
    bests = np.empty(len(means))
    fresh = least_significant(means.shape[1])
    row = 0
    while (row := _scan(starts, means, bests, row, float(horizon), fresh, state)) < len(means):
        state = _grown(state)
    return state


def first_state(arms: int) -> State:
    """The state before the first round."""
    fresh = least_significant(arms) * (1.0 - ROUNDING)
    return State(
        totals=np.zeros(arms),
        previous=np.full(arms, np.inf),
        alarms=np.full(arms, fresh),
        unsafe=np.full(arms, -1, np.int64),
        candidates=np.empty((arms, 2 * RESERVE, 3)),
        sizes=np.zeros(arms, np.int64),
        kept=np.zeros(arms, np.int64),
        reached=np.zeros(arms, np.int64),
        rows=np.zeros(arms, np.int64),
        earlier=np.zeros(arms),
        counts=np.zeros(5, np.int64),
        variation=np.zeros(1),
        shifts=np.empty(2 * STRETCH, np.int64),
        unsafe_at=np.empty((2 * STRETCH, arms), np.int64),
    )


def _grown(state: State) -> State:
    """The same state with twice the room for candidates and for phases."""
    return state._replace(
        candidates=np.concatenate([state.candidates, np.empty_like(state.candidates)], axis=1),
        shifts=np.concatenate([state.shifts, np.empty_like(state.shifts)]),
        unsafe_at=np.concatenate([state.unsafe_at, np.empty_like(state.unsafe_at)]),
    )
