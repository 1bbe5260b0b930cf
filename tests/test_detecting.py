"""Policies that look for changes: any base with any detector, against the plain twin, and what the papers say."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from alike import instances, plays_alike
from sigshift.checks import InvalidInput
from sigshift.testing import check_policy

COMBINATIONS = [
    {"base": "ucb1", "exploration": "uniform", "detector_delta": 0.5},
    {"base": "ucb1", "exploration": "tracking", "restart": "local", "detector_delta": 0.5},
    {"base": "exp3s", "exploration": "random", "detector_delta": 0.3},
    {"base": "ucbl", "exploration": "diminishing", "detector_delta": 0.9},
    {"base": "ucbl", "detector": "laplace", "restart": "local", "exploration": "none", "detector_delta": 0.9},
    {"base": "kl_ucb", "restart": "local", "changes": 3, "every": 3, "detector_delta": 0.5},
    {"base": "ucb1", "exploration": "random", "rate": 1.0, "detector_threshold": "proven"},
]


@pytest.mark.parametrize("params", COMBINATIONS, ids=lambda params: "-".join(map(str, params.values())))
@settings(max_examples=10, deadline=None)
@given(instance=instances())
def test_any_combination_equals_its_twin(params, instance):
    plays_alike("detect", instance, **params)


@settings(max_examples=12, deadline=None)
@given(instance=instances(), reset_rate=st.sampled_from([0.0, 0.02, 0.5]), delta=st.sampled_from([None, 0.9]))
def test_ser4_with_any_reset_rate_equals_its_twin(instance, reset_rate, delta):
    plays_alike("ser4", instance, reset_rate=reset_rate, delta=delta, epsilon=0.1)


@settings(max_examples=12, deadline=None)
@given(instance=instances(), interval=st.sampled_from([5, 40, 400.0]))
def test_exp3r_with_any_interval_equals_its_twin(instance, interval):
    plays_alike("exp3r", instance, interval=interval)


@pytest.mark.parametrize(
    ("base", "params"),
    [
        ("exp3s", {"exploration": "random"}),
        ("meta", {"exploration": "none"}),
        ("sw_ucb", {"detector": "laplace", "exploration": "none"}),
    ],
)
def test_any_policy_can_be_the_base(base, params):
    check_policy(ss.policy("detect", base=base, **params))


def test_a_policy_of_ones_own_can_be_the_base(tmp_path):
    (tmp_path / "mine.py").write_text(ss.testing.skeleton())
    mine = ss.policy("detect", base=str(tmp_path / "mine.py"), base_epsilon=0.1, exploration="none")
    check_policy(mine)
    bandit = ss.Bandit(mine, arms=3, horizon=1000, seed=1)
    for _ in range(200):
        bandit.tell(bandit.ask(), 1.0)
    bandit.save(tmp_path / "bandit.json")
    assert ss.Bandit.load(tmp_path / "bandit.json").ask() == bandit.ask()
    (tmp_path / "mine.py").write_text(ss.testing.skeleton() + "\n# another one\n")
    with pytest.raises(InvalidInput, match="must be as when the bandit was saved"):
        ss.Bandit.load(tmp_path / "bandit.json")


def test_a_detector_of_ones_own(tmp_path):
    source = ss.policy("glr_kl_ucb").module.glr.__file__
    (tmp_path / "watch.py").write_bytes(Path(source).read_bytes())
    ours, own = (ss.policy("detect", detector=name) for name in ("glr", str(tmp_path / "watch.py")))
    env = ss.env("pb1", horizon=3000)
    runs = ss.simulate([ours, own], env, runs=2, seed=4, progress=False)
    assert (runs.regret(ours) == runs.regret(own)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base": "ucb2"}, "policy must be one of"),
        ({"detector": "radar"}, "detector must be one of"),
        ({"restart": "now"}, "restart must be one of"),
        ({"exploration": "much"}, "exploration must be one of"),
        ({"rate": 0.0}, "rate must be a finite number > 0"),
        ({"changes": -1}, "changes must be a whole number of at least 0"),
        ({"base": "exp3", "restart": "local"}, "restart must be 'global' for a base that cannot forget"),
        ({"base": "meta"}, "exploration must be 'none' for a base that cannot be told"),
        ({"base_delta": 0.1}, "parameter 'base_delta' of detect is unknown"),
        ({"detector_delta": 2.0}, "delta must be a finite number > 0 and < 1"),
    ],
)
def test_wrong_parameters_are_refused_at_once(params, message):
    with pytest.raises(InvalidInput, match=message):
        ss.policy("detect", **params)


def test_the_rate_follows_what_is_told():
    arms, horizon = 5, 20_000
    usual = math.sqrt(arms * math.log(horizon) / horizon)
    free, told, ever_less = (
        ss.policy("detect", **params).configure(arms, horizon)
        for params in ({}, {"changes": 4}, {"exploration": "diminishing"})
    )
    assert (free.rate, free.growing) == (pytest.approx(usual), True)
    assert (told.rate, told.growing) == (pytest.approx(2 * usual), False)
    assert (ever_less.rate, ever_less.growing) == (1.0, False)


def forced_rounds(exploration, rate, rounds):
    """The rounds in which a base that always plays arm 0 is overruled, when nothing ever changes."""
    made = ss.policy("detect", base="ucb1", exploration=exploration, rate=rate, detector_delta=1e-9)
    bandit = ss.Bandit(made, arms=5, horizon=rounds, seed=1)
    seen = np.zeros(rounds, bool)
    for t in range(rounds):
        choice = bandit.ask()
        bandit.tell(choice, float(choice.index == 0))
        seen[t] = choice.index != 0
    return seen


def test_diminishing_exploration_goes_with_the_root_of_time():
    """Five arms and rate 1: about 2 sqrt(n) forced rounds in n. UCB1's own exploration of bad arms adds some."""
    seen = forced_rounds("diminishing", 1.0, 40_000)
    for n in (10_000, 40_000):
        forced = 2 * math.sqrt(n) * 4 / 5
        assert 0.8 * forced < seen[:n].sum() < 1.2 * forced + 4 * 8 * math.log(n)


