"""META's conscience, for a policy that plays as it likes: it says now and then what to play, and what that has proved.

This is META (:mod:`sigshift.policies.meta`) without its play: episodes, a master set, and replays that begin by chance,
at lengths m = shortest, 2 shortest, 4 shortest, ... up to the episode's age with probability replay_rate / sqrt(m age),
nested as the paper's. In a replay the candidates are drawn uniformly, and what they pay is evidence for the eviction
test on every interval of every base, in a variance clock and centred (:mod:`sigshift.meta.variance`). An arm that is
evicted leaves the master set. What the policy plays in all other rounds is never evidence.

How to use it, with two uniform numbers for each round, ``pick`` and ``chance``:

- ``due(p, s, t, chance)`` before round t, and then ``draw(s, pick)``, which returns an arm and its chance to be drawn,
  or -1 if the policy is free to choose. ``due`` says whether an episode begins: the first one, or one for the sake of
  an arm that has been added, the last one. (An addition is a change by decree.)
- ``weigh(p, s, t, a, y, q)`` for every reward, which says whether an arm has been evicted;
- ``out(s, a)`` says whether arm a is not in the master set, and ``empty(s)`` whether nobody is: then the policy calls
  ``restart(p, s, t)``, t the next round;
- ``grow(s)``, ``restarts(p, s)`` and ``inspect(s, origin, names)`` are for the policy's functions of these names. Its
  ``crowded`` looks whether ``clock[CROWDED] > 0`` by itself: online that is plain Python, and calling a kernel from
  there takes longer than a whole round.

A late reward counts if the active base is a replay that had begun by the round of its decision: so it was drawn in a
replay, among all that are candidates now. None counts before an added arm has its episode. With ``replay_rate`` 0
there is no evidence and no room for any.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real, whole
from sigshift.kernel import inlined_kernel, kernel
from sigshift.meta import variance
from sigshift.meta.bases import count_restart, doubled, listed, replay_length
from sigshift.meta.bases import restarts as restarts
from sigshift.meta.evidence import CLOCKS, CROWDED, EPISODE_START, EPISODES, NEVER, RESTARTS
from sigshift.meta.variance import TOP

ROUNDS = 10**8
MEMORY = 200.0  # rewards that the centre remembers
LEVELS = 64  # more than there are lengths


class Params(NamedTuple):
    """What the kernels read."""

    evidence: variance.Params
    rounds: int
    replay_rate: float
    replay_bound: float  # the sum of all replay probabilities, times sqrt(age)
    shortest: int


class State(NamedTuple):
    """The episode, its stack of bases and its evidence."""

    clock: np.ndarray  # see evidence.py
    evidence: variance.State
    starts: np.ndarray  # [level] the first round of each base on the stack
    lengths: np.ndarray  # [level] its scheduled duration
    drawn: np.ndarray  # [arm] whether it is a candidate of the active base
    centre: np.ndarray  # the mean of the rewards in replays, and their number, at most MEMORY
    joined: np.ndarray  # [arm] whether the episode began with it
    restarts: np.ndarray  # the rounds of the restarts


def configure(
    arms: int,
    *,
    replay_rate: float = 0.01,
    shortest: int = 64,
    level: float = 1.0,
    floor: float = 0.1,
    rounds: int = ROUNDS,
) -> Params:
    """What the user says, checked."""
    rate = real("replay_rate", replay_rate, "How often replays begin; 0 means that there are none.", least=0.0)
    shortest = whole("shortest", shortest, 2, "How long the shortest replay is; 64 is usual.")
    level = real("level", level, "The factor of the test's logarithm; 1 is calibrated.", above=0.0)
    floor = real("floor", floor, "The factor of the test's K^2; 0.1 is calibrated.", above=0.0)
    rounds = whole("rounds", rounds, 1, "How many rounds the run has at most.", 10**15)
    return Params(
        evidence=variance.configure(arms, rounds, level=level, floor=floor),
        rounds=rounds,
        replay_rate=rate,
        replay_bound=rate * sum((shortest * 2.0**i) ** -0.5 for i in range(64)),
        shortest=shortest,
    )


def init(p: Params, arms: int) -> State:
    """Before the first round."""
    s = State(
        clock=np.zeros(CLOCKS, np.int64),
        evidence=variance.init(arms, arms if p.replay_rate > 0.0 else 0),
        starts=np.zeros(LEVELS, np.int64),
        lengths=np.zeros(LEVELS, np.int64),
        drawn=np.zeros(arms, np.bool_),
        centre=np.zeros(2),
        joined=np.zeros(arms, np.bool_),
        restarts=np.zeros(16, np.int64),
    )
    s.clock[EPISODE_START] = NEVER
    s.clock[EPISODES] = -1
    if p.replay_rate == 0.0:  # nobody need call due
        begin_episode(p, s, 0)
    return s


@kernel
def begin_episode(p, s, t):
    """Every arm is a candidate again, and there is no evidence."""
    s.clock[EPISODE_START] = t
    s.clock[EPISODES] += 1
    variance.clear(s.evidence)
    for a in range(s.joined.size):
        s.joined[a] = True
    s.starts[0] = t
    s.lengths[0] = max(p.rounds - t, 0)


@kernel
def restart(p, s, t):
    """An episode that begins in round t because the one before has failed."""
    begin_episode(p, s, t)
    count_restart(s, t)


@inlined_kernel
def due(p, s, t, chance):
    """What happens before round t: bases end whose time is over, and it may be that a replay begins, or an episode."""
    anew = not s.joined[s.joined.size - 1]
    if anew:
        begin_episode(p, s, t)
    age = t - s.clock[EPISODE_START]
    replay = chance * np.sqrt(float(age)) < p.replay_bound and age >= p.shortest
    if replay or s.evidence.clock[TOP] > 0:
        _arrange(p, s, t, _length(p, age, chance) if replay else 0)
    return anew


@kernel
def _length(p, age, chance):
    """The length of the replay that begins at this age, or 0."""
    longest = p.shortest
    while 2 * longest <= age:
        longest *= 2
    return replay_length(p.replay_rate, p.shortest, longest, age, chance)


@kernel
def _arrange(p, s, t, m):
    """The stack of bases for round t; a replay of length m > 0 ends those above the root that would end no later."""
    top = s.evidence.clock[TOP]
    while top > 0 and s.starts[top] + s.lengths[top] <= (t + m if m > 0 else t - 1):
        variance.end_base(p.evidence, s.evidence)
        top -= 1
    if m > 0:
        variance.begin_base(s.evidence)
        s.starts[top + 1] = t
        s.lengths[top + 1] = m
        s.clock[CROWDED] |= s.evidence.clock[variance.CROWDED]


@inlined_kernel
def draw(s, pick):
    """The arm that the active replay draws, and with what chance; -1 if there is none to draw from."""
    if s.evidence.clock[TOP] == 0:
        return -1, 1.0
    return _draw(s, pick)


@kernel
def _draw(s, pick):
    for a in range(s.drawn.size):
        s.drawn[a] = s.evidence.low[a] <= s.evidence.clock[TOP]
    return uniform(s.drawn, pick)


@kernel
def uniform(drawn, pick):
    """One of the marked arms and its chance, or -1 if there are not two to draw from."""
    count = 0
    for a in range(drawn.size):
        count += drawn[a]
    if count < 2:
        return -1, 1.0
    place = int(pick * count)
    a = -1
    while place >= 0:
        a += 1
        place -= drawn[a]
    return a, 1.0 / count


@inlined_kernel
def weigh(p, s, t, a, y, q):
    """The reward of round t: evidence if it was drawn in a replay. Returns whether an arm has been evicted."""
    top = s.evidence.clock[TOP]
    if top == 0 or q >= 1.0 or t < s.starts[top] or not s.joined[s.joined.size - 1]:
        return False
    return _weigh(p, s, a, y, np.rint(1.0 / q))


@kernel
def _weigh(p, s, a, y, count):
    """One of so many candidates, drawn uniformly, has paid y."""
    died = False
    if s.evidence.low[a] <= s.evidence.clock[TOP]:
        died = variance.observe(p.evidence, s.evidence, a, count * (y - s.centre[0]))
        s.clock[CROWDED] |= s.evidence.clock[variance.CROWDED]
    s.centre[1] = min(s.centre[1] + 1.0, MEMORY)
    s.centre[0] += (y - s.centre[0]) / s.centre[1]
    return died


@inlined_kernel
def out(s, a):
    """Whether arm a is not in the master set."""
    return s.evidence.low[a] > 0


@kernel
def empty(s):
    """Whether nobody is left in the master set."""
    nobody = True
    for a in range(s.drawn.size):
        nobody &= out(s, a)
    return nobody


def grow(s):
    """The same state with twice the room for what has run short of it."""
    s.clock[CROWDED] = 0
    if s.evidence.clock[variance.CROWDED] > 0:
        s = s._replace(evidence=variance.grow(s.evidence))
    if s.clock[RESTARTS] + 1 >= s.restarts.size:
        s = s._replace(restarts=doubled(s.restarts))
    return s


def inspect(s, origin, names):
    """The episode, its master set and its stack of bases."""
    levels = range(s.evidence.clock[TOP] + 1)
    return listed(s, [s.evidence.low <= i for i in levels], s.evidence.low == 0, origin, names)
