"""Reward laws: the mean kept, the right law around it, common random numbers. Every seed is fixed."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from sigshift import laws
from sigshift.environment import Environment

CHANCE = 1e-6  # of a false alarm, per comparison, were the seed drawn at random
DEVIATIONS = stats.norm.isf(CHANCE / 2)
DRAWS = 100_000
MEANS = (0.001, 0.02, 0.3, 0.5, 0.75, 0.98, 0.999)
SPREADS = [("bernoulli", {})]
SPREADS += [("beta", {"concentration": c}) for c in (0.01, 1.0, 10.0, 500.0)]
SPREADS += [("normal", {"sd": sd}) for sd in (0.001, 0.05, 0.1, 0.3, 1.0)]


def sample(mean, law, count=DRAWS, arm=0, run=0, seed=1, **spread):
    environment = Environment.piecewise([0], [[mean] * (arm + 2)], count, law=law, **spread)
    return environment.rewards(0, count, run=run, seed=seed)[:, arm]


def truncated(mean, sd):
    """The law that a normal reward should have."""
    location = laws.truncated_location(min(mean, 1 - mean), sd)
    location = location if mean <= 0.5 else 1 - location
    return stats.truncnorm(-location / sd, (1 - location) / sd, location, sd)


@pytest.mark.parametrize(("law", "spread"), SPREADS)
@pytest.mark.parametrize("mean", MEANS)
def test_the_mean_is_kept(law, spread, mean):
    rewards = sample(mean, law, **spread)
    assert rewards.min() >= 0.0
    assert rewards.max() <= 1.0
    if law == "bernoulli":
        assert set(np.unique(rewards)) == {0.0, 1.0}
        assert stats.binomtest(int(rewards.sum()), DRAWS, mean).pvalue > CHANCE
        return
    if law == "beta":
        # So skewed at the extremes that the bound of Bernstein is taken: exact, whatever the law.
        variance, log = mean * (1 - mean) / (spread["concentration"] + 1), np.log(2 / CHANCE)
        bound = np.sqrt(2 * variance * log / DRAWS) + log / (3 * DRAWS)
    else:
        bound = DEVIATIONS * rewards.std() / np.sqrt(DRAWS)
    assert abs(rewards.mean() - mean) <= bound


@pytest.mark.parametrize("law", ["bernoulli", "deterministic", "beta", "normal"])
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_a_mean_of_0_or_1_leaves_no_choice(law, mean):
    assert (sample(mean, law, count=1000) == mean).all()


def test_deterministic_rewards_are_the_means():
    means = np.random.default_rng(1).random((50, 3))
    assert (Environment.from_means(means, "deterministic").rewards(0, 50) == means).all()


@pytest.mark.parametrize("concentration", [0.1, 1.0, 2.0, 10.0, 200.0])
@pytest.mark.parametrize("mean", [0.05, 0.3, 0.5, 0.9])
def test_beta_is_beta(concentration, mean):
    rewards = sample(mean, "beta", concentration=concentration)
    law = stats.beta(mean * concentration, (1 - mean) * concentration)
    variance, kurtosis = mean * (1 - mean) / (concentration + 1), law.stats("k")
    assert law.var() == pytest.approx(variance)
    assert abs(rewards.var() - variance) <= DEVIATIONS * variance * np.sqrt((kurtosis + 2) / DRAWS)
    for x in (1e-6, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999):
        assert stats.binomtest(int((rewards <= x).sum()), DRAWS, law.cdf(x)).pvalue > CHANCE
    if (1 - mean) * concentration >= 0.5:  # else much of the law lies within 1e-16 of 1, which rounds to 1
        assert stats.kstest(rewards, law.cdf).pvalue > CHANCE


@pytest.mark.parametrize("mean", [1e-300, 1e-12, 1e-3, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("concentration", [1e-6, 1e-3, 1e9])
def test_beta_of_tiny_or_huge_shapes_stays_a_reward(mean, concentration):
    rewards = sample(mean, "beta", count=5000, concentration=concentration)
    assert np.isfinite(rewards).all()
    assert rewards.min() >= 0.0
    assert rewards.max() <= 1.0
    if concentration == 1e-6 and mean == 0.5:  # a coin, in all but name
        assert stats.binomtest(int((rewards > 0.5).sum()), 5000, 0.5).pvalue > CHANCE
        assert np.minimum(rewards, 1 - rewards).max() < 1e-3
    if concentration == 1e9:
        assert np.abs(rewards - mean).max() < 1e-3


@pytest.mark.parametrize("sd", [0.02, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("mean", [0.01, 0.04, 0.2, 0.5, 0.8, 0.995])
def test_normal_is_a_truncated_normal(sd, mean):
    rewards, law = sample(mean, "normal", count=30_000, sd=sd), truncated(mean, sd)
    assert stats.kstest(rewards, law.cdf).pvalue > CHANCE


def test_far_from_the_borders_the_deviation_is_the_one_asked():
    rewards = sample(0.5, "normal", sd=0.05)
    assert abs(rewards.std() - 0.05) <= DEVIATIONS * 0.05 / np.sqrt(2 * DRAWS)
    assert sample(0.001, "normal", sd=0.1).std() == pytest.approx(0.001, rel=0.05)  # at the border: exponential


@pytest.mark.parametrize("sd", [1e-6, 1e-3, 0.02, 0.05, 0.06, 0.1, 0.3, 0.7, 1.0])
def test_the_location_gives_the_mean_exactly(sd):
    """By Gauss-Legendre quadrature of the density, within a few deviations of where its mass is."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for mean in [1e-12, 1e-6, 1e-3, 0.01, 0.031, 0.033, 0.0624, 0.063, 0.1, 0.2, 0.3, 0.45, 0.499, 0.5]:
        location = laws.truncated_location(mean, sd)
        width = min(sd, sd * sd / -location) if location < 0 else sd
        centre = max(location, 0.0)
        cells = np.linspace(max(0.0, centre - 40 * width), min(1.0, centre + 40 * width), 201)
        half = (cells[1] - cells[0]) / 2
        x = (cells[:-1, None] + half * (1 + nodes)).ravel()
        density = np.tile(weights, 200) * np.exp(-((x - centre) ** 2) / (2 * sd**2) + min(location, 0) * x / sd**2)
        assert (density * x).sum() / density.sum() == pytest.approx(mean, rel=1e-9)


