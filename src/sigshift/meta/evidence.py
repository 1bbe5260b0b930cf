"""The eviction test (eq. elim): is there an interval on which an arm has lost too much to another?

With ``total[a]`` the running sum of ``|A_t| Y_t(a)`` over the rounds in which ``a`` was played, the evidence of
arm b against arm a on [s1, s2] is D(s2) - D(s1 - 1), D = total[b] - total[a]. It is tested against
``theta(s2 - s1)``, constant up to the age ``kink`` and then a square root. Six facts keep it exact and cheap:

1. Only rounds in which b has just gained can violate a pair (b, .): otherwise the sum fell and theta grew.
2. Only rounds in which b gained can be the best start: from any other, one round later is no worse.
3. A start is beaten for ever by a later one with D as small. Among the rest, past the kink, two starts change
   places once: first the later is better, then the earlier. A stack ordered by the time at which its top is
   overtaken holds exactly the starts that can still matter.
4. A pair at distance z below its threshold cannot violate it before b has gained z, nor can a start that is
   recorded meanwhile before b has gained theta(1). So b keeps a budget; its gains are only written down
   (``events``) until the budget is spent, and are then weighed together.
5. An arm that is alive in a base is alive in all bases above it: ``low[a]`` says it all. Starts are kept for
   each pair and base; when a base ends, its starts are pushed onto those of the base below.
6. What was seen while an arm was no candidate never decides: it is dead already wherever that could count.

Facts 1 and 2 need s1 < s2 to cost nothing. Where a single round can exceed theta(1), because the constants are
tiny (``p.tiny``) or several late rewards arrive in one round (``BURST``), it does, and the interval
[now - 1, now] is tested by itself for every pair.
"""

import numpy as np

from sigshift.kernel import inlined_kernel, kernel

# The entries of the state's ``clock``.
EPISODE_START = 0
EPISODES = 1
NOW = 2
TOP = 3
ACTIVE = 4
MASTER = 5
RESTARTS = 6
DUE = 7
CHANGED = 8
CROWDED = 9
TOP_START = 10
TOP_END = 11
GAINER = 12
GAINER_BEFORE = 13
BURST = 14
CLOCKS = 15

NEVER = 2**62

# The columns of a stack.
ROUND = 0
GAP = 1
OVERTAKEN = 2

SLACK = 1e-9  # a budget is spent a little early, so that rounding never delays a test


@inlined_kernel
def theta(p, n):
    """The threshold for an interval [s1, s1 + n]."""
    return p.outer * np.sqrt(p.inner * max(p.slope * n, p.floor))


@inlined_kernel
def record(p, s, b, t, gain):
    """Arm b gains ``gain`` = |A_t| Y_t for its decision in round t; its place in time is the present round."""
    now = s.clock[NOW]
    if s.clock[GAINER] >= 0 or t < s.clock[TOP_START]:
        s.clock[BURST] = now + 2
    s.clock[GAINER] = b
    if t < s.clock[TOP_START]:
        exclude(s, b, t, gain)
    elif s.clock[ACTIVE] > 1 or not s.candidates[s.clock[TOP], b]:
        count = s.waiting[b]
        if count == 0 or s.events[b, count - 1, b] < now:
            for a in range(s.total.size):
                s.events[b, count, a] = s.before[b] - s.before[a]
            s.events[b, count, b] = now
            s.waiting[b] = count + 1
    if nearly_full(s, b):
        s.budget[b] = 0.0
    if s.used[b] + 2 * s.waiting[b] + 8 > s.stacks.shape[1]:  # all that wait may move, and be left room for
        s.clock[CROWDED] = 1
    s.total[b] += gain
    s.budget[b] -= gain
    if s.budget[b] < 0.0:
        s.clock[DUE] = 1


@inlined_kernel
def nearly_full(s, b):
    """Whether what may come for arm b before its starts are moved, or its room grows, could exceed the room."""
    return s.waiting[b] + 2 * s.starts.size + 4 >= s.events.shape[1]


