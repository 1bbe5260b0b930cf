"""Significant phases: equal to the plain twin, the same by segments and by blocks, and true to the paper's facts."""

import json
import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_phases
from sigshift.analysis.envelope import RESERVE, STRETCH
from sigshift.analysis.phases import Phases, phases
from sigshift.checks import InvalidInput
from sigshift.environment import Environment

KINDS = ("random", "zero_one", "smooth", "segments", "tenths", "walk", "tenth_segments", "small_gaps", "constant")


def instance(kind: str, seed: int, horizon: int, arms: int) -> Any:
    """Means [round, arm] of one kind."""
    rng = np.random.default_rng(seed)
    t = np.arange(horizon)[:, None]
    which = np.searchsorted(np.sort(rng.integers(0, horizon, rng.integers(1, 30))), np.arange(horizon))
    if kind == "random":
        return rng.random((horizon, arms))
    if kind == "zero_one":
        return rng.integers(0, 2, (horizon, arms)).astype(float)
    if kind == "smooth":
        return (np.sin(t * rng.random(arms) * 0.2 + 6 * rng.random(arms)) + 1) / 2
    if kind == "segments":
        return rng.random((31, arms))[which]
    if kind == "tenths":
        return rng.integers(0, rng.integers(2, 11), (horizon, arms)) / 10
    if kind == "walk":
        return np.clip(0.5 + np.cumsum(rng.normal(0, 0.03, (horizon, arms)), axis=0), 0, 1)
    if kind == "tenth_segments":
        return (rng.integers(0, 11, (31, arms)) / 10)[which]
    if kind == "small_gaps":
        return 0.5 + 0.2 * rng.random() * (rng.random((horizon, arms)) - 0.5)
    return np.tile(rng.integers(0, 11, arms) / 10, (horizon, 1))


def agree(found: Phases, plain: naive_phases.Plain) -> None:
    assert found.starts.tolist() == plain.starts
    assert found.unsafe_at.tolist() == plain.unsafe_at
    assert found.safe_arm.tolist() == plain.safe_arm
    assert (found.switches, found.changes) == (plain.switches, plain.changes)
    assert found.variation == pytest.approx(plain.variation, rel=1e-9, abs=1e-12)


def equal(first: Phases, second: Phases) -> None:
    assert first.starts.tolist() == second.starts.tolist()
    assert first.unsafe_at.tolist() == second.unsafe_at.tolist()
    assert (first.switches, first.changes, first.horizon) == (second.switches, second.changes, second.horizon)
    assert first.variation == pytest.approx(second.variation, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_plain_twin(kind: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng([seed, 1])
        means = instance(kind, seed, int(rng.integers(1, 400)), int(rng.integers(2, 9)))
        agree(phases(means), naive_phases.phases(means))


@settings(deadline=None, max_examples=150)
@given(st.data(), st.integers(2, 8), st.integers(1, 120))
def test_equals_the_plain_twin_on_any_levels(data: st.DataObject, arms: int, horizon: int) -> None:
    levels = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))
    row = st.lists(st.sampled_from([0.0, 1.0, *levels]), min_size=arms, max_size=arms)
    pattern = np.array(data.draw(st.lists(row, min_size=1, max_size=8)))
    means = np.resize(np.repeat(pattern, data.draw(st.integers(1, 9)), axis=0), (horizon, arms))
    agree(phases(means), naive_phases.phases(means))


