"""The demonstration, small: its table, its pictures, and that its sentences say what the numbers say."""

import re
from dataclasses import replace

import numpy as np
import pytest

import sigshift as ss
from sigshift.demo import CAREFUL, OURS, PAPERS, RIVALS, demo

LABELS = {*(made.label for made in OURS), *RIVALS}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return demo(tmp_path_factory.mktemp("demo") / "new" / "folder", runs=2, horizon=10_000)


def with_regrets(runs, **finals):
    """The same runs with other final regrets."""
    regrets = {label: np.full_like(table, finals.get(label, 50.0)) for label, table in runs.regrets.items()}
    return replace(runs, regrets=regrets)


def told(small, *finals):
    runs = tuple(with_regrets(one, **some) for one, some in zip(small.runs, finals, strict=True))
    return replace(small, runs=runs).sentences()


def test_the_table_has_every_policy_on_every_problem(small):
    lines = small.table().splitlines()
    for runs, found in zip(small.runs, small.phases, strict=True):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{runs.environment}: "))
        assert f"L = {found.changes:,}, S = {found.switches:,}, L~ = {found.significant:,}" in lines[at]
        rows = [re.split(r"\s{2,}", line.strip()) for line in lines[at + 1 : at + 1 + len(LABELS)]]
        assert {row[0] for row in rows} == LABELS
        assert [float(row[1].replace(",", "")) for row in rows] == sorted(
            round(float(runs.regret(row[0])[:, -1].mean())) for row in rows
        )


def test_it_fits_80_columns(small):
    assert max(map(len, small.table().splitlines())) <= 80
    assert max(map(len, str(small).splitlines())) <= 80 + len(str(small.pictures[0].parent))


def test_one_run_has_no_deviation(tmp_path):
    once = demo(tmp_path, runs=1, horizon=2_000)
    assert "nan" not in str(once)
    assert "Means of 1 run." in str(once)


def test_the_pictures_are_there_and_nothing_else(small):
    assert len(small.pictures) == 7
    assert {path.name for path in small.pictures} == {path.name for path in small.pictures[0].parent.iterdir()}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in small.pictures)


def test_it_is_a_function_of_its_arguments(small, tmp_path):
    again = demo(tmp_path, runs=2, jobs=1, horizon=10_000)
    for one, other in zip(small.runs, again.runs, strict=True):
        for label in LABELS:
            assert np.array_equal(one.regret(label), other.regret(label))
    assert again.sentences() == small.sentences()
    assert [path.read_bytes() for path in again.pictures] == [path.read_bytes() for path in small.pictures]


def test_it_says_what_it_does(tmp_path):
    said = []
    demo(tmp_path, runs=1, horizon=1_000, say=said.append)
    assert [line.split(":")[0] for line in said] == ["season", "trig", "rotate", "trig"]


def test_sentences_of_a_triumph(small):
    good = {"auto": 5.0, "meta": 10.0, PAPERS.label: 45.0, CAREFUL.label: 30.0}
    good |= {"ucb1": 90.0, "exp3": 80.0, "exp3s": 70.0, "uniform": 100.0}
    _, worth, costs = told(small, good, good, good)
    assert "noticing pays: auto, the default policy, has 5% of the regret of uniform play" in worth
    assert "unbiased evidence, 10%, the paper's META 45%" in worth
    assert "UCB1, which trusts that nothing changes, 90%" in worth
    assert "single arm, 80%" in worth
    assert "auto has 0.1 times and meta 0.1 times UCB1's regret" in costs
    assert "the paper's META has 0.5 times UCB1's regret there" in costs
    assert "EXP3.S does better on none of the three" in costs
    assert "30%, 30% and 30% of uniform" in costs


def test_sentences_of_a_defeat(small):
    bad = {"auto": 1.5, "meta": 3.0, PAPERS.label: 90.0, CAREFUL.label: 99.0}
    bad |= {"ucb1": 2.0, "exp3": 0.5, "exp3s": 30.0, "uniform": 100.0}
    _, worth, costs = told(small, bad, bad, bad)
    assert "noticing does not pay yet: auto, the default policy, has 2%" in worth
    assert "single arm, 0.50%" in worth
    assert "auto has 0.8 times and meta 1.5 times UCB1's regret" in costs
    assert "the paper's META has 45.0 times UCB1's regret there" in costs
    assert "EXP3.S does better on all three" in costs
    some = told(small, bad, bad | {"exp3s": 95.0}, bad)[2]
    assert "EXP3.S does better on season and rotate" in some


@pytest.mark.parametrize(
    ("off", "verdict"), [(0, "one for each shift that matters, give or take 0.0"), (9, "does not follow the shifts")]
)
def test_the_verdict_on_restarts_follows_their_number(small, off, verdict):
    runs = tuple(
        replace(one, restarts=one.restarts | {PAPERS.label: np.full(2, found.significant + off)})
        for one, found in zip(small.runs, small.phases, strict=True)
    )
    sentence = replace(small, runs=runs).sentences()[0]
    assert verdict in sentence
    for found in small.phases:
        assert f"{found.significant:,} (" in sentence
        assert f"{found.significant + off:.1f}" in sentence


@pytest.mark.parametrize(
    ("arguments", "told"),
    [({"runs": 0}, "runs"), ({"horizon": 10}, "horizon"), ({"seed": -1}, "seed"), ({"jobs": 0}, "jobs")],
)
def test_bad_arguments_are_refused(tmp_path, arguments, told):
    with pytest.raises(ss.InvalidInput, match=told):
        demo(tmp_path, **{"horizon": 1_000, "runs": 1} | arguments)
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ss.InvalidInput, match="must be a folder"):
        demo(tmp_path / "file", horizon=1_000)
    assert (tmp_path / "file").read_text() == "precious"
