"""Rested arms with their regret, the policies for rotting arms and their environments."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from naive_structured import added
from sigshift.play import Play
from sigshift.policies import fewa, heidari, raw_ucb, swa
from sigshift.policy import policy
from sigshift.report.bins import condense
from sigshift.rng import REWARD_DOMAIN, derive
from sigshift.simulation import BENCHMARKS, Runs
from sigshift.testing import uncompiled

TABLE = np.array([[0.9, 0.5, 0.7], [0.8, 0.5, 0.1], [0.2, 0.5, 0.1], [0.2, 0.4, 0.0]])


def world(rounds=400, **options):
    return ss.Environment.rested(TABLE, rounds, starts=[0, 20, 60, 150], **options)


def played(environment, name, run=0, seed=0, **params):
    """The choices, the rewards and the regret of one run."""
    play = Play(policy(name, **params), environment.arms, environment.horizon, seed, run, environment)
    choices, rewards = np.empty(environment.horizon, np.int64), np.empty(environment.horizon)
    (block,) = environment.blocks()
    key = derive(seed, REWARD_DOMAIN)
    law = (environment.law_code, environment.spread)
    regret = play.simulate(0, environment.horizon, block, *law, key, choices, rewards)
    return choices, rewards, regret


def numbered(choices):
    """The number of the own pull of the arm that each choice is."""
    return np.array([np.count_nonzero(choices[:t] == arm) for t, arm in enumerate(choices)])


@st.composite
def rotting(draw):
    """Few pulls of few arms, none of which rises; whole tenths, so that there are ties."""
    arms, pulls = draw(st.integers(2, 3)), draw(st.integers(1, 6))
    steps = draw(st.lists(st.lists(st.integers(0, 10), min_size=arms, max_size=arms), min_size=pulls, max_size=pulls))
    return np.sort(np.array(steps), axis=0)[::-1] / 10


# The environment


def test_its_clock_is_the_pulls():
    environment = world()
    assert environment.clock == "pulls"
    assert ss.env("pb1").clock == "rounds"
    assert "rested: 4 segments" in repr(environment)
    assert environment.mean(60).tolist() == TABLE[2].tolist()
    assert environment.means(19, 21).tolist() == TABLE[:2].tolist()
    assert "rested: means pull by pull" in repr(ss.Environment.rested(TABLE, 9))


def test_the_last_row_lasts_and_rows_beyond_the_horizon_are_not_needed():
    assert ss.Environment.rested(TABLE, 7).means().tolist() == [*TABLE.tolist(), *[TABLE[-1].tolist()] * 3]
    assert ss.Environment.rested(TABLE, 2).means().tolist() == TABLE[:2].tolist()


def test_a_function_of_pulls():
    by_function = ss.Environment.rested(lambda n: 0.9 / (1.0 + np.outer(n, [0.1, 0.01])), 500, arms=2)
    table = 0.9 / (1.0 + np.outer(np.arange(500), [0.1, 0.01]))
    by_table = ss.Environment.rested(table, 500)
    assert (by_function.means() == by_table.means()).all()
    assert by_function.greedy_total(500) == by_table.greedy_total(500)


@settings(max_examples=60, deadline=None)
@given(rotting(), st.data())
def test_no_policy_has_a_greater_total_than_the_greedy_oracle(table, data):
    """All ways to share the rounds among the arms are tried."""
    pulls, arms = table.shape
    rounds = data.draw(st.integers(0, pulls))
    sums = np.vstack([np.zeros(arms), np.cumsum(table, axis=0)])
    shares = (share for share in itertools.product(range(rounds + 1), repeat=arms) if sum(share) == rounds)
    most = max(sum(sums[n, a] for a, n in enumerate(share)) for share in shares)
    assert ss.Environment.rested(table, pulls).greedy_total(rounds) == pytest.approx(most, abs=1e-12)


def test_the_greedy_oracle_plays_what_pays_most_next():
    environment = world()
    pulls, total = np.zeros(3, int), 0.0
    means = environment.means()
    for t in range(environment.horizon):
        assert environment.greedy_total(t) == pytest.approx(total, abs=1e-9)
        now = means[pulls, np.arange(3)]
        total += now.max()
        pulls[now.argmax()] += 1


def test_a_long_horizon_costs_no_memory_for_segments():
    environment = ss.Environment.rested([[0.9, 0.5], [0.1, 0.5]], 2**62, starts=[0, 1000])
    assert environment.greedy_total(2**40) == pytest.approx(900 + 0.5 * (2**40 - 1000), rel=1e-12)
    assert environment.greedy_total(2**62) == pytest.approx(0.5 * 2.0**62, rel=1e-12)


def test_it_can_be_copied_and_pickled():
    for twin in (pickle.loads(pickle.dumps(world())), copy.deepcopy(world())):
        assert twin.greedy_total(300) == world().greedy_total(300)
        assert twin.clock == "pulls"


REFUSALS = {
    "a rise": (
        lambda: ss.Environment.rested([[0.1, 0.5], [0.2, 0.5]], 9),
        r"means \(pull 1, arm 0\) must not be above",
    ),
    "a rise later": (
        lambda: ss.Environment.rested([[0.1, 0.5], [0.1, 0.6]], 90, starts=[0, 50]),
        r"means \(pull 50, arm 1\) must not be above that of the pull before, but got '0.5 before 0.6'",
    ),
    "no arms": (lambda: ss.Environment.rested(lambda n: n, 9), r"arms must be a whole number"),
    "rows": (lambda: ss.Environment.rested(TABLE, 90, starts=[0, 50]), r"means must have one row per start, 2 rows"),
    "too long": (lambda: ss.Environment.rested(lambda n: n, 10**9, arms=3), r"horizon must leave a function of pulls"),
    "numbers": (lambda: ss.Environment.rested([[0.1, 1.5]], 9), r"means \(pull 0, arm 1\) must be numbers within"),
    "law": (lambda: ss.Environment.rested(TABLE, 9, law="gauss"), r"law must be one of"),
    "phases": (lambda: ss.phases(world()), r"environment must have means that depend on the round.*but got 'rested'"),
    "the paper's oracle": (lambda: ss.simulate("oracle", world(), runs=1), r"environment must have means that depend"),
    "a picture of means": (lambda: condense(world(), 0, 9, 3), r"environment must have means by round to be drawn"),
    "no oracle": (lambda: ss.env("pb1").greedy_total(3), r"environment must be rested for a greedy oracle"),
    "rounds": (lambda: world().greedy_total(401), r"rounds must be a whole number"),
    "drop": (lambda: ss.env("rotting-two", drop=11), r"drop must be"),
    "volatility": (lambda: ss.env("brownian", volatility=-1), r"volatility must be"),
    "alpha": (lambda: ss.policy("fewa", alpha=-1), r"alpha must be"),
    "sigma": (lambda: ss.policy("raw_ucb", sigma=0), r"sigma must be"),
    "ratio": (lambda: ss.policy("raw_ucb", ratio=3), r"ratio must be"),
    "window": (lambda: ss.policy("swa", window=0), r"window must be"),
    "a vast window": (lambda: ss.policy("swa", window=2**31), r"window must keep at most"),
    "scale": (lambda: ss.policy("swa", scale=0), r"scale must be"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    wrong, message = REFUSALS[case]
    with pytest.raises(ss.InvalidInput, match=message):
        wrong()


# The loop and the account of the regret


@pytest.mark.parametrize("law", ["bernoulli", "normal", "deterministic"])
@pytest.mark.parametrize("name", ["ucb1", "exp3s", "raw_ucb"])
def test_the_regret_is_that_of_the_choices(name, law):
    environment = world(law=law)
    choices, rewards, regret = played(environment, name, run=2, seed=5)
    pulls = numbered(choices)
    met = environment.means()[pulls, choices]
    assert regret == pytest.approx(environment.greedy_total(400) - met.sum(), abs=1e-9)
    for t in range(0, 400, 7):
        assert rewards[t] == environment.reward(int(pulls[t]), int(choices[t]), run=2, seed=5)


def test_all_policies_meet_the_same_rewards_of_an_arms_pulls():
    environment = world()
    one, other = played(environment, "ucb1"), played(environment, "uniform")
    assert one[0].tolist() != other[0].tolist()
    for arm in range(3):
        rewards = [run[1][run[0] == arm] for run in (one, other)]
        both = min(map(len, rewards))
        assert both > 20
        assert (rewards[0][:both] == rewards[1][:both]).all()


def test_arms_that_stay_as_they_are_give_the_usual_regret():
    means = [0.3, 0.5, 0.6]
    rested = ss.Environment.rested([means], 3_000, law="deterministic")
    usual = ss.Environment.piecewise([0], [means], 3_000, law="deterministic")
    one, other = (ss.simulate("ucb1", world, runs=2, checkpoints=7) for world in (rested, usual))
    assert np.allclose(one.regret("ucb1"), other.regret("ucb1"), atol=1e-9)


def test_the_regret_depends_neither_on_jobs_nor_on_checkpoints():
    policies = ["raw_ucb", ss.policy("swa", horizon="unknown"), "exp3"]
    one = ss.simulate(policies, world(2_000), runs=4, seed=3, jobs=1, checkpoints=[100, 777, 2_000])
    other = ss.simulate(policies, world(2_000), runs=4, seed=3, jobs=2, checkpoints=2_000)
    for label in one.policies:
        assert np.allclose(one.regret(label), other.regret(label)[:, [99, 776, 1_999]], atol=1e-8)


def test_the_pulls_of_arms_go_on_while_a_policy_begins_anew():
    """In epochs of 1, 2, 4, ... rounds SWA forgets, and the arms do not."""
    environment = world(law="deterministic")
    choices, rewards, _ = played(environment, "swa", horizon="unknown")
    assert (rewards == environment.means()[numbered(choices), choices]).all()


def test_the_regret_is_never_negative_and_that_of_uniform_play_is_known():
    """Pathwise: the greedy total is the largest there is. Uniform play: its pulls are known up to chance."""
    runs = ss.simulate(["uniform", "ucb1", "heidari"], world(), runs=20, seed=1, checkpoints=400)
    assert min(runs.regret(label).min() for label in runs.policies) > -1e-9
    means = np.vstack([np.zeros(3), np.cumsum(world().means(), axis=0)])
    expected = world().greedy_total(400) - means[np.full(3, 133), np.arange(3)].sum()
    final = runs.regret("uniform")[:, -1]
    assert abs(final.mean() - expected) < 6.0  # five standard errors


def test_a_copy_of_a_play_has_pulls_of_its_own():
    play = Play(policy("ucb1"), 3, 400, 0, 0, world())
    twin = play.copy()
    twin.own += 1
    assert (play.own == 0).all()


def test_results_say_which_regret_they_are(tmp_path):
    runs = ss.simulate("ucb1", world(), runs=2)
    assert runs.benchmark == BENCHMARKS["pulls"] == "the greedy oracle of rested arms"
    assert "regret to the greedy oracle" in str(runs)
    runs.save(tmp_path / "runs.parquet")
    assert Runs.load(tmp_path / "runs.parquet").benchmark == runs.benchmark
    assert runs.plot().axes[0].get_ylabel() == "Regret to the greedy oracle of rested arms"
    usual = ss.simulate("ucb1", ss.env("pb1", horizon=100), runs=2)
    assert usual.benchmark == "the best arm of each round"
    assert "regret to" not in str(usual)
    assert usual.plot().axes[0].get_ylabel() == "Dynamic regret"


def test_the_anatomy_plays_the_same_run():
    opened = ss.anatomy("ucb1", world(), seed=4, run=1)
    assert opened.choices.tolist() == played(world(), "ucb1", run=1, seed=4)[0].tolist()


# The policies


@settings(max_examples=40, deadline=None)
@given(rotting(), st.integers(1, 60))
def test_the_greedy_policy_loses_at_most_one_per_arm_without_noise(table, rounds):
    environment = ss.Environment.rested(table, rounds, law="deterministic")
    _, _, regret = played(environment, "heidari")
    assert -1e-9 < regret <= environment.arms + 1e-9


def test_the_greedy_policy_takes_the_latest_decision_however_late():
    s = heidari.init(heidari.Params(), 2, np.uint64(0))
    update = uncompiled(heidari.update)
    update(heidari.Params(), s, 5, 0, 0.2, 1.0)
    update(heidari.Params(), s, 3, 0, 0.9, 1.0)
    assert s.latest[0] == 0.2


def test_the_window_of_swa_is_that_of_the_paper():
    assert swa.configure(2, 30_000, sigma=0.5, scale=1.0).window == 2125  # (T^2 log(sqrt(2) T))^(1/3) = 2124.9
    assert swa.configure(2, 30_000).window == 1339
    assert swa.configure(2, 30_000, window=7).window == 7
    assert swa.configure(5, 1).window == 1


def test_swa_keeps_its_window_when_arms_come_and_plays_a_new_one_that_often():
    play = Play(policy("swa"), 2, 300, 0)
    window = int(play.state.window[0])
    asked = []
    for t in range(300):
        if t == 2 * window + 20:
            play.add_arm()
        arm = int(play.compiled.ask(play.params, play.state, t)[0])
        play.compiled.tell(play.params, play.state, t, arm, 0.5, 1.0)
        asked.append(arm)
    assert asked[2 * window + 20 :][:window] == [2] * window
    assert play.state.window[0] == window > swa.configure(3, 300).window
    assert max(asked) == 2


def test_swa_keeps_its_sums_exact():
    p = swa.configure(2, 100, window=9)
    s = swa.init(p, 2, np.uint64(0))
    update = uncompiled(swa.update)
    rewards = np.random.default_rng(1).random(5_000)
    for t, y in enumerate(rewards):
        update(p, s, t, 1, float(y), 1.0)
    assert s.total[1] == pytest.approx(rewards[-9:].sum(), abs=1e-14)
    assert s.total[0] == 0.0


@pytest.mark.parametrize("ratio", [1.1, 1.5, 2.0])
def test_windows_hold_their_last_rewards(ratio):
    """Each is the mean of so many rewards in a row, none of them older than twice the window is long."""
    p = raw_ucb.configure(ratio=ratio)
    s = raw_ucb.init(p, 1, np.uint64(0))
    update = uncompiled(raw_ucb.update)
    rewards = np.random.default_rng(2).random(250).tolist()
    for n, y in enumerate(rewards, 1):
        update(p, s, n, 0, y, 1.0)
        filled = int(s.filled[0])
        assert filled == np.searchsorted(p.windows, n, side="right")
        for j, window in enumerate(p.windows[:filled].tolist()):
            ends = range(n, max(window, n - window) - 1, -1)
            assert s.mean[0, j] in [added(rewards[end - window : end]) / window for end in ends]


def test_any_stretch_of_rewards_holds_a_window_of_a_third_of_it():
    """The docstring's word on what windows of 1, 2, 4, ... cost: widths are at most sqrt(3) times the full ones."""
    for n in range(1, 300):
        for h in range(1, n + 1):
            sizes = [2**j for j in range(n.bit_length())]
            held = [w for w in sizes if n - n // max(1, w // 2) * max(1, w // 2) + w <= h]
            assert max(held) >= h / 3


def test_a_reward_that_comes_after_its_arm_was_forgotten_does_no_harm():
    p = raw_ucb.configure()
    s = raw_ucb.init(p, 2, np.uint64(0))
    select, update, forget = (uncompiled(part) for part in (raw_ucb.select, raw_ucb.update, raw_ucb.forget))
    assert [select(p, s, t)[0] for t in range(2)] == [0, 1]
    forget(p, s, 0)
    update(p, s, 0, 0, 0.5, 1.0)
    update(p, s, 1, 1, 0.4, 1.0)
    for t in range(2, 50):
        select(p, s, t)
    assert np.isfinite(s.base).all()
    assert np.isfinite(s.slope).all()


def test_windows_reach_any_age():
    assert fewa.window_lengths(2.0).tolist() == [2**j for j in range(41)]
    assert fewa.window_lengths(1.1)[-1] >= 2**40
    assert fewa.window_lengths(1.1)[:14].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17]


