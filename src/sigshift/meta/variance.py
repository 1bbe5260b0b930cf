"""The eviction test in a variance clock: has an arm lost more to another than the spread of the evidence explains?

Evidence comes from rounds in which one of the k candidates was drawn, each with chance 1/k. If arm b was drawn and
paid Y, it is x = k (Y - c) for b against every other candidate a, with any centre c known before the round: both are
candidates, so E[x 1{b drawn} - x 1{a drawn}] = mu(b) - mu(a) whatever c is. (Against an arm that is no candidate that
would be false, so such a pair learns nothing; a lone candidate has no pair and is never evicted, however low its mean.)

D is the running sum of a pair's evidence, the *clock* Q the sum of its squares. Arm a has lost to b on the rounds after
the start u if

    D - D_u > sqrt(2 l (Q - Q_u + Q_0)),    l = level * log(2 K T),    Q_0 = floor * K^2 * l.

Every start since a base began counts for that base; an arm dies in every base that had begun by the latest violated
start. This is the test of :mod:`sigshift.meta.evidence` with Q + Q_0 for the time and no kink; so its stacks, ordered
by the clock at which their tops are overtaken, serve here too, exactly: amortised O(1) for each pair with the arm that
was drawn. ``level=1, floor=0.1`` are calibrated (benchmarks/calibrate.py): an arm that is never worse than another is
evicted in at most 5 % of all runs.

How to use it: ``clear`` begins an episode (level 0, its root, alone on the stack), ``begin_base`` and ``end_base``
push and pop a base, ``observe(p, s, b, x)`` weighs a round. Arm a is a candidate of the base at a level iff
``low[a] <= level``, and of the master set iff ``low[a] == 0``. Call :func:`grow` where ``clock[CROWDED] > 0``.
"""

from typing import NamedTuple

import numpy as np

from sigshift.kernel import kernel
from sigshift.meta.bases import doubled
from sigshift.meta.evidence import GAP, ROUND, best, join, pushed, settle

# The entries of the ``clock``.
TOP, CROWDED, CLOCKS = 0, 1, 2


class Params(NamedTuple):
    """What the kernels read."""

    root: float  # sqrt(2 l)
    start: float  # the clock's value of an empty interval, Q_0


class State(NamedTuple):
    """The evidence of one episode."""

    clock: np.ndarray
    low: np.ndarray  # [arm] the lowest level with no violated interval
    gap: np.ndarray  # [b, a] the running sum D of b against a
    spread: np.ndarray  # [b, a] and of its squares, Q
    stacks: np.ndarray  # [b, a, i, :] the starts of a pair, base after base: clock, gap, overtaken
    bounds: np.ndarray  # [b, a, level, :] where a base's stack begins and ends


def configure(arms: int, horizon: float, *, level: float = 1.0, floor: float = 0.1) -> Params:
    """The test that an arm which is never worse survives in at least 95 % of all runs of ``horizon`` rounds."""
    log = level * float(np.log(2.0 * arms * horizon))
    return Params(root=float(np.sqrt(2.0 * log)), start=floor * arms**2 * log)


def init(arms: int, pairs: int | None = None) -> State:
    """No evidence; with ``pairs`` 0, for a policy that will never have any, no room for it either."""
    pairs = arms if pairs is None else pairs
    return State(
        clock=np.zeros(CLOCKS, np.int64),
        low=np.zeros(arms, np.int64),
        gap=np.zeros((pairs, pairs)),
        spread=np.zeros((pairs, pairs)),
        stacks=np.zeros((pairs, pairs, 8, 3)),
        bounds=np.zeros((pairs, pairs, 8, 2), np.int64),
    )


def grow(s: State) -> State:
    """The same with twice the room for bases, starts or both, where it has run short."""
    top = s.clock[TOP]
    s.clock[CROWDED] = 0
    if top + 1 >= s.bounds.shape[2]:
        s = s._replace(bounds=doubled(s.bounds, 2))
    if s.bounds[:, :, : top + 1, 1].max() + 1 >= s.stacks.shape[2]:
        s = s._replace(stacks=doubled(s.stacks, 2))
    return s


@kernel
def clear(s):
    """An episode begins: every arm is a candidate and nothing is known."""
    s.clock[TOP] = 0
    for b in range(s.low.size):
        s.low[b] = 0
    for b in range(s.gap.shape[0]):
        for a in range(s.gap.shape[0]):
            s.gap[b, a] = 0.0
            s.spread[b, a] = 0.0
            s.bounds[b, a, 0, 0] = 0
            s.bounds[b, a, 0, 1] = 0


@kernel
def begin_base(s):
    """A base interrupts the active one, with all arms."""
    s.clock[TOP] += 1
    top = s.clock[TOP]
    if top + 1 >= s.bounds.shape[2]:
        s.clock[CROWDED] = 1
    for b in range(s.low.size):
        s.low[b] = min(s.low[b], top)
        for a in range(s.low.size):
            room = s.bounds[b, a, top - 1, 1]
            s.bounds[b, a, top, 0] = room
            s.bounds[b, a, top, 1] = room


@kernel
def end_base(p, s):
    """The active base returns; its starts are from now on starts of the one below."""
    top = s.clock[TOP]
    s.clock[TOP] = top - 1
    for b in range(s.low.size):
        for a in range(s.low.size):
            bounds = s.bounds[b, a]
            if s.low[a] < top and bounds[top, 0] < bounds[top, 1]:
                join(p.root, s.spread[b, a] + p.start, s.stacks[b, a], bounds, top)


@kernel
def observe(p, s, b, x):
    """Arm b was drawn among the candidates: evidence x against all others. Returns whether an arm has died."""
    top = s.clock[TOP]
    died = False
    for a in range(s.low.size):
        if a != b and s.low[a] <= top:
            died |= _weigh(p, s, b, a, x) if x > 0.0 else _weigh(p, s, a, b, -x)
    return died


@kernel
def _weigh(p, s, b, a, x):
    """Arm b gains x > 0 against arm a: a new start, and a test of all of them. Returns whether a has died."""
    top = s.clock[TOP]
    bounds = s.bounds[b, a]
    stack = s.stacks[b, a]
    bottom = bounds[top, 0]
    size = pushed(stack, bottom, bounds[top, 1], s.spread[b, a], s.gap[b, a])
    now = s.spread[b, a] + x * x + p.start
    bounds[top, 1] = settle(p.root, now, stack, bottom, size - 1, size)
    if bounds[top, 1] + 1 >= stack.shape[0]:
        s.clock[CROWDED] = 1
    s.gap[b, a] += x
    s.gap[a, b] -= x
    s.spread[b, a] += x * x
    s.spread[a, b] += x * x
    for level in range(top, s.low[a] - 1, -1):
        i = best(now, stack, bounds[level])
        if i >= 0 and s.gap[b, a] > stack[i, GAP] + p.root * np.sqrt(now - stack[i, ROUND]):
            s.low[a] = level + 1
            return True
    return False
