"""META against its plain twin, and against an auditor who sees only what users see."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from naive import NaiveMeta
from sigshift.meta import evidence
from sigshift.meta import paper as meta
from sigshift.meta.bases import replay_length
from sigshift.play import Play
from sigshift.rng import POLICY_DOMAIN, derive

KINDS = ("bernoulli", "deterministic", "beta", "zeros", "ones", "adversary")


@st.composite
def instances(draw, longest=500):
    return {
        "arms": draw(st.integers(2, 8)),
        "horizon": draw(st.integers(1, longest)),
        "threshold": draw(st.sampled_from(["paper", "remark"])),
        "c0": 10.0 ** draw(st.floats(-4, 0.3)),
        "replay_rate": draw(st.sampled_from([0.0, 0.05, 0.5, 1.0, 3.0])),
        "kind": draw(st.sampled_from(KINDS)),
        "late": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }


class World:
    """Rewards that make trouble: jumps, long runs of zeros and of ones, an adversary who turns at the wrong time."""

    def __init__(self, kind, arms, horizon, seed):
        self.kind, self.horizon = kind, horizon
        self.random = np.random.default_rng(seed)
        self.segments = int(self.random.integers(1, 6))
        self.means = self.random.random((self.segments, arms))
        if kind == "zeros":
            self.means[self.random.random(self.segments) < 0.5] = 0.0
        if kind == "ones":
            self.means[self.random.random(self.segments) < 0.5] = 1.0
        self.period = int(self.random.integers(2, 40))

    def reward(self, t, a):
        mean = float(self.means[t * self.segments // self.horizon][a])
        if self.kind == "adversary":
            return float((t // self.period) % self.means.shape[1] == a)
        if self.kind == "deterministic":
            return mean
        if self.kind == "beta":
            return float(self.random.beta(3 * mean + 1e-3, 3 * (1 - mean) + 1e-3))
        return float(self.random.random() < mean)


def compare(arms, horizon, threshold, c0, replay_rate, kind, late, seed):
    """Play the kernel and the twin side by side; every round they must agree on everything."""
    key = derive(seed, POLICY_DOMAIN)
    params = meta.configure(arms, horizon, threshold=threshold, c0=c0, replay_rate=replay_rate)
    state = meta.init(params, arms, key)
    twin = NaiveMeta(arms, horizon, key, threshold, c0, replay_rate)
    world = World(kind, arms, horizon, seed)
    waiting = []
    for t in range(horizon):
        if meta.crowded(params, state):
            state = meta.grow(params, state)
        choice = meta.select(params, state, t)
        assert choice == twin.select(t)
        seen = meta.inspect(params, state, 0, range(arms))
        assert seen["master"] == sorted(twin.master)
        assert seen["bases"] == twin.live()
        waiting.append((t, choice[0], world.reward(t, choice[0]), choice[1]))
        while waiting and (not late or world.random.random() < 0.6):
            told = waiting.pop(int(world.random.integers(len(waiting))))
            if not late or world.random.random() < 0.9:
                meta.update(params, state, *told)
                twin.update(*told)
    assert meta.restarts(params, state).tolist() == twin.restarts
    return twin


@settings(max_examples=60, deadline=None)
@given(instances())
def test_every_decision_is_that_of_the_twin(instance):
    compare(**instance)


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(instances(longest=3000))
def test_every_decision_is_that_of_the_twin_at_length(instance):
    compare(**instance)


def test_the_comparison_meets_evictions_restarts_and_growth():
    """The instances are no idle ones: arms are evicted, episodes end, replays nest."""
    calm = compare(3, 900, "paper", 0.005, 0.05, "bernoulli", False, 5)
    wild = compare(4, 900, "paper", 0.0005, 1.0, "beta", False, 6)
    assert len(calm.restarts) > 0
    assert len(wild.restarts) > 20


def test_the_state_grows_when_stacks_and_restarts_run_short():
    params = meta.configure(2, 20_000, c0=1e-6, replay_rate=0.5)
    state = meta.init(params, 2, derive(1, POLICY_DOMAIN))
    width = state.restarts.size
    for t in range(2_000):
        if meta.crowded(params, state):
            state = meta.grow(params, state)
        a, q = meta.select(params, state, t)
        meta.update(params, state, t, a, float((t // 3) % 2 == a), q)
    assert state.restarts.size > width
    assert meta.restarts(params, state).size > width


def test_young_starts_and_long_stacks_find_room():
    """With the Remark's threshold a start stays young for K log(T) rounds; two arms that tie fill the stacks."""
    twin = compare(2, 2500, "remark", 1.5, 0.0, "ones", False, 8)
    assert twin.restarts == []
    params = meta.configure(2, 100_000, threshold="remark", c0=2.0, replay_rate=0.0)
    state = meta.init(params, 2, derive(1, POLICY_DOMAIN))
    sizes = {name: getattr(state, name).shape[1] for name in ("events", "stacks")}
    for t in range(20_000):
        if meta.crowded(params, state):
            state = meta.grow(params, state)
        a, q = meta.select(params, state, t)
        meta.update(params, state, t, a, 1.0, q)
    assert state.events.shape[1] >= sizes["events"]
    assert state.stacks.shape[1] > sizes["stacks"]


