"""The calibrated META: its evidence against a plain twin, its budgets in every run, its probabilities in many."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from calibration import calibration
from naive import NaiveVariance
from sigshift.meta import conscience, variance
from sigshift.meta.evidence import EPISODE_START, EPISODES
from sigshift.play import Play
from sigshift.policies import auto
from sigshift.policy import defaults

META = ss.policy("meta")
LIVELY = ss.policy(META, replay_rate=1.0, shortest=4, rounds=1)  # ``rounds`` is that of the test: arms are out soon


# The evidence


@st.composite
def stories(draw):
    return {
        "arms": draw(st.integers(2, 6)),
        "level": 10.0 ** draw(st.floats(-2.5, 0.0)),
        "floor": 10.0 ** draw(st.floats(-4.0, 0.0)),
        "nesting": draw(st.sampled_from([0.0, 0.01, 0.1])),
        "grid": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }


def told(arms, level, floor, nesting, grid, seed, rounds=400):
    """Let the kernels and the twin live through the same rounds; after each they must agree on every arm."""
    random = np.random.default_rng(seed)
    params = variance.configure(arms, 1_000, level=level, floor=floor)
    state, twin = variance.init(arms), NaiveVariance(arms, 1_000, level, floor)
    variance.clear(state)
    means = random.random((3, arms))
    deaths = 0
    for t in range(rounds):
        if state.clock[variance.CROWDED]:
            state = variance.grow(state)
        top = int(state.clock[variance.TOP])
        if random.random() < nesting and top < 10:
            variance.begin_base(state)
            twin.begin_base()
        elif random.random() < 2 * nesting and top > 0:
            variance.end_base(params, state)
            twin.end_base()
        top = int(state.clock[variance.TOP])
        assert np.minimum(state.low, top + 1).tolist() == [twin.low(a) for a in range(arms)]
        candidates = np.flatnonzero(state.low <= top)
        if candidates.size == 0:  # what empties the master set ends the episode
            variance.clear(state)
            twin.clear()
            candidates = np.arange(arms)
        b = int(random.choice(candidates))
        y = means[3 * t // rounds, b] + 0.5 * (random.random() - 0.5)
        x = len(candidates) * ((round(4 * y) / 4 if grid else y) - 0.5)
        died = variance.observe(params, state, b, x)
        before = sum(twin.low(a) for a in range(arms))
        twin.observe(b, x)
        assert died == (sum(twin.low(a) for a in range(arms)) > before)
        deaths += died
    return deaths


@settings(max_examples=80, deadline=None)
@given(stories())
def test_every_eviction_is_that_of_the_twin(story):
    told(**story)


def test_the_comparison_meets_evictions():
    assert told(4, 0.05, 0.001, 0.05, False, 1, rounds=1_500) > 20


def test_the_state_grows_when_the_stacks_run_short():
    """Noise with a small drift leaves many starts that can still matter."""
    random = np.random.default_rng(4)
    params = variance.configure(2, 10**6)
    state = variance.init(2)
    variance.clear(state)
    width = state.stacks.shape[2]
    for _ in range(20_000):
        if state.clock[variance.CROWDED]:
            state = variance.grow(state)
        variance.observe(params, state, 0, random.normal() + 0.01)
    assert state.low.tolist() == [0, 0]
    assert state.stacks.shape[2] > width


def test_the_test_is_the_one_that_is_stated():
    """One arm of two always wins by the same: it must win so often that n x > sqrt(2 l (n x^2 + Q_0))."""
    params = variance.configure(2, 1_000)
    log = math.log(2 * 2 * 1_000)
    state = variance.init(2)
    variance.clear(state)
    x = 0.5
    needed = next(n for n in range(1, 10_000) if n * x > math.sqrt(2 * log * (n * x * x + 0.1 * 4 * log)))
    for n in range(1, needed + 1):
        assert variance.observe(params, state, 0, x) == (n == needed)
    assert state.low.tolist() == [0, 1]


# The policy


def test_it_is_auto_with_more_replays():
    same = ss.policy("auto", replay_rate=0.01)
    more = ss.policy("meta", rate=0.02, level=0.5, excursion=1.0)
    both = [META, same, more, ss.policy(same, rate=0.02, level=0.5, excursion=1.0)]
    regret = [ss.simulate(one, ss.env("pb2", horizon=4_000), runs=3, seed=2).regret(one) for one in both]
    assert np.array_equal(regret[0], regret[1])
    assert np.array_equal(regret[2], regret[3])
    assert not np.array_equal(regret[0], regret[2])
    rates = [one.configure(3, None).conscience.replay_rate for one in (META, ss.policy("auto"))]
    assert rates[0] == pytest.approx(50 * rates[1])


def test_its_levers_are_those_of_auto_but_for_one():
    levers, autos = defaults(META.module), defaults(auto)
    assert set(autos) - set(levers) == {"forget"}
    assert {key for key in levers if levers[key] != autos.get(key)} == {"threshold", "replay_rate"}
    with pytest.raises(ss.InvalidInput, match="'forget' of meta is a lever of auto alone"):
        ss.policy("meta", forget="all")


def test_it_keeps_the_contract():
    ss.check_policy(META)
    ss.check_policy(LIVELY)


def test_it_is_told_nothing():
    assert META.told == "nothing"
    assert "horizon" not in ss.Bandit(META, arms=2, seed=1).inspect()


def test_a_saved_bandit_goes_on_as_if_it_had_never_stopped(tmp_path):
    """With late rewards, arms that come and go, and a change."""
    random = np.random.default_rng(5)
    bandit = ss.Bandit(LIVELY, arms=["a", "b", "c"], seed=4)
    late = []
    for t in range(2_000):
        if t == 1_000:
            bandit.add_arm("d")
        if t == 1_250:
            bandit.retire_arm("a")
        if t % 250 == 0:
            bandit.save(tmp_path / "bandit.json")
            twin = ss.Bandit.load(tmp_path / "bandit.json")
            assert twin.inspect() == bandit.inspect()
        choice = bandit.ask()
        assert twin.ask() == choice
        assert t < 1_250 or choice.arm != "a"
        mean = {"a": 0.8, "b": 0.6, "c": 0.3, "d": 0.5}[choice.arm] - 0.5 * (choice.arm == "a" and t > 600)
        late.append((choice.round, float(random.random() < mean)))
        while len(late) > 3:
            told = late.pop(int(random.integers(3)))
            bandit.tell(*told)
            twin.tell(*told)
    seen = bandit.inspect()
    assert len(seen["restarts"]) > 0
    assert len(seen["forgotten"]) > 0


def test_a_master_set_that_is_retired_begins_anew():
    bandit = ss.Bandit(LIVELY, arms=3, seed=1)
    random = np.random.default_rng(1)
    while len(bandit.inspect()["master"]) > 1:
        choice = bandit.ask()
        bandit.tell(choice, float(random.random() < (0.9 if choice.index == 1 else 0.1)))
    (last,) = bandit.inspect()["master"]
    bandit.retire_arm(last)
    before = len(bandit.inspect()["restarts"])
    while True:  # until no replay is active any more
        choice = bandit.ask()
        assert choice.index != last
        seen = bandit.inspect()
        if choice.propensity == 1.0:
            break
        bandit.tell(choice, 0.5)
    assert len(seen["master"]) == 2
    assert last not in seen["master"]
    assert len(seen["restarts"]) == before + 1


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from([0.0, 0.1, 0.5, 4.0]), st.sampled_from([0, 2, 100])
)
def test_evicted_arms_are_played_within_their_budget(seed, arms, excursion, soft_restarts):
    """In every run, whatever the rewards, and however often they change."""
    excursions(seed, arms, excursion, soft_restarts)


def test_the_budget_is_spent():
    """By it some episodes end, and others are confined to their master set."""
    met = [excursions(seed, 3, 0.1, 3) for seed in range(4)]
    assert all(sum(run[part] for run in met) >= 5 for part in range(3)), met


def excursions(seed, arms, excursion, soft_restarts):
    """Live through a run; the plays of arms that are out, soft restarts, and rounds of confinement in it."""
    random = np.random.default_rng(seed)
    policy = ss.policy(LIVELY, replay_rate=0.3, excursion=excursion, soft_restarts=soft_restarts)
    play = Play(policy, arms, None, seed)
    play.bind()
    means = random.random((5, arms))
    away = every = confined = softly = 0
    episode, soft = 0, 0
    for t in range(1_500):
        play.enter(t)
        a, q = play.ask(play.params, play.state, t)
        clock, memory = play.state.clock, play.state.conscience
        if memory.clock[EPISODES] != episode:
            episode, away = int(memory.clock[EPISODES]), 0
        if q == 1.0 and memory.evidence.low[a] > 0:
            away, every = away + 1, every + 1
        assert away <= excursion * math.sqrt(arms * (t - memory.clock[EPISODE_START] + 1))
        softly += int(clock[auto.SOFT]) > soft
        soft = int(clock[auto.SOFT])
        assert soft <= soft_restarts
        confined += int(clock[auto.CONFINED])
        play.tell(play.params, play.state, t, a, float(random.random() < means[t // 300, a]), q)
    return every, softly, confined


@pytest.mark.parametrize("name", ["season", "suite-benign-joint", "suite-benign-losers", "suite-blips"])
def test_changes_that_do_not_matter_cause_at_most_one_restart(name):
    """In each of 10 runs of 10^5 rounds. Seen in 20 runs each: 0.1 in the mean on suite-benign-joint, else none."""
    runs = ss.simulate(META, ss.env(name, horizon=100_000), runs=10, seed=1)
    assert max(runs.restarts[META.label]) <= 1


def test_a_lone_candidate_of_low_mean_is_never_evicted_by_centred_evidence():
    """The trap of centring: an arm alone pays less than the running mean of all, but there is nobody to lose to."""
    env = ss.Environment.piecewise([0], [[0.2, 0.0]], 50_000)
    policy = ss.policy(META, replay_rate=0.1)
    runs = ss.simulate(policy, env, runs=5, seed=2)
    assert runs.restarts[policy.label].sum() == 0
    assert runs.regret(policy)[:, -1].max() < 0.1 * 0.2 * 50_000


# The constants


def test_the_default_constants_are_those_that_were_calibrated():
    """An arm that is best throughout is evicted in at most 5 % of the runs, by the stored Monte Carlo."""
    _, found = calibration()
    assert META.configure(2, 1_000).conscience == conscience.configure(2)
    chosen = [row for row in found["eviction"] if row["level"] == 1.0]
    assert {row["arms"] for row in chosen} == {2, 5, 10, 20}
    assert max(row["share"] for row in chosen) <= 0.05
    assert any(row["share"] > 0.05 for row in found["eviction"] if row["level"] == 0.75)
    assert max(row["share"] for row in found["hard"]) <= 0.01
    soft = {row["environment"] for row in found["restart"] if row["share"] > 0.05}
    assert soft <= {"season", "suite-benign-joint"}
    assert max(row["share"] for row in found["restart"]) <= 0.15
    assert {row["environment"] for row in found["lost"]} == {row["environment"] for row in found["restart"]}
    assert max(row["share"] for row in found["lost"]) <= 0.05


def test_an_arm_that_is_best_throughout_is_seldom_evicted():
    """60 runs of 2 x 10^4 rounds with other seeds: were it evicted in 5 % of them, this would fail 3 times in 10^6."""
    module, _ = calibration()
    assert module.eviction(5, 0.5, 1.0, 60, 20_000, seed=99) <= 13
    assert module.eviction(5, 0.5, 0.4, 60, 20_000, seed=99) > 13


def test_the_stored_calibration_can_be_had_again():
    module, found = calibration()
    stored = next(row for row in found["eviction"] if (row["level"], row["arms"], row["mean"]) == (0.75, 2, 0.9))
    assert module.eviction(2, 0.9, 0.75, module.RUNS) == stored["count"]
