"""auto: play what looks best, probe the others just enough, forget only what has changed, under META's conscience.

The policy to use when nothing is known, not even the horizon. Every arm has a memory of its own, and every part of it
is forgotten by itself; nothing starts over as a whole, so changes that do not matter cost little.

*Play.* With n rewards of mean m since the arm's memory began in round tau, its index in round t is the largest q with

    n kl(m, q) <= w(n) ln((t - fade * tau) / sqrt(n)),    w(n) = width + (1 - width) min(1, fresh / n)

(0 if that is negative). The lighter bonus is that of MOSS-like indices; ``fade`` below 1 keeps a new memory from being
trusted too soon, and ``fresh`` an arm that began with bad luck from being left for good.

*Watch.* The rewards of each arm pass the Bernoulli GLR, exact over every split, that fires at ``level`` times
ln(3 sqrt(t) n^1.5). What fires is forgotten but for at most ``kept`` of the rewards after the split.

*Probe.* What is not played may have risen. The arms other than the best looking one, with mean m* at gap g_a, are
probed: in round t arm a adds to its credit

    rate * sqrt((nu / K) (ln t / t) (1 - m*) / g_a),

and is probed when it has credit for one. This form balances what probes cost, g_a each, against what is lost until a
new best arm is found: an arm that starts afresh is better than m* with a probability near 1 - m*. nu is 1 and one more
for each time that another arm has risen or become the best one. Even spacing finds a change sooner than chance does.

A probe is a sequential test (Wald): the arm is pulled on while the likelihood ratio of "a share ``ahead`` of the way
from m* to 1" against its old mean is between exp(-drop) and exp(accept). Accepted, the arm is remembered by the probe
alone; rejected, or after ``longest`` pulls, the probe is one more piece of its memory. Most end after a few pulls.

*Ask around.* When the best arm is seen to drop, others may have changed with it: no other memory counts for more than
``memory`` rewards from then on. Each arm is probed at once, and then about whenever the time since has grown fourfold,
from ``patience`` K rounds on. But where such drops bring no other arm to the top, they are taken less seriously: with
w = (1 + drops) / (1 + drops at another arm than the one before), all of this is done after one drop in w, and the
probes in its wake begin w times later.

*Conscience* (:mod:`sigshift.meta.conscience`). All that assumes that rewards change as one can see arm by arm. META
does not: its replays begin by chance, at rate ``replay_rate``, draw uniformly for ``shortest`` rounds or longer, and
compare arms on every interval since its episode began. An arm that they refute is out. If all are, everything is
forgotten and an episode begins. (``rounds`` bounds the run for the test of this alone, inside a logarithm.)
Arms that are out are played in at most ``excursion * sqrt(K age)`` rounds of an episode. When these are spent an
episode begins, but nothing is forgotten: a soft restart. After ``soft_restarts`` of them without a hard one, arms
that are out are not played any more. :mod:`META <sigshift.policies.meta>` is this with more replays.

``forget="all"`` is there to compare with: every alarm then starts everything over. That is GLR-klUCB with all the
tuning of this policy.

Rewards may come late: a probe goes on when its last reward has come. There is no chance in this but that of replays.
"""

from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import choice, real, whole
from sigshift.detectors import glr, hull
from sigshift.indices import kl_best, negative_entropy, new_bar, share
from sigshift.kernel import inlined_kernel, kernel
from sigshift.meta import conscience
from sigshift.meta.evidence import CROWDED, EPISODE_START
from sigshift.rng import uniforms

PAPER = "sigshift"
GUARANTEE = "L changes of means: O(L sqrt(K^3 T log T)), with a large constant (docs/theory.md)"
TOLD = "rounds (optional)"

NOW, REFRESH, DROPS, MOVES, RISES, ALARMS, ALERT, AWAY, SOFT, CONFINED, CLOCKS = range(11)
REST, QUEUED, ASKED, WAITING = range(4)  # what an arm's probe is at
RATIO, PULLS, TOTAL, OLD, NEW, PROBE = range(6)  # a probe: log likelihood ratio, pulls, their sum, the two means
UNTOLD = 0.5
NARROW = 0.05  # no gap counts as less
SHARPEST = 0.2  # no arm is probed more often
WAKE = 0.7  # probes after a drop: about one whenever the time since has grown fourfold
NEVER = 2**62


