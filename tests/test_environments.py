"""The catalogue: every entry is what it says."""

import pickle
import time
import tracemalloc

import numpy as np
import pytest

from sigshift.analysis.phases import phases
from sigshift.checks import InvalidInput
from sigshift.environment import Environment
from sigshift.environments import env, envs
from sigshift.environments.registry import ENTRIES, entry
from sigshift.environments.suite import SUITE

SIZES = {
    "pb1": (3, 20_000),
    "pb2": (3, 20_000),
    "pb3": (5, 20_000),
    "pb4": (5, 20_000),
    "random-piecewise": (5, 20_000),
    "mukherjee": (3, 20_000),
    "trig": (2, 1_000_000),
    "season": (5, 100_000),
    "losers": (5, 100_000),
    "blips": (5, 100_000),
    "rotate": (5, 100_000),
    "drift": (5, 100_000),
    "sinus": (3, 100_000),
    "hard": (5, 100_000),
    "adversarial": (3, 100_000),
    "stationary": (5, 100_000),
    "many-arms": (50, 100_000),
    "ctr": (10, 1_000_000),
    "suite-stat10": (10, 100_000),
    "suite-glr3": (3, 100_000),
    "suite-glr5": (5, 100_000),
    "suite-drop": (10, 100_000),
    "suite-riser": (10, 100_000),
    "suite-benign-joint": (10, 100_000),
    "suite-benign-losers": (10, 100_000),
    "suite-blips": (10, 100_000),
    "suite-fewsig": (10, 100_000),
    "suite-sinus": (5, 100_000),
    "suite-rwalk": (5, 100_000),
    "suite-hard": (5, 100_000),
    "suite-adv-det": (5, 100_000),
    "suite-k50": (50, 100_000),
    "suite-ctr": (10, 100_000),
    "rotting": (2, 30_000),
    "rotting-two": (2, 10_000),
    "rotting-ten": (10, 25_000),
    "brownian": (5, 100_000),
}
LAWS = {
    "adversarial": "deterministic",
    "suite-adv-det": "deterministic",
    "rotting": "normal",
    "rotting-two": "normal",
    "rotting-ten": "normal",
}
OWN = [name for name in SIZES if name.startswith("suite-")]
SEEDED = ["random-piecewise", "losers", "drift", "hard", "many-arms", "ctr", "brownian", *OWN]
HUGE = 10**8


def switches(means):
    """How often the best arm changes (no ties here)."""
    best = means.argmax(axis=1)
    return int((np.diff(best) != 0).sum())


def significant_shifts(means):
    """Definition 1, plainly: the number of significant shifts."""
    rounds, arms = means.shape
    regret = np.zeros((rounds + 1, arms))
    regret[1:] = np.cumsum(means.max(axis=1, keepdims=True) - means, axis=0)
    start, shifts, safe = 0, 0, set(range(arms))
    for last in range(rounds):
        first = np.arange(start, last)
        need = np.sqrt(arms * (last - first))
        safe = {arm for arm in safe if not (regret[last + 1, arm] - regret[first, arm] >= need).any()}
        if not safe:
            start, shifts, safe = last, shifts + 1, set(range(arms))
    return shifts


def test_the_names():
    assert set(ENTRIES) == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_every_entry(name):
    environment = env(name)
    assert (environment.arms, environment.horizon) == SIZES[name]
    assert environment.name == name
    assert environment.law == LAWS.get(name, "bernoulli")
    means = environment.means(0, min(environment.horizon, 50_000))
    assert means.min() >= 0.0
    assert means.max() <= 1.0
    assert (env(name.replace("-", "_")).means(0, 1000) == means[:1000]).all()
    assert ENTRIES[name].shows.endswith((".", ")"))
    assert len(ENTRIES[name].shows) < 120


