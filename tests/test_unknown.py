"""Policies that are not told the changes: AdSwitch, MASTER and BOB against their plain twins, tunings, restarts."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from alike import instances as problems
from alike import plays_alike
from naive_unknown import NaiveAdSwitch
from sigshift import cli
from sigshift.bandit import Bandit
from sigshift.checks import InvalidInput
from sigshift.detectors import hull
from sigshift.environment import Environment
from sigshift.environments import env
from sigshift.play import Play
from sigshift.policies import ad_switch, bob, exp3s, master
from sigshift.policy import policies, policy
from sigshift.rng import POLICY_DOMAIN, REWARD_DOMAIN, derive
from sigshift.simulation import simulate
from sigshift.states import copied
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


def restarts_of(problem, seed, name="ad_switch", **params):
    play = Play(policy(name, **params), problem.arms, problem.horizon, seed)
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


# MASTER

ABLE = {"scale": 0.0005, "width": 0.25}  # docs: constants with which its tests can fire


@settings(max_examples=60, deadline=None)
@given(
    instance=problems(),
    scale=st.sampled_from([1.0, 0.01, 0.001, 1e-4, 1e-5]),
    width=st.sampled_from([2.0, 0.3]),
    delta=st.sampled_from([None, 0.1]),
)
def test_master_equals_its_plain_twin_with_any_constants(instance, scale, width, delta):
    plays_alike("master", instance, scale=scale, width=width, delta=delta)


def test_master_keeps_the_contract_with_constants_that_fire():
    check_policy(policy("master", **ABLE))


def test_master_has_the_constants_of_the_paper():
    params = policy("master").configure(5, 20_000)
    c = 2 * math.log(20_000)  # ln(T / delta), delta = 1 / T
    assert master.rho(params, 100.0) == pytest.approx(math.sqrt(5 * c / 100) + 5 * c / 100)
    assert params.margin == pytest.approx(6 * (math.log2(20_000) + 1) * c)
    assert params.bonus == pytest.approx(2 * math.sqrt(c))
    assert policy("master", delta=0.1).configure(5, 20_000).spread == pytest.approx(5 * math.log(200_000))
    assert policy("master", scale=0.5).configure(5, 20_000).margin == pytest.approx(params.margin / 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"scale": 0.0}, "scale must be a finite number > 0"),
        ({"delta": 1.0}, "delta must be a finite number > 0 and < 1"),
        ({"width": -1}, "width must be a finite number > 0"),
    ],
)
def test_wrong_parameters_of_master_are_refused(params, message):
    with pytest.raises(InvalidInput, match=message):
        policy("master", **params)


def least_horizon(fires):
    """The least number of rounds from which on it holds."""
    low, high = 2.0, 1e18
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fires(middle) else (middle, high)
    return high


def test_the_horizon_below_which_the_first_test_cannot_fire_is_the_published_one():
    """1.24e9 (Gerogiannis et al. 2025), for any base (rho(n) >= 1 / sqrt(n)) and delta < 1; the kernel's is above."""
    anybody = least_horizon(lambda rounds: 9 * 6 * (math.log2(rounds) + 1) * math.log(rounds) <= math.sqrt(rounds))
    assert anybody == pytest.approx(1.246e9, rel=1e-3)

    def first_test_of(arms, delta):
        def fires(rounds):
            params = policy("master", delta=delta).configure(arms, round(rounds))
            return master.FIRST_TEST * params.margin * master.rho(params, rounds) <= 1

        return least_horizon(fires)

    assert anybody < first_test_of(2, 1 - 1e-9) < first_test_of(2, None) < first_test_of(10, None)
    for arms in (2, 10):

        def heard(rounds, arms=arms):
            return not master.silent(policy("master").configure(arms, round(rounds)), arms, round(rounds))

        assert 1.24e9 < least_horizon(heard) < first_test_of(arms, None)  # that of either test


