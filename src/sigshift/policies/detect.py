"""A base policy that is started afresh when a detector finds a change, with some exploration that is forced.

The general form of the detecting policies: Liu, Lee, Shroff (2018); Cao, Wen, Kveton, Xie (2019); Besson, Kaufmann,
Maillard, Seznec (2022). ``base`` is any policy, ``detector`` watches the rewards of each arm. With
``restart="global"`` a change in one arm starts everything over; with ``"local"`` that arm alone is forgotten, if the
base can (it has a kernel ``forget``).

So that a change of an arm that is not played can be seen at all, some rounds are forced. With r the ``rate`` and n the
rounds since the last global restart (of the run, if restarts are local), ``exploration`` is

    "uniform"      each arm once in every floor(K / r) rounds, in turn (Cao et al., Besson et al.)
    "random"       with probability r a random arm (Liu et al.)
    "tracking"     the least played arm, whenever it has fewer than r n / K plays
    "diminishing"  each arm once in about K sqrt(n) / r rounds: ever less (Li, Hsieh, Huang 2024)
    "monitoring"   once in every floor(K / r) rounds the arm that was most played before: see below
    "none"         no forced rounds

``rate=None`` is sqrt(L K ln(T) / T) if the ``changes`` L are told; if not, it is that for L = 1 and times sqrt(k) after
k - 1 restarts (Besson et al.). For the diminishing and the monitoring form it is 1. A detector that can be told the
changes is told them, too, unless it is told something else (``detector_changes``).

Monitoring (Komiyama, Fouche, Honda 2024) is for changes that move all arms: one arm, well chosen, then gives all of
them away. With D = floor(K / r) and N = ceil(log2 T), an episode is cut into blocks of D N, 2 D N, 4 D N, ... rounds.
Before the last D N rounds of a block (for the first block: after it) the arm with the most plays that were not forced
is chosen. It is played in every Dth round, counted from there, up to the end of the next block: so N times in its own
block, and then all through the next one. After a local restart it would be played on and on though it is bad by now
(on pb2 that is 15 times the regret), so monitoring wants ``restart="global"``.

With ``every`` above 1 an alarm counts only in rounds that it divides, which is how public code saves time.

Choices by force are told to the base (its kernel ``chosen``) and their rewards count for it as all others do. A reward
whose arm has been forgotten since its decision counts for nothing. The propensity of a round that is not forced is the
base's. A base that draws at random has new draws after each restart.
"""

from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import choice, real, refuse, whole
from sigshift.compose import configured, options_of, parameters
from sigshift.detectors import glr as detector  # part detector
from sigshift.kernel import inlined_kernel, kernel, unmoved
from sigshift.policies import kl_ucb as base  # part base
from sigshift.renewal import rekeyed, renew
from sigshift.rng import philox, uniforms

PAPER = "Liu, Lee, Shroff 2018; Cao et al. 2019; Besson et al. 2022"
GUARANTEE = "that of the base between changes, if these are far enough apart and large enough to be detected"
TOLD = "changes (optional)"
PARTS = {"base": "policy", "detector": "detector"}
FIXED_ARMS = getattr(base, "FIXED_ARMS", False) or hasattr(base, "add_arm") or hasattr(base, "retire_arm")

EXPLORATIONS = ("uniform", "random", "tracking", "diminishing", "none", "monitoring")
UNIFORM, RANDOM, TRACKING, DIMINISHING, NONE, MONITORING = range(6)
START, NOW, RESTARTS, NEXT, CLOCKS = range(5)
BEFORE, PRESENT = 1, 2  # the arm that was chosen in the block before, that of the present block
FORCED = 7  # the stream of the draws that force a round: no base has so many


class Params(NamedTuple):
    base: Any
    detector: Any
    exploration: int
    rate: float
    growing: bool  # whether the rate grows with the square root of the number of episodes
    everything: bool  # whether a change in one arm starts everything over
    every: int  # an alarm counts in rounds that are multiples of this
    samples: int  # how often an arm is monitored in its own block


class State(NamedTuple):
    key: np.uint64
    base: Any
    fresh: Any  # the base as it began
    detector: Any
    clock: np.ndarray  # start of the episode, next round, restarts, next forced round (monitoring: end of the block)
    draws: np.ndarray  # what the base's key is mixed with in this episode
    since: np.ndarray  # [arm] the first round whose rewards count
    pulls: np.ndarray  # [arm] the number of its decisions in this episode
    free: np.ndarray  # [arm] how many of them were not forced
    watched: np.ndarray  # [arm] whether it is monitored: BEFORE, PRESENT, or both added
    restarts: np.ndarray  # the rounds of the restarts


