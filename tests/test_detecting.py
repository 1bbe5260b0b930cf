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
from sigshift.policies.detect import EXPLORATIONS
from sigshift.policy import detectors
from sigshift.testing import check_policy

COMBINATIONS = [
    {"base": "ucb1", "exploration": "uniform", "detector_delta": 0.5},
    {"base": "ucb1", "exploration": "tracking", "restart": "local", "detector_delta": 0.5},
    {"base": "exp3s", "exploration": "random", "detector_delta": 0.3},
    {"base": "ucbl", "exploration": "diminishing", "detector_delta": 0.9},
    {"base": "ucbl", "detector": "laplace", "restart": "local", "exploration": "none", "detector_delta": 0.9},
    {"base": "kl_ucb", "restart": "local", "changes": 3, "every": 3, "detector_delta": 0.5},
    {"base": "kl_ucb", "base_clock": "known", "restart": "local", "exploration": "random", "detector_delta": 0.5},
    {"base": "ucb1", "exploration": "random", "rate": 1.0, "detector_threshold": "proven"},
]


@pytest.mark.parametrize("params", COMBINATIONS, ids=lambda params: "-".join(map(str, params.values())))
@settings(max_examples=10, deadline=None)
@given(instance=instances())
def test_any_combination_equals_its_twin(params, instance):
    plays_alike("detect", instance, **params)


# What makes each detector find something in 300 rounds.
DETECTORS = {
    "glr": {"delta": 0.5},
    "glr_gaussian": {"delta": 0.5, "sigma": 0.3},
    "cusum": {"samples": 5, "height": 1.2357},
    "page_hinkley": {"height": 1.2357},
    "window": {"window": 6, "limit": 1.1357},
    "adwin": {"delta": 0.5},
    "adwin_exact": {"delta": 0.5},
    "e_detector": {"delta": 0.9},
    "laplace": {"delta": 0.9},
}


def test_every_detector_is_tested():
    assert set(DETECTORS) == set(detectors())


@pytest.mark.parametrize("exploration", EXPLORATIONS)
@pytest.mark.parametrize("detector", DETECTORS)
@settings(max_examples=4, deadline=None)
@given(instance=instances(), data=st.data())
def test_every_detector_goes_with_every_exploration(detector, exploration, instance, data):
    restart = data.draw(st.sampled_from(["global"] if exploration == "monitoring" else ["global", "local"]))
    params = {f"detector_{name}": value for name, value in DETECTORS[detector].items()}
    plays_alike("detect", instance, base="ucb1", detector=detector, exploration=exploration, restart=restart, **params)


@settings(max_examples=25, deadline=None)
@given(instance=instances(), rate=st.sampled_from([0.3, 1.0, 3.0, 20.0]), delta=st.sampled_from([0.5, 0.01]))
def test_the_adr_bandit_with_any_rate_equals_its_twin(instance, rate, delta):
    plays_alike("adr_bandit", instance, rate=rate, delta=delta)


@settings(max_examples=25, deadline=None)
@given(
    instance=instances(),
    gamma=st.sampled_from([0.05, 0.5, 1.0]),
    alpha=st.sampled_from([0.05, 0.3, 1.5]),
    phases=st.sampled_from(["endless", "paper"]),
)
def test_imp_cpd_with_any_parameters_equals_its_twin(instance, gamma, alpha, phases):
    plays_alike("imp_cpd", instance, gamma=gamma, alpha=alpha, phases=phases)


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


DETECTOR = """
from typing import NamedTuple
import numpy as np
from sigshift.kernel import kernel
class Params(NamedTuple):
    limit: float = 0.5
class State(NamedTuple):
    told: np.ndarray
def init(p, arms):
    return State(np.zeros(arms))
@kernel
def observe(p, s, a, y):
    return y > p.limit
@kernel
def clear(p, s, a):
    s.told[a] = 0.0
"""