def test_the_index_of_raw_ucb_is_the_least_bound():
    """The window kept for each arm is the best one in every round, though it is looked for only when it may change."""
    environment = ss.env("rotting", horizon=6_000)
    made = ss.policy("raw_ucb", sigma=0.149, alpha=1.4, ratio=1.1)
    play = Play(made, 2, 6_000, 1, 0, environment)
    p, key = play.params, derive(1, REWARD_DOMAIN)
    (block,) = environment.blocks()
    nothing = np.empty(0, np.int64), np.empty(0)
    for t in range(2, 6_000):
        play.simulate(t - 2, t - 1, block, environment.law_code, environment.spread, key, *nothing)
        s = play.copy().state
        width = p.spread * np.sqrt(np.log(t))
        bounds = [(s.mean[a, :n] + width * p.narrow[:n]).min() if n else np.inf for a, n in enumerate(s.filled)]
        assert play.compiled.ask(p, s, t - 1)[0] == int(np.argmax(bounds))


def test_raw_ucb_with_one_long_window_has_the_width_of_ucb1():
    p = raw_ucb.configure()
    assert p.spread == pytest.approx(np.sqrt(2.0))  # sqrt(2 log(t) / n), alpha = 4 and sigma = 1/2


@pytest.mark.parametrize("module", [fewa, raw_ucb])
def test_an_arm_forgotten_is_as_never_played(module):
    p = module.configure()
    used, new = (module.init(p, 3, np.uint64(0)) for _ in range(2))
    chance = np.random.default_rng(3)
    parts = (module.select, module.update, module.chosen, module.forget)
    select, update, chosen, forget = (uncompiled(part) for part in parts)
    for t in range(200):
        chosen(p, used, t, 1)
        update(p, used, t, 1, float(chance.random()), 1.0)
    forget(p, used, 1)
    for t in range(300):
        arms = [select(p, s, t)[0] for s in (used, new)]
        assert arms[0] == arms[1]
        y = float(chance.random() < 0.2 + 0.3 * arms[0])
        for s in (used, new):
            update(p, s, t, arms[0], y, 1.0)