@kernel
def exclude(s, b, t, gain):
    """A late reward does not count for the bases that began after its decision: shift all their starts.

    So the last round before the first of those bases becomes a possible best start (it has lost fact 2's
    argument: one round later, the reward does not count), with the totals kept in ``entry``.
    """
    level = s.clock[TOP]
    while level > 0 and s.starts[level - 1] > t:
        level -= 1
    cut = s.starts[level]
    arms = s.total.size
    for a in range(arms):
        if a == b:
            continue
        for above in range(level, s.clock[TOP] + 1):
            for i in range(s.bounds[b * arms + a, above, 0], s.bounds[b * arms + a, above, 1]):
                s.stacks[b * arms + a, i, GAP] += gain
            for i in range(s.bounds[a * arms + b, above, 0], s.bounds[a * arms + b, above, 1]):
                s.stacks[a * arms + b, i, GAP] -= gain
        for i in range(s.waiting[a]):
            if s.events[a, i, a] >= cut:
                s.events[a, i, b] -= gain
    place = s.waiting[b]
    while place > 0 and s.events[b, place - 1, b] >= cut:
        place -= 1
        for a in range(arms):
            if a != b:
                s.events[b, place, a] += gain
    s.before[b] += gain
    if cut < s.clock[NOW]:
        s.earlier[b] += gain
    for above in range(level + 1, s.clock[TOP] + 1):
        s.entry[above, b] += gain
    if place == 0 or s.events[b, place - 1, b] < cut - 1:
        insert(s, b, place, cut - 1, level)


@kernel
def insert(s, b, place, u, level):
    """Let round u, the last before the base at ``level`` began, wait as a start of arm b."""
    for i in range(s.waiting[b], place, -1):
        for a in range(s.total.size):
            s.events[b, i, a] = s.events[b, i - 1, a]
    for a in range(s.total.size):
        s.events[b, place, a] = s.entry[level, b] - s.entry[level, a]
    s.events[b, place, b] = u
    s.waiting[b] += 1


@kernel
def weigh(p, s):
    """Carry out every test that the gains up to the present round call for."""
    arms = s.total.size
    if s.clock[DUE] > 0:
        s.clock[DUE] = 0
        for b in range(arms):
            if s.budget[b] < 0.0:
                mature(p, s, b)
                test(p, s, b)
    now = s.clock[NOW]
    if (p.tiny or now < s.clock[BURST]) and now > s.clock[EPISODE_START]:
        for b in range(arms):
            for a in range(arms):
                evidence = (s.total[b] - s.total[a]) - (s.earlier[b] - s.earlier[a])
                if evidence > theta(p, 1):
                    condemn(s, a, now - 1)


@kernel
def condemn(s, a, start):
    """Arm a has a violated interval that begins at ``start``: it dies in every base that had begun by then."""
    level = s.low[a]
    while level <= s.clock[TOP] and s.starts[level] <= start:
        level += 1
    if level > s.low[a]:
        s.low[a] = level
        s.clock[CHANGED] = 1


@kernel
def mature(p, s, b):
    """Move the starts of arm b that have passed the kink onto the stacks; the young ones go on waiting."""
    arms = s.total.size
    now = s.clock[NOW]
    top = s.clock[TOP]
    count = s.waiting[b]
    events = s.events[b]
    ripe = 0
    while ripe < count and now - events[ripe, b] >= p.kink:
        ripe += 1
    if ripe == 0:
        if nearly_full(s, b):
            s.clock[CROWDED] = 1
        return
    used = 0
    for a in range(arms):
        level = s.low[a]
        if a == b or level > top:
            continue
        stack = s.stacks[b * arms + a]
        bounds = s.bounds[b * arms + a]
        i = 0
        while i < ripe and events[i, b] < s.starts[level]:
            i += 1
        while i < ripe:
            while level < top and s.starts[level + 1] <= events[i, b]:
                level += 1
            bottom = bounds[level, 0]
            size = bounds[level, 1]
            old = size
            while i < ripe and (level == top or events[i, b] < s.starts[level + 1]):
                size = pushed(stack, bottom, size, events[i, b], events[i, a])
                old = min(old, size - 1)
                i += 1
            bounds[level, 1] = settle(p.root, now, stack, bottom, old, size)
        used = max(used, bounds[top, 1])
    s.used[b] = used
    for i in range(ripe, count):
        for a in range(arms):
            events[i - ripe, a] = events[i, a]
    s.waiting[b] = count - ripe
    if nearly_full(s, b):
        s.clock[CROWDED] = 1


