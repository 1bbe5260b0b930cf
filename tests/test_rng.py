"""Counter-based numbers: Philox's published vectors, keys, uniforms."""

import numpy as np
import pytest
from scipy import stats

from sigshift import rng

ALL = 0xFFFFFFFF
# Random123, kat_vectors, philox4x32 with 10 rounds: key, counter, result.
KNOWN_ANSWERS = [
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ALL, ALL), (ALL, ALL, ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
CHANCE = 1e-6  # of a false alarm, per test; the seeds are fixed


@pytest.mark.parametrize(("key", "counter", "result"), KNOWN_ANSWERS)
@pytest.mark.parametrize("compiled", [True, False])
def test_philox_gives_the_published_numbers(key, counter, result, compiled):
    philox = rng.philox if compiled else getattr(rng.philox, "py_func", rng.philox)
    words = philox(np.uint64(key[0] | key[1] << 32), *(np.uint64(word) for word in counter))
    assert tuple(int(word) for word in words) == result


@pytest.mark.parametrize("seed", [0, 1, 7, 2**32, 2**64 - 1])
@pytest.mark.parametrize("domain", [rng.POLICY_DOMAIN, rng.REWARD_DOMAIN, rng.ENVIRONMENT_DOMAIN])
def test_derive_is_the_kernel(seed, domain):
    for run, epoch in [(0, 0), (3, 1), (2**33 + 5, 9)]:
        counter = (run & ALL, run >> 32, epoch, domain)
        words = rng.philox(np.uint64(seed), *(np.uint64(word) for word in counter))
        assert int(rng.derive(seed, domain, run, epoch)) == int(words[0]) | int(words[1]) << 32


def test_keys_of_seeds_domains_runs_and_epochs_are_distinct():
    keys = [
        int(rng.derive(seed, domain, run, epoch))
        for seed in range(6)
        for domain in (1, 2, 3)
        for run in range(6)
        for epoch in range(6)
    ]
    assert len(set(keys)) == len(keys)


def test_uniforms_are_uniform_and_use_the_whole_counter():
    key = rng.derive(1, rng.POLICY_DOMAIN)
    pairs = np.array([rng.uniforms(key, t, 0, 0) for t in range(20_000)])
    assert pairs.min() >= 0.0
    assert pairs.max() < 1.0
    for column in pairs.T:
        assert stats.kstest(column, "uniform").pvalue > CHANCE
    cells = np.histogram2d(*pairs.T, bins=8, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(cells.ravel()).pvalue > CHANCE
    places = [(0, 0, 0), (1, 0, 0), (2**32, 0, 0), (0, 1, 0), (0, 0, 1), (2**62, 0, 0)]
    assert len({rng.uniforms(key, *place) for place in places}) == len(places)
    assert rng.uniform(key, 5, 6) == rng.uniforms(key, 5, 6, 0)[0]