def test_an_arm_that_waits_is_not_asked_again_and_again():
    """Rewards that take 50 rounds: without them, the index falls with every decision."""
    for name in ("raw_ucb", "fewa"):
        module = policy(name).module
        p = module.configure()
        s = module.init(p, 5, np.uint64(0))
        select = uncompiled(module.select)
        arms = [select(p, s, t)[0] for t in range(50)]
        assert np.bincount(arms).tolist() == [10] * 5


# What the papers report. Seeded; the bands are at least four standard errors wide, so a false alarm at another seed
# has a probability below 1e-4 each.

DROPS = (0.1, 0.2, 0.4, 0.8, 1.6, 6.4)


def worst(made, runs=12):
    """The largest mean regret over the heights of the drop, as Figure 1 has it, on the paper's scale."""
    return max(
        10.0 * ss.simulate(made, ss.env("rotting-two", drop=drop), runs=runs, checkpoints=1).regret(made)[:, -1].mean()
        for drop in DROPS
    )


def test_windows_that_adapt_beat_a_fixed_one_over_all_drops():
    """Figure 1 of Seznec et al.: FEWA with .06 and RAW-UCB with 1.4 are safe for every drop, SWA for its own only."""
    adaptive = [worst(ss.policy("raw_ucb", sigma=0.1, alpha=1.4)), worst(ss.policy("fewa", sigma=0.1, alpha=0.06))]
    assert max(adaptive) < 170
    assert worst(ss.policy("swa", sigma=0.1)) > 300
    assert worst(ss.policy("swa", sigma=0.1, scale=0.02)) > 250
    assert worst(ss.policy("swa", sigma=0.1, scale=0.002)) > 500