@inlined_kernel
def pushed(stack, bottom, size, u, gap):
    """Put a start onto a stack that ends at ``size``, in place of those that it beats for ever; where it ends now."""
    while size > bottom and stack[size - 1, GAP] >= gap:
        size -= 1
    stack[size, ROUND] = u
    stack[size, GAP] = gap
    return size + 1


@inlined_kernel
def settle(root, now, stack, bottom, old, size):
    """Of the starts from place ``old`` on, none of them beaten by a later one, keep those that can still matter."""
    kept = old
    for i in range(old, size):
        u = stack[i, ROUND]
        gap = stack[i, GAP]
        when = np.inf
        while kept > bottom:
            when = crossing(root, stack[kept - 1, ROUND], stack[kept - 1, GAP], u, gap)
            if stack[kept - 1, OVERTAKEN] > when:
                break
            kept -= 1
            when = np.inf
        if when > now:
            stack[kept, ROUND] = u
            stack[kept, GAP] = gap
            stack[kept, OVERTAKEN] = when
            kept += 1
    return kept


@kernel
def join(root, now, stack, bounds, top):
    """Push the starts of the base at this level, which is over, onto those of the one below."""
    bottom = bounds[top - 1, 0]
    size = bounds[top - 1, 1]
    old = size
    for i in range(bounds[top, 0], bounds[top, 1]):
        size = pushed(stack, bottom, size, stack[i, ROUND], stack[i, GAP])
        old = min(old, size - 1)
    bounds[top - 1, 1] = settle(root, now, stack, bottom, old, size)


@inlined_kernel
def crossing(root, u, gap, later, later_gap):
    """The round from which on the earlier of two starts is the better one (theta past its kink)."""
    h = later - u
    d = (later_gap - gap) / root
    if d * d >= h:
        return -np.inf
    side = (h - d * d) / (2.0 * d)
    return later + side * side


@kernel
def test(p, s, b):
    """Test every pair (b, a) now, condemn what is violated, and set how much b may gain before the next test."""
    arms = s.total.size
    top = s.clock[TOP]
    now = s.clock[NOW]
    events = s.events[b]
    least = theta(p, 1)
    budget = least
    for a in range(arms):
        if a == b or s.low[a] > top:
            continue
        evidence = s.total[b] - s.total[a]
        pair = b * arms + a
        for level in range(top, s.low[a] - 1, -1):
            i = best(now, s.stacks[pair], s.bounds[pair, level])
            if i < 0:
                continue
            margin = s.stacks[pair, i, GAP] + theta(p, now - s.stacks[pair, i, ROUND]) - evidence
            if margin < 0.0:
                condemn(s, a, s.stacks[pair, i, ROUND])
                break
            budget = min(budget, margin)
        for i in range(s.waiting[b] - 1, -1, -1):
            u = events[i, b]
            if s.low[a] > top or u < s.starts[s.low[a]]:
                break
            margin = events[i, a] + least - evidence
            if margin < 0.0 and u < now:
                condemn(s, a, u)
            else:
                budget = min(budget, margin)
    s.budget[b] = budget * (1.0 - SLACK) - SLACK


@inlined_kernel
def best(now, stack, bound):
    """The place of the best start of a stack, or -1; what has been overtaken by now is forgotten."""
    size = bound[1]
    if size == bound[0]:
        return -1
    while size - 1 > bound[0] and stack[size - 1, OVERTAKEN] <= now:
        size -= 1
    bound[1] = size
    return size - 1