def test_a_label_has_the_name_of_a_part_s_file_alone(tmp_path):
    (tmp_path / "watch.py").write_text(DETECTOR)
    made = ss.policy("detect", detector=tmp_path / "watch.py", detector_limit=0.2)
    assert made.label == "detect(detector='watch.py', detector_limit=0.2)"
    assert ss.policy("detect", **dict(made.params)) == made


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("def clear", "def cleer", "^detector file must define .*It lacks clear; docs/policies/detectors.md has one"),
        ("float = 0.5", "float", "^parameter 'limit' must have a default, but it has none"),
        ("def init", "def configure(arms, size):\n    return Params()\ndef init", "^parameter .detector_size. must"),
        ("def init", "def configure(arms):\n    return 1 / 0\ndef init", "^configure of detect must return Params"),
        ("def init", "def init(", "^detector file .* is not valid Python"),
    ],
)
def test_a_wrong_detector_of_ones_own_is_refused(tmp_path, was, becomes, message):
    (tmp_path / "watch.py").write_text(DETECTOR.replace(was, becomes, 1))
    with pytest.raises(InvalidInput, match=message):
        ss.policy("detect", detector=str(tmp_path / "watch.py"))


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
        ({"restart": "local", "exploration": "monitoring"}, "restart must be 'global' with monitoring"),
        ({"changes": 4, "rate": 0.1}, "changes must be left out where neither the rate nor the detector follows"),
        ({"changes": 4, "exploration": "none"}, "changes must be left out"),
        ({"base": "meta"}, "exploration must be 'none' for a base that cannot be told"),
        ({"base": "oracle", "exploration": "none"}, "base must be one that need not be told the environment"),
        ({"base": "detect"}, "exploration must be 'none' for a base that cannot be told"),
        ({"base": 3}, "base must be a name, or the path of a .py file, but got 3"),
        ({"detector": None}, "detector must be a name, or the path of a .py file, but got None"),
        ({"base_delta": 0.1}, "parameter 'base_delta' of detect is unknown"),
        ({"detector_delta": 2.0}, "^detector_delta must be a finite number > 0 and < 1"),
        ({"base": "detect", "exploration": "none", "base_base_c": -1}, "^base_base_c must be a finite number >= 0"),
        ({"rate": 1.5}, "rate must be a finite number > 0 and <= 1"),
    ],
)
def test_wrong_parameters_are_refused_at_once(params, message):
    with pytest.raises(InvalidInput, match=message):
        ss.policy("detect", **params)


def test_a_detecting_policy_can_be_the_base_of_another():
    """With an outer test that never fires it is the inner one; so `detect` may not pass for what its base is."""
    inner = ss.policy("detect")
    outer = ss.policy("detect", base="detect", exploration="none", detector="cusum", detector_height=1e9)
    runs = ss.simulate([inner, outer], "pb2", runs=2, seed=3, progress=False)
    assert (runs.regret(inner) == runs.regret(outer)).all()
    assert not runs.restarts[outer.label].any()


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


