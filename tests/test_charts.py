"""The pictures: what is in them, that nothing overlaps or is cut off, and how they reach a file."""

import dataclasses
import itertools
import subprocess
import sys
import time
import tracemalloc
import warnings
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.text import Text

import sigshift as ss
from sigshift.report.bins import bin_edges, condense, covered, outline, played
from sigshift.report.charts import anatomy_chart, means_and_phases, regret_curves, regret_scaling
from sigshift.report.style import COLOURS, DPI, GREY, WIDTH, short, spread, wrapped
from sigshift.simulation import Runs

LIVELY = ss.policy("meta", c0=0.02, replay_rate=0.2)
MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}


def runs_of(finals, runs=10, checkpoints=None, horizon=10_000):
    """Runs whose policies reach these mean regrets."""
    points = np.linspace(100, horizon, 50).astype(np.int64) if checkpoints is None else np.asarray(checkpoints)
    noise = np.random.default_rng(0).uniform(0.7, 1.3, (runs, 1))
    noise /= noise.mean()
    regrets = {label: final * noise * (points / horizon)[np.newaxis] for label, final in finals.items()}
    nothing = {label: np.zeros(runs, np.int64) for label in finals}
    floats = {label: np.ones(runs) for label in finals}
    told = dict.fromkeys(finals, "nothing")
    return Runs("pb1", 3, horizon, 0, points, tuple(finals), told, regrets, nothing, floats)


