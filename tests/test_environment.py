"""Environments: what each constructor makes, blocks, memory, immutability, and every refusal."""

import itertools
import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from sigshift.checks import InvalidInput
from sigshift.environment import KEPT_NUMBERS, Block, Environment

STARTS = [0, 400, 700]
MEANS = [[0.9, 0.5], [0.2, 0.5], [0.2, 0.8]]
HUGE = 10**8


def ramp(horizon, t):
    return np.stack([t / horizon, 1 - t / horizon], axis=1)


def pieces(**more):
    return Environment.piecewise(STARTS, MEANS, 1000, **more)


def table_of(environment, first=0, last=None, **size):
    """The means by way of the blocks, each of them checked."""
    last = environment.horizon if last is None else last
    rows, at = [np.empty((0, environment.arms))], first
    for block in environment.blocks(first, last, **size):
        assert isinstance(block, Block)
        assert block.first == at == block.starts[0]
        assert block.last == block.starts[-1]
        assert block.starts.dtype == np.int64
        assert block.means.dtype == np.float64
        assert block.means.flags.c_contiguous
        assert block.means.shape == (len(block.starts) - 1, environment.arms)
        assert (np.diff(block.starts) > 0).all()
        assert not block.means.flags.writeable
        assert not block.starts.flags.writeable
        rows.append(np.repeat(block.means, np.diff(block.starts), axis=0))
        at = block.last
    assert at == last
    return np.concatenate(rows)


def test_from_means():
    means = np.random.default_rng(1).random((50, 3))
    environment = Environment.from_means(means)
    assert (environment.arms, environment.horizon, environment.law, environment.spread) == (3, 50, "bernoulli", 0.0)
    assert (environment.means() == means).all()
    assert (environment.mean(49) == means[49]).all()
    assert environment.segments() is None
    (block,) = environment.blocks()
    assert (block.starts == np.arange(51)).all()


def test_piecewise():
    environment = pieces(name="mine")
    assert (environment.name, environment.arms, environment.horizon) == ("mine", 2, 1000)
    starts, means = environment.segments()
    assert (starts == STARTS).all()
    assert (means == MEANS).all()
    for t, row in [(0, 0), (399, 0), (400, 1), (699, 1), (700, 2), (999, 2)]:
        assert (environment.mean(t) == MEANS[row]).all()
    (block,) = environment.blocks(399, 701)
    assert block.starts.tolist() == [399, 400, 700, 701]
    assert (block.means == MEANS).all()
    (block,) = environment.blocks(400, 700)
    assert block.starts.tolist() == [400, 700]


def test_from_function():
    environment = Environment.from_function(partial(ramp, 1000), 1000, 2)
    assert environment.segments() is None
    assert (environment.means() == ramp(1000, np.arange(1000))).all()
    assert [block.last for block in environment.blocks(size=300)] == [300, 600, 900, 1000]


def test_from_rewards():
    rewards = np.random.default_rng(1).random((50, 3))
    environment = Environment.from_rewards(rewards)
    assert environment.law == "deterministic"
    assert (environment.rewards(0, 50, run=3, seed=4) == rewards).all()
    assert (environment.means() == rewards).all()
    assert environment.reward(7, 2) == rewards[7, 2]


@drawn(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 700))
@settings(max_examples=60, deadline=None)
def test_every_kind_gives_the_same_means_on_every_range(one, other, size):
    first, last = sorted((one, other))
    whole = pieces()
    truth = whole.means()
    function = Environment.from_function(lambda t: truth[t], 1000, 2)
    for environment in (whole, function, Environment.from_means(truth)):
        assert (table_of(environment, first, last, size=size) == truth[first:last]).all()
        assert (environment.means(first, last) == truth[first:last]).all()


def test_an_empty_range_has_no_blocks():
    assert list(pieces().blocks(5, 5)) == []
    assert pieces().means(5, 5).shape == (0, 2)
    assert pieces().rewards(5, 5).shape == (0, 2)


