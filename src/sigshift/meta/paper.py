"""META as the paper has it: eliminate arms, track the most significant arm switches, and start over only at those.

Suk and Kpotufe (COLT 2022), "Tracking most significant arm switches in bandits": with ``replay_rate=1`` Algorithms 1
and 2 to the letter. docs/theory.md has the readings; ``threshold="remark"`` is that of its Remark 1. The parts are
:mod:`sigshift.meta.bases` (episodes, replays) and :mod:`sigshift.meta.evidence` (the eviction test). The paper wants
``c0`` "sufficiently large" and replays at rate 1. So it never restarts in vain, and needs more than 10^6 rounds to gain
anything. The defaults, ``c0=0.2`` and ``replay_rate=0.5``, are playable, not proven. It plans for a horizon.

A reward that comes late adds its evidence on arrival, with the weight of its decision, to the bases that had begun by
the decision's round and still run.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import choice, real
from sigshift.kernel import inlined_kernel, kernel
from sigshift.meta.bases import advance, begin_episode, carried, doubled, listed
from sigshift.meta.bases import restarts as restarts
from sigshift.meta.evidence import (
    ACTIVE,
    BURST,
    CHANGED,
    CLOCKS,
    CROWDED,
    EPISODE_START,
    EPISODES,
    NEVER,
    RESTARTS,
    TOP,
    record,
)
from sigshift.rng import uniforms

PAPER = "Suk, Kpotufe 2022"
GUARANTEE = "any changes: O(log^3(T) sum over significant phases of sqrt(K length)), c0 large and replay_rate 1"


class Params(NamedTuple):
    """What the kernels read."""

    horizon: int
    outer: float  # the threshold is outer * sqrt(inner * max(slope * n, floor))
    inner: float
    slope: float
    floor: float
    root: float  # its factor of sqrt(n) past the kink
    kink: float  # the age up to which it is constant
    tiny: bool  # whether one round can exceed it
    replay_rate: float
    replay_bound: float  # sum of the replay probabilities, times sqrt(age)
    longest: int  # the longest replay


class State(NamedTuple):
    """The episode, its stack of bases and its evidence."""

    key: np.uint64
    clock: np.ndarray  # counters, see evidence.py
    starts: np.ndarray  # [level] the first round of each base on the stack
    lengths: np.ndarray  # [level] its scheduled duration m0
    candidates: np.ndarray  # [level, arm] its candidate set
    master: np.ndarray  # [arm] the master set
    active: np.ndarray  # the arms of the active base, in order
    retired: np.ndarray  # [arm] never to be played again
    low: np.ndarray  # [arm] the lowest level with no violated interval
    total: np.ndarray  # [arm] running sum of |A_t| Y_t over its pulls in this episode
    before: np.ndarray  # [arm] the same at the start of the present round
    earlier: np.ndarray  # [arm] and of the one before it
    entry: np.ndarray  # [level, arm] total at the start of the round before the base began
    budget: np.ndarray  # [arm] what it may gain before its pairs must be tested
    waiting: np.ndarray  # [arm] how many of its starts are not on the stacks yet
    used: np.ndarray  # [arm] how far its stacks reach at most
    events: np.ndarray  # [arm, i, other] total[arm] - total[other] before each of them; [arm, i, arm] its round
    stacks: np.ndarray  # [pair, i, :] the starts on the stacks of a pair, base after base: round, gap, overtaken
    bounds: np.ndarray  # [pair, level, :] where a base's stack begins and ends
    restarts: np.ndarray  # the rounds of the restarts


def configure(arms, horizon, *, threshold: str = "paper", c0: float = 0.2, replay_rate: float = 0.5) -> Params:
    """What the user says, checked."""
    choice("threshold", threshold, ["paper", "remark"])
    c0 = real("c0", c0, "The constant C0 of the paper; 0.2 is playable.", above=0.0)
    rate = real("replay_rate", replay_rate, "The paper has 1; 0 means no replays.", least=0.0)
    log, k = float(np.log(horizon)), float(arms)
    if threshold == "paper":
        outer, inner, slope, floor = log, c0, k, k**2
    else:
        outer, inner, slope, floor = float(np.sqrt(c0)), 1.0, k * log, k**2 * log**2
    doublings = (int(horizon) - 1).bit_length()
    return Params(
        horizon=horizon,
        outer=outer,
        inner=inner,
        slope=slope,
        floor=floor,
        root=outer * float(np.sqrt(inner * slope)),
        kink=floor / slope if slope > 0.0 else k,
        tiny=outer * float(np.sqrt(inner * floor)) < k,
        replay_rate=rate,
        replay_bound=rate * sum(2.0 ** (-i / 2) for i in range(1, doublings + 1)),
        longest=2**doublings if doublings > 0 else 0,
    )


def init(p, arms, key):
    """Before the first round."""
    levels = int(p.longest).bit_length() + 2
    events, stack = 2 * levels + 36, 64  # a start; both grow
    state = State(
        key=key,
        clock=np.zeros(CLOCKS, np.int64),
        starts=np.zeros(levels, np.int64),
        lengths=np.zeros(levels, np.int64),
        candidates=np.zeros((levels, arms), np.bool_),
        master=np.zeros(arms, np.bool_),
        active=np.zeros(arms, np.int64),
        retired=np.zeros(arms, np.bool_),
        low=np.zeros(arms, np.int64),
        total=np.zeros(arms),
        before=np.zeros(arms),
        earlier=np.zeros(arms),
        entry=np.zeros((levels, arms)),
        budget=np.zeros(arms),
        waiting=np.zeros(arms, np.int64),
        used=np.zeros(arms, np.int64),
        events=np.zeros((arms, events, arms)),
        stacks=np.zeros((arms * arms, stack, 3)),
        bounds=np.zeros((arms * arms, levels, 2), np.int64),
        restarts=np.zeros(16, np.int64),
    )
    state.clock[EPISODE_START] = NEVER
    state.clock[EPISODES] = -1
    state.clock[BURST] = -1
    return state


@inlined_kernel
def select(p, s, t):
    """An arm of the active base, drawn uniformly."""
    pick, chance = uniforms(s.key, t, 0, 0)
    if s.clock[EPISODE_START] > t:
        begin_episode(p, s, t)
    advance(p, s, t, chance)
    count = s.clock[ACTIVE]
    return s.active[int(pick * count)], 1.0 / count


@inlined_kernel
def update(p, s, t, a, y, q):
    """A reward is evidence if its decision was of this episode."""
    if y > 0.0 and t >= s.clock[EPISODE_START]:
        record(p, s, a, t, np.rint(1.0 / q) * y)


@kernel
def crowded(p, s):
    """Whether the state must grow."""
    return s.clock[CROWDED] > 0


def grow(p, s):
    """The same state with twice the room for what has run short of it."""
    short = {"restarts": (s.clock[RESTARTS] + 1 >= s.restarts.size, 0)}
    short["events"] = (s.waiting.max() + 2 * s.starts.size + 4 >= s.events.shape[1], 1)
    short["stacks"] = ((s.used + 2 * s.waiting + 8).max() > s.stacks.shape[1], 1)
    rooms = {name: (getattr(s, name), axis) for name, (needed, axis) in short.items() if needed}
    s.clock[CROWDED] = 0
    return s._replace(**{name: doubled(room, axis) for name, (room, axis) in rooms.items()})


def retire_arm(p, s, a):
    """Drop the arm from every candidate set; its place stays. An empty master set restarts in the next round."""
    s.retired[a] = True
    s.master[a] = False
    s.candidates[:, a] = False
    s.low[a] = NEVER
    s.clock[CHANGED] = 1
    return s


def add_arm(p, s, fresh):
    """An addition is a change by decree: the state of a new episode, with the memory of the restarts."""
    fresh.retired[:-1] = s.retired
    return carried(s, fresh)


def inspect(p, s, origin, names):
    """The episode, its master set and its stack of bases."""
    return listed(s, s.candidates[: s.clock[TOP] + 1], s.master, origin, names)