@pytest.mark.parametrize("seed", range(60))
def test_by_segments_is_round_by_round(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms, horizon = int(rng.integers(2, 9)), int(rng.integers(1, 30_000))
    starts = np.unique(np.append(0, rng.integers(0, horizon, rng.integers(1, 60))))
    scale = 10.0 ** -rng.uniform(0, 3, (len(starts), 1))
    means = 0.5 + scale * (rng.random((len(starts), arms)) - 0.5)
    if seed % 3 == 0:
        means = rng.integers(0, 11, (len(starts), arms)) / 10
    dense = np.repeat(means, np.diff(np.append(starts, horizon)), axis=0)
    equal(phases(Environment.piecewise(starts, means, horizon)), phases(dense))


def test_segments_equal_the_twin_where_segments_are_short() -> None:
    for seed in range(60):
        rng = np.random.default_rng([seed, 2])
        arms, horizon = int(rng.integers(2, 6)), int(rng.integers(2, 300))
        starts = np.unique(np.append(0, rng.integers(0, horizon, horizon // int(rng.integers(1, 12)) + 1)))
        means = rng.integers(0, 6, (len(starts), arms)) / 5
        dense = np.repeat(means, np.diff(np.append(starts, horizon)), axis=0)
        agree(phases(Environment.piecewise(starts, means, horizon)), naive_phases.phases(dense))


class Piece(NamedTuple):
    first: int
    last: int
    starts: Any
    means: Any


class Blocks:
    """The least that counts as an environment; its blocks end at random rounds."""

    def __init__(self, means: Any, seed: int) -> None:
        self.table = means
        self.horizon, self.arms = means.shape
        rng = np.random.default_rng(seed)
        self.borders = np.unique([0, self.horizon, *rng.integers(0, self.horizon, 12)])

    def blocks(self) -> Iterator[Piece]:
        for first, last in zip(self.borders[:-1], self.borders[1:], strict=True):
            yield Piece(first, last, np.arange(first, last + 1), self.table[first:last])


@pytest.mark.parametrize("kind", KINDS)
def test_by_blocks_is_in_one_piece(kind: str) -> None:
    for seed in range(8):
        means = instance(kind, seed, 3_000, 2 + seed)
        equal(phases(Blocks(means, seed)), phases(means))
    equal(phases(Environment.from_means(means)), phases(means))


def test_an_environment_from_a_function_is_read_block_by_block() -> None:
    def means(t: Any) -> Any:
        return np.stack([0.5 + 0.4 * np.sin(t / 9_000), 0.5 + 0.4 * np.cos(t / 7_000), np.full(len(t), 0.5)], axis=1)

    horizon = 200_000
    found = phases(Environment.from_function(means, horizon, 3))
    equal(found, phases(means(np.arange(horizon))))
    assert found.significant > 5


def test_a_long_horizon_by_hand() -> None:
    """Two arms change places at n; arm 1 is unsafe from the first s2 with (s2 + 1) g >= sqrt(2 s2), arm 0 likewise."""
    gap, n, horizon = 0.001, 40_000_000, 100_000_000
    found = phases(Environment.piecewise([0, n], [[0.5, 0.5 - gap], [0.5 - gap, 0.5]], horizon))
    gap = 0.5 - (0.5 - gap)
    needed = next(m for m in range(1_900_000, 2_100_000) if (m + 1) * gap >= math.sqrt(2 * m))
    assert found.unsafe_at[0].tolist() == [pytest.approx(n + needed, abs=1), pytest.approx(needed, abs=1)]
    assert found.starts.tolist() == [0, found.unsafe_at[0, 0]]
    assert found.safe_arm.tolist() == [0, 1]


def test_rounds_in_which_nothing_is_lost_cost_nothing() -> None:
    """The horizon is out of reach for anything that looks at each round while the best arm has lost nothing yet."""
    n, horizon = 10**11, 10**12
    begun = time.process_time()
    found = phases(Environment.piecewise([0, n], [[0.5, 0.25], [0.25, 0.5]], horizon))
    assert time.process_time() - begun < 10.0
    needed = next(m for m in range(1, 100) if (m + 1) * 0.25 >= math.sqrt(2 * m))  # 30, without rounding
    assert found.unsafe_at.tolist() == [[n + needed, needed], [n + 2 * needed, -1]]


def test_room_for_candidates_grows() -> None:
    """A gap that rises slowly makes every round a candidate and keeps thousands of them."""
    horizon = 16_000
    rise = 2.5e-6 * np.arange(horizon)
    means = np.stack([np.full(horizon, 0.9), 0.9 - rise], axis=1)
    assert 2 * RESERVE < 2_000
    agree(phases(means), naive_phases.phases(means))


def test_room_for_phases_grows() -> None:
    means = np.random.default_rng(0).integers(0, 2, (6_000, 2)).astype(float)
    found = phases(means)
    assert found.significant > 2 * STRETCH
    agree(found, naive_phases.phases(means))


def all_kinds() -> Iterator[tuple[Any, Phases]]:
    for kind in KINDS:
        for seed in range(25):
            rng = np.random.default_rng([seed, 3])
            means = instance(kind, seed, int(rng.integers(2, 3_000)), int(rng.integers(2, 9)))
            yield means, phases(means)


def test_phases_are_long() -> None:
    """The paper: at least K/4 rounds. The arm that is best in the first round of the next phase had no gap there, so
    its interval needs n + 1 >= sqrt(K n) without that round: a complete phase has at least max(2, K - 1) rounds."""
    shortest = {}
    for _, found in all_kinds():
        for length in found.lengths[:-1].tolist():
            assert length >= max(2, found.arms - 1) >= found.arms / 4
            shortest[found.arms] = min(length, shortest.get(found.arms, length))
    assert shortest


def test_rates_are_in_the_papers_order() -> None:
    """Corollary 1 (Jensen) and L~ <= S <= L."""
    for _, found in all_kinds():
        rates = found.rates()
        assert found.significant <= found.switches <= found.changes
        assert rates["phases"] <= rates["significant"] * (1 + 1e-12)
        assert rates["significant"] <= rates["switches"] <= rates["changes"]


def test_total_variation_of_a_phase() -> None:
    """What is behind Corollary 2, and a little more than the paper shows.

    Over (tau_i, tau_{i+1}] the means vary by at least sqrt(K / length) sqrt(1 - 1 / length), hence by at least
    sqrt(K / (2 length)); the paper's proof has half of sqrt(K / length), but takes s2 < tau_{i+1} and a round with a
    gap of sqrt(K / length), neither of which Definition 1 gives when the interval fills the phase.
    """
    complete = 0
    for means, found in all_kinds():
        steps = np.abs(np.diff(means, axis=0)).max(axis=1)
        for start, length in zip(found.starts[:-1], found.lengths[:-1], strict=True):
            least = math.sqrt(found.arms / length) * math.sqrt(1 - 1 / length)
            assert steps[start : start + length].sum() >= least * (1 - 1e-9)
            complete += 1
    assert complete > 1_000


def test_corollary_2() -> None:
    """As the paper's proof states it, and with sqrt(2) in place of 2."""
    for _, found in all_kinds():
        arms, horizon, variation = found.arms, found.horizon, found.variation
        total = found.rates()["phases"]
        for constant in (2.0, math.sqrt(2.0)):
            bound = math.sqrt(arms * horizon) + (constant * arms * variation) ** (1 / 3) * horizon ** (2 / 3)
            assert total <= bound * (1 + 1e-9)


def oracle_regret(means: Any, found: Phases) -> float:
    """The expected regret of Proposition 1's oracle: a uniform draw from the arms that are not yet unsafe."""
    gaps = means.max(axis=1, keepdims=True) - means
    t = np.arange(found.horizon)
    unsafe_at = found.unsafe_at[np.searchsorted(found.starts, t, side="right") - 1]
    safe = (unsafe_at < 0) | (unsafe_at > t[:, None])
    return float((np.where(safe, gaps, 0.0).sum(axis=1) / safe.sum(axis=1)).sum())


def test_proposition_1_with_the_harmonic_number() -> None:
    for means, found in all_kinds():
        harmonic = sum(1 / k for k in range(1, found.arms + 1))
        assert oracle_regret(means, found) <= harmonic * found.rates()["phases"] * (1 + 1e-9)


def test_proposition_1_is_false_with_the_logarithm() -> None:
    """Arm 1 is soon unsafe; then arm 0 has all but significant regret, alone: sqrt(K T) against log(2) sqrt(K T)."""
    horizon = 10_000
    gap = 0.999 * math.sqrt(2 * horizon) / (horizon + 1)
    means = np.tile([1.0 - gap, 1.0], (horizon, 1))
    means[:2] = [1.0, 0.0]
    found = phases(means)
    assert found.significant == 0
    assert oracle_regret(means, found) > 1.3 * math.log(2) * found.rates()["phases"]


def test_fewer_rounds_than_arms_is_one_phase() -> None:
    """And then the rate exceeds T, so that every bound of that order holds."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        arms = int(rng.integers(6, 20))
        found = phases(rng.integers(0, 2, (int(rng.integers(1, arms - 1)), arms)))
        assert found.starts.tolist() == [0]
        assert found.rates()["phases"] > found.horizon


def test_one_round() -> None:
    found = phases([[0.0, 1.0, 1.0]])
    assert (found.horizon, found.arms, found.significant, found.variation) == (1, 3, 0, 0.0)
    assert found.unsafe_at.tolist() == [[-1, -1, -1]]
    assert found.safe_arm.tolist() == [0]
    assert (found.switches, found.changes) == (0, 0)


def test_ties_switch_as_late_as_they_can() -> None:
    tie, first, second = [0.5, 0.5], [0.5, 0.4], [0.4, 0.5]
    assert phases([tie, first, tie, first, tie]).switches == 0
    assert phases([tie, first, tie, second, tie, second]).switches == 1
    assert phases([first, second, first]).switches == 2


def test_a_phase_begins_with_the_round_that_ends_the_one_before() -> None:
    found = phases([[1, 0]] * 10 + [[0, 1]] * 10)
    assert found.unsafe_at.tolist() == [[11, 1], [12, -1]]
    assert found.starts.tolist() == [0, 11]
    assert found.lengths.tolist() == [11, 9]
    assert found.safe_arm.tolist() == [0, 1]


def test_table_text_and_dict() -> None:
    found = phases([[0.9, 0.1]] * 100 + [[0.1, 0.9]] * 100)
    table = found.table()
    assert list(table.columns) == ["phase", "start", "end", "length", "last_safe_arm", "unsafe"]
    assert table["unsafe"].tolist()[0] == f"arm 1 at 1, arm 0 at {found.starts[1]}"
    assert table["end"].tolist() == [found.starts[1], 200]
    text = str(found)
    assert "2 arms, 200 rounds: 1 significant shift\n" in text
    assert "1 best-arm switch, 1 change of means, total variation 0.8" in text
    assert repr(found) == "<Phases: 2 arms, 200 rounds, 1 significant shift>"
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["starts"] == found.starts.tolist()
    assert plain["rates"] == found.rates()


def test_text_of_many_phases_is_short() -> None:
    text = str(phases(np.random.default_rng(0).random((3_000, 2))))
    assert "more phases" in text
    assert len(text.splitlines()) < 25


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ([0.1, 0.2], r"means must have two dimensions \[rounds, arms\].*shape \(2,\)"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (np.zeros((0, 3)), "at least one round"),
        (np.zeros((5, 1)), "at least 2 arms.*transposed"),
        ([[0.1, 0.2], [0.3, 1.5]], r"means \(row 1, arm 1\) must be finite .* \[0, 1\], but got 1.5. Scale"),
        ([[0.1, -0.2]], "but got -0.2"),
        ([[0.1, np.nan]], "but got nan. Fill"),
        ([[np.inf, 0.2]], "but got inf"),
        ([["a", "b"]], "array of numbers"),
        ([[0.1, 0.2], [0.3]], "array of numbers"),
        ([[10**400, 0.2]], "array of numbers"),
        ([[0.1j, 0.2]], "array of numbers"),
        (None, "array of numbers"),
        ("trig", "array of numbers"),
    ],
)
def test_refusals(means: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        phases(means)


def test_the_round_of_a_bad_mean_is_named_in_later_blocks() -> None:
    means = np.full((70_000, 2), 0.5)
    means[69_999, 1] = 2.0
    with pytest.raises(InvalidInput, match=r"row 69999, arm 1"):
        phases(means)


def test_other_forms_of_means() -> None:
    import pandas

    means = np.random.default_rng(1).integers(0, 2, (300, 3))
    expected = phases(means.astype(float))
    equal(phases(means.tolist()), expected)
    equal(phases(np.asfortranarray(means)), expected)
    equal(phases(pandas.DataFrame(means)), expected)
    equal(phases(means.astype(object)), expected)
    equal(phases(means.astype(bool)), expected)