def test_on_ten_arms_they_beat_every_window():
    """Figure 2 of Seznec et al., on our scale of 1/20."""
    choices = [("raw_ucb", {"alpha": 1.4}), ("fewa", {"alpha": 0.06})]
    choices += [("swa", {"scale": scale}) for scale in (0.002, 0.02, 0.2, 0.63)]
    made = [ss.policy(name, sigma=0.05, **params) for name, params in choices]
    runs = ss.simulate([*made, "ucb1"], ss.env("rotting-ten"), runs=30, checkpoints=1)
    final = [runs.regret(one)[:, -1].mean() for one in made]
    assert max(final[:2]) < min(final[2:])
    assert runs.regret("ucb1")[:, -1].mean() > 20 * max(final[:2])


def test_the_regret_of_ucb1_grows_as_the_rounds_do():
    """A mean over the whole past goes on playing a rotten arm: twice the rounds, twice the regret; not so RAW-UCB."""
    finals = {}
    for horizon in (20_000, 80_000):
        runs = ss.simulate(["ucb1", "raw_ucb"], ss.env("rotting", horizon=horizon), runs=10, checkpoints=1)
        for label in runs.policies:
            finals[label, horizon] = runs.regret(label)[:, -1].mean()
    assert finals["ucb1", 80_000] > 3.7 * finals["ucb1", 20_000]
    assert finals["raw_ucb", 80_000] < 2.8 * finals["raw_ucb", 20_000]


