"""META, calibrated: the paper's evidence decides what is given up, an index what is played, a check what is forgotten.

The paper's constants need more than 10^6 rounds to gain anything. This is the same system with constants that a Monte
Carlo has set, and with play that follows what is known. It has two layers.

**The conscience** is META's: episodes, a master set, rare replays in which candidates are drawn uniformly, and the
eviction test on what these pay (:mod:`sigshift.meta.conscience`). Where the master set is empty there is a restart.

**Exploitation** (:mod:`sigshift.meta.leading`) plays in all other rounds: the arm of the largest kl index on its own
rewards. What changes is noticed in three ways.
*Probes*: in round t, sqrt((1 + c) K ln(t) / t) * probes / 2 of the rounds go to the arms but the leader, in turn;
c counts the changes so far that mattered, up to 100.
*Promotion*: an arm whose latest rewards beat the leader's is tried.
*Suspicion*: where the leader's own rewards drop below what others have paid, it is asked whether that matters. A check
draws uniformly from the leader and those others, at most ``check`` times as often as there are arms in it, and all
checks of an episode no more than ``checks * sqrt(K age)`` times before the last one begins, until likelihood decides
between "only the leader has changed" (the others pay what they did), "all have changed alike" (they keep their
distance to it) and "neither". If all have changed alike, nothing is forgotten: that is what makes it blind to changes
that do not matter. Else the leader is known by the check alone and each other arm by at most ``memory`` rewards, so
that all are explored anew. What past checks found counts as evidence in the next one.

**What binds the two.** An evicted arm is played outside of replays in at most ``excursion * sqrt(K age)`` rounds of an
episode. When that is spent, the master set begins anew (a soft restart), but at most ``soft_restarts`` times until
there is a hard one; after these the index is confined to the master set. All that exploitation adds to META's regret
against its master set is so bounded by its excursions, probes and checks: docs/theory.md has the statement.

Nothing is planned for a horizon: ``rounds`` bounds the run for the eviction test alone, inside a logarithm.
Late rewards: evidence counts if the active base is a replay that had begun by the round of the decision; exploitation
takes all that has not been forgotten since.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np

from sigshift.checks import real, whole
from sigshift.kernel import inlined_kernel, kernel
from sigshift.meta import conscience, leading
from sigshift.meta.evidence import CROWDED, EPISODE_START
from sigshift.rng import uniforms

PAPER = "Suk, Kpotufe 2022"
GUARANTEE = "evictions and restarts as in META, at calibrated levels; regret: docs/theory.md"

# The entries of the clock.
NOW, REFRESH, PROBE, TURN, AWAY, SOFT, CONFINED, CHANGES = range(8)
CHECK, SUSPECT, SUSPECTED, CHECKS, DRAWN, CLOCKS = range(8, 14)

# What a check has seen of an arm, and what it should pay.
PULLS, PAID, ALONE, ALIKE = range(4)
# What the leader's window was; how often the leader alone had changed, and how often all alike.
WINDOW, WINDOW_PAID, ALONES, ALIKES, FACTS = range(5)

MOST_CHANGES = 100  # that make probes more frequent
SURE = 20.0  # rewards: how well the others' means are taken to be known
LEAST = 4.0  # draws of the leader before a check may end
LATEST = 5.0  # of its rewards that count before a check begins
LEAST_RATE = 1e-12


class Params(NamedTuple):
    """What the kernels read."""

    conscience: conscience.Params
    leading: leading.Params
    probes: float
    check: int
    unlike: float  # the logarithm of odds
    alike: float
    memory: float
    checks: float
    excursion: float
    soft_restarts: int


class State(NamedTuple):
    """All that it remembers."""

    key: np.uint64
    clock: np.ndarray
    conscience: conscience.State
    known: leading.State
    drawn: np.ndarray  # [arm] whether the check may draw it
    seen: np.ndarray  # [arm, :] what the check has seen
    facts: np.ndarray


def configure(
    arms,
    *,
    threshold: str = "calibrated",
    replay_rate: float = 0.01,
    shortest: int = 64,
    level: float = 1.0,
    floor: float = 0.1,
    rounds: int = conscience.ROUNDS,
    index: float = 0.7,
    change: float = 1.3,
    promotion: float = 0.2,
    probes: float = 0.3,
    check: int = 20,
    odds: float = 30.0,
    benign_odds: float = 3.0,
    memory: float = 10.0,
    checks: float = 16.0,
    excursion: float = 4.0,
    soft_restarts: int = 100,
) -> Params:
    """What the user says, checked; every lever can be taken away."""
    exploiting = leading.Params(
        lightness=real("index", index, "The factor of the index's logarithm; 0.7 is calibrated.", least=0.0),
        change=real("change", change, "The factor of the level of a change; 1e9 means none is seen.", above=0.0),
        promotion=real(
            "promotion", promotion, "The factor of the level of a promotion; 1e9 means there is none.", above=0.0
        ),
    )
    unlike = real("odds", odds, "The odds at which a change is taken for one that matters.", least=1.0)
    alike = real("benign_odds", benign_odds, "The odds at which it is taken for one that does not.", least=1.0)
    return Params(
        conscience=conscience.configure(
            arms, replay_rate=replay_rate, shortest=shortest, level=level, floor=floor, rounds=rounds
        ),
        leading=exploiting,
        probes=real("probes", probes, "The factor of the rate of probes; 0 means none.", least=0.0),
        check=whole("check", check, 0, "Draws for each arm of a check; 0 means that it is decided without."),
        unlike=float(np.log(unlike)),
        alike=float(np.log(alike)),
        memory=real("memory", memory, "The rewards kept of an arm after a change that matters.", least=0.0),
        checks=real("checks", checks, "The factor of the budget of checks.", least=0.0),
        excursion=real("excursion", excursion, "The factor of the budget of evicted arms.", least=0.0),
        soft_restarts=whole("soft_restarts", soft_restarts, 0, "0 means none."),
    )


def init(p, arms, key):
    """Before the first round."""
    s = State(
        key=key,
        clock=np.zeros(CLOCKS, np.int64),
        conscience=conscience.init(p.conscience, arms),
        known=leading.init(arms),
        drawn=np.zeros(arms, np.bool_),
        seen=np.zeros((arms, 4)),
        facts=np.zeros(FACTS),
    )
    s.facts[ALONES] = 1.0
    s.facts[ALIKES] = 1.0
    return s


@inlined_kernel
def select(p, s, t):
    """A round of a replay or check if there is one, else a probe or the arm of the largest index."""
    pick, chance = uniforms(s.key, t, 0, 0)
    s.clock[NOW] = t
    if s.clock[CHECK] > 0:
        a, q = _ask(p, s, t, pick)
    else:
        conscience.due(p.conscience, s.conscience, t, chance)
        a, q = conscience.draw(s.conscience, pick)
    if a >= 0:
        s.known.asked[a] += 1.0
        return a, q
    if t >= s.clock[REFRESH]:
        _refresh(p, s, t)
    a = _probe(p, s, t) if t >= s.clock[PROBE] and p.probes > 0.0 else -1
    if a < 0:
        a = leading.best_index(s.known)
    if conscience.out(s.conscience, a):
        _excursion(p, s, t)
    s.known.asked[a] += 1.0
    leading.allow(p.leading, s.known, a, t)
    return a, 1.0


@kernel
def _restart(p, s, t):
    """The budgets begin anew with the episode. What exploitation knows stays."""
    conscience.restart(p.conscience, s.conscience, t)
    s.clock[AWAY] = 0
    s.clock[DRAWN] = 0
    s.clock[CONFINED] = 0
    s.clock[REFRESH] = t


@kernel
def _age(s, t):
    """That of the episode."""
    return t - s.conscience.clock[EPISODE_START]


@kernel
def _ask(p, s, t, pick):
    """The arm that the check draws, or -1 if its last round was the one before."""
    s.clock[CHECK] -= 1
    if s.clock[CHECK] == 0:
        _conclude(p, s, t, True)
        return -1, 1.0
    a, q = conscience.uniform(s.drawn, pick)
    if conscience.out(s.conscience, a):
        _excursion(p, s, t)
    s.clock[DRAWN] += 1
    return a, q


@kernel
def _refresh(p, s, t):
    """What changes slowly with time: who leads, and the room of each index."""
    if conscience.empty(s.conscience):  # the last arm of the master set has been retired
        _restart(p, s, t)
    for a in range(s.drawn.size):
        confined = s.clock[CONFINED] > 0 and conscience.out(s.conscience, a)
        s.known.room[a] = -1.0 if confined or conscience.retired(s.conscience, a) else 0.0
        leading.allow(p.leading, s.known, a, t)
    leading.follow(s.known)
    s.clock[REFRESH] = t + 1 + _age(s, t) // 64


@kernel
def _probe(p, s, t):
    """The arm to be probed in round t, or -1 if there is none; and when the next one is."""
    arms = s.drawn.size
    rate = 0.5 * p.probes * np.sqrt((1.0 + min(s.clock[CHANGES], MOST_CHANGES)) * arms * np.log(t + 2.0) / (t + 1.0))
    s.clock[PROBE] = t + 1 + int(1.0 / max(rate, LEAST_RATE))
    for _ in range(arms):
        s.clock[TURN] = (s.clock[TURN] + 1) % arms
        a = s.clock[TURN]
        if a != s.known.leader[0] and s.known.room[a] >= 0.0:
            return a
    return -1


@kernel
def _excursion(p, s, t):
    """An evicted arm is played outside of replays: count it, and begin anew if that happens too often."""
    s.clock[AWAY] += 1
    if s.clock[AWAY] > p.excursion * np.sqrt(s.drawn.size * (_age(s, t) + 1.0)):
        s.clock[SOFT] += 1
        if s.clock[SOFT] <= p.soft_restarts:
            _restart(p, s, t)
        else:
            s.clock[CONFINED] = 1
            s.clock[CHECK] = min(s.clock[CHECK], 1)
            _confine(s)


@kernel
def _confine(s):
    """Once its budget is spent, exploitation plays no evicted arm."""
    if s.clock[CONFINED] > 0:
        s.clock[REFRESH] = s.clock[NOW] + 1
        for a in range(s.drawn.size):
            if conscience.out(s.conscience, a):
                s.known.room[a] = -1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    """A reward is evidence if it was drawn in a replay, and what it shows of its arm in any case."""
    if conscience.weigh(p.conscience, s.conscience, t, a, y, q):
        _give_up(p, s)
    if t >= s.known.since[a]:
        if s.clock[CHECK] > 0 and t > s.clock[SUSPECTED]:
            s.seen[a, PULLS] += 1.0
            s.seen[a, PAID] += y
            _conclude(p, s, s.clock[NOW], False)
        else:
            shown = leading.learn(p.leading, s.known, a, y, s.clock[NOW])
            leading.allow(p.leading, s.known, a, s.clock[NOW])
            if shown != leading.NOTHING:
                _react(p, s, a, shown)


@kernel
def _give_up(p, s):
    """An arm has been evicted; an empty master set ends the episode, and nothing is known any more."""
    _confine(s)
    if conscience.empty(s.conscience):
        for b in range(s.drawn.size):
            leading.forget(p.leading, s.known, b, s.clock[NOW] + 1, 0.0, 0.0)
            leading.recall(s.known, b, 0, 0.0)
        s.clock[SOFT] = 0
        _restart(p, s, s.clock[NOW] + 1)


@kernel
def _react(p, s, a, shown):
    """What follows from what the rewards of arm a have shown."""
    known = s.known
    w, x = known.found[0], known.found[1]
    s.clock[REFRESH] = s.clock[NOW] + 1
    if shown == leading.PROMOTED:
        leading.forget(p.leading, known, a, s.clock[NOW], w, x)
        return
    n, total = float(known.recent[a]), known.paid[a]
    rises = x / w > (total - x) / (n - w)
    leader = known.leader[0]
    beats = x / w > leading.pay(known)
    leading.recall(known, a, int(w), x)
    if rises and (a == leader or beats):
        s.clock[CHANGES] += a != leader
        leading.forget(p.leading, known, a, s.clock[NOW], w, x)
    elif a == leader and not rises:
        _suspect(p, s, w, x)


@kernel
def _suspect(p, s, w, x):
    """The leader has dropped: if others have paid more than it does now, a check begins."""
    known, leader = s.known, s.known.leader[0]
    if known.room[leader] < 0.0 or conscience.replaying(s.conscience) or s.clock[CHECK] > 0:
        return
    now = x / w
    count = 0
    for b in range(s.drawn.size):
        rival = b != leader and known.told[b] > 0.0 and known.mean[b] > now and known.room[b] >= 0.0
        s.drawn[b] = rival
        s.seen[b, PULLS] = 0.0
        s.seen[b, PAID] = 0.0
        if rival:
            s.seen[b, ALONE] = known.mean[b]
            s.seen[b, ALIKE] = known.mean[b] - known.level[b] / known.told[b]
            count += 1
    if count == 0:
        return
    s.drawn[leader] = True
    s.clock[SUSPECT] = leader
    s.clock[SUSPECTED] = s.clock[NOW]
    s.facts[WINDOW] = min(w, LATEST)
    s.facts[WINDOW_PAID] = now * s.facts[WINDOW]
    s.clock[CHECKS] += 1
    spent = s.clock[DRAWN] > p.checks * np.sqrt(s.drawn.size * (_age(s, s.clock[NOW]) + 1.0))
    s.clock[CHECK] = 1 if spent else p.check * (count + 1) + 1


@kernel
def _conclude(p, s, t, last):
    """End the check if it is decided, or has to be: has all changed alike?"""
    leader = s.clock[SUSPECT]
    if s.seen[leader, PULLS] < LEAST and not last:
        return
    n = s.facts[WINDOW] + s.seen[leader, PULLS]
    total = s.facts[WINDOW_PAID] + s.seen[leader, PAID]
    alone = np.log(s.facts[ALONES])
    alike = np.log(s.facts[ALIKES])
    neither = 0.0
    for a in range(s.drawn.size):
        m, x = s.seen[a, PULLS], s.seen[a, PAID]
        if s.drawn[a] and a != leader and m > 0.0:
            alone += _likelihood(m, x, s.seen[a, ALONE])
            alike += _likelihood(m, x, s.seen[a, ALIKE] + total / n)
            neither += lgamma(x + 1.0) + lgamma(m - x + 1.0) - lgamma(m + 2.0)  # all means are as likely
    lead = alike - max(alone, neither)
    if not last and -p.unlike < lead < p.alike:
        return
    s.clock[CHECK] = 0
    s.clock[REFRESH] = t
    leading.recall(s.known, leader, int(n), total * int(n) / n)
    if lead >= (0.0 if last else p.alike):
        s.facts[ALIKES] += 1.0
        return
    s.clock[CHANGES] += 1
    leading.forget(p.leading, s.known, leader, t, n, total)
    if alone >= neither:
        s.facts[ALONES] += 1.0
    for a in range(s.drawn.size):
        if a != leader:
            leading.fade(p.leading, s.known, a, t, p.memory)
            if s.drawn[a]:
                leading.add(p.leading, s.known, a, t, s.seen[a, PULLS], s.seen[a, PAID])
                s.known.asked[a] = max(s.known.asked[a], s.known.told[a])
            told = min(int(s.known.told[a]), int(2.0 * p.memory))
            leading.recall(s.known, a, told, told * s.known.mean[a])
    leading.follow(s.known)


@kernel
def _likelihood(m, x, mean):
    """Beta-binomial: of m rewards of sum x, where the mean is known as well as from SURE rewards."""
    b = SURE * min(max(mean, 0.02), 0.98)
    c = SURE - b
    return lgamma(x + b) + lgamma(m - x + c) - lgamma(m + SURE) - lgamma(b) - lgamma(c) + lgamma(SURE)


@kernel
def crowded(p, s):
    """Whether the state must grow."""
    return s.conscience.clock[CROWDED] > 0


def grow(p, s):
    """The same state with twice the room for what has run short of it."""
    return s._replace(conscience=conscience.grow(s.conscience))


def retire_arm(p, s, a):
    """Drop the arm from every candidate set; its place stays."""
    conscience.retire(s.conscience, a)
    s.known.room[a] = -1.0
    s.clock[CHECK] = 0
    s.clock[REFRESH] = 0
    return s


def add_arm(p, s, fresh):
    """An addition is a change by decree: the state of a new episode, with the memory of the restarts."""
    return fresh._replace(conscience=conscience.add(s.conscience, fresh.conscience))


def restarts(p, s):
    """The rounds in which an episode began because the one before had failed, hard and soft."""
    return conscience.restarts(p, s.conscience)


def inspect(p, s, origin, names):
    """The stack of bases, a check on top of it if there is one, who leads, and the soft restarts since a hard one."""
    seen = conscience.inspect(s.conscience, origin, names)
    checking = bool(s.clock[CHECK] > 0)
    if checking:  # it begins in the round after the suspicion
        start = int(s.clock[SUSPECTED]) + 1
        length = int(s.clock[NOW] + s.clock[CHECK]) - start - 1
        drawn = [names[a] for a in np.flatnonzero(s.drawn)]
        seen["bases"].append({"start": origin + start, "length": length, "candidates": drawn})
    return {
        **seen,
        "checking": checking,
        "soft_restarts": int(s.clock[SOFT]),
        "leader": names[int(s.known.leader[0])],
    }