def test_rewards_are_common_random_numbers():
    """The same (seed, run, round, arm), the same reward, in any order and any block."""
    for law in ("bernoulli", "beta", "normal"):
        environment = Environment.from_function(lambda t: np.stack([t % 7, t % 5, t % 3], 1) / 7, 300, 3, law)
        table = environment.rewards(0, 300, run=4, seed=9)
        assert (environment.rewards(0, 300, run=4, seed=9) == table).all()
        assert (environment.rewards(123, 200, run=4, seed=9) == table[123:200]).all()
        for t, arm in [(299, 2), (0, 0), (150, 1), (150, 0)]:
            assert environment.reward(t, arm, run=4, seed=9) == table[t, arm]
        again = Environment.from_means(environment.means(), law)
        assert (again.rewards(0, 300, run=4, seed=9) == table).all()
        for other in ({"run": 5, "seed": 9}, {"run": 4, "seed": 10}):
            assert (environment.rewards(0, 300, **other) != table).any()


@pytest.mark.parametrize("law", ["bernoulli", "beta", "normal"])
def test_arms_runs_seeds_and_rounds_are_independent(law):
    """Five rewards beside each other, each above or below its median: 32 patterns, equally likely."""
    count = 40_001
    environment = Environment.piecewise([0], [[0.5, 0.5]], count, law=law)
    here, run, seed = (environment.rewards(0, count, **at) for at in ({}, {"run": 1}, {"seed": 1}))
    bits = [here[:-1, 0], here[:-1, 1], run[:-1, 0], seed[:-1, 0], here[1:, 0]]
    patterns = sum((bit > 0.5).astype(int) << place for place, bit in enumerate(bits))
    assert stats.chisquare(np.bincount(patterns[::2], minlength=32)).pvalue > CHANCE


def test_rounds_beyond_32_bits_and_the_last_arm():
    environment = Environment.piecewise([0], [[0.5, 0.5]], 2**40)
    low, high = environment.rewards(0, 64), environment.rewards(2**32, 2**32 + 64)
    assert (low != high).any()
    wide = Environment.piecewise([0], [[0.5] * 65_535], 2, law="beta")
    assert 0.0 <= wide.reward(1, 65_534) <= 1.0


# Of this implementation: recorded studies and saved runs rely on them, so they must never change.
GOLDEN = {
    "bernoulli": [0.0, 0.0, 0.0, 1.0, 1.0],
    "beta": [0.492947253495, 0.214769182449, 0.193143904393, 0.295448878342, 0.398159297363],
    "normal": [0.49911377671, 0.258579221131, 0.282795722169, 0.264058506829, 0.370976874433],
}


@pytest.mark.parametrize("law", GOLDEN)
def test_golden_rewards(law):
    assert sample(0.3, law, count=5, seed=7) == pytest.approx(GOLDEN[law], rel=1e-9)


SCRIPT = """
import json
from sigshift.environment import Environment
found = {}
for law in ("bernoulli", "deterministic", "beta", "normal"):
    environment = Environment.piecewise([0, 20], [[.3, .02, .9], [.5, .99, .001]], 40, law=law)
    found[law] = environment.rewards(0, 40, run=2, seed=5).tolist()
print(json.dumps(found))
"""


def test_without_the_compiler_the_rewards_are_the_same():
    environ = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environ, capture_output=True, text=True, check=True)
    for law, plain in json.loads(done.stdout).items():
        environment = Environment.piecewise([0, 20], [[0.3, 0.02, 0.9], [0.5, 0.99, 0.001]], 40, law=law)
        compiled = environment.rewards(0, 40, run=2, seed=5)
        if law == "bernoulli":
            assert (compiled == plain).all()
        np.testing.assert_allclose(compiled, plain, rtol=1e-9, atol=1e-12)