class Params(NamedTuple):
    conscience: conscience.Params
    rate: float
    width: float
    fresh: float
    fade: float
    level: float
    kept: float
    memory: float
    ahead: float
    drop: float
    accept: float
    longest: int
    patience: float
    everything: bool
    excursion: float
    soft_restarts: int


class Threshold(NamedTuple):
    """What the detector reads: see :mod:`sigshift.detectors.hull`."""

    proven: bool
    log_delta: float
    every: int
    splits_every: int
    level: float


class State(NamedTuple):
    key: np.uint64
    conscience: conscience.State
    clock: np.ndarray  # next round, when rates are due, how many drops and so on, the latest drop
    since: np.ndarray  # [arm] the first decision that counts
    begun: np.ndarray  # [arm] tau
    asked: np.ndarray  # [arm] decisions since
    told: np.ndarray  # [arm] rewards since
    total: np.ndarray  # [arm] their sum
    mean: np.ndarray
    entropy: np.ndarray
    level: np.ndarray
    bar: np.ndarray
    rate: np.ndarray  # [arm] the credit for a probe that a round brings
    credit: np.ndarray  # [arm]
    alert: np.ndarray  # the credit for asking around that drops have brought
    turn: np.ndarray  # [arm] REST, QUEUED, ASKED or WAITING
    turn_round: np.ndarray  # [arm] the decision that its probe waits for
    probe: np.ndarray  # [arm, PROBE]
    fell: np.ndarray  # [arm] whether it was the one in the latest drop
    detector: hull.State
    alarms: np.ndarray  # the rounds in which something was forgotten


def configure(
    arms,
    *,
    rate: float = 0.01,
    width: float = 0.7,
    fresh: float = 5.0,
    fade: float = 0.9,
    level: float = 1.0,
    kept: int = 5,
    memory: float = 30.0,
    ahead: float = 0.4,
    drop: float = 0.4,
    accept: float = 7.0,
    longest: int = 30,
    patience: float = 40.0,
    forget: str = "one",
    replay_rate: float = 0.0002,
    shortest: int = 64,
    rounds: int = conscience.ROUNDS,
    excursion: float = 4.0,
    soft_restarts: int = 100,
) -> Params:
    choice("forget", forget, ["one", "all"])
    return Params(
        conscience=conscience.configure(arms, replay_rate=replay_rate, shortest=shortest, rounds=rounds),
        rate=real("rate", rate, "How often arms are probed; 0 is never.", least=0.0),
        width=real("width", width, "The width of the index; 0.7 is calibrated.", above=0.0),
        fresh=real("fresh", fresh, "The rewards of an arm until its index narrows.", least=0.0),
        fade=real("fade", fade, "The share of an arm's past that its index forgets with it.", least=0.0, most=1.0),
        level=real("level", level, "The share of the detector's threshold.", above=0.0),
        kept=float(whole("kept", kept, 1, "How many rewards after a change are kept at most.")),
        memory=real("memory", memory, "What other memories weigh at most, in rewards, after a drop.", above=0.0),
        ahead=real("ahead", ahead, "How far above the best mean a probe looks.", above=0.0, below=1.0),
        drop=real("drop", drop, "When a probe gives up.", above=0.0),
        accept=real("accept", accept, "When a probe has found a rise.", above=0.0),
        longest=whole("longest", longest, 1, "How many pulls a probe may take."),
        patience=real(
            "patience", patience, "How many rounds per arm until probes after a drop begin.", above=0.0, most=1e9
        ),
        everything=forget == "all",
        excursion=real("excursion", excursion, "The budget of arms that the conscience has refuted.", least=0.0),
        soft_restarts=whole("soft_restarts", soft_restarts, 0, "0 means none."),
    )


