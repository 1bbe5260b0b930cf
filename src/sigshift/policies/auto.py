"""auto: play what looks best, probe the others just enough, and forget only what has changed.

The policy to use when nothing is known, not even the horizon. Every arm has a memory of its own, and every part of it
is forgotten by itself; nothing starts over as a whole, so changes that do not matter cost little.

*Play.* With n rewards of mean m since the arm's memory began in round tau, its index in round t is the largest q with

    n kl(m, q) <= width * ln((t - fade * tau) / sqrt(n))                   (0 if that is negative).

The lighter bonus is that of MOSS-like indices; ``fade`` below 1 keeps a new memory from being trusted too soon.

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

*Ask around.* When the best arm is seen to drop, others may have changed with it. Each is probed at once, and then about
whenever the time since has grown fourfold, from ``patience`` K rounds on. But where such drops bring no other arm to
the top, they are taken less seriously: with w = (1 + drops) / (1 + drops at another arm than the one before), all are
probed at once after one drop in w, and the probes in its wake begin w times later.

``forget="all"`` is there to compare with: every alarm then starts everything over. That is GLR-klUCB with all the
tuning of this policy.

Rewards may come late: a probe goes on when its last reward has come. There is no chance in any of this.
"""

from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import choice, real, whole
from sigshift.detectors import glr, hull
from sigshift.indices import kl_best, negative_entropy, new_bar, share
from sigshift.kernel import inlined_kernel, kernel

PAPER = "sigshift"
GUARANTEE = "none proven; the least regret of all that are told nothing, as measured on the public suite"

NOW, REFRESH, DROPS, MOVES, RISES, ALARMS, ALERT, CLOCKS = range(8)
REST, QUEUED, ASKED, WAITING = range(4)  # what an arm's probe is at
RATIO, PULLS, TOTAL, OLD, NEW, PROBE = range(6)  # a probe: log likelihood ratio, pulls, their sum, the two means
UNTOLD = 0.5
NARROW = 0.05  # no gap counts as less
SHARPEST = 0.2  # no arm is probed more often
WAKE = 0.7  # probes after a drop: about one whenever the time since has grown fourfold
NEVER = 2**62


class Params(NamedTuple):
    rate: float
    width: float
    fade: float
    level: float
    kept: float
    ahead: float
    drop: float
    accept: float
    longest: int
    patience: float
    everything: bool


class Threshold(NamedTuple):
    """What the detector reads: see :mod:`sigshift.detectors.hull`."""

    proven: bool
    log_delta: float
    every: int
    splits_every: int
    level: float


class State(NamedTuple):
    clock: np.ndarray  # next round, when rates are due, drops, moves, rises, alarms, the latest drop
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
    *,
    rate: float = 0.01,
    width: float = 0.7,
    fade: float = 0.9,
    level: float = 0.8,
    kept: int = 5,
    ahead: float = 0.4,
    drop: float = 0.4,
    accept: float = 7.0,
    longest: int = 30,
    patience: float = 40.0,
    forget: str = "one",
) -> Params:
    choice("forget", forget, ["one", "all"])
    return Params(
        rate=real("rate", rate, "How often arms are probed; 0 is never.", least=0.0),
        width=real("width", width, "The width of the index; 0.7 is calibrated.", above=0.0),
        fade=real("fade", fade, "The share of an arm's past that its index forgets with it.", least=0.0, most=1.0),
        level=real("level", level, "The share of the detector's threshold.", above=0.0),
        kept=float(whole("kept", kept, 1, "How many rewards after a change are kept at most.")),
        ahead=real("ahead", ahead, "How far above the best mean a probe looks.", above=0.0, below=1.0),
        drop=real("drop", drop, "When a probe gives up.", above=0.0),
        accept=real("accept", accept, "When a probe has found a rise.", above=0.0),
        longest=whole("longest", longest, 1, "How many pulls a probe may take."),
        patience=real(
            "patience", patience, "How many rounds per arm until probes after a drop begin.", above=0.0, most=1e9
        ),
        everything=forget == "all",
    )


