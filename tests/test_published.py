"""The published regrets of ``benchmarks/published.py``, cell by cell, in 100 runs each."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "published.py"
spec = importlib.util.spec_from_file_location("published", SCRIPT)
published = importlib.util.module_from_spec(spec)
spec.loader.exec_module(published)

CELLS = [
    (name, problem)
    for name, row in published.ROWS.items()
    for problem, figures in zip(published.CHANGES, row.figures, strict=True)
    if figures is not None
]


@pytest.mark.parametrize(("name", "problem"), CELLS)
def test_the_published_regret_is_found_again(name, problem):
    """Within a run's standard deviation; and within five standard errors, 6e-7 each if both are of the same law."""
    found = published.cell(published.ROWS[name], problem, runs=100, seed=11)
    assert found.within, found
    assert abs(found.z) < 5, found


def test_the_script_prints_a_cell_with_its_band_and_says_what_is_out():
    inside = published.Cell(mean=90.4, deviation=10.0, published=82.0, band=16.0, z=1.5)
    assert published.shown(inside) == "90 +- 10 (82; +1.5)"
    assert published.shown(inside._replace(mean=99.0, z=9.0)) == "99 +- 10 (82; +9.0) **out**"
    assert published.shown(None) == "-"