def init(p, arms, key):
    state = State(
        key=key,
        conscience=conscience.init(p.conscience, arms),
        clock=np.zeros(CLOCKS, np.int64),
        since=np.zeros(arms, np.int64),
        begun=np.zeros(arms),
        asked=np.zeros(arms),
        told=np.zeros(arms),
        total=np.zeros(arms),
        mean=np.full(arms, UNTOLD),
        entropy=np.full(arms, negative_entropy(UNTOLD)),
        level=np.zeros(arms),
        bar=new_bar(),
        rate=np.zeros(arms),
        credit=np.arange(arms) / arms,
        alert=np.zeros(1),
        turn=np.zeros(arms, np.int64),
        turn_round=np.full(arms, -1, np.int64),
        probe=np.zeros((arms, PROBE)),
        fell=np.zeros(arms, np.bool_),
        detector=hull.init(p, arms),
        alarms=np.zeros(16, np.int64),
    )
    state.clock[REFRESH] = int(p.patience) * arms
    state.clock[ALERT] = NEVER
    return state


@inlined_kernel
def select(p, s, t):
    s.clock[NOW] = t + 1
    if p.conscience.replay_rate > 0.0:
        pick, chance = uniforms(s.key, t, 0, 0)
        if conscience.due(p.conscience, s.conscience, t, chance):
            _pardon(s)
        a, q = conscience.draw(s.conscience, pick)
        if a >= 0:
            s.asked[a] += 1.0
            return a, q
    if s.clock[CONFINED] > 0 and conscience.empty(s.conscience):  # the last arm that was not out has been retired
        _restart(p, s, t)
    if t >= s.clock[REFRESH]:
        _refresh(p, s, t)
    for a in range(s.turn.size):
        s.credit[a] += s.rate[a]
        if s.credit[a] >= 1.0:
            s.credit[a] -= 1.0
            s.turn[a] = QUEUED
    chosen = -1
    for a in range(s.turn.size):
        if s.turn[a] == QUEUED:
            _open(p, s, a)
        if s.turn[a] == ASKED and not _barred(s, a):
            s.turn[a] = WAITING
            s.turn_round[a] = t
            chosen = a
            break
    if chosen < 0:
        chosen = _best(p, s, t)
    if conscience.out(s.conscience, chosen):
        chosen = _excursion(p, s, t, chosen)
    s.asked[chosen] += 1.0
    return chosen, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
    if conscience.weigh(p.conscience, s.conscience, t, a, y, q):
        _refuted(p, s)
    if t < s.since[a]:
        return
    s.told[a] += 1.0
    s.total[a] += y
    _weigh(s, a)
    if s.turn[a] == WAITING and t == s.turn_round[a]:
        _continue(p, s, a, y)
    if t >= s.since[a]:
        _watch(p, s, a, y)


@inlined_kernel
def _best(p, s, t):
    """The arm of the largest index."""
    for a in range(s.level.size):
        n = s.asked[a]
        if n > 0.0:
            width = p.width + (1.0 - p.width) * min(1.0, p.fresh / n)
            s.level[a] = width * max(np.log(t + 1 - p.fade * s.begun[a]) - 0.5 * np.log(n), 0.0)
        if s.clock[CONFINED] > 0 and conscience.out(s.conscience, a):
            s.level[a] = -1.0
    return kl_best(s.mean, s.entropy, s.asked, s.level, s.bar)


@inlined_kernel
def _weigh(s, a):
    s.mean[a] = share(max(s.total[a], 0.0), s.told[a], UNTOLD)
    s.entropy[a] = negative_entropy(s.mean[a])


@kernel
def _leader(s):
    """The arm that looks best."""
    best = 0
    for a in range(1, s.mean.size):
        better = s.told[best] == 0.0 or s.mean[a] > s.mean[best] or _barred(s, best)
        if s.told[a] > 0.0 and better and not _barred(s, a):
            best = a
    return best


@kernel
def _barred(s, a):
    """Whether arm a is not played any more."""
    return s.clock[CONFINED] > 0 and conscience.out(s.conscience, a)


# Probes


