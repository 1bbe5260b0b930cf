"""Algorithm 1 and 2 without the test: episodes, the stack of bases, the schedule of replays.

The stack holds the episode's root (level 0) and the bases that interrupted one another, the active one on top.
When a replay begins, every base above the root that is scheduled to end no later would never be active again;
it is dropped at once. What is left is properly nested, so at most ceil(log2 T) + 1 deep.

The law of the schedule and the listing of the stack serve :mod:`sigshift.meta.conscience` too.
"""

import numpy as np

from sigshift.kernel import inlined_kernel, kernel
from sigshift.meta.evidence import (
    ACTIVE,
    BURST,
    CHANGED,
    CROWDED,
    DUE,
    EPISODE_START,
    EPISODES,
    GAINER,
    GAINER_BEFORE,
    MASTER,
    NEVER,
    NOW,
    RESTARTS,
    TOP,
    TOP_END,
    TOP_START,
    join,
    mature,
    theta,
    weigh,
)


@inlined_kernel
def advance(p, s, t, chance):
    """All that lies between the play of round t - 1 and that of round t."""
    clock = s.clock
    age = t - clock[EPISODE_START]
    if age > 0:
        replay = chance * np.sqrt(float(age)) < p.replay_bound
        if replay or p.tiny or clock[DUE] > 0 or clock[CHANGED] > 0 or t > clock[TOP_END] or t <= clock[BURST]:
            act(p, s, t, replay_length(p.replay_rate, 2, p.longest, age, chance) if replay else 0)
    if t <= clock[BURST]:
        for a in range(s.total.size):
            s.earlier[a] = s.before[a]
            s.before[a] = s.total[a]
    else:  # the same, for the one arm that gained
        if clock[GAINER_BEFORE] >= 0:
            s.earlier[clock[GAINER_BEFORE]] = s.before[clock[GAINER_BEFORE]]
        if clock[GAINER] >= 0:
            s.before[clock[GAINER]] = s.total[clock[GAINER]]
    clock[GAINER_BEFORE] = clock[GAINER]
    clock[GAINER] = -1
    clock[NOW] = t


@kernel
def act(p, s, t, m):
    """The tests, and then a replay of length m if there is one, or else returns, evictions and perhaps a restart."""
    weigh(p, s)
    if m > 0:
        spawn(p, s, t, m)
        return
    expire(p, s, t)
    if s.clock[CHANGED] > 0:
        evict(s)
    if s.clock[MASTER] == 0:
        begin_episode(p, s, t)
        count_restart(s, t)


@kernel
def count_restart(s, t):
    """Note that the episode which begins in round t does so because the one before has failed."""
    s.restarts[s.clock[RESTARTS]] = t
    s.clock[RESTARTS] += 1
    if s.clock[RESTARTS] + 1 >= s.restarts.size:
        s.clock[CROWDED] = 1


@kernel
def replay_length(rate, shortest, longest, age, chance):
    """The largest m = longest, longest / 2, ... >= shortest with B_{s,m} = 1 at age s - t_l, or 0, from one number.

    Going down from the largest m, the survival of all larger ones is multiplied. (The sum of all probabilities
    bounds the whole; by it :func:`advance` settles almost every round.)
    """
    reached = 0.0
    survival = 1.0
    m = longest
    while m >= shortest:
        probability = min(1.0, rate / np.sqrt(float(m) * age))
        reached += survival * probability
        if chance < reached:
            return m
        survival *= 1.0 - probability
        m //= 2
    return 0


@kernel
def begin_episode(p, s, t):
    """Lines 2 to 5 of Algorithm 1: every arm is a candidate again and nothing is known."""
    arms = s.total.size
    s.clock[EPISODE_START] = t
    s.clock[EPISODES] += 1
    s.clock[DUE] = 0
    s.clock[GAINER] = -1
    s.clock[GAINER_BEFORE] = -1
    s.clock[BURST] = -1
    s.starts[0] = t
    s.lengths[0] = p.horizon - t
    activate(s, 0)
    least = theta(p, 1)
    for a in range(arms):
        s.total[a] = 0.0
        s.before[a] = 0.0
        s.earlier[a] = 0.0
        s.waiting[a] = 0
        s.used[a] = 0
        s.budget[a] = least
        s.low[a] = NEVER if s.retired[a] else 0
        s.candidates[0, a] = not s.retired[a]
        s.master[a] = not s.retired[a]
        for b in range(arms):
            s.bounds[b * arms + a, 0, 0] = 0
            s.bounds[b * arms + a, 0, 1] = 0
    evict(s)