def test_the_theorems_constant_of_fewa_filters_nothing_yet():
    """With alpha = 5 the widths are so wide that within these horizons it plays nearly in turn."""
    runs = ss.simulate(["fewa", "uniform"], ss.env("rotting-two"), runs=5, checkpoints=1)
    assert runs.regret("fewa")[:, -1].mean() > 0.8 * runs.regret("uniform")[:, -1].mean()


def test_noise_puts_the_greedy_policy_on_the_wrong_arm():
    runs = ss.simulate(["heidari", ss.policy("raw_ucb", sigma=0.05)], ss.env("rotting-ten"), runs=30, checkpoints=1)
    assert runs.regret("heidari")[:, -1].mean() > 1.4 * runs.regret("raw_ucb")[:, -1].mean()


# The environments


def test_rotting_is_the_papers():
    environment = ss.env("rotting")
    assert np.allclose(environment.mean(0), [0.5, 2 / 3])
    assert np.allclose(environment.mean(7_499), [0.5, 2 / 3])
    assert np.allclose(environment.mean(7_500), [0.5, 1.4 / 3])
    assert environment.greedy_total(30_000) == pytest.approx(7_500 * 2 / 3 + 22_500 / 2)
    assert environment.spread == pytest.approx(np.sqrt(0.2) / 3, abs=1e-4)