def init(p, arms, key):
    state = State(
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
    if t >= s.clock[REFRESH]:
        _refresh(p, s, t)
    for a in range(s.turn.size):
        s.credit[a] += s.rate[a]
        if s.credit[a] >= 1.0:
            s.credit[a] -= 1.0
            s.turn[a] = QUEUED
    for a in range(s.turn.size):
        if s.turn[a] == QUEUED:
            _open(p, s, a)
        if s.turn[a] == ASKED:
            s.turn[a] = WAITING
            s.turn_round[a] = t
            s.asked[a] += 1.0
            return a, 1.0
    best = _best(p, s, t)
    s.asked[best] += 1.0
    return best, 1.0


@inlined_kernel
def update(p, s, t, a, y, q):
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
        if s.asked[a] > 0.0:
            s.level[a] = p.width * max(np.log(t + 1 - p.fade * s.begun[a]) - 0.5 * np.log(s.asked[a]), 0.0)
    return kl_best(s.mean, s.entropy, s.asked, s.level, s.bar)


@kernel
def _weigh(s, a):
    s.mean[a] = share(max(s.total[a], 0.0), s.told[a], UNTOLD)
    s.entropy[a] = negative_entropy(s.mean[a])


@kernel
def _leader(s):
    """The arm that looks best."""
    best = 0
    for a in range(1, s.mean.size):
        if s.told[a] > 0.0 and (s.told[best] == 0.0 or s.mean[a] > s.mean[best]):
            best = a
    return best


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
    """A probe of arm a begins, unless it is the arm that looks best."""
    leader = _leader(s)
    if a == leader:
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


@kernel
def _alarm(p, s, a):
    """Forget arm a but for some rewards after the split; if it was the best one and has dropped, ask around."""
    n, total = float(s.detector.told[a]), s.detector.total[a]
    rounds, part = glr.split(s.detector.points[a], s.detector.sizes[a], n, total)
    before, after = part / rounds, (total - part) / (n - rounds)
    first = True
    for b in range(s.mean.size):
        if b != a and s.mean[b] > before:
            first = False
    kept = min(p.kept, n - rounds)
    _forget(s, a, kept, kept * after)
    if p.everything:
        for b in range(s.mean.size):
            if b != a:
                _forget(s, b, 0.0, 0.0)
    elif after >= before:
        s.clock[RISES] += not first
    elif first:
        _ask_around(s, a)


@kernel
def _ask_around(s, a):
    """The best arm, a, has dropped."""
    s.clock[DROPS] += 1
    s.clock[MOVES] += not s.fell[a]
    s.clock[ALERT] = s.clock[NOW]
    s.alert[0] += 1.0 / _patience(s)
    for b in range(s.mean.size):
        s.fell[b] = b == a
        if b != a and s.alert[0] >= 1.0:
            s.turn[b] = QUEUED
    if s.alert[0] >= 1.0:
        s.alert[0] -= 1.0


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
    s.alarms[s.clock[ALARMS]] = s.clock[NOW]
    s.clock[ALARMS] = min(s.clock[ALARMS] + 1, s.alarms.size - 1)


@inlined_kernel
def crowded(p, s):
    return hull.crowded(p, s.detector) or s.clock[ALARMS] + 2 >= s.alarms.size


def grow(p: Params, s: State) -> State:
    """The same state with more room for what has run short of it."""
    if hull.crowded(p, s.detector):
        s = s._replace(detector=hull.grow(p, s.detector))
    if s.clock[ALARMS] + 2 >= s.alarms.size:
        s = s._replace(alarms=np.concatenate([s.alarms, np.zeros_like(s.alarms)]))
    return s


def inspect(p: Params, s: State, origin: int, names: Any) -> dict[str, Any]:
    """What the next choice rests on: for each arm its mean, its rewards, since when, and how likely a probe is."""
    arms = [
        {
            "arm": int(name),
            "mean": float(s.mean[a]),
            "rewards": float(s.told[a]),
            "since": int(s.since[a]) + origin,
            "probe": float(s.rate[a]),
        }
        for a, name in enumerate(names)
    ]
    return {"arms": arms, "forgotten": [int(t) + origin for t in s.alarms[: s.clock[ALARMS]]]}