def test_it_is_said_that_master_cannot_react():
    assert "cannot fire below T of about 1.24 x 10^9" in policies().loc["master", "guarantee"]
    problem = env("pb1", horizon=1_000)
    with pytest.warns(ss.Caution, match=r"cannot fire in 1,000 rounds .* 1.24e9 .* smaller scale"):
        simulate("master", problem, runs=1, progress=False)
    with pytest.warns(ss.Caution, match="cannot fire in 500 rounds"):
        Bandit("master", arms=2, horizon=500, seed=1)
    with pytest.warns(ss.Caution, match="cannot fire in 1,000,000 rounds"):
        Bandit("master", arms=2, seed=1)  # nobody knows the horizon: of a long one at least
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bandit(policy("master", **ABLE), arms=2, horizon=10**6, seed=1)
        Bandit("ucb1", arms=2, seed=1)
        policies()


def test_the_command_line_says_in_one_line_that_master_cannot_react(capsys, tmp_path):
    short = ["--envs", "drop", "--horizons", "1e3", "--seeds", "0", "1", "--no-plot", "--out", str(tmp_path / "runs")]
    with warnings.catch_warnings():
        warnings.simplefilter("always", ss.Caution)
        before = warnings.showwarning
        assert cli.main(["bench", "regret", "--policies", "master", "ucb1", *short]) == 0
        assert warnings.showwarning is before
    said = capsys.readouterr().err.splitlines()
    assert [line.startswith("sigshift: the tests of master cannot fire in 1,000 rounds") for line in said] == [True]


def test_master_restarts_after_a_large_change_and_not_without():
    """4,000,000 rounds, three seeds. docs: constants without a proof, so that no bound on false alarms is claimed."""
    rounds, change = 4_000_000, 2_800_000
    before = (0.9, 0.6, 0.3)
    steady = Environment.piecewise([0], [before], rounds)
    for after in ((0.1, 0.2, 0.3), (0.9, 0.6, 0.3)):
        problem = Environment.piecewise([0, change], [before, after], rounds)
        for seed in range(3):
            restarts, _ = restarts_of(problem, seed, "master", **ABLE)
            if after == before:
                assert restarts == []
            else:
                assert change < restarts[0] < change + 400_000
    assert restarts_of(steady, 0, "master")[0] == []


def test_masters_instances_are_scheduled_as_said():
    """In blocks of order 10: an order-m instance begins in 2^(10 - m) rounds with probability rho(2^10) / rho(2^m)."""
    params = policy("master").configure(3, 10**6)
    begun, blocks = np.zeros(11), 400
    for block in range(blocks):
        state = master.init(params, 3, np.uint64(block))
        state.clock[master.ORDER] = 9  # the next block is of order 10
        state.clock[master.START] = -(2**9)
        for t in range(2**10):
            ends = state.end.copy()
            master.select(params, state, t)
            begun += ((state.end != ends) & (state.end > t))[:11]
            assert np.count_nonzero(state.end > t) <= 11
            running = np.flatnonzero(state.end > t)
            assert state.clock[master.ACTIVE] == running[0]
    for m in range(11):
        tries = blocks * 2 ** (10 - m)
        chance = master.rho(params, 2.0**10) / master.rho(params, 2.0**m)
        assert abs(begun[m] - tries * chance) <= 5 * math.sqrt(tries * chance * (1 - chance))  # false alarm: 6e-6


def test_masters_propensity_is_the_chance_of_its_choice():
    """The round is drawn again 3,000 times under other keys; per round five standard deviations, 6e-7 a side."""
    params = policy("master", width=0.3).configure(3, 5_000)
    state = master.init(params, 3, np.uint64(4))
    chance = np.random.default_rng(3)
    seen = set()
    for t in range(1_000):
        if t in (600, 608, 616, 627, 640, 700, 704, 768):
            copies = [copied(state)._replace(key=np.uint64(key)) for key in range(3_000)]
            choices = [master.select(params, copy, t) for copy in copies]
            for arm in {arm for arm, _ in choices}:
                (told,) = {round(q, 12) for a, q in choices if a == arm}
                share = sum(a == arm for a, _ in choices) / 3_000
                assert abs(share - told) <= 5 * math.sqrt(told * (1 - told) / 3_000) + 1e-12
                seen.add(0 < told < 1)
        arm, q = master.select(params, state, t)
        master.update(params, state, t, arm, float(chance.random() < (0.2, 0.5, 0.8)[arm]), q)
    assert seen == {True, False}


def test_masters_state_grows_with_the_logarithm_of_the_horizon():
    sizes = [master.init(policy("master").configure(4, rounds), 4, np.uint64(1)).plays.size for rounds in (1e4, 1e8)]
    assert sizes[1] - sizes[0] == 4 * math.floor(math.log2(1e4))