def test_monitoring_plays_the_arm_that_was_played_most():
    """Three arms, T = 2^13: N = 13, blocks of 39, 78, 156, ... rounds; the last 39 of each see both monitored arms."""
    made = ss.policy("detect", base="ucb1", detector="adwin_exact", exploration="monitoring")
    bandit = ss.Bandit(made, arms=3, horizon=2**13, seed=1)
    forced = []
    for t in range(39 * 15):
        choice = bandit.ask()
        bandit.tell(choice, 0.2 + 0.3 * choice.index)
        if t < 39 * 15 - 1:
            watched = bandit.inspect()["state"]["watched"]
            forced.append(np.argmax(watched) if max(watched) > 0 else -1)
    assert set(forced[:39]) == {-1}
    assert set(forced[40:]) == {2}  # the best arm, from the end of the first block on
    # Three arms: in every third round, and in the last part of a block in every third of another kind.
    params, state = made.configure(3, 2**13), made.module.init(made.configure(3, 2**13), 3, np.uint64(1))
    kernel = made.module.select
    for t in range(39 * 3):
        before = state.free.sum()
        arm, _ = kernel(params, state, t)
        made.module.update(params, state, t, arm, 0.2 + 0.3 * arm, 1.0)
        own = t >= 39 and (t % 3 == 2 or (t >= 78 and t % 3 == 0))
        assert (state.free.sum() == before) == own


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("imp_cpd", {"gamma": 0.0}, "gamma must be a finite number >= 1e-09 and <= 1"),
        ("imp_cpd", {"alpha": -1}, "alpha must be a finite number > 0"),
        ("imp_cpd", {"phases": "some"}, "phases must be one of"),
        ("m_ucb", {"changes": 4, "rate": 0.1}, "changes and rate must not both be given"),
        ("glr_kl_ucb", {"changes": 4, "rate": 0.1}, "changes must be left out"),
        ("adr_bandit", {"delta": 1.0}, "delta must be a finite number > 0 and < 1"),
        ("adr_bandit", {"rate": 0}, "rate must be a finite number > 0"),
    ],
)
def test_wrong_parameters_of_the_named_ones_are_refused_at_once(name, params, message):
    with pytest.raises(InvalidInput, match=message):
        ss.policy(name, **params)


def test_imp_cpd_has_the_phases_of_the_paper():
    """T = 20,000 and three arms: psi = T^2 / (9 ln 3), M = 91; the first phase has 3 ceil(ln(psi) / 2) rounds."""
    p = ss.policy("imp_cpd").configure(3, 20_000)
    s = ss.policy("imp_cpd").module.init(p, 3, np.uint64(1))
    psi = 20_000**2 / (9 * math.log(3))
    assert p.last == 91
    assert s.clock[4] == 3 * math.ceil(math.log(psi) / 2)
    assert s.radius[0] == pytest.approx(math.sqrt(1.5 * math.log(psi) / 2))


def test_imp_cpd_to_the_letter_goes_blind():
    """T = 10^6, one change at 0.9 T that nobody can miss: after phase M the paper's form tests no more."""
    late = ss.Environment.piecewise([0, 900_000], [(0.9, 0.1, 0.1), (0.1, 0.5, 0.1)], 1_000_000)
    endless, paper = ss.policy("imp_cpd"), ss.policy("imp_cpd", phases="paper")
    runs = ss.simulate([endless, paper], late, runs=3, seed=2, checkpoints=1, progress=False)
    assert runs.restarts[endless.label].tolist() == [1, 1, 1]
    assert runs.restarts[paper.label].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["adr_bandit", "imp_cpd", "ucbl_cpd"])
def test_changes_that_move_all_arms_are_found_without_forced_rounds(name):
    """The problem of Mukherjee and Maillard (2019): three changes. 20 runs, each with two to four restarts."""
    runs = ss.simulate([name, "kl_ucb"], "mukherjee", runs=20, seed=3, checkpoints=1, progress=False)
    assert set(runs.restarts[name].tolist()) <= {2, 3, 4}
    assert runs.regret(name).mean() < 0.4 * runs.regret("kl_ucb").mean()


LAZY = {"every": 10, "splits_every": 5}  # the published tests: in every 10th round, one split in 5


@pytest.mark.long
def test_lazy_tests_miss_forced_rounds():
    """On pb3 forced rounds recur every 100 rounds at first: tests in every 10th round meet hardly any of them."""
    lazy, exact = ss.policy("glr_kl_ucb", **LAZY), ss.policy("glr_kl_ucb")
    runs = ss.simulate([lazy, exact], ss.env("pb3"), runs=100, seed=12, checkpoints=1, progress=False)
    assert runs.regret(exact).mean() < 0.9 * runs.regret(lazy).mean()