@kernel
def activate(s, top):
    """Make the base at this level the active one."""
    s.clock[TOP] = top
    s.clock[TOP_START] = s.starts[top]
    s.clock[TOP_END] = s.starts[top] + s.lengths[top] if top > 0 else NEVER


@kernel
def spawn(p, s, t, m):
    """Interrupt the active base by Base-Alg(t, m), which starts with all arms."""
    arms = s.total.size
    while s.clock[TOP_END] <= t + m:
        end_base(p, s)
    top = s.clock[TOP] + 1
    s.starts[top] = t
    s.lengths[top] = m
    activate(s, top)
    count = 0
    for a in range(arms):
        s.entry[top, a] = s.before[a]
        s.candidates[top, a] = not s.retired[a]
        if s.retired[a]:
            continue
        s.low[a] = min(s.low[a], top)
        s.active[count] = a
        count += 1
        for b in range(arms):
            # starts of b that still wait belong to the bases below, as does one of late rewards: leave room
            pair = b * arms + a
            room = s.bounds[pair, top - 1, 1] + s.waiting[b] + 1 if s.low[a] < top else 0
            s.used[b] = max(s.used[b], room)
            s.bounds[pair, top, 0] = room
            s.bounds[pair, top, 1] = room
    s.clock[ACTIVE] = count


@kernel
def expire(p, s, t):
    """Return from every base whose time is over; evictions act as soon as one resumes."""
    while t > s.clock[TOP_END]:
        end_base(p, s)
        s.clock[CHANGED] = 1


@kernel
def end_base(p, s):
    """Take the top base off the stack; its starts are from now on starts of the base below."""
    arms = s.total.size
    for b in range(arms):
        if s.waiting[b] > 0:
            mature(p, s, b)
    top = s.clock[TOP]
    activate(s, top - 1)
    for a in range(arms):
        if s.low[a] >= top:
            continue
        for b in range(arms):
            pair = b * arms + a
            if s.bounds[pair, top, 0] < s.bounds[pair, top, 1]:
                join(p.root, s.clock[NOW], s.stacks[pair], s.bounds[pair], top)


@kernel
def evict(s):
    """The active base and the master set give up every arm with a violated interval of theirs."""
    top = s.clock[TOP]
    active = 0
    master = 0
    for a in range(s.total.size):
        if s.low[a] > top:
            s.candidates[top, a] = False
        if s.low[a] > 0:
            s.master[a] = False
        if s.candidates[top, a]:
            s.active[active] = a
            active += 1
        if s.master[a]:
            master += 1
    s.clock[ACTIVE] = active
    s.clock[MASTER] = master
    s.clock[CHANGED] = 0


# For a policy's functions of these names


def doubled(room, axis=0):
    """An array with twice the room along an axis."""
    return np.concatenate([room, np.zeros_like(room)], axis)


def carried(s, fresh):
    """The state of a new episode with the memory of the restarts: an arm that is added is a change by decree."""
    fresh.clock[[EPISODES, RESTARTS]] = s.clock[[EPISODES, RESTARTS]]
    return fresh._replace(restarts=s.restarts)


def restarts(p, s):
    """The rounds of the restarts."""
    return s.restarts[: s.clock[RESTARTS]]


def listed(s, candidates, master, origin, names):
    """The episode and its stack of bases, from which an outsider can derive every eviction and restart anew."""

    def named(mask):
        return [names[a] for a in np.flatnonzero(mask)]

    bases = [
        {"start": origin + int(s.starts[i]), "length": int(s.lengths[i]), "candidates": named(mask)}
        for i, mask in enumerate(candidates)
    ]
    start = origin + int(s.clock[EPISODE_START])
    return {"episode": int(s.clock[EPISODES]), "episode_start": start, "master": named(master), "bases": bases}