@pytest.mark.parametrize("name", SIZES)
def test_every_entry_takes_a_horizon_and_a_law(name):
    environment = env(name, horizon=4_000, law="beta", concentration=4)
    assert (environment.horizon, environment.law, environment.spread) == (4_000, "beta", 4.0)
    assert environment.means().shape == (4_000, environment.arms)
    normal = env(name, horizon=4_000, law="normal", sd=0.3)
    assert normal.spread == 0.3
    assert (normal.means() == environment.means()).all()
    assert (pickle.loads(pickle.dumps(environment)).means() == environment.means()).all()


@pytest.mark.parametrize("name", SIZES)
def test_every_entry_takes_a_hundred_million_rounds_without_their_memory(name):
    tracemalloc.start()
    start = time.perf_counter()
    environment = env(name, horizon=HUGE)
    assert environment.horizon == HUGE
    assert next(environment.blocks()).means.max() <= 1.0
    assert environment.mean(HUGE - 1).shape == (environment.arms,)
    took = time.perf_counter() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150e6  # T x K numbers: 1,600e6 at the least
    assert took < 3.0


@pytest.mark.parametrize("name", SEEDED)
def test_random_entries_are_functions_of_their_seed(name):
    same, again, other = (env(name, horizon=20_000, seed=seed).means() for seed in (3, 3, 4))
    assert (same == again).all()
    assert (same != other).any()


def test_the_numbers_of_besson():
    means = {
        "pb1": "(.9 .5 .3) (.9 .2 .3) (.1 .2 .3) (.1 .7 .3) (.1 .7 .5)",
        "pb2": "(.9 .5 .4) (.7 .4 .5) (.5 .3 .6) (.3 .2 .7) (.1 .1 .8)",
        "pb3": "(.2769 .1817 .5667 .0130 .5938) (.5070 .1817 .5667 .2813 .7107) (.5070 .1817 .5667 .1631 .3575) "
        "(.1681 .1817 .4112 .1631 .3575) (.1681 .1817 .4112 .1631 .0260) (.4364 .4062 .4734 .5587 .0260)",
        "pb4": "(.2434 .5150 .1962 .9489 .5689) (.3664 .5150 .1962 .8811 .8365) (.3030 .1635 .2920 .6540 .8365) "
        "(.2513 .5337 .2920 .6540 .8365) (.2513 .5337 .2920 .5801 .8365) (.2513 .5337 .2920 .5801 .9979)",
        "mukherjee": "(.1 .2 .9) (.4 .9 .1) (.5 .1 .2) (.2 .2 .3)",
    }
    equal = [0, 4000, 8000, 12000, 16000]
    starts = {
        "pb1": equal,
        "pb2": equal,
        "pb3": [0, 6947, 9400, 10887, 13633, 16254],
        "pb4": [0, 7388, 8403, 11866, 15716, 18183],
        "mukherjee": [0, 5000, 10000, 15000],
    }
    for name, text in means.items():
        rows = [[float(x) for x in row.split()] for row in text.strip("()").split(") (")]
        found = env(name).segments()
        assert found[0].tolist() == starts[name]
        assert found[1].tolist() == rows
    assert env("pb3", horizon=200_000).segments()[0].tolist() == [10 * start for start in starts["pb3"]]
    assert {name: switches(env(name).segments()[1]) for name in means} == {
        "pb1": 2,
        "pb2": 1,
        "pb3": 2,
        "pb4": 1,
        "mukherjee": 3,
    }