def configure(
    arms: int,
    horizon: int,
    *,
    restart: str = "global",
    exploration: str = "uniform",
    rate: float | None = None,
    changes: int | None = None,
    every: int = 1,
    **options: Any,
) -> Params:
    choice("restart", restart, ["global", "local"])
    choice("exploration", exploration, EXPLORATIONS)
    if restart == "local" and not hasattr(base, "forget"):
        rule = "must be 'global' for a base that cannot forget a single arm"
        raise refuse("restart", rule, restart, "Take ucb1 or kl_ucb as the base, or restart it as a whole.")
    if restart == "local" and exploration == "monitoring":
        rule = "must be 'global' with monitoring: else an arm is watched on and on after it has become a bad one"
        raise refuse("restart", rule, restart, "Restart as a whole, or explore in another way.")
    if exploration != "none" and not hasattr(base, "chosen"):
        rule = "must be 'none' for a base that cannot be told of a choice that is not its own"
        raise refuse("exploration", rule, exploration, "Or give the base a kernel `chosen`: chosen(p, s, t, a).")
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    fixed = exploration in ("diminishing", "monitoring")
    growing = rate is None and changes is None and not fixed
    used = "changes" in parameters(detector) or (rate is None and not fixed and exploration != "none")
    if changes is not None and not used:
        rule = "must be left out where neither the rate nor the detector follows from them"
        raise refuse("changes", rule, changes, "Else a result would say that it was told them. Leave out the rate.")
    if rate is None:
        log = np.log(max(horizon, 2))
        usual = min(1.0, float(np.sqrt(max(changes or 1, 1) * arms * log / horizon)))
        rate = 1.0 if fixed else usual
    most = np.inf if fixed else 1.0
    rate = real("rate", rate, "The share of rounds that are forced; None is the papers' choice.", above=0.0, most=most)
    known = {"arms": arms, "horizon": horizon}
    test = options_of("detector", options)
    if changes is not None and "changes" in parameters(detector):
        test = {"changes": changes, **test}
    return Params(
        base=configured(base, known, options_of("base", options)),
        detector=configured(detector, known, test),
        exploration=EXPLORATIONS.index(exploration),
        rate=rate,
        growing=growing,
        everything=restart == "global",
        every=whole("every", every, 1, "Let alarms count in every so many rounds; 1 is exact."),
        samples=int(np.ceil(np.log2(max(horizon, 2)))),
    )


def init(p, arms, key):
    state = State(
        key=key,
        base=base.init(p.base, arms, key),
        fresh=base.init(p.base, arms, key),
        detector=detector.init(p.detector, arms),
        clock=np.zeros(CLOCKS, np.int64),
        draws=np.zeros(1, np.uint64),
        since=np.zeros(arms, np.int64),
        pulls=np.zeros(arms, np.int64),
        free=np.zeros(arms, np.int64),
        watched=np.zeros(arms, np.int64),
        restarts=np.zeros(16, np.int64),
    )
    state.clock[NEXT] = _first_session(p, arms)
    return state


@kernel
def no_arm(p, s, a):
    """What a base that cannot forget one arm is never asked."""


# A base that has no such kernels is never asked for them: configure refuses.
base_chosen = getattr(base, "chosen", unmoved)
base_forget = getattr(base, "forget", no_arm)


@inlined_kernel
def select(p, s, t):
    s.clock[NOW] = t + 1
    arm, q = _forced(p, s, t)
    since = t - s.clock[START]
    if arm < 0:
        arm, q = base.select(p.base, rekeyed(s.base, s.draws[0]), since)
        s.free[arm] += 1
    else:
        base_chosen(p.base, s.base, since, arm)
    s.pulls[arm] += 1
    return arm, q


@inlined_kernel
def update(p, s, t, a, y, q):
    if t < s.since[a]:
        return
    base.update(p.base, rekeyed(s.base, s.draws[0]), t - s.clock[START], a, y, q)
    alarm = detector.observe(p.detector, s.detector, a, y)
    if alarm and t % p.every == 0:
        _restart(p, s, a)


