"""The oracle of restarts: it starts over when the truth says so. Its regrets are tested in `test_published.py`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from alike import instances, plays_alike
from sigshift.checks import InvalidInput
from sigshift.policies import restarting
from sigshift.testing import check_policy

PLACES = ["changes", "switches", "significant"]


@pytest.mark.parametrize("base", ["kl_ucb", "exp3s", "ucbl_cpd"])
@settings(max_examples=12, deadline=None)
@given(instance=instances(), at=st.sampled_from(PLACES))
def test_any_base_restarted_anywhere_equals_its_twin(base, instance, at):
    plays_alike("restarting", instance, at=at, base=base)


@pytest.mark.parametrize("base", [{"base": "thompson"}, {"base": "meta"}, {"base": "meta", "base_c0": 0.2}], ids=str)
def test_any_policy_can_be_restarted(base):
    check_policy(ss.policy("restarting", **base, at="significant"))


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("name", ["pb1", "pb3", "mukherjee", "season", "losers", "rotate", "trig", "stationary"])
def test_it_starts_over_where_the_analysis_counts(name, at):
    """L, S and L~ of the same environment, found by other code."""
    environment = ss.env(name, horizon=20_000)
    found = ss.phases(environment)
    rounds = restarting.rounds_of(environment, at)[:-1]
    assert len(rounds) == {"changes": found.changes, "switches": found.switches, "significant": found.significant}[at]
    assert (np.diff(rounds) > 0).all()


def test_segments_and_rows_are_the_same_to_it():
    """A piecewise environment and the same one as a table, with blocks that begin within a segment."""
    chance = np.random.default_rng(4)
    starts = np.unique(np.concatenate([[0], chance.integers(1, 200_000, 40)]))
    means = chance.random((len(starts), 3)).round(1)
    piecewise = ss.Environment.piecewise(starts, means, 200_000)
    table = ss.Environment.from_means(piecewise.means())
    for at in PLACES:
        assert restarting.rounds_of(piecewise, at).tolist() == restarting.rounds_of(table, at).tolist()


def test_it_is_refused_online():
    with pytest.raises(InvalidInput, match="must be told the environment"):
        ss.Bandit("restarting", arms=3)


@pytest.mark.parametrize("at", PLACES)
def test_rested_arms_have_no_round_to_restart_in(at):
    with pytest.raises(InvalidInput, match=r"environment must have means that depend on the round.*rotting"):
        ss.simulate(ss.policy("restarting", at=at), ss.env("rotting", horizon=100), runs=1, progress=False)


def test_it_says_where_it_forgets_too_often_to_learn():
    season = ss.env("season", horizon=1_000)
    with pytest.warns(ss.Caution, match="restarting starts over in 989 of 1,000 rounds"):
        ss.simulate("restarting", season, runs=1, progress=False)
    ss.simulate(ss.policy("restarting", at="switches"), season, runs=1, progress=False)  # a warning is an error here


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"at": "sunrise"}, "at must be one of"),
        ({"base": "ucb2"}, "policy must be one of"),
        ({"base_c": -1.0}, "c must be a finite number >= 0"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(InvalidInput, match=message):
        ss.simulate(ss.policy("restarting", **params), "pb1", runs=1, progress=False)


def test_to_forget_at_every_change_is_not_the_best_one_can_do():
    """pb4 changes five times, and its best arm once. 40 runs; the difference is over twenty standard errors."""
    switches, changes = ss.policy("restarting", at="switches"), ss.policy("restarting")
    runs = ss.simulate([switches, changes], "pb4", runs=40, seed=2, checkpoints=1, progress=False)
    assert runs.regret(switches).mean() < 0.6 * runs.regret(changes).mean()