@pytest.mark.parametrize("kind", ["ints", "bools", "frame", "fortran", "float32", "mixed frame"])
def test_arrays_of_every_kind_are_taken(kind):
    table = np.array([[0, 1], [1, 0], [1, 1]])
    given = {
        "ints": table.tolist(),
        "bools": table.astype(bool),
        "frame": pd.DataFrame(table),
        "fortran": np.asfortranarray(table, dtype=float),
        "float32": table.astype(np.float32),
        "mixed frame": pd.DataFrame({"a": table[:, 0].astype(object), "b": table[:, 1].astype(bool)}),
    }[kind]
    assert (Environment.from_means(given).means() == table).all()
    assert (Environment.from_rewards(given).means() == table).all()
    assert (Environment.piecewise(np.array([0, 5, 6], dtype=np.uint8), given, 9).mean(8) == table[2]).all()


def test_nothing_the_user_does_later_changes_it():
    means, starts = np.array(MEANS), np.array(STARTS)
    for environment in (Environment.piecewise(starts, means, 1000), Environment.from_means(means)):
        before = environment.means()
        means[:] = 0.0
        starts[1] = 5
        assert (environment.means() == before).all()
        means[:] = MEANS
        with pytest.raises(AttributeError):
            environment.law = "beta"
        block = next(environment.blocks())
        for array in block[2:]:
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0
    result = np.full((10, 2), 0.5)
    environment = Environment.from_function(lambda t: result[t], 10, 2)
    assert (environment.means() == 0.5).all()
    result[:] = 0.0
    assert (environment.means() == 0.5).all()
    assert result.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        pieces().segments()[1].flags.writeable = True