@kernel
def _refresh(p, s, t):
    """The credit that a round brings each arm, until the time has grown by a twentieth."""
    arms = s.rate.size
    leader = _leader(s)
    top = s.mean[leader]
    age = t - s.clock[ALERT] if s.clock[ALERT] <= t else NEVER
    late = age >= p.patience * arms * _patience(s)
    moved = 1.0 + s.clock[MOVES] + s.clock[RISES]
    common = p.rate * np.sqrt(moved / arms * np.log(t + 2.0) / (t + 1.0) * (1.0 - top))
    for a in range(arms):
        s.rate[a] = 0.0
        if a != leader and p.rate > 0.0:
            s.rate[a] = min(common / np.sqrt(max(top - s.mean[a], NARROW)), SHARPEST / arms)
            if late:
                s.rate[a] = max(s.rate[a], WAKE / age)
    wait = t if s.clock[ALERT] > t else age if late else min(t, int(p.patience * arms * _patience(s)) - age)
    s.clock[REFRESH] = t + 1 + wait // 20


@kernel
def _patience(s):
    """How many times less seriously a drop is taken, after those that did not move the best arm."""
    return (1.0 + s.clock[DROPS]) / (1.0 + s.clock[MOVES])


@kernel
def _open(p, s, a):
    """A probe of arm a begins, unless it is the arm that looks best or is not played any more."""
    leader = _leader(s)
    if a == leader or _barred(s, a):
        s.turn[a] = REST
        return
    old = (s.total[a] + 0.5) / (s.told[a] + 1.0)
    top = max(old, s.mean[leader])
    s.turn[a] = ASKED
    s.probe[a, RATIO] = 0.0
    s.probe[a, PULLS] = 0.0
    s.probe[a, TOTAL] = 0.0
    s.probe[a, OLD] = min(max(old, 0.001), 0.999)
    s.probe[a, NEW] = min(max(top + p.ahead * (1.0 - top), 0.002), 0.9995)


@kernel
def _continue(p, s, a, y):
    """The reward that a probe has waited for: go on, give up, or see that the arm has risen."""
    old, new = s.probe[a, OLD], s.probe[a, NEW]
    s.probe[a, RATIO] += y * np.log(new / old) + (1.0 - y) * np.log((1.0 - new) / (1.0 - old))
    s.probe[a, PULLS] += 1.0
    s.probe[a, TOTAL] += y
    s.turn[a] = ASKED
    if s.probe[a, RATIO] >= p.accept and s.told[a] > s.probe[a, PULLS]:
        s.clock[RISES] += 1
        _forget(s, a, s.probe[a, PULLS], s.probe[a, TOTAL])
        _note(s)
    elif s.probe[a, RATIO] <= -p.drop or s.probe[a, PULLS] >= p.longest:
        s.turn[a] = REST


# Changes


@kernel
def _scale(p):
    return p.level


_observe = hull.observing(glr.largest, glr.tangent, glr.alone, _scale)


@inlined_kernel
def watched(level, detector, a, y, t):
    """The detector takes the reward y of arm a in round t; whether it gives an alarm."""
    return _observe(Threshold(False, -np.log(3.0) - 0.5 * np.log(t), 1, 1, level), detector, a, y)


@inlined_kernel
def _watch(p, s, a, y):
    if watched(p.level, s.detector, a, y, float(s.clock[NOW])):
        _alarm(p, s, a)


@inlined_kernel
def _alarm(p, s, a):
    """Forget arm a but for some rewards after the split; if it was the best one and has dropped, ask around."""
    n, total = float(s.detector.told[a]), s.detector.total[a]
    rounds, part = glr.split(s.detector.points[a], s.detector.sizes[a], n, total)
    before, after = part / rounds, (total - part) / (n - rounds)
    first = not _barred(s, a)
    for b in range(s.mean.size):
        if b != a and s.mean[b] > before and not _barred(s, b):
            first = False
    kept = min(p.kept, n - rounds)
    _forget(s, a, kept, kept * after)
    _note(s)
    if p.everything:
        for b in range(s.mean.size):
            if b != a:
                _forget(s, b, 0.0, 0.0)
    elif after >= before:
        s.clock[RISES] += not first
    elif first:
        _ask_around(p, s, a)


@kernel
def _ask_around(p, s, a):
    """The best arm, a, has dropped."""
    s.clock[DROPS] += 1
    s.clock[MOVES] += not s.fell[a]
    s.clock[ALERT] = s.clock[NOW]
    s.alert[0] += 1.0 / _patience(s)
    for b in range(s.mean.size):
        s.fell[b] = b == a
        if b != a and s.alert[0] >= 1.0:
            s.turn[b] = QUEUED
            _limit(s, b, p.memory)
    if s.alert[0] >= 1.0:
        s.alert[0] -= 1.0