def test_master_tells_what_it_is_doing():
    bandit = Bandit("master", arms=3, horizon=1_000, seed=1)
    for _ in range(100):
        bandit.tell(bandit.ask(), 1.0)
    facts = bandit.inspect()
    assert (facts["block_start"], facts["block_order"], facts["restarts"]) == (63, 6, [])
    assert facts["active_order"] == min(facts["running_orders"])
    assert max(facts["running_orders"]) == 6


# BOB


@pytest.mark.parametrize("params", [{"base": "exp3s"}, {"block": 7}])
def test_bob_keeps_the_contract(params):
    check_policy(policy("bob", **params))


@settings(max_examples=60, deadline=None)
@given(instance=problems(), base=st.sampled_from(["sw_ucb", "exp3s"]), block=st.sampled_from([None, 1, 7, 40, 1_000]))
def test_bob_equals_its_plain_twin(instance, base, block):
    plays_alike("bob", instance, base=base, block=block)


def test_bob_has_the_grids_of_the_paper():
    windows = bob.grid(3, 244)  # floor(sqrt(3 * 20,000)), and ceil(ln 244) = 6 steps
    assert windows.tolist() == [math.floor(244 ** (i / 6) + 1e-9) for i in range(7)]
    assert windows[[0, -1]].tolist() == [1, 244]
    made = policy("bob").configure(3, 20_000)
    assert made.block == 244
    blocks = math.ceil(20_000 / 244)
    assert made.chooser.gamma == pytest.approx(min(1, math.sqrt(7 * math.log(7) / ((math.e - 1) * blocks))))
    shares = exp3s.grid([1, 2, 6], 3, 244)
    told = [policy("exp3s", switches=count - 1).configure(3, 244).gamma for count in (1, 2, 6)]
    assert shares.tolist() == told
    assert exp3s.grid([50, 100, 244], 3, 244).tolist() == [1.0]
    assert policy("bob", base="exp3s").configure(3, 20_000).base.share == pytest.approx(math.e / 244)
    assert policy("bob", block=10**9).configure(3, 20_000).block == 20_000


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base": "ucb1"}, "base must be a policy with a knob .* but got 'ucb1'. Take 'sw_ucb' or 'exp3s'"),
        ({"base_window": 4}, "parameter .base_window. of bob is unknown; it takes base, base_exploration, block"),
        ({"base": "exp3s", "base_gamma": 0.1}, "parameter .base_gamma. of bob is unknown"),
        ({"base": "exp3s", "base_switches": 2}, "parameter .base_switches. of bob is unknown"),
        ({"block": 0}, "block must be a whole number of at least 1"),
    ],
)
def test_wrong_parameters_of_bob_are_refused(params, message):
    with pytest.raises(InvalidInput, match=message):
        policy("bob", **params)


def test_bob_finds_a_window_that_suits():
    """The best arm changes every 50 rounds, in blocks of 1,000: long windows are bad, and EXP3 finds out."""
    means = [(0.9, 0.1), (0.1, 0.9)] * 2_000
    problem = Environment.piecewise([50 * i for i in range(4_000)], means, 200_000)
    play = Play(policy("bob", block=1_000), 2, problem.horizon, 1)
    nothing = (np.empty(0, np.int64), np.empty(0))
    for b in problem.blocks():
        play.simulate(b.first, b.last, b, problem.law_code, problem.spread, derive(1, REWARD_DOMAIN), *nothing)
    facts = play.inspect(problem.horizon - 1, range(2))
    found = facts["knobs"][int(np.argmax(facts["chances"]))]
    assert sum(facts["chances"]) == pytest.approx(1)
    assert play.restarts() == list(range(1_000, 200_000, 1_000))
    alone = [policy("sw_ucb", window=int(window)) for window in facts["knobs"]]
    runs = simulate(alone, problem, runs=1, seed=1, progress=False)
    regrets = {int(w): runs.regret(one.label)[0, -1] for w, one in zip(facts["knobs"], alone, strict=True)}
    assert regrets[int(found)] <= 1.25 * min(regrets.values())
    assert np.median(list(regrets.values())) > 1.25 * min(regrets.values())
