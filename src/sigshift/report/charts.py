"""The pictures: regret curves, regret over the horizon, means with significant phases, and a run's anatomy.

Each function draws on a figure of its own, without pyplot, writes it if a path is given (.pdf, .svg or .png) and
returns it; a notebook shows it.
"""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from sigshift.checks import choice, refuse
from sigshift.report.style import (
    COLOURS,
    GREY,
    INK,
    Chart,
    check_path,
    colour,
    drawn,
    finish,
    label_ends,
    label_height,
    linear_ticks,
    log_ticks,
    new_chart,
    plain,
    titled,
)
from sigshift.report.timelines import anatomy_chart, means_and_phases

__all__ = ["anatomy_chart", "means_and_phases", "regret_curves", "regret_scaling"]

Floats = NDArray[np.float64]
Path = str | os.PathLike[str] | None

DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
BAND = (0.05, 0.95)


@drawn
def regret_curves(runs: Any, path: Path = None, scale: str = "auto") -> Chart:
    """The mean regret of every policy by checkpoint, with the band of 90 % of its runs.

    ``scale`` is "linear", "log" (both axes) or "auto": logarithmic if the checkpoints are. The labels say what each
    policy was told.
    """
    check_path(path)
    choice("scale", scale, ["auto", "linear", "log"])
    logarithmic = scale == "log" or (scale == "auto" and _spread_out(runs.checkpoints))
    order = sorted(runs.policies, key=lambda label: -float(runs.regrets[label][:, -1].mean()))
    texts = [_knowing(label, runs.told[label]) for label in order]
    chart = new_chart(_height(texts, 2.7))
    axes = chart.add_subplot()
    ends = []
    for place, label in enumerate(order):
        index = runs.policies.index(label)
        paint, dash = colour(index), DASHES[index // len(COLOURS) % len(DASHES)]
        values = runs.regrets[label]
        ends.append(_curve(axes, runs.checkpoints, values, paint, dash, len(order) - place, not logarithmic))
    _regret_axes(axes, runs, logarithmic)
    label_ends(axes, ends, texts, [colour(runs.policies.index(label)) for label in order], _points(chart))
    count = len(runs.regrets[order[0]])
    said = f"mean of {count:,} runs, band: 5 % to 95 % of them" if count > 1 else "one run"
    axes.set_title(titled(f"{runs.environment} ({runs.arms} arms)", said))
    return finish(chart, path)


@drawn
def regret_scaling(
    horizons: ArrayLike, regrets: Mapping[str, ArrayLike], path: Path = None, title: str = "Regret over the horizon"
) -> Chart:
    """Final regret over the horizon T, both axes logarithmic, with lines of slope 1/2 and 1 to compare with.

    ``regrets`` maps labels to one number per horizon, or to an array [run, horizon]; its mean and the band of 90 %
    of the runs are drawn. Each label says the slope between its last two horizons.
    """
    check_path(path)
    rounds, tables = _scaling(horizons, regrets)
    order = sorted(tables, key=lambda label: -float(tables[label][:, -1].mean()))
    texts = [f"{label}: slope {_slope(rounds, tables[label].mean(axis=0)):.2f}" for label in order]
    chart = new_chart(_height(texts, 3.2))
    axes = chart.add_subplot()
    for place, label in enumerate(order):
        paint = colour(list(tables).index(label))
        _curve(axes, rounds, tables[label], paint, "-", len(order) - place, from_zero=False, marker="o")
    least = min(float(table.mean(axis=0).min()) for table in tables.values())
    most = max(float(table.max()) for table in tables.values())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(rounds[0] / 1.15, rounds[-1] * 1.15)
    axes.set_ylim(least / 2.0, most * 1.6)
    axes.grid(True)
    log_ticks(axes.xaxis, rounds[0], rounds[-1])
    log_ticks(axes.yaxis, least / 2.0, most * 1.6)
    axes.set_xlabel("Horizon T")
    axes.set_ylabel("Dynamic regret")
    axes.set_title(title)
    ends = [float(tables[label].mean(axis=0)[-1]) for label in order]
    label_ends(axes, ends, texts, [colour(list(tables).index(label)) for label in order], _points(chart))
    _slopes(axes, rounds, tables[order[0]].mean(axis=0)[0], tables[order[-1]].mean(axis=0)[0])
    return finish(chart, path)


def _knowing(label: str, told: str) -> str:
    """The label with what the policy was told, but for what it says itself."""
    unsaid = [fact for fact in told.split(", ") if fact != "nothing" and fact not in label]
    return plain(f"{label}, told {' and '.join(unsaid)}" if unsaid else label)


def _height(labels: Sequence[str], least: float) -> float:
    """A height at which all labels have room."""
    return max(least, (70.0 + sum(label_height(label) for label in labels)) / 72.0)


def _points(chart: Chart) -> float:
    """About the height of the axes, in points."""
    return 72.0 * chart.get_figheight() - 62.0


def _spread_out(checkpoints: NDArray[np.int64]) -> bool:
    """Whether these rounds are even on a logarithmic axis rather than a linear one."""
    if checkpoints.size < 3:
        return False
    gaps = np.diff(checkpoints)
    return bool(gaps[-1] > 4 * gaps[0])


def _curve(
    axes: Axes,
    rounds: NDArray[np.int64],
    values: Floats,
    paint: str,
    dash: Any,
    order: int,
    from_zero: bool,
    marker: str | None = None,
) -> float:
    """One policy's mean and band, the lower ones on top; the mean at the end."""
    mean = values.mean(axis=0)
    x, low, high = rounds.astype(np.float64), *np.quantile(values, BAND, axis=0)
    if from_zero:
        x, mean, low, high = (np.concatenate([[0.0], part]) for part in (x, mean, low, high))
    if len(values) > 1:
        axes.fill_between(x, low, high, color=paint, alpha=0.16, linewidth=0.0, zorder=2.0 + order / 1e3)
    shown = mean if from_zero else np.where(mean > 0.0, mean, np.nan)
    axes.plot(x, shown, color=paint, linestyle=dash, marker=marker, markersize=3.0, zorder=3.0 + order / 1e3)
    return float(mean[-1])


def _regret_axes(axes: Axes, runs: Any, logarithmic: bool) -> None:
    finals = [runs.regrets[label] for label in runs.policies]
    top = max(max(float(table.mean(axis=0).max()), float(np.quantile(table[:, -1], BAND[1]))) for table in finals)
    means = np.concatenate([table.mean(axis=0) for table in finals])
    axes.grid(True)
    axes.set_xlabel("Round")
    axes.set_ylabel("Dynamic regret" if "best arm" in runs.benchmark else f"Regret to {runs.benchmark}")
    if logarithmic and top > 0.0:
        first = max(int(runs.checkpoints[0]), 1)
        bottom = max(float(means[means > 0.0].min()) / 1.5, top * 1e-6)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(first, runs.horizon)
        axes.set_ylim(bottom, top * 1.6)
        log_ticks(axes.xaxis, first, runs.horizon)
        log_ticks(axes.yaxis, bottom, top * 1.6)
    else:
        axes.set_xlim(0, runs.horizon)
        axes.set_ylim(0, top * 1.05 if top > 0.0 else 1.0)
        linear_ticks(axes.xaxis)
        linear_ticks(axes.yaxis)


def _scaling(horizons: ArrayLike, regrets: Mapping[str, ArrayLike]) -> tuple[NDArray[np.int64], dict[str, Floats]]:
    """The arguments as horizons and, for each label, a table [run, horizon]."""
    rounds = np.asarray(horizons)
    if rounds.ndim != 1 or rounds.size < 2 or rounds.dtype.kind not in "iuf" or not (np.diff(rounds) > 0).all():
        raise refuse(
            "horizons", "must be two or more rising numbers of rounds", horizons, "Pass for example [1e4, 1e5]."
        )
    if not rounds[0] >= 1:
        raise refuse("horizons", "must be at least 1", rounds[0], "Leave the smaller ones out.")
    if not regrets:
        raise refuse("regrets", "must have at least one label", regrets, 'Pass for example {"meta": [...]}.')
    tables = {}
    for label, values in regrets.items():
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
        if table.ndim != 2 or table.shape[1] != rounds.size:
            rule = f"must have one number per horizon, {rounds.size}, or that many columns"
            raise refuse(f"regrets[{label!r}]", rule, f"shape {table.shape}", "Pass an array [run, horizon].")
        if not (np.isfinite(table).all() and (table.mean(axis=0) > 0.0).all()):
            cure = "A logarithmic axis has no place for zero: leave this policy out."
            raise refuse(f"regrets[{label!r}]", "must be finite with positive means", values, cure)
        tables[str(label)] = table
    return rounds.astype(np.int64), tables


def _slope(rounds: NDArray[np.int64], means: Floats) -> float:
    return math.log(means[-1] / means[-2]) / math.log(rounds[-1] / rounds[-2])


def _slopes(axes: Axes, rounds: NDArray[np.int64], upper: float, lower: float) -> None:
    """Dashed lines of slope 1 above and 1/2 below the curves, with their names along them."""
    middle, span = math.sqrt(rounds[0] * rounds[-1]), rounds / rounds[0]
    for start, power, name, side in ((upper * 1.3, 1.0, "slope 1", 1), (lower / 1.3, 0.5, "slope 1/2", -1)):
        axes.plot(rounds, start * span**power, color=GREY, linestyle=(0, (4, 2)), linewidth=0.9, zorder=1.5)
        axes.annotate(
            name,
            (middle, start * (middle / rounds[0]) ** power),
            (-3.0 * side, 3.0 * side),
            textcoords="offset points",
            color=INK,
            fontsize=7.0,
            ha="center",
            va="bottom" if side > 0 else "top",
            rotation=_angle(axes, rounds, power),
            rotation_mode="anchor",
        )


def _angle(axes: Axes, rounds: NDArray[np.int64], power: float) -> float:
    """How steep a line of this slope is on the page, in degrees."""
    figure = axes.figure
    figure.draw_without_rendering()  # type: ignore[union-attr]
    ends = np.array([[rounds[0], 1.0], [rounds[-1], (rounds[-1] / rounds[0]) ** power]])
    across, up = np.diff(axes.transData.transform(ends), axis=0)[0]
    return math.degrees(math.atan2(up, across))