def steps(arms=3, horizon=1_000):
    """Another arm is the best one in each third."""
    means = 0.3 + 0.4 * np.eye(arms)[:3]
    return ss.Environment.piecewise([0, horizon // 3, 2 * horizon // 3], means, horizon, name="steps")


@pytest.fixture(scope="module")
def opened():
    return ss.anatomy(LIVELY, ss.env("pb2", horizon=3_000), seed=1)


@pytest.fixture(scope="module")
def makers(opened):
    return {
        "regret": lambda path=None: regret_curves(runs_of({"meta": 30.0, "ucb1": 80.0}), path),
        "scaling": lambda path=None: regret_scaling([100, 1_000, 10_000], {"meta": [10.0, 30.0, 100.0]}, path),
        "means": lambda path=None: means_and_phases(steps(), path=path),
        "anatomy": lambda path=None: anatomy_chart(opened, path),
    }


NAMES = ["regret", "scaling", "means", "anatomy"]


def data_lines(axes):
    """The lines in data coordinates: not those that lead to labels."""
    return [line for line in axes.get_lines() if line.get_transform() == axes.transData]


def labels(axes):
    """The texts beside the curves, from the top down."""
    beside = [text for text in axes.texts if text.get_position()[0] > 1.0 and text.get_transform() == axes.transAxes]
    return [text.get_text() for text in sorted(beside, key=lambda text: -text.get_position()[1])]


def texts(chart):
    chart.draw_without_rendering()
    return [text for text in chart.findobj(Text) if text.get_visible() and text.get_text().strip()]


def shown_texts(chart):
    """The visible texts, without those of ticks outside the limits."""
    hidden = set()
    for axes in chart.axes:
        for axis in (axes.xaxis, axes.yaxis):
            shown = {tick.label1 for tick in axis._update_ticks()} | {tick.label2 for tick in axis._update_ticks()}
            every = axis.get_major_ticks() + axis.get_minor_ticks()
            hidden |= {label for tick in every for label in (tick.label1, tick.label2) if label not in shown}
    return [text for text in texts(chart) if text not in hidden]


# How pictures reach a file


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", MAGIC)
def test_files_are_whole_and_the_same_every_time(makers, tmp_path, name, kind):
    path = tmp_path / f"picture.{kind}"
    makers[name](path)
    data = path.read_bytes()
    assert data.startswith(MAGIC[kind])
    if kind == "svg":
        assert ElementTree.fromstring(data).tag.endswith("svg")
    if kind == "pdf":
        assert data.rstrip().endswith(b"%%EOF")
    again = tmp_path / f"again.{kind.upper()}"
    makers[name](str(again))
    assert again.read_bytes() == data
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([path.name, again.name])


def test_a_png_has_the_width_of_a_column_at_200_dpi(makers):
    data = makers["regret"]()._repr_png_()
    assert data.startswith(MAGIC["png"])
    assert int.from_bytes(data[16:20]) == WIDTH * DPI


def test_a_failure_leaves_the_old_file(makers, tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")

    def fails(self, draft, **settings):
        draft.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("sigshift.report.style.Chart.savefig", fails)
    with pytest.raises(OSError, match="disk full"):
        makers["regret"](path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("picture.gif", r"path must end in \.pdf, \.svg or \.png, but got 'picture.gif'. Name it"),
        ("picture", r"path must end in"),
        (7, r"path must be the name of a file, but got 7"),
        ("no/such/folder/picture.png", r"path must be in an existing folder.*Make the folder first"),
    ],
)
def test_bad_paths(makers, name, path, message):
    with pytest.raises(ss.InvalidInput, match=message):
        makers[name](path)


def test_the_methods_of_results_draw(opened, tmp_path):
    runs_of({"meta": 30.0}).plot(tmp_path / "runs.svg")
    opened.plot(tmp_path / "anatomy.svg", first=100, last=200)
    assert len(list(tmp_path.iterdir())) == 2


def test_no_global_state_is_touched(makers, monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 30.0)
    monkeypatch.setitem(matplotlib.rcParams, "axes.grid", True)
    before = dict(matplotlib.rcParams)
    sizes = {text.get_fontsize() for text in texts(makers["means"]())}
    assert max(sizes) < 10.0
    assert dict(matplotlib.rcParams) == before


def test_neither_pyplot_nor_charts_are_loaded_before_they_are_needed():
    code = (
        "import sys, sigshift as ss\n"
        "ss.Runs, ss.simulate, ss.Phases, ss.anatomy\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import sigshift.report.charts\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# What every picture must be


@pytest.mark.parametrize("name", NAMES)
def test_axes_are_labelled(makers, name):
    chart = makers[name]()
    assert all(axes.get_ylabel() for axes in chart.axes)
    assert any(axes.get_xlabel() in ("Round", "Horizon T") for axes in chart.axes)
    assert any(axes.get_title(loc="left") for axes in chart.axes)


CROWDED = {
    "close curves": lambda: regret_curves(runs_of({f"policy {i}": 100.0 + i for i in range(12)})),
    "curves at zero": lambda: regret_curves(
        runs_of({f"policy(some_parameter={i})": 0.1 * i + 50 * (i > 4) for i in range(9)})
    ),
    "log": lambda: regret_curves(runs_of({"meta(c0=0.02, replay_rate=0.05)": 9.0, "uniform": 9.1}), scale="log"),
    "hard": lambda: means_and_phases(ss.env("hard")),
    "many-arms": lambda: means_and_phases(ss.env("many-arms")),
    "adversarial": lambda: means_and_phases(ss.env("adversarial")),
    "season": lambda: means_and_phases(ss.env("season", horizon=5_000)),
    "lively": lambda: anatomy_chart(ss.anatomy(LIVELY, ss.env("trig", horizon=3_000))),
    "many arms' anatomy": lambda: anatomy_chart(ss.anatomy(LIVELY, ss.env("many-arms", horizon=2_000))),
    "zoom": lambda: anatomy_chart(ss.anatomy(LIVELY, "pb2", horizon=13_000), first=12_345, last=12_399),
    "scaling": lambda: regret_scaling([1e4, 1e5, 1e6], {"a": [10, 30, 90], "b": [11, 31, 91], "c": [500, 5e3, 5e4]}),
}


@pytest.mark.parametrize("name", CROWDED)
def test_no_text_is_cut_off_or_overlaps_another(name):
    chart = CROWDED[name]()
    found = shown_texts(chart)
    page = chart.bbox
    boxes = [text.get_window_extent() for text in found]
    for text, box in zip(found, boxes, strict=True):
        assert page.x0 - 1 <= box.x0, text
        assert box.x1 <= page.x1 + 1, text
        assert page.y0 - 1 <= box.y0, text
        assert box.y1 <= page.y1 + 1, text
        assert text.get_fontsize() >= 6.5, text
    for i, box in enumerate(boxes):
        for j in range(i):
            across = min(box.x1, boxes[j].x1) - max(box.x0, boxes[j].x0)
            up = min(box.y1, boxes[j].y1) - max(box.y0, boxes[j].y0)
            assert across <= 1.0 or up <= 1.0 or found[i].get_rotation() % 90, (found[i], found[j])


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (0.3, "0.3"), (950, "950"), (1_000, "1k"), (10_000, "10k"), (1_000_000, "1M"), (12_345, "12.345k")],
)
def test_numbers_on_ticks(number, shown):
    assert short(number) == shown


def test_places_are_spread():
    rng = np.random.default_rng(3)
    for _ in range(200):
        places = rng.uniform(0, 1, rng.integers(1, 9)).tolist()
        needs = rng.uniform(0.01, 0.1, len(places)).tolist()
        moved = spread(places, needs)
        order = np.argsort(places, kind="stable")
        for a, b in itertools.pairwise(order):
            assert moved[b] - moved[a] >= (needs[a] + needs[b]) / 2 - 2e-6
        assert all(need / 2 - 2e-6 <= m <= 1 - need / 2 + 2e-6 for m, need in zip(moved, needs, strict=True))
    assert spread([0.2, 0.8], [0.1, 0.1]) == [0.2, 0.8]


def test_long_labels_are_broken():
    assert wrapped("meta") == "meta"
    assert wrapped("meta(c0=0.02, replay_rate=0.05)") == "meta(c0=0.02,\nreplay_rate=0.05)"


# Regret curves


def test_one_curve_and_one_band_for_every_policy():
    chart = regret_curves(runs_of({"meta": 30.0, "uniform": 90.0, "ucb1": 60.0}))
    axes = chart.axes[0]
    lines = data_lines(axes)
    assert len(lines) == 3
    assert len(axes.collections) == 3
    assert len({to_hex(line.get_color()) for line in lines}) == 3
    assert labels(axes) == ["uniform", "ucb1", "meta"]
    assert [line.get_ydata()[-1] for line in lines] == pytest.approx([90.0, 60.0, 30.0])
    assert "10 runs" in axes.get_title(loc="left")
    assert lines[0].get_xydata()[0].tolist() == [0.0, 0.0]


def test_a_label_says_what_the_policy_was_told():
    runs = runs_of({"meta": 30.0, "oracle": 1.0, "ucb1": 60.0, "sw_ucb(changes=4)": 50.0})
    told = {"meta": "horizon", "oracle": "environment", "ucb1": "nothing", "sw_ucb(changes=4)": "horizon, changes=4"}
    runs = dataclasses.replace(runs, told=told)
    assert labels(regret_curves(runs).axes[0]) == [
        "ucb1",
        "sw_ucb(changes=4),\ntold horizon",
        "meta, told horizon",
        "oracle, told environment",
    ]


def test_a_band_holds_ninety_per_cent_of_the_runs():
    runs = runs_of({"meta": 30.0}, runs=200)
    band = regret_curves(runs).axes[0].collections[0].get_paths()[0].vertices
    last = band[band[:, 0] == runs.horizon, 1]
    assert (last.min(), last.max()) == pytest.approx(tuple(np.quantile(runs.regrets["meta"][:, -1], [0.05, 0.95])))


def test_colours_follow_the_policies_and_not_their_order():
    first = regret_curves(runs_of({"a": 1.0, "b": 2.0}))
    second = regret_curves(runs_of({"a": 3.0, "b": 2.0}))
    for chart in (first, second):
        paint = {text.get_text(): text.get_color() for text in chart.axes[0].texts}
        assert paint == {"a": COLOURS[0], "b": COLOURS[1]}


def test_one_run_has_no_band():
    axes = regret_curves(runs_of({"meta": 30.0}, runs=1)).axes[0]
    assert not axes.collections
    assert "one run" in axes.get_title(loc="left")


def test_more_policies_than_colours_differ_by_their_dashes():
    axes = regret_curves(runs_of({f"policy {i}": 1.0 + i for i in range(20)})).axes[0]
    looks = {(to_hex(line.get_color()), str(line._unscaled_dash_pattern)) for line in data_lines(axes)}
    assert len(looks) == 20
    assert len(labels(axes)) == 20


@pytest.mark.parametrize(
    ("checkpoints", "scale", "expected"),
    [
        (None, "auto", "linear"),
        (np.unique(np.geomspace(1, 10_000, 60).astype(int)), "auto", "log"),
        (None, "log", "log"),
        (np.unique(np.geomspace(1, 10_000, 60).astype(int)), "linear", "linear"),
        ([10_000], "auto", "linear"),
    ],
)
def test_the_scale_follows_the_checkpoints(checkpoints, scale, expected):
    axes = regret_curves(runs_of({"meta": 30.0}, checkpoints=checkpoints), scale=scale).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == (expected, expected)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_regret_of_zero_can_be_drawn(scale):
    chart = regret_curves(runs_of({"oracle": 0.0, "meta": 3.0}), scale=scale)
    assert labels(chart.axes[0]) == ["meta", "oracle"]
    chart._repr_png_()
    regret_curves(runs_of({"oracle": 0.0}), scale=scale)._repr_png_()


def test_a_wrong_scale_is_refused():
    with pytest.raises(ss.InvalidInput, match="scale must be one of 'auto', 'linear', 'log'"):
        regret_curves(runs_of({"meta": 1.0}), scale="cubic")


# Regret over the horizon


def test_scaling_has_the_curves_their_slopes_and_two_lines_to_compare_with():
    horizons = [1_000, 10_000, 100_000]
    runs = np.outer(np.linspace(0.8, 1.2, 11), np.sqrt(horizons))
    axes = regret_scaling(horizons, {"meta": runs, "uniform": 0.1 * np.array(horizons)}).axes[0]
    assert len(data_lines(axes)) == 2 + 2
    assert len(axes.collections) == 1
    assert labels(axes) == ["uniform: slope 1.00", "meta: slope 0.50"]
    slopes = [np.polyfit(*np.log(line.get_xydata().T), 1)[0] for line in data_lines(axes)[-2:]]
    assert slopes == pytest.approx([1.0, 0.5])
    assert {"slope 1", "slope 1/2"} <= {text.get_text() for text in axes.texts}


@pytest.mark.parametrize(
    ("horizons", "regrets", "message"),
    [
        ([100], {"a": [1.0]}, "horizons must be two or more rising"),
        ([100, 50], {"a": [1.0, 2.0]}, "horizons must be two or more rising"),
        ([0.5, 50], {"a": [1.0, 2.0]}, "horizons must be at least 1"),
        ([10, 50], {}, "regrets must have at least one label"),
        ([10, 50], {"a": [1.0, 2.0, 3.0]}, r"regrets\['a'\] must have one number per horizon, 2"),
        ([10, 50], {"a": [0.0, 2.0]}, r"regrets\['a'\] must be finite with positive means"),
        ([10, 50], {"a": [1.0, np.nan]}, r"regrets\['a'\] must be finite"),
    ],
)
def test_scaling_refuses_what_it_cannot_draw(horizons, regrets, message):
    with pytest.raises(ss.InvalidInput, match=message):
        regret_scaling(horizons, regrets)


# Means and phases


def shades(axes):
    return [len(part.get_paths()) for part in axes.collections if isinstance(part, PolyCollection)]


def test_the_means_have_a_line_per_arm_and_every_other_phase_is_shaded():
    env = steps()
    found = ss.phases(env)
    chart = means_and_phases(env)
    means, best, safe = chart.axes
    ends = [line for line in data_lines(means) if len(line.get_xdata()) > 2]
    assert len(ends) == 3
    assert labels(means) != []
    assert shades(means) == [len(found.starts) // 2]
    names = [text.get_text() for text in means.texts if "tau" in text.get_text()]
    assert names == [rf"$\tau_{{{i}}}$" for i in range(1, len(found.starts))]
    assert [text.get_text() for text in best.texts] == ["0", "1", "2"]
    assert [text.get_text() for text in safe.texts] == [str(arm) for arm in found.safe_arm]
    title = means.get_title(loc="left")
    assert f"S = {found.switches}" in title
    assert rf"$\tilde L$ = {found.significant}" in title


def test_a_table_of_means_and_a_name_will_do():
    table = steps().means()
    assert len(means_and_phases(table).axes) == 3
    assert "pb1 (3 arms)" in means_and_phases("pb1").axes[0].get_title(loc="left")
    with pytest.raises(ss.InvalidInput, match="means"):
        means_and_phases(table + 1.0)


def test_of_many_arms_only_those_that_matter_have_a_colour():
    env = ss.env("many-arms", horizon=10_000)
    found = ss.phases(env)
    important = set(env.means().argmax(axis=1)) | set(found.safe_arm)
    means = means_and_phases(env, found).axes[0]
    coloured = [line for line in data_lines(means) if len(line.get_xdata()) > 2]
    assert len(coloured) == len(important) == len(labels(means))
    grey = [part for part in means.collections if isinstance(part, LineCollection)]
    assert [to_hex(part.get_color()[0]) for part in grey] == [GREY]
    assert len(grey[0].get_segments()) == 50 - len(important)


def test_few_rounds_are_drawn_one_by_one():
    chart = means_and_phases([[0.1, 0.9], [0.3, 0.8], [0.2, 0.7]])
    line = next(line for line in chart.axes[0].lines if line.get_ydata()[0] == 0.1)
    assert line.get_xdata().tolist() == [0, 1, 1, 2, 2, 3]
    assert line.get_ydata().tolist() == [0.1, 0.1, 0.3, 0.3, 0.2, 0.2]


@pytest.mark.parametrize("name", ["cost in $", "$a$b", r"$\frac{$", "$^$"])
def test_a_dollar_in_a_name_begins_no_formula(name, tmp_path):
    env = ss.Environment.piecewise([0], [[0.4, 0.6]], 100, name=name)
    chart = means_and_phases(env, path=tmp_path / "x.svg")
    assert chart.axes[0].get_title(loc="left").startswith(name.replace("$", r"\$") + " (2 arms):  $\\tilde L$")
    runs = runs_of({name: 3.0})
    regret_curves(dataclasses.replace(runs, environment=name), tmp_path / "y.svg")
    assert name in texts_of(tmp_path / "y.svg")


def texts_of(path):
    """What the comments of an SVG picture say that its glyphs spell."""
    return [part.split("-->")[0].strip() for part in path.read_text().split("<!--")[1:]]


def test_a_part_of_the_rounds():
    means, best, _ = means_and_phases(steps(), first=100, last=400).axes
    assert means.get_xlim() == (100.0, 400.0)
    assert [text.get_text() for text in best.texts] == ["0", "1"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"first": -1}, "first must be"),
        ({"first": 5, "last": 5}, "last must be .* at least 6"),
        ({"last": 2_000}, "last must be .* at most 1000"),
        ({"phases": ss.phases(np.full((9, 2), 0.5))}, "phases must be those of the environment, of 1,000 rounds"),
    ],
)
def test_wrong_parts_and_phases_are_refused(given, message):
    with pytest.raises(ss.InvalidInput, match=message):
        means_and_phases(steps(), **given)