@kernel
def _limit(s, a, n):
    """What is known of arm a weighs no more than n rewards."""
    if s.told[a] > n:
        s.asked[a] += n - s.told[a]
        s.total[a] *= n / s.told[a]
        s.told[a] = n


@kernel
def _forget(s, a, n, total):
    """Only these rewards of arm a count from now on, and those of the decisions to come."""
    s.since[a] = s.clock[NOW]
    s.begun[a] = s.clock[NOW] - n
    s.asked[a] = n
    s.told[a] = n
    s.total[a] = total
    s.turn[a] = REST
    _weigh(s, a)
    hull.clear(0, s.detector, a)
    s.clock[REFRESH] = s.clock[NOW]


@kernel
def _note(s):
    """Something has been forgotten."""
    s.alarms[s.clock[ALARMS]] = s.clock[NOW]
    s.clock[ALARMS] = min(s.clock[ALARMS] + 1, s.alarms.size - 1)


# Conscience


@kernel
def _refuted(p, s):
    """An arm is out. If nobody is left, nothing that is known counts any more."""
    if conscience.empty(s.conscience):
        for a in range(s.mean.size):
            _forget(s, a, 0.0, 0.0)
        _note(s)
        s.clock[SOFT] = 0
        _restart(p, s, s.clock[NOW])


@kernel
def _restart(p, s, t):
    conscience.restart(p.conscience, s.conscience, t)
    _pardon(s)


@kernel
def _pardon(s):
    """An episode begins: nobody is out."""
    s.clock[AWAY] = 0
    s.clock[CONFINED] = 0
    for a in range(s.level.size):
        s.level[a] = 0.0


@kernel
def _excursion(p, s, t, chosen):
    """An arm that is out is about to be played: count it. If that happens too often, begin anew or play another."""
    s.clock[AWAY] += 1
    age = t - s.conscience.clock[EPISODE_START] + 1.0
    if conscience.empty(s.conscience):
        _restart(p, s, t)
    elif s.clock[AWAY] > p.excursion * np.sqrt(s.mean.size * age):
        if s.clock[SOFT] >= p.soft_restarts:
            s.clock[CONFINED] = 1
            return _best(p, s, t)
        s.clock[SOFT] += 1
        _restart(p, s, t)
    return chosen


@inlined_kernel
def crowded(p, s):
    full = s.clock[ALARMS] + 2 >= s.alarms.size
    return full or s.conscience.clock[CROWDED] > 0 or hull.crowded(p, s.detector)


def grow(p: Params, s: State) -> State:
    """The same state with more room for what has run short of it."""
    if hull.crowded(p, s.detector):
        s = s._replace(detector=hull.grow(p, s.detector))
    if s.conscience.clock[CROWDED] > 0:
        s = s._replace(conscience=conscience.grow(s.conscience))
    if s.clock[ALARMS] + 2 >= s.alarms.size:
        s = s._replace(alarms=np.concatenate([s.alarms, np.zeros_like(s.alarms)]))
    return s


def restarts(p: Params, s: State) -> Any:
    """The rounds in which an episode of the conscience began because the one before had failed, hard and soft."""
    return conscience.restarts(p, s.conscience)


def inspect(p: Params, s: State, origin: int, names: Any) -> dict[str, Any]:
    """What the next choice rests on: for each arm its mean, its rewards, since when, and how likely a probe is."""
    memories = [
        {
            "arm": int(name),
            "mean": float(s.mean[a]),
            "rewards": float(s.told[a]),
            "since": int(s.since[a]) + origin,
            "probe": float(s.rate[a]),
        }
        for a, name in enumerate(names)
    ]
    known = (s.told > 0.0) & ((s.clock[CONFINED] == 0) | (s.conscience.evidence.low == 0))
    return {
        "memories": memories,
        "leader": int(names[np.argmax(np.where(known, s.mean, -1.0))]),
        "forgotten": [int(t) + origin for t in s.alarms[: s.clock[ALARMS]]],
        "soft_restarts": int(s.clock[SOFT]),
        **conscience.inspect(s.conscience, origin, names),
    }
