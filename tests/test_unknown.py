"""Policies that are not told the changes: AdSwitch against its plain twin, its tuning, its restarts."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_unknown import NaiveAdSwitch
from sigshift.bandit import Bandit
from sigshift.checks import InvalidInput
from sigshift.detectors import hull
from sigshift.environment import Environment
from sigshift.environments import env
from sigshift.play import Play
from sigshift.policies import ad_switch
from sigshift.policy import policy
from sigshift.rng import POLICY_DOMAIN, REWARD_DOMAIN, derive
from sigshift.simulation import simulate
from sigshift.testing import check_policy

SMALL = {"detection": 0.05, "eviction": 0.1, "checking": 5.0}  # episodes of some ten rounds, arms that leave and return


@pytest.mark.parametrize("params", [SMALL])
def test_keeps_the_contract_with_small_constants(params):
    check_policy(policy("ad_switch", **params))


# The twin


@st.composite
def instances(draw):
    return SimpleNamespace(
        arms=draw(st.integers(2, 8)),
        rounds=draw(st.integers(1, 400)),
        kind=draw(st.sampled_from(["coins", "numbers", "steps"])),
        seed=draw(st.integers(0, 2**32 - 1)),
        delay=draw(st.sampled_from([0, 0, 1, 7, 50])),
        lost=draw(st.sampled_from([0.0, 0.3])),
        params=draw(
            st.fixed_dictionaries(
                {
                    "detection": st.sampled_from([0.005, 0.02, 0.1, 0.5]),
                    "eviction": st.sampled_from([None, 0.005, 0.05, 0.2, 1.0]),
                    "checking": st.sampled_from([0.0, 1.0, 10.0]),
                }
            )
        ),
    )


def rewards_of(instance, chance):
    """Means that change now and then; rewards that are coins, numbers around the mean, or the mean itself."""
    segments = int(chance.integers(1, 5))
    starts = np.sort(chance.integers(0, instance.rounds, segments - 1))
    means = chance.random((segments, instance.arms))[np.searchsorted(starts, np.arange(instance.rounds), side="right")]
    if instance.kind == "coins":
        return (chance.random(means.shape) < means).astype(float)
    if instance.kind == "numbers":
        return np.clip(means + chance.normal(0, 0.1, means.shape), 0, 1)
    return means


def compared(instance):
    """Play the kernel and its twin side by side; returns the twin."""
    chance = np.random.default_rng(instance.seed)
    rewards = rewards_of(instance, chance)
    play = Play(policy("ad_switch", **instance.params), instance.arms, instance.rounds, instance.seed)
    twin = NaiveAdSwitch(instance.arms, instance.rounds, derive(instance.seed, POLICY_DOMAIN), **instance.params)
    waiting, decisions = {}, []
    for t in range(instance.rounds):
        play.enter(t)
        arm, propensity = play.compiled.ask(play.params, play.state, t)
        assert (arm, pytest.approx(propensity, rel=1e-9)) == twin.select(t)
        assert set(np.flatnonzero(play.state.good)) == twin.good
        decisions.append((arm, rewards[t, arm], propensity))
        if chance.random() >= instance.lost:
            waiting.setdefault(t + int(chance.integers(instance.delay + 1)), []).append(t)
        for earlier in chance.permutation(waiting.pop(t, [])):
            play.compiled.tell(play.params, play.state, earlier, *decisions[earlier])
            twin.update(earlier, *decisions[earlier])
    assert play.restarts() == twin.restarts
    return twin


@settings(max_examples=150, deadline=None)
@given(instance=instances())
def test_equals_its_plain_twin_with_any_constants(instance):
    compared(instance)


def test_the_comparison_with_the_twin_sees_all_that_can_happen():
    """Restarts by (3) and by (4), evictions, and checks: a comparison without them would prove little."""
    seen = set()
    for seed in range(12):
        instance = SimpleNamespace(arms=3, rounds=400, kind="coins", seed=seed, delay=0, lost=0.0)
        instance.params = {"detection": 0.5, "eviction": 0.2, "checking": 10.0} if seed % 2 else {"detection": 0.1}
        twin = compared(instance)
        seen |= {"restart"} if twin.restarts else set()
        seen |= {"bad"} if twin.evicted else set()
        seen |= {"check"} if any(twin.obligations) else set()
    assert seen == {"restart", "bad", "check"}


@pytest.mark.long
@settings(max_examples=1_000, deadline=None)
@given(instance=instances())
def test_equals_its_plain_twin_very_often(instance):
    compared(instance)


def test_lower_bounds_need_only_the_hull():
    """The largest over all intervals that end now is that over the vertices of the hull, for any rewards."""
    chance = np.random.default_rng(3)
    params = ad_switch.configure(arms=2, horizon=1_000, detection=0.3)
    for kind in range(6):
        state = ad_switch.init(params, 2, np.uint64(1))
        ad_switch.begin_episode(params, state, 0)
        sums, most = [0.0], 0
        for k in range(600):
            if kind % 3 == 0:
                y = float(chance.random() < (0.2 if k < 300 else 0.7))
            else:
                y = chance.random() if kind % 3 == 1 else 0.5 + 0.5 * math.sin(k / 40)
            if state.short[0]:
                state = ad_switch.grow(params, state)
            if k > 0:
                hull.push(state.points[0], state.sizes[0], state.short, float(k), sums[-1])
            state.told[0] += 1
            state.total[0] += y
            sums.append(sums[-1] + y)
            state.bar[0, 1] = -100.0
            ad_switch.exceeds(params, state, 0, 1)
            lower = (
                (sums[-1] - sums[j]) / (k + 1 - j) - math.sqrt(params.confidence / (k + 1 - j)) for j in range(k + 1)
            )
            assert state.bar[0, 1] == pytest.approx(max(lower), rel=1e-12)
            most = max(most, int(state.sizes[0, 1]))
        assert most < (60 if kind % 3 < 2 else 300)


# The tuning


def test_has_the_constants_of_the_paper():
    params = policy("ad_switch").configure(5, 20_000)
    log = math.log(20_000)
    assert params.threshold == pytest.approx(16 * log)
    assert params.confidence == pytest.approx(2 * log)
    assert params.rate == pytest.approx(1 / math.sqrt(5 * 20_000 * log))
    assert ad_switch.length_of(params, 3) == math.floor(2**7 * log)
    assert [ad_switch.finest(gap) for gap in (1.0, 0.5, 0.3)] == [4, 5, 5]
    assert policy("ad_switch", detection=0.25).configure(5, 20_000).threshold == pytest.approx(2 * log)
    assert policy("ad_switch", eviction=3).configure(5, 20_000).threshold == pytest.approx(3 * log)
    assert policy("ad_switch", checking=0).configure(5, 20_000).rate == 0.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"detection": 0.0}, "detection must be a finite number > 0"),
        ({"eviction": -1.0}, "eviction must be a finite number > 0"),
        ({"checking": -0.5}, "checking must be a finite number >= 0"),
        ({"changes": 4}, "is unknown"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(InvalidInput, match=message):
        policy("ad_switch", **params)


# What it does


def restarts_of(problem, seed, **params):
    play = Play(policy("ad_switch", **params), problem.arms, problem.horizon, seed)
    nothing = (np.empty(0, np.int64), np.empty(0))
    key = derive(seed, REWARD_DOMAIN)
    regret = 0.0
    for b in problem.blocks():
        regret += play.simulate(b.first, b.last, b, problem.law_code, problem.spread, key, *nothing)
    return play.restarts(), regret


def test_does_not_restart_without_changes():
    """Each of fewer than K T^2 / 2 intervals is out of its bounds with probability 2 / T^4: 5e-9 a run in all."""
    problem = Environment.piecewise([0], [(0.9, 0.5)], 20_000)
    for seed in range(3):
        restarts, _ = restarts_of(problem, seed)
        assert restarts == []


def test_an_arm_is_evicted_when_the_paper_says():
    """A gap of 1 without noise: after n - 1 > C1 ln(T) rewards of each arm; then it is played only in checks."""
    problem = Environment.piecewise([0], [(1.0, 0.0)], 2_000, law="deterministic")
    play = Play(policy("ad_switch", checking=0.0), 2, problem.horizon, 1)
    choices, rewards = np.empty(2_000, np.int64), np.empty(2_000)
    (block,) = problem.blocks()
    play.simulate(0, 2_000, block, problem.law_code, problem.spread, derive(1, REWARD_DOMAIN), choices, rewards)
    needed = math.floor(16 * math.log(2_000)) + 2
    assert abs(np.count_nonzero(choices) - needed) <= 1
    assert (choices[: 2 * needed - 2] == np.arange(2 * needed - 2) % 2).all()


def test_a_bad_arm_that_has_become_good_is_found_by_a_check():
    """Three seeds; constants of half the paper's, so that no bound on false alarms is claimed."""
    problem = Environment.piecewise([0, 30_000], [(0.6, 0.1), (0.6, 1.0)], 200_000)
    for seed in range(3):
        (restart,) = restarts_of(problem, seed, detection=1.0)[0]
        assert 30_000 < restart < 80_000
        assert restarts_of(problem, seed, detection=1.0, checking=0.0)[0] == []