def test_random_piecewise():
    """All its rules, over many seeds; half of the arms move (the chance of a false alarm is 1e-6)."""
    moved = total = 0
    for seed in range(60):
        starts, means = env("random-piecewise", seed=seed).segments()
        assert len(starts) == 7
        assert np.diff([*starts, 20_000]).min() >= 1000
        steps = np.diff(means, axis=0)
        assert np.abs(steps).max() <= 0.3 + 1e-12
        moved, total = moved + int((steps != 0).sum()), total + steps.size
    assert abs(moved - total / 2) < 4.9 * np.sqrt(total) / 2
    assert len(env("random-piecewise", arms=3, breaks=0).segments()[0]) == 1
    for seed in range(60):
        reflected, turned = (env("random-piecewise", seed=seed, border=b).segments()[1] for b in ("reflect", "turn"))
        sizes = np.abs(np.diff(turned, axis=0))
        assert ((sizes == 0) | (sizes > 0.05 - 1e-12)).all()  # a reflected step may end nearer to where it began
        assert turned.min() >= 0.0
        assert turned.max() <= 1.0
        assert (reflected[0] == turned[0]).all()
    assert len(env("random-piecewise", breaks=19, horizon=20).segments()[0]) == 20


@pytest.mark.parametrize("horizon", [10**6, 10**7, HUGE])
def test_the_gap_of_trig_changes_sign_eight_times(horizon):
    environment = env("trig", horizon=horizon)
    if horizon == 10**6:
        means = environment.means()
    else:
        means = np.array([environment.mean(t) for t in range(0, horizon, horizon // 2000)])
    assert int((np.diff(np.sign(means[:, 1] - means[:, 0])) != 0).sum()) == 8
    expected = -0.5 * np.sin(8.32008886662 * np.pi * 0.5 + 1.14789772478)
    assert environment.mean(horizon // 2)[1] - 0.5 == pytest.approx(expected)


def test_season_keeps_its_gaps_and_moves_in_every_round():
    means = env("season").means()
    gaps = means.max(axis=1, keepdims=True) - means
    np.testing.assert_allclose(gaps, np.tile([0, 0.1, 0.2, 0.3, 0.4], (100_000, 1)), atol=1e-12)
    assert (np.diff(means, axis=0) != 0).any(axis=1).mean() > 0.99
    assert means[:, 0].min() == pytest.approx(0.45)
    assert means[:, 0].max() == pytest.approx(0.95)
    assert significant_shifts(env("season", horizon=3000).means()) == 0


def test_losers():
    starts, means = env("losers").segments()
    assert set(np.diff(starts)) == {250}
    assert (means[:, 0] == 0.8).all()
    assert means[:, 1:].max() <= 0.6
    assert (np.diff(means[:, 1:], axis=0) != 0).all()


def test_blips_are_switches_that_do_not_matter():
    means = env("blips").means()
    assert switches(means) == 40
    assert significant_shifts(env("blips", horizon=5000).means()) == 0
    for horizon in (5_000, 100_000, HUGE):
        blips = np.arange(1, 21)
        assert (0.3 * 25 * blips < np.sqrt(5 * ((blips - 1) * horizon / 20 + 25))).all()
    assert significant_shifts(env("blips", horizon=5000, length=100).means()) > 0


def test_rotate():
    means = env("rotate").means()
    assert switches(means) == 19
    assert (means.argmax(axis=1)[::5000] == np.arange(20) % 5).all()
    ordered = np.sort(means, axis=1)
    np.testing.assert_allclose(ordered[:, -1] - ordered[:, -2], 0.2)
    assert significant_shifts(env("rotate", horizon=3000, every=1000).means()) == 2


def test_drift():
    starts, means = env("drift").segments()
    assert len(starts) == 10_000
    assert np.abs(np.diff(means, axis=0)).max() <= np.sqrt(3 / 10_000) + 1e-12
    assert len(env("drift", horizon=50).segments()[0]) == 50
    assert (np.diff(env("drift", speed=0).means(), axis=0) == 0).all()
    ends = np.array([env("drift", steps=400, speed=0.1, seed=seed).segments()[1][[0, -1]] for seed in range(200)])
    inside = (ends[:, 0] > 0.4) & (ends[:, 0] < 0.6)  # four deviations from the mirrors
    ways = (ends[:, 1] - ends[:, 0])[inside]
    # The deviation of n normal numbers strays by sd / sqrt(2 n): 4.9 of these, false alarm 1e-6.
    assert abs(ways.std() - 0.1) < 4.9 * 0.1 / np.sqrt(2 * len(ways))


def test_sinus():
    means = env("sinus").means()
    assert switches(means) == 15
    assert env("sinus", arms=2, periods=3).arms == 2


def test_hard():
    starts, means = env("hard").segments()
    assert (np.diff(starts) == 5000).all()
    assert switches(means) == 19
    assert means.max(axis=1) == pytest.approx(0.5 + 2 * np.sqrt(5 / 5000))
    assert (np.sort(means, axis=1)[:, :-1] == 0.5).all()
    assert significant_shifts(env("hard", horizon=2000).means()) == 19
    assert env("hard", horizon=100, arms=50).means().max() == 1.0


def test_adversarial():
    starts, means = env("adversarial").segments()
    assert starts.tolist() == [100 * (2**i - 1) for i in range(10)]
    assert (means.argmax(axis=1) == np.arange(10) % 3).all()
    assert (means.sum(axis=1) == 1.0).all()
    assert len(env("adversarial", horizon=50).segments()[0]) == 1


def test_stationary():
    assert env("stationary").segments()[1].tolist() == [[0.7, 0.6, 0.5, 0.4, 0.3]]
    assert env("stationary", means=[0.1, 0.2]).arms == 2


@pytest.mark.parametrize(("name", "low", "high", "best"), [("many-arms", 0.2, 0.6, 0.8), ("ctr", 0.01, 0.025, 0.03)])
def test_shifts_to_another_best_arm(name, low, high, best):
    for seed in range(5):
        starts, means = env(name, seed=seed).segments()
        assert switches(means) == len(starts) - 1 == (5 if name == "many-arms" else 4)
        ordered = np.sort(means, axis=1)
        assert (ordered[:, -1] == best).all()
        assert ordered[:, 0].min() >= low
        assert ordered[:, -2].max() <= high


# The suite.


def suite(name, horizon=100_000, seed=0):
    return env(name, horizon=horizon, **({"seed": seed} if "seed" in ENTRIES[name].defaults else {}))


def sorted_rows(means):
    """The means of each segment in descending order."""
    return -np.sort(-np.asarray(means), axis=1)


def test_the_suite_is_all_of_its_own_and_six_more():
    assert set(SUITE) == {*OWN, "pb1", "pb2", "pb3", "pb4", "random-piecewise", "season"}
    assert len(SUITE) == 21


SIGNIFICANT = {  # at 20,000, 100,000 and 1,000,000 rounds, whatever the seed
    "suite-stat10": (0, 0, 0),
    "suite-glr3": (4, 4, 4),
    "suite-drop": (2, 2, 2),
    "suite-riser": (1, 1, 1),
    "suite-benign-joint": (0, 0, 0),
    "suite-benign-losers": (0, 0, 0),
    "suite-blips": (0, 0, 98),
    "suite-fewsig": (3, 3, 12),
    "suite-adv-det": (5, 5, 5),
    "suite-k50": (5, 5, 5),
    "suite-ctr": (0, 1, 3),
    "pb1": (2, 2, 2),
    "pb2": (1, 1, 1),
    "pb3": (2, 2, 2),
    "pb4": (1, 1, 1),
    "season": (0, 0, 0),
}


@pytest.mark.parametrize("name", SIGNIFICANT)
def test_how_many_shifts_of_the_suite_are_significant(name):
    for horizon, shifts in zip((20_000, 100_000, 1_000_000), SIGNIFICANT[name], strict=True):
        for seed in (0, 7) if horizon < 1_000_000 else (3,):
            assert phases(suite(name, horizon, seed)).significant == shifts


@pytest.mark.parametrize("name", SUITE)
def test_the_suite_scales_with_its_horizon(name):
    """The same picture at every horizon: the means at a share of the rounds are the same, but for a round or two."""
    if name == "suite-rwalk":
        return
    shares = np.arange(0.0043, 1.0, 0.0091)
    long, short = (suite(name, horizon, 5) for horizon in (970_000, 97_000))
    if name == "suite-adv-det":  # whose wave is counted in rounds
        shares = np.round(shares * 1_000) / 1_000
    for share in shares:
        a, b = long.mean(int(share * 970_000)), short.mean(int(share * 97_000))
        np.testing.assert_allclose(a - a.mean(), b - b.mean(), atol=1e-4)


def test_suite_stationary_drop_and_riser():
    starts, means = suite("suite-stat10", seed=3).segments()
    assert starts.tolist() == [0]
    assert sorted_rows(means).tolist() == [[0.6, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.2]]
    starts, means = suite("suite-drop", 20_000, 3).segments()
    assert starts.tolist() == [0, 8_000, 14_000]
    best, second = np.argsort(-means[0])[:2]
    assert sorted_rows(means[:1]).tolist() == [[0.8, 0.6, 0.5] + [0.2] * 7]
    assert means[:, best].tolist() == [0.8, 0.3, 0.3]
    assert means[:, second].tolist() == [0.6, 0.6, 0.3]
    riser = suite("suite-riser", 40_000, 3)
    assert sorted_rows([riser.mean(0), riser.mean(10_000)])[:, :2].tolist() == [[0.6, 0.3]] * 2
    assert sorted_rows([riser.mean(20_000)])[0, :3] == pytest.approx([0.6, 0.6, 0.3])
    assert sorted_rows([riser.mean(30_000), riser.mean(39_999)])[:, :3] == pytest.approx(
        np.tile([0.9, 0.6, 0.3], (2, 1))
    )


def test_suite_glr():
    wanted = sorted(["0.5 0.5 0.5 0.3 0.6", "0.4 0.4 0.4 0.8 0.3", "0.3 0.7 0.2 0.4 0.4"])
    for seed in range(40):
        starts, means = suite("suite-glr3", 20_000, seed).segments()
        assert np.abs(starts[1:] - [4_000, 8_000, 12_000, 16_000]).max() <= 1_000
        assert sorted(" ".join(map(str, column)) for column in means.T) == wanted
        starts, means = suite("suite-glr5", 20_000, seed).segments()
        assert len(starts) == 6
        ordered = sorted_rows(means)
        assert (ordered[:, 0] - ordered[:, 1] >= 0.1).all()
        assert ordered.min() >= 0.1
        assert ordered.max() <= 0.9
    assert len({tuple(suite("suite-glr3", seed=seed).segments()[1][0]) for seed in range(40)}) == 6
    assert len(suite("suite-glr5", 1_000).segments()[0]) == 6


def test_suite_benign():
    starts, means = suite("suite-benign-joint", seed=3).segments()
    assert (np.diff(starts) == 500).all()
    gaps = means.max(axis=1, keepdims=True) - means
    np.testing.assert_allclose(gaps, np.tile(gaps[0], (200, 1)), atol=1e-12)
    assert sorted_rows(0.5 - gaps[:1])[0] == pytest.approx([0.5, 0.4, 0.4, 0.35, 0.35, 0.3, 0.3, 0.25, 0.25, 0.2])
    assert means.max(axis=1).min() >= 0.3
    assert 0.8 < means.max() <= 0.9
    starts, means = suite("suite-benign-losers", seed=3).segments()
    assert (np.diff(starts) == 500).all()
    ordered = sorted_rows(means)
    assert (ordered[:, 0] == 0.7).all()
    assert ordered[:, 1].max() <= 0.6
    assert ordered[:, -1].min() >= 0.1
    assert len(set(means.argmax(axis=1))) == 1


def test_suite_blips_and_few_significant_shifts():
    starts, means = suite("suite-blips", seed=3).segments()
    assert len(starts) == 99
    assert (starts[1::2] == 2_000 * np.arange(1, 50)).all()
    assert (starts[2::2] - starts[1::2] == 200).all()
    assert sorted_rows(means[::2]).tolist() == [[0.6] + [0.45] * 9] * 50
    assert sorted_rows(means[1::2]).tolist() == [[0.7, 0.6] + [0.45] * 8] * 49
    assert len(set(means[1::2].argmax(axis=1))) == 9
    environment = suite("suite-fewsig", seed=3)
    starts, means = environment.segments()
    assert (starts == 1_000 * np.arange(100)).all()
    assert switches(means) == 99
    assert sorted_rows(means)[:, :3].tolist() == [[0.62, 0.6, 0.3]] * 100
    found = phases(environment).starts[1:]
    assert (found - np.array([30_000, 50_000, 75_000]) < 200).all()


def test_suite_waves_and_walks():
    means = suite("suite-sinus", 10_000, 3).means()
    assert switches(means) == 10
    np.testing.assert_allclose(means.mean(axis=0), 0.5, atol=1e-9)
    np.testing.assert_allclose([means.min(axis=0), means.max(axis=0)], [[0.2] * 5, [0.8] * 5], atol=1e-6)
    np.testing.assert_allclose(means[:5_000], means[5_000:], atol=1e-12)
    means = suite("suite-adv-det", 9_700, 3).means()
    assert sorted_rows(means[[0]])[0] == pytest.approx([0.55, 0.4875, 0.425, 0.3625, 0.3])
    assert switches(means) == 5
    wave = means.mean(axis=1) - 0.425
    np.testing.assert_allclose(wave, 0.25 * np.sin(2 * np.pi * np.arange(9_700) / 97), atol=1e-12)
    best = means.argmax(axis=1)
    assert len(set(best)) == 2
    assert np.flatnonzero(np.diff(best)).tolist() == [1616, 3233, 4849, 6466, 8083]
    for horizon, steps in ((4_000, 4_000), (1_000_000, 10_000)):
        starts, means = suite("suite-rwalk", horizon, 3).segments()
        assert len(starts) == steps
        assert means.min() >= 0.1
        assert means.max() <= 0.9
        ways = np.diff(means, axis=0)
        # The deviation of n normal numbers strays by sd / sqrt(2 n): 4.9 of these, false alarm 1e-6. Mirrors take
        # part of a few steps away.
        assert abs(ways.std() * np.sqrt(steps) - 0.8) < 4.9 * 0.8 / np.sqrt(2 * ways.size) + 0.01


def test_suite_redrawn():
    starts, means = suite("suite-hard", seed=3).segments()
    assert (np.diff(starts) == 100).all()
    assert means.shape == (1_000, 5)
    assert abs(means.mean() - 0.5) < 4.9 * np.sqrt(1 / 12 / 5_000)  # false alarm 1e-6
    for seed in range(5):
        starts, means = suite("suite-k50", 12_000, seed).segments()
        assert starts.tolist() == [0, 2_000, 4_000, 6_000, 8_000, 10_000]
        assert (sorted_rows(means)[:, 0] == 0.8).all()
        assert sorted_rows(means)[:, 1].max() <= 0.6
        assert means.min() >= 0.1
        assert switches(means) == 5
        starts, means = suite("suite-ctr", 12_000, seed).segments()
        assert starts.tolist() == [0, 3_000, 6_000, 9_000]
        assert (sorted_rows(means)[:, 0] == 0.03).all()
        assert sorted_rows(means)[:, 1].max() <= 0.015
        assert means.min() >= 0.005
        assert switches(means) == 3


def test_the_table():
    table = envs()
    assert list(table.columns) == ["name", "arms", "horizon", "source", "shows", "parameters"]
    assert {row.name: (row.arms, row.horizon) for row in table.itertuples(index=False)} == SIZES
    row = table.set_index("name").loc["drift"]
    assert row.parameters == (
        "horizon=100000, arms=5, steps=10000, speed=1.0, seed=0, law='bernoulli', concentration=10.0, sd=0.1"
    )
    assert (table.source.str.len() > 5).all()


def test_adding_an_environment_is_adding_a_function():
    @entry("this test", law="beta")
    def just_added(*, horizon: int = 10) -> Environment:
        """Shows how."""
        return Environment.piecewise([0], [[0.2, 0.4]], horizon)

    try:
        environment = env("just-added", horizon=12)
        assert (environment.name, environment.horizon, environment.law) == ("just-added", 12, "beta")
        assert just_added().horizon == 10
        assert envs().set_index("name").loc["just-added"].shows == "Shows how."
    finally:
        del ENTRIES["just-added"]


REFUSALS = {
    "unknown": (lambda: env("pb5"), r"environment must be a known name, but got 'pb5'\. Did you mean 'pb"),
    "misspelt": (lambda: env("manyarms"), r"Did you mean 'many-arms'\?.*Known: adversarial"),
    "nothing like it": (lambda: env("zzzzzz"), r"'zzzzzz'\. Known: adversarial"),
    "no text": (lambda: env(3), r"environment must be a known name, but got 3"),
    "parameter": (lambda: env("pb1", horizn=5), r"parameter of environment 'pb1' must be.*Did you mean 'horizon'"),
    "seed where none": (lambda: env("pb1", seed=5), r"parameter of environment 'pb1'.*Known: horizon, law"),
    "horizon": (lambda: env("pb1", horizon=0), r"horizon must be a whole number of at least 20"),
    "horizon of a float": (lambda: env("drift", horizon=1e5), r"horizon must be a whole number"),
    "law": (lambda: env("pb1", law="gauss"), r"law must be one of"),
    "concentration": (lambda: env("pb1", concentration=-1), r"concentration must be"),
    "sd": (lambda: env("pb1", sd=-1), r"sd must be"),
    "seed": (lambda: env("drift", seed=-1), r"seed must be"),
    "arms": (lambda: env("many-arms", arms=1), r"arms must be"),
    "sinus": (lambda: env("sinus", arms=1), r"arms must be"),
    "hard": (lambda: env("hard", segments=0), r"segments must be"),
    "hard horizon": (lambda: env("hard", horizon=50), r"horizon must be a whole number of at least 80"),
    "shifts": (lambda: env("ctr", shifts=-1), r"shifts must be"),
    "periods": (lambda: env("season", periods=0), r"periods must be"),
    "every": (lambda: env("losers", every=0), r"every must be"),
    "rotate": (lambda: env("rotate", every=0.5), r"every must be"),
    "steps": (lambda: env("drift", steps=0), r"steps must be"),
    "speed": (lambda: env("drift", speed=-1), r"speed must be"),
    "breaks": (lambda: env("random-piecewise", breaks=20), r"breaks must be"),
    "border": (lambda: env("random-piecewise", border="jump"), r"border must be one of 'reflect', 'turn'"),
    "count": (lambda: env("blips", count=0), r"count must be"),
    "length": (lambda: env("blips", length=5000), r"horizon must be"),
    "first": (lambda: env("adversarial", first=0), r"first must be"),
    "suite horizon": (lambda: env("suite-drop", horizon=999), r"horizon must be a whole number of at least 1000"),
    "suite seed": (lambda: env("suite-drop", seed=-1), r"seed must be"),
    "means": (lambda: env("stationary", means=[0.1, 2]), r"means \(segment 0, arm 1\)"),
    "means of one arm": (lambda: env("stationary", means=[0.1]), r"means must have 2 to 65535 arms"),
    "means of a number": (lambda: env("stationary", means=0.1), r"means must have two dimensions"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    wrong, message = REFUSALS[case]
    with pytest.raises(InvalidInput, match=message):
        wrong()