def test_a_small_function_is_evaluated_once_even_by_many_threads():
    asked = []

    def f(t):
        asked.append(len(t))
        return ramp(100_000, t)

    environment = Environment.from_function(f, 100_000, 2)
    threads = [threading.Thread(target=environment.means) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(asked[1:]) == 100_000  # after the trial at the start


def test_a_hundred_million_rounds_of_a_function_need_the_memory_of_a_block():
    assert HUGE * 10 > KEPT_NUMBERS
    ten = np.arange(10) / 10

    def f(t):
        return (t % 2)[:, None] * ten

    tracemalloc.start()
    environment = Environment.from_function(f, HUGE, 10)
    for block in itertools.islice(environment.blocks(), 12):
        assert len(block.means) == 65_536
    for block in environment.blocks(HUGE - 10):
        assert block.last == HUGE
    assert environment.rewards(HUGE - 5, HUGE).shape == (5, 10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6  # T x K numbers would be 8,000e6


def test_a_hundred_million_rounds_of_segments_cost_nothing():
    tracemalloc.start()
    start = time.perf_counter()
    environment = Environment.piecewise(np.arange(50) * (HUGE // 50), np.full((50, 10), 0.5), HUGE)
    (block,) = environment.blocks()
    assert block.starts[-1] == HUGE
    assert time.perf_counter() - start < 0.5
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6


def test_repr():
    assert repr(pieces(name="mine")) == "<Environment mine: 2 arms, 1,000 rounds, bernoulli rewards, 3 segments>"
    shown = repr(Environment.from_means([[0, 1]], "beta", concentration=4))
    assert shown == "<Environment from_means: 2 arms, 1 round, beta rewards (concentration 4), means round by round>"
    shown = repr(Environment.from_function(partial(ramp, 9), 9, 2, "normal", sd=0.2))
    assert shown == "<Environment from_function: 2 arms, 9 rounds, normal rewards (sd 0.2), means from a function>"
    assert "rewards round by round" in repr(Environment.from_rewards([[0, 1]]))
    assert "1 segment>" in repr(Environment.piecewise([0], [[0, 1]], 5))


def test_laws_and_spreads():
    codes = [pieces(law=law).law_code for law in ("bernoulli", "deterministic", "beta", "normal")]
    assert codes == [0, 1, 2, 3]
    assert pieces(law="beta").spread == 10.0
    assert pieces(law="beta", concentration=3).spread == 3.0
    assert pieces(law="normal").spread == 0.1
    assert pieces(law="normal", sd=0.2).spread == 0.2
    assert pieces(law="deterministic").spread == 0.0


def test_pickling_goes_to_other_processes():
    for environment in (pieces(law="beta"), Environment.from_function(partial(ramp, 50), 50, 2)):
        copy = pickle.loads(pickle.dumps(environment))
        assert repr(copy) == repr(environment)
        assert (copy.means() == environment.means()).all()


def test_building_an_environment_loads_no_compiler():
    script = (
        "import sys; from sigshift.environment import Environment as E; from sigshift.environments import env; "
        "env('pb1').means(); E.from_means([[0, 1]]).law_code; print('numba' in sys.modules, 'pandas' in sys.modules)"
    )
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


GOOD = [[0.1, 0.2], [0.3, 0.4]]
NAN = float("nan")
F = partial(ramp, 1000)


def from_f(f, horizon=1000, arms=2):
    return Environment.from_function(f, horizon, arms).means()


REFUSALS = {
    "one arm": (lambda: Environment.from_means([[0.5], [0.5]]), r"means must have 2 to 65535 arms.*\(2, 1\)"),
    "no arm": (lambda: Environment.from_means(np.empty((3, 0))), r"means must have 2 to 65535 arms"),
    "too many arms": (lambda: Environment.from_means(np.zeros((1, 65_536))), r"means must have 2 to 65535 arms"),
    "no rounds": (lambda: Environment.from_means(np.empty((0, 2))), r"means must have at least one round"),
    "empty list": (lambda: Environment.from_means([]), r"means must have two dimensions \[rounds, arms\]"),
    "one dimension": (lambda: Environment.from_means([0.1, 0.2]), r"means must have two dimensions.*\(2,\)"),
    "three dimensions": (lambda: Environment.from_means(np.zeros((2, 2, 2))), r"means must have two dimensions"),
    "ragged": (lambda: Environment.from_means([[0.1, 0.2], [0.3]]), r"means must be an array of numbers"),
    "text": (lambda: Environment.from_means([["0.1", "0.2"]]), r"means must be an array of numbers"),
    "none": (lambda: Environment.from_means([[None, 0.5]]), r"means \(round 0, arm 0\).*nan\. Fill"),
    "objects": (lambda: Environment.from_means([[{}, 0.5]]), r"means must be an array of numbers"),
    "huge": (lambda: Environment.from_means([[10**400, 0.5]]), r"means must be an array of numbers"),
    "complex": (lambda: Environment.from_means([[1j, 0.5]]), r"means must be an array of numbers"),
    "above 1": (lambda: Environment.from_means([[0.1, 0.2], [1.5, 0]]), r"round 1, arm 0\) must be.*1\.5\. Scale"),
    "below 0": (lambda: Environment.from_means([[0.1, -0.2]]), r"means \(round 0, arm 1\) must be.*-0\.2"),
    "nan": (lambda: Environment.from_means([[0.1, NAN]]), r"means \(round 0, arm 1\).*nan\. Fill"),
    "infinite": (lambda: Environment.from_means([[0.1, np.inf]]), r"means \(round 0, arm 1\).*inf"),
    "law": (lambda: Environment.from_means(GOOD, "poisson"), r"law must be one of 'bernoulli'.*'poisson'"),
    "law of no text": (lambda: Environment.from_means(GOOD, 3), r"law must be one of"),
    "concentration": (lambda: pieces(law="beta", concentration=0), r"concentration must be a finite number.*got 0\."),
    "concentration nan": (lambda: pieces(law="beta", concentration=NAN), r"concentration must be a finite number"),
    "sd": (lambda: pieces(law="normal", sd=0), r'sd must be.*law="deterministic"'),
    "sd above 1": (lambda: pieces(law="normal", sd=2), r"sd must be a finite number >= 1e-06 and <= 1"),
    "sd of text": (lambda: pieces(sd="wide"), r"sd must be a finite number"),
    "name": (lambda: pieces(name=""), r"name must be a text"),
    "name of no text": (lambda: pieces(name=3), r"name must be a text"),
    "rewards nan": (lambda: Environment.from_rewards([[0.1, NAN]]), r"rewards \(round 0, arm 1\)"),
    "rewards one arm": (lambda: Environment.from_rewards([[0.1]]), r"rewards must have 2 to 65535 arms"),
    "horizon 0": (lambda: Environment.piecewise([0], [[0, 1]], 0), r"horizon must be a whole number of at least 1"),
    "horizon 1.5": (lambda: Environment.piecewise([0], [[0, 1]], 1.5), r"horizon must be a whole number"),
    "no starts": (lambda: Environment.piecewise([], [[0, 1]], 9), r"starts must be a list of at least one round"),
    "starts in 2-d": (lambda: Environment.piecewise([[0]], [[0, 1]], 9), r"starts must be a list of at least one"),
    "ragged starts": (lambda: Environment.piecewise([0, [1]], GOOD, 9), r"starts must be a list of rounds"),
    "starts of floats": (lambda: Environment.piecewise([0, 4.5], GOOD, 9), r"starts must be whole numbers"),
    "starts not at 0": (lambda: Environment.piecewise([1, 4], GOOD, 9), r"starts must begin with 0.*got 1\."),
    "starts below 0": (lambda: Environment.piecewise([-1, 4], GOOD, 9), r"starts must begin with 0"),
    "starts twice": (lambda: Environment.piecewise([0, 0], GOOD, 9), r"starts must be strictly increasing"),
    "starts down": (lambda: Environment.piecewise([0, 5, 3], MEANS, 9), r"increasing, but got '5 before 3'"),
    "starts beyond": (lambda: Environment.piecewise([0, 9], GOOD, 9), r"starts must be below the horizon, 9, .*got 9"),
    "rows": (lambda: Environment.piecewise([0, 5], MEANS, 9), r"means must have one row per start, 2 rows, .*3 rows"),
    "segment range": (lambda: Environment.piecewise([0], [[2, 0]], 9), r"means \(segment 0, arm 0\)"),
    "no function": (lambda: Environment.from_function(3, 10, 2), r"f must be a function"),
    "function horizon": (lambda: Environment.from_function(F, 0, 2), r"horizon must be"),
    "function one arm": (lambda: Environment.from_function(F, 10, 1), r"arms must be a whole number of at least 2"),
    "function arms": (lambda: Environment.from_function(F, 10, 70_000), r"arms must be.*at most 65535"),
    "function shape": (lambda: from_f(lambda t: t / 1e3), r"f must return an array of shape.*\(1000, 2\).*\(1000,\)"),
    "function transposed": (lambda: from_f(lambda t: ramp(1000, t).T), r"f must return an array of shape"),
    "function scalar": (lambda: from_f(lambda t: 0.5), r"f must return an array of shape"),
    "function none": (lambda: from_f(lambda t: None), r"f must return an array of shape"),
    "function range": (lambda: from_f(lambda t: 2 * ramp(1000, t)), r"f \(round 0, arm 1\) must return means within"),
    "function nan": (lambda: from_f(lambda t: ramp(1000, t) * np.nan), r"f \(round 0, arm 0\).*nan"),
    "function late": (
        lambda: from_f(lambda t: ramp(1000, t), horizon=70_000),
        r"f \(round 1001, arm 0\) must return means within \[0, 1\], but got 1\.001",
    ),
    "t": (lambda: pieces().mean(1000), r"t must be a whole number of at least 0 and at most 999, but got 1000"),
    "t below 0": (lambda: pieces().reward(-1, 0), r"t must be"),
    "arm": (lambda: pieces().reward(0, 2), r"arm must be.*at most 1, but got 2. The arms are 0 to 1"),
    "run": (lambda: pieces().reward(0, 0, run=-1), r"run must be"),
    "seed": (lambda: pieces().reward(0, 0, seed=-1), r"seed must be"),
    "seed of text": (lambda: pieces().rewards(0, 1, seed="a"), r"seed must be"),
    "first": (lambda: pieces().blocks(-1), r"first must be"),
    "last": (lambda: pieces().blocks(0, 1001), r"last must be.*at most 1000"),
    "last before first": (lambda: pieces().means(5, 4), r"last must be a whole number of at least 5"),
    "rewards range": (lambda: pieces().rewards(0, 1001), r"last must be"),
    "size": (lambda: pieces().blocks(size=0), r"size must be"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    wrong, message = REFUSALS[case]
    with pytest.raises(InvalidInput, match=message):
        wrong()