def test_restarts_follow_the_changes_of_pb2():
    """All arms of pb2 change by .1 to .3 at four rounds. 20 runs; the published mean is 4.0 restarts."""
    env = ss.env("pb2")
    runs = ss.simulate("glr_kl_ucb", env, runs=20, seed=7, progress=False)
    assert 3.5 <= runs.restarts["glr_kl_ucb"].mean() <= 4.5


# The published regrets: problems of Besson et al. (2022), T = 20,000, N = 300, means and standard deviations over runs
# (of M-klUCB and CUSUM-klUCB the means only). Their code tests in every 10th round and one split in 5.
LAZY = {"every": 10, "splits_every": 5}
PUBLISHED = {
    "glr_kl_ucb": (LAZY, {"pb1": (456, 89), "pb2": (445, 16), "pb3": (724, 61), "pb4": (610, 44)}),
    "local": (LAZY | {"restart": "local"}, {"pb1": (468, 98), "pb2": (445, 26), "pb3": (693, 59), "pb4": (639, 49)}),
    "window": ({}, {"pb1": (620, 0), "pb2": (1846, 0), "pb3": (1673, 0), "pb4": (2330, 0)}),
    "cusum": ({"restart": "local"}, {"pb1": (647, 0), "pb2": (519, 0), "pb3": (723, 0), "pb4": (997, 0)}),
}
CHANGES = {"pb1": 4, "pb2": 4, "pb3": 5, "pb4": 5}


def player(row, problem):
    params = PUBLISHED[row][0]
    if row in ("glr_kl_ucb", "local"):
        return ss.policy("glr_kl_ucb", **params)
    told = {"changes": CHANGES[problem]} | ({"detector_changes": CHANGES[problem]} if row == "cusum" else {})
    return ss.policy("detect", base="kl_ucb", detector=row, **told, **params)


@pytest.mark.long
@pytest.mark.parametrize("problem", CHANGES)
@pytest.mark.parametrize("row", PUBLISHED)
def test_published_regrets(row, problem):
    """200 runs. A mean further than five standard errors away: 6e-7 each if both numbers are the same law's."""
    mean, sd = PUBLISHED[row][1][problem]
    made = player(row, problem)
    found = ss.simulate(made, ss.env(problem), runs=200, seed=11, checkpoints=1, progress=False).regret(made)[:, -1]
    error = math.sqrt(found.var(ddof=1) / 200 + (sd**2 or found.var(ddof=1)) / 300)
    assert abs(found.mean() - mean) < 5 * error


@pytest.mark.long
def test_lazy_tests_miss_forced_rounds():
    """On pb3 forced rounds recur every 100 rounds at first: tests in every 10th round meet hardly any of them."""
    lazy, exact = ss.policy("glr_kl_ucb", **LAZY), ss.policy("glr_kl_ucb")
    runs = ss.simulate([lazy, exact], ss.env("pb3"), runs=100, seed=12, checkpoints=1, progress=False)
    assert runs.regret(exact).mean() < 0.9 * runs.regret(lazy).mean()