def test_rotting_two_is_the_papers():
    environment = ss.env("rotting-two", drop=1.0)
    assert np.allclose(environment.mean(2_499), [0.55, 0.5])
    assert np.allclose(environment.mean(2_500), [0.45, 0.5])
    assert environment.clock == "pulls"


def test_rotting_ten_is_the_papers():
    environment = ss.env("rotting-ten")
    size = 20.0 * (environment.mean(999) - 0.5)
    assert np.allclose(size, [0, *(0.001 * 10 ** (i / 2) for i in range(9))])
    assert np.allclose(environment.mean(1_000), 1.0 - environment.mean(999))
    assert environment.spread == 0.05


def test_brownian_motions_move_by_their_volatility_and_are_uniform_in_the_long_run():
    """The share of each tenth of [0, 1]: 200 motions of 20 times their mixing time, at most five deviations off."""
    environment = ss.env("brownian", arms=200, horizon=4_000, volatility=0.05)
    means = environment.means()
    steps = np.diff(means, axis=0)
    inside = (means[:-1] > 0.25) & (means[:-1] < 0.75)
    assert steps[inside].std() == pytest.approx(0.05, rel=0.01)
    assert np.abs(np.histogram(means, 10, (0, 1))[0] / means.size - 0.1).max() < 0.01
    assert environment.clock == "rounds"


def test_brownian_motions_of_a_long_horizon_are_held_between_steps():
    environment = ss.env("brownian", horizon=10_000, steps=100, volatility=0.001)
    means = environment.means()
    assert (means[0:100] == means[0]).all()
    steps = np.diff(means[::100], axis=0)
    assert steps.std() == pytest.approx(0.01, rel=0.2)
    assert ss.phases(environment).changes == 99