@kernel
def _restart(p, s, a):
    """Forget the arm, or everything; the next round is the first that counts."""
    now = s.clock[NOW]
    count = s.clock[RESTARTS]
    if count == 0 or s.restarts[count - 1] < now:  # of several at once, one is told
        s.restarts[count] = now
        s.clock[RESTARTS] = count + 1
    if p.everything:
        s.clock[START] = now
        s.clock[NEXT] = _first_session(p, s.since.size)
        w0, w1, _, _ = philox(s.key, np.uint64(s.clock[RESTARTS]), np.uint64(0), np.uint64(0), np.uint64(FORCED))
        s.draws[0] = (w0 << np.uint64(32)) | w1
        renew(s.base, s.fresh)
        for b in range(s.since.size):
            s.since[b] = now
            s.pulls[b] = 0
            s.free[b] = 0
            s.watched[b] = 0
            detector.clear(p.detector, s.detector, b)
    else:
        s.since[a] = now
        base_forget(p.base, s.base, a)
        detector.clear(p.detector, s.detector, a)


@inlined_kernel
def _forced(p, s, t):
    """The arm that has to be played in round t and its propensity, or -1."""
    arms = s.since.size
    since = t - s.clock[START]
    rate = p.rate
    if p.growing:
        rate = min(1.0, rate * np.sqrt(1.0 + s.clock[RESTARTS]))
    if p.exploration == UNIFORM:
        slot = since % max(int(arms / rate), arms)
        if slot < arms:
            return slot, 1.0
    elif p.exploration == RANDOM:
        coin, which = uniforms(s.key, t, FORCED, 0)
        if coin < rate:
            return int(which * arms), 1.0 / arms
    elif p.exploration == TRACKING:
        least = 0
        for b in range(1, arms):
            if s.pulls[b] < s.pulls[least]:
                least = b
        if s.pulls[least] * arms < rate * since:
            return least, 1.0
    elif p.exploration == DIMINISHING:
        slot = since - s.clock[NEXT]
        if slot == arms - 1:
            root = np.sqrt(float(s.clock[NEXT])) + 0.5 * arms / rate
            s.clock[NEXT] = max(s.clock[NEXT] + arms, int(np.ceil(root * root)))
        if 0 <= slot < arms:
            return slot, 1.0
    elif p.exploration == MONITORING:
        return _monitored(p, s, since), 1.0
    return -1, 0.0


@kernel
def _monitored(p, s, since):
    """The arm that is to be monitored now, or -1. A block of the episode is twice as long as the one before."""
    arms = s.since.size
    period = max(int(arms / p.rate), 1)
    last = period * p.samples  # rounds of the last part of each block, and all rounds of the first block
    end = s.clock[NEXT]
    if since >= end:
        if end == 0:
            end = last
        else:
            if end == last:
                _watch(s)
            for b in range(arms):
                s.watched[b] = BEFORE if s.watched[b] >= PRESENT else 0
            end = 2 * end + last
        s.clock[NEXT] = end
    if end > last and since == end - last:
        _watch(s)
    now = since % period
    wanted = BEFORE if now == period - 1 else PRESENT if now == 0 else 0
    if wanted > 0 and not (wanted == PRESENT and since < end - last):
        for b in range(arms):
            if s.watched[b] & wanted:
                return b
    return -1


@kernel
def _watch(s):
    """Choose the arm with the most plays that were not forced."""
    most = 0
    for b in range(1, s.free.size):
        if s.free[b] > s.free[most]:
            most = b
    s.watched[most] |= PRESENT


@kernel
def _first_session(p, arms):
    """The round in which the diminishing exploration begins: (K / (4 rate))^2; monitoring has a block to begin."""
    if p.exploration == MONITORING:
        return 0
    return int(np.ceil((0.25 * arms / p.rate) ** 2))


base_crowded = getattr(base, "crowded", None)
detector_crowded = getattr(detector, "crowded", None)


@inlined_kernel
def crowded(p, s):
    full = s.clock[RESTARTS] + 1 >= s.restarts.size
    if base_crowded is not None:
        full = full or base_crowded(p.base, s.base)
    if detector_crowded is not None:
        full = full or detector_crowded(p.detector, s.detector)
    return full


def grow(p: Params, s: State) -> State:
    """The same state with more room for what has run short of it."""
    if s.clock[RESTARTS] + 1 >= s.restarts.size:
        s = s._replace(restarts=np.concatenate([s.restarts, np.zeros_like(s.restarts)]))
    if base_crowded is not None and base_crowded(p.base, s.base):
        s = s._replace(base=base.grow(p.base, s.base))  # type: ignore[attr-defined]
    if detector_crowded is not None and detector_crowded(p.detector, s.detector):
        s = s._replace(detector=detector.grow(p.detector, s.detector))  # type: ignore[attr-defined]
    return s


def restarts(p: Params, s: State) -> Any:
    """The rounds of the restarts: of everything, or of one arm."""
    return s.restarts[: s.clock[RESTARTS]]