def audit(bandit, rewards, horizon, arms, threshold, c0):
    """Derive every candidate set, master set and restart anew from inspect(), choices and rewards alone.

    The auditor keeps each round's |A_t| (from inspect), choice and reward, and scans every interval itself.
    """

    def theta(n):
        log = math.log(horizon)
        if threshold == "paper":
            return log * math.sqrt(c0 * max(arms * n, arms**2))
        return math.sqrt(c0) * math.sqrt(max(arms * log * n, arms**2 * log**2))

    hats = np.zeros((horizon, arms))  # |A_t| Y_t(a) 1{pi_t = a}
    violated = {}  # arm -> the starts of its violated intervals, with their ends
    sets = {}  # base (start, length) -> its candidates as last seen
    episode_start, master, restarts, evictions = 0, set(range(arms)), [], 0
    for t in range(horizon):
        seen = bandit.inspect()
        assert seen["round"] == t
        bases = [(base["start"], base["length"]) for base in seen["bases"]]
        spawned = bases[-1][0] == t and t > seen["episode_start"]
        for s1 in range(episode_start, t - 1):
            total = hats[s1:t].sum(axis=0)
            for a in np.flatnonzero(total.max() - total > theta(t - 1 - s1)):
                violated.setdefault(int(a), []).append(s1)
        if not spawned:  # the active base has tested its arms
            evicted = {a for a, starts in violated.items() if max(starts) >= episode_start}
            expected_master = master - evicted
            if not expected_master:
                restarts.append(t)
                assert seen["episode_start"] == t
                episode_start, master, violated, sets = t, set(range(arms)), {}, {}
                assert seen["bases"] == [{"start": t, "length": horizon - t, "candidates": list(range(arms))}]
            else:
                assert set(seen["master"]) == expected_master
                master = expected_master
                start = bases[-1][0]
                lost = {a for a, starts in violated.items() if max(starts) >= start}
                before = sets.get(bases[-1], set(range(arms)))
                assert set(seen["bases"][-1]["candidates"]) == before - lost
                evictions += len(before & lost)
        else:
            assert set(seen["bases"][-1]["candidates"]) == set(range(arms))
            assert set(seen["master"]) == master
        assert seen["episode_start"] == episode_start
        assert seen["restarts"] == restarts
        assert bases[0][0] == episode_start
        for outer, inner in itertools.pairwise(bases):
            assert outer[0] < inner[0]
            assert inner[0] + inner[1] < outer[0] + outer[1] or outer == bases[0]
            assert inner[0] + inner[1] >= t
        sets.update({(b["start"], b["length"]): set(b["candidates"]) for b in seen["bases"]})
        choice = bandit.ask()
        active = seen["bases"][-1]["candidates"]
        assert choice.index in active
        assert choice.propensity == 1.0 / len(active)
        reward = rewards(t, choice.index)
        hats[t, choice.index] = len(active) * reward
        bandit.tell(choice, reward)
    return len(restarts), evictions


@pytest.mark.parametrize("threshold", ["paper", "remark"])
@pytest.mark.parametrize(("arms", "c0", "rate", "kind"), [(2, 0.02, 0.5, "bernoulli"), (4, 0.002, 0.1, "beta")])
def test_an_outsider_derives_every_eviction_and_restart(threshold, arms, c0, rate, kind):
    horizon = 400
    c0 = c0 * math.log(horizon) if threshold == "remark" else c0
    policy = ss.policy("meta", threshold=threshold, c0=c0, replay_rate=rate)
    world = World(kind, arms, horizon, 3)
    world.segments, world.means = 2, np.array([[0.9] + [0.1] * (arms - 1), [0.1] * (arms - 1) + [0.9]])
    bandit = ss.Bandit(policy, arms=arms, horizon=horizon, seed=11)
    restarts, evictions = audit(bandit, world.reward, horizon, arms, threshold, c0)
    assert evictions > 0
    assert restarts > 0