def test_a_best_arm_that_changes_all_the_time_is_shown_by_shares():
    means = np.random.default_rng(0).uniform(0, 1, (20_000, 4))
    best = means_and_phases(means).axes[1]
    assert len(best.images) == 1
    assert not best.collections


def test_a_long_horizon_needs_no_memory():
    env = ss.Environment.from_function(lambda t: np.stack([0.0 * t + 0.5, t % 2], axis=1), 9_000_000, 2)
    tracemalloc.start()
    track = condense(env, 0, env.horizon, 1_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # the table of means would take 144e6
    assert track.low[:, 1].max() == 0.0
    assert track.high[:, 1].min() == 1.0
    assert track.stretches is None
    begun = time.perf_counter()
    means_and_phases(ss.env("hard", horizon=10**8))
    assert time.perf_counter() - begun < 20.0


# Bins


def environments(rng, horizon):
    table = np.round(rng.uniform(0, 1, (horizon, 3)), 1)
    starts = np.unique(np.concatenate([[0], rng.integers(0, horizon, 12)]))
    yield ss.Environment.from_means(table)
    yield ss.Environment.piecewise(starts, table[: len(starts)], horizon)
    yield ss.Environment.from_function(lambda t: table[t], horizon, 3)


@pytest.mark.parametrize("seed", range(20))
def test_bins_are_those_of_the_whole_table(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr("sigshift.report.bins.AT_ONCE", int(rng.integers(1, 200)))
    horizon = int(rng.integers(2, 300))
    first = int(rng.integers(0, horizon))
    last = int(rng.integers(first + 1, horizon + 1))
    bins = int(rng.integers(1, 60))
    for env in environments(rng, horizon):
        table = env.means(first, last)
        track = condense(env, first, last, bins)
        assert track.edges[0] == first
        assert track.edges[-1] == last
        best = table.argmax(axis=1)
        for i, (a, b) in enumerate(zip(track.edges - first, track.edges[1:] - first, strict=False)):
            assert np.array_equal(track.low[i], table[a:b].min(axis=0))
            assert np.array_equal(track.high[i], table[a:b].max(axis=0))
            assert np.allclose(track.best[i], np.bincount(best[a:b], minlength=3) / (b - a))
        arms = np.repeat(track.stretches.arms, track.stretches.ends - track.stretches.starts)
        assert np.array_equal(arms, best)
        x, y = outline(track, 0)
        assert (np.diff(x) >= 0).all()
        assert (y.min(), y.max()) == (table[:, 0].min(), table[:, 0].max())


def test_shares_of_rounds():
    rng = np.random.default_rng(1)
    choices = rng.integers(0, 3, 500).astype(np.uint8)
    edges = bin_edges(37, 450, 20)
    share = played(choices, 3, edges)
    borders = np.array([0, 40, 41, 200, 500])
    inside = rng.random((4, 3)) < 0.5
    rounds = np.repeat(inside, np.diff(borders), axis=0)
    fraction = covered(borders, inside, edges)
    for i, (a, b) in enumerate(itertools.pairwise(edges)):
        assert np.allclose(share[i], np.bincount(choices[a:b], minlength=3) / (b - a))
        assert np.allclose(fraction[i], rounds[a:b].mean(axis=0))


# The anatomy of a run


def bars(axes):
    """The replays of the middle panel: a list of (left, right, depth)."""
    collection = axes.collections[-2]
    corners = [path.vertices for path in collection.get_paths()]
    return [
        (c[:, 0].min(), c[:, 0].max(), round(float(c[:, 1].mean() if len(c) == 4 else c[:-1, 1].mean())))
        for c in corners
    ]


def test_the_anatomy_has_three_panels_over_the_same_rounds(opened):
    means, episodes, arms, scale = anatomy_chart(opened).axes
    assert means.get_xlim() == episodes.get_xlim() == arms.get_xlim() == (0.0, 3_000.0)
    assert len({round(axes.get_position().x1, 6) for axes in (means, episodes, arms)}) == 1
    assert scale.get_ylabel() == "Length"
    assert episodes.get_ylabel() == "Replay depth"
    assert [label.get_text() for label in arms.get_yticklabels()] == ["0", "1", "2"]
    assert sum(shades(episodes)[:2]) == opened.episodes.size


def test_every_replay_is_a_bar_at_its_depth(opened):
    bases = opened.bases
    inside = np.flatnonzero((bases.depth > 0) & (bases.start < 400) & (bases.end > 100))
    middle = anatomy_chart(opened, first=100, last=400).axes[1]
    expected = sorted((max(bases.start[i], 100), min(bases.end[i], 400), bases.depth[i]) for i in inside)
    assert len(expected) > 3
    assert np.allclose(sorted(bars(middle)), expected, atol=0.5)


def test_what_is_too_short_is_widened_and_thinned_out():
    env = ss.env("trig", horizon=60_000)
    opened = ss.anatomy(ss.policy("meta", threshold="paper"), env)
    count = int((opened.bases.depth > 0).sum())
    drawn = bars(anatomy_chart(opened).axes[1])
    assert 0 < len(drawn) < count
    assert {depth for *_, depth in drawn} == set(opened.bases.depth[opened.bases.depth > 0].tolist())
    hair = 60_000 / 600
    assert min(right - left for left, right, _ in drawn) >= 0.999 * hair


def test_restarts_are_marked(opened):
    for axes in anatomy_chart(opened).axes[1:2]:
        marks = axes.collections[-1]
        assert isinstance(marks, LineCollection)
        assert [segment[0][0] for segment in marks.get_segments()] == opened.restarts.tolist()


def test_the_calibrated_form_has_a_mark_for_what_it_forgot_and_dashes_for_soft_restarts():
    policy = ss.policy("meta", replay_rate=0.3, shortest=4, rounds=4_000, excursion=0.1)
    means = np.where(np.arange(4)[:, np.newaxis] % 3 == np.arange(3), 0.95, 0.05)
    opened = ss.anatomy(policy, ss.Environment.piecewise(np.arange(4) * 1_000, means, 4_000), seed=1, run=1)
    assert 0 < opened.soft_restarts.size < opened.restarts.size
    chart = anatomy_chart(opened)
    replays, soft, hard = chart.axes[1].collections[-3:]
    assert len(replays.get_paths()) > 0
    assert [segment[0][0] for segment in soft.get_segments()] == opened.soft_restarts.tolist()
    assert soft.get_linestyle() != hard.get_linestyle()
    assert len(soft.get_segments()) + len(hard.get_segments()) == opened.restarts.size
    (marks,) = chart.axes[2].lines
    alone = ~np.isin(opened.forgotten.round, opened.restarts)
    assert marks.get_xdata().tolist() == opened.forgotten.round[alone].tolist()
    assert np.floor(marks.get_ydata() + 0.5).tolist() == opened.forgotten.arm[alone].tolist()
    (legend,) = chart.legends
    assert [text.get_text() for text in legend.get_texts()][-3:] == ["forgotten", "restart", "soft restart"]
    calm = anatomy_chart(opened, last=20)
    assert [text.get_text() for text in calm.legends[0].get_texts()][-1] == "evicted"


def test_the_dark_area_of_an_arm_is_its_share(opened):
    image = np.asarray(anatomy_chart(opened, first=0, last=600).axes[2].images[0].get_array())
    lines = image.shape[0] // 3
    assert image.shape[1] == 600
    dark = (image < 0.25).any(axis=2).reshape(3, lines, 600).sum(axis=1)
    assert np.array_equal(dark > 0, opened.choices[:600] == np.arange(3)[:, np.newaxis])


def test_a_policy_without_bases_shows_its_choices():
    chart = anatomy_chart(ss.anatomy("ucb1", "pb1", horizon=2_000))
    assert len(chart.axes) == 3
    assert any("ucb1 has no replays" in text.get_text() for text in chart.axes[1].texts)
    assert len(chart.axes[2].images) == 1


def test_a_part_of_the_anatomy_that_is_not_there_is_refused(opened):
    with pytest.raises(ss.InvalidInput, match="There are 3,000 rounds"):
        opened.plot(first=3_000)


def test_a_million_rounds_are_drawn_quickly():
    opened = ss.anatomy("ucb1", ss.env("trig"), seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        begun = time.perf_counter()
        opened.plot()._repr_png_()
    assert time.perf_counter() - begun < 15.0