def test_arms_come_and_go():
    bandit = Bandit(policy("ad_switch", detection=0.6), arms=["a", "b", "c"], horizon=5_000, seed=3)
    chance = np.random.default_rng(2)

    def go(rounds, means):
        chosen = []
        for _ in range(rounds):
            choice = bandit.ask()
            chosen.append(choice.arm)
            bandit.tell(choice, float(chance.random() < means[choice.arm]))
        return chosen

    go(800, {"a": 0.9, "b": 0.1, "c": 0.2})
    facts = bandit.inspect()
    assert facts["good"] == [0]
    assert [bad["arm"] for bad in facts["bad"]] == [1, 2]
    bandit.retire_arm("a")
    assert set(go(300, {"b": 0.1, "c": 0.2})) == {"b", "c"}
    bandit.add_arm("d")
    assert go(500, {"b": 0.1, "c": 0.2, "d": 0.9})[-50:].count("d") > 20
    assert bandit.inspect()["restarts"] == []


def test_costs_the_same_whatever_the_horizon():
    """Vertices of the hulls and starts of the grid grow with log T at most."""
    sizes = []
    for rounds in (20_000, 320_000):
        problem = Environment.piecewise([0], [np.linspace(0.45, 0.55, 5)], rounds)
        play = Play(policy("ad_switch"), 5, rounds, 4)
        nothing = (np.empty(0, np.int64), np.empty(0))
        for b in problem.blocks():
            play.simulate(b.first, b.last, b, problem.law_code, problem.spread, derive(4, REWARD_DOMAIN), *nothing)
        sizes.append((play.state.sizes.max(), play.state.grid.size))
    assert sizes[1][0] < 2 * sizes[0][0] + 10
    assert sizes[1][1] <= sizes[0][1] + 4 * 4


PLAYABLE = {"detection": 0.5, "eviction": 2.0, "checking": 0.03}


@pytest.mark.long
@pytest.mark.parametrize("name", ["pb1", "pb2"])
def test_restarts_where_the_problems_change(name):
    """docs: with the paper's constants and 200,000 rounds, one restart after each change and no other, in 20 runs."""
    problem = env(name, horizon=200_000)
    for seed in range(20):
        restarts, _ = restarts_of(problem, seed)
        assert [restart // 40_000 for restart in restarts] == [1, 2, 3, 4]


def test_small_constants_can_be_played():
    """docs: regret on pb1 and pb2 as published, 20,000 rounds, well below uniform play and its own with the paper's."""
    for name, most in (("pb1", 1_000), ("pb2", 900)):
        runs = simulate(policy("ad_switch", **PLAYABLE), env(name), runs=20, seed=1, progress=False)
        assert runs.regret(runs.policies[0])[:, -1].mean() < most
