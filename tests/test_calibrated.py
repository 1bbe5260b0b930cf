"""The calibrated META: its evidence against a plain twin, its budgets in every run, its probabilities in many."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from naive import NaiveVariance
from sigshift.meta import variance

META = ss.policy("meta", threshold="calibrated")


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
    state, twin = variance.init(arms, 12), NaiveVariance(arms, 1_000, level, floor)
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
    state = variance.init(2, 4)
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
    state = variance.init(2, 4)
    variance.clear(state)
    x = 0.5
    needed = next(n for n in range(1, 10_000) if n * x > math.sqrt(2 * log * (n * x * x + 0.1 * 4 * log)))
    for n in range(1, needed + 1):
        assert variance.observe(params, state, 0, x) == (n == needed)
    assert state.low.tolist() == [0, 1]


# The policy


def test_it_keeps_the_contract():
    ss.check_policy(META)
    ss.check_policy(ss.policy(META, replay_rate=1.0, shortest=2, level=0.02, floor=0.01, check=3))


def test_it_is_told_nothing():
    assert META.told == "nothing"
    assert "horizon" not in ss.Bandit(META, arms=2, seed=1).inspect()