def test_doubling_is_a_fresh_meta_in_each_epoch():
    bandit = ss.Bandit(ss.policy("meta", c0=0.001), arms=3, seed=5)
    world = World("bernoulli", 3, 300, 9)
    start = 0
    for epoch in range(8):
        horizon = 2**epoch
        key = derive(5, POLICY_DOMAIN, 0, epoch)
        twin = NaiveMeta(3, horizon, key, "paper", 0.001, 0.5)
        for t in range(horizon):
            seen = bandit.inspect()
            assert seen["horizon"] == horizon
            choice = bandit.ask()
            assert (choice.index, choice.propensity) == twin.select(t)
            assert choice.round == start + t
            assert seen["bases"] == [{**base, "start": base["start"] + start} for base in twin.live()]
            reward = world.reward(choice.round, choice.index)
            bandit.tell(choice, reward)
            twin.update(t, choice.index, reward, choice.propensity)
        start += horizon


def test_the_thresholds_are_those_of_the_paper():
    for threshold, arms, horizon, c0 in [("paper", 4, 1000, 0.3), ("remark", 7, 50_000, 2.0)]:
        params = meta.configure(arms, horizon, threshold=threshold, c0=c0)
        log = math.log(horizon)
        for n in [1, 3, arms, arms + 1, 60, 100, 5000]:
            expected = log * math.sqrt(c0 * max(arms * n, arms**2))
            if threshold == "remark":
                expected = math.sqrt(c0) * math.sqrt(max(arms * log * n, arms**2 * log**2))
            assert evidence.theta(params, n) == pytest.approx(expected, rel=1e-15)


def test_replays_follow_the_schedule():
    """Chi-square over the lengths, pooled over ages; false alarm 1e-6 for each of three rates."""
    from scipy import stats

    horizon = 4096
    lengths = [2**i for i in range(1, 13)]
    random = np.random.default_rng(1)
    for rate in (0.1, 0.5, 1.0):
        params = meta.configure(3, horizon, replay_rate=rate)
        counts, expected = np.zeros(13), np.zeros(13)
        for age in (1, 2, 5, 30, 200, 1500, 4000):
            p = np.array([min(1.0, rate / math.sqrt(m * age)) for m in lengths])
            largest = [p[i] * np.prod(1 - p[i + 1 :]) for i in range(12)]
            expected += 20_000 * np.array([1 - sum(largest), *largest])
            for chance in random.random(20_000):
                m = 0
                if chance * math.sqrt(age) < params.replay_bound:
                    m = replay_length(rate, 2, params.longest, age, chance)
                counts[m.bit_length() - 1 if m else 0] += 1
        # counts[0] is "no replay"; counts[i] is length 2^i
        used = expected > 20
        statistic = ((counts - expected)[used] ** 2 / expected[used]).sum()
        assert stats.chi2.sf(statistic, used.sum()) > 1e-6
        assert counts[~used].sum() <= expected[~used].sum() + 60


def test_a_run_spawns_replays_at_the_scheduled_rate():
    """The number of replays in runs without evidence; within 5 standard deviations (false alarm 6e-7)."""
    horizon, runs, rate = 3000, 20, 0.5
    lengths = [2**i for i in range(1, 13)]
    p = np.array([1 - np.prod([1 - min(1, rate / math.sqrt(m * s)) for m in lengths]) for s in range(1, horizon)])
    params = meta.configure(2, horizon, replay_rate=rate)
    spawned = 0
    for run in range(runs):
        state = meta.init(params, 2, derive(run, POLICY_DOMAIN))
        for t in range(horizon):
            meta.select(params, state, t)
            top = state.clock[evidence.TOP]
            spawned += top > 0 and state.starts[top] == t
    assert abs(spawned - runs * p.sum()) < 5 * math.sqrt(runs * (p * (1 - p)).sum())


def test_the_stack_is_shallow():
    env = ss.env("pb1")
    play = Play(ss.policy("meta", threshold="paper", replay_rate=1.0), 3, env.horizon, 1, 0, env)
    deepest = 0
    for t in range(5000):
        a, q = play.compiled.ask(play.params, play.state, t)
        play.compiled.tell(play.params, play.state, t, a, 0.5, q)
        deepest = max(deepest, int(play.state.clock[evidence.TOP]) + 1)
    assert 2 < deepest <= math.ceil(math.log2(env.horizon)) + 1


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"c0": 0}, "c0"),
        ({"c0": math.nan}, "c0"),
        ({"threshold": "calibrate"}, "threshold"),
        ({"replay_rate": -1}, "replay_rate"),
        ({"replayrate": 1}, "replayrate"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": "forever"}, "horizon"),
    ],
)
def test_bad_parameters_are_refused_by_name(params, names):
    with pytest.raises(ss.InvalidInput, match=names):
        ss.policy("meta", **params)
