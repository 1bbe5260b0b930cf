"""The heat map: policies by environments, coloured by the logarithm of a ratio of regrets."""

import math
import os
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from sigshift.report.style import INK, Chart, check_path, drawn, finish, new_chart, wrapped

LOW, HIGH = 0.25, 16.0  # ratios beyond these have the colours of these
CELL = 0.155  # inches a row
GAP = 0.35  # rows between the tuning-free policies and the others
EVEN = math.log(1.0 / LOW) / math.log(HIGH / LOW)  # where 1 is on the scale of colours
STOPS = (
    (0.0, "#2166ac"),
    (0.5 * EVEN, "#92c5de"),
    (EVEN, "#f5f5f5"),
    (EVEN + 0.25 * (1.0 - EVEN), "#fddbc7"),
    (EVEN + 0.5 * (1.0 - EVEN), "#f4a582"),
    (EVEN + 0.75 * (1.0 - EVEN), "#d6604d"),
    (1.0, "#8b1a2b"),
)
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
FEW_TICKS = (0.25, 1.0, 16.0)  # where there are few rows
FEW_ROWS = 4


@drawn
def regret_heat_map(results: Any, path: str | os.PathLike[str] | None = None) -> Chart:
    """The regret of each policy over that of the best tuning-free one, by environment, the best policies on top.

    The first column is the geometric mean. Below the gap are policies that were told more than the horizon.
    """
    check_path(path)
    rows = results.summary().sort_values(["tuning_free", "over_best"], ascending=[False, True], kind="stable")
    order = [results.policies.index(label) for label in rows["policy"]]
    ratios = results.over_best()[order]
    table = np.column_stack([rows["over_best"], ratios])
    free = results.tuning_free[order]
    at = np.arange(len(order)) + GAP * ~free
    labels = [wrapped(label) for label in rows["policy"]]
    columns = [name.removeprefix("suite-") for name in results.environments]
    chart = new_chart(1.35 + CELL * len(labels))
    axes = chart.add_subplot()
    colours, norm = _colours()
    where = np.concatenate([[0.0], np.arange(len(columns)) + 1.0 + GAP])
    size = 4.7 if len(columns) > 15 else 6.0
    for y, values in zip(at, table, strict=True):
        for x, value in zip(where, values, strict=True):
            _cell(axes, float(x), float(y), float(value), colours(float(norm(value))), size)
    _axes(axes, where, at, ["geometric mean", *columns], labels)
    _scale(chart, axes, colours, norm, len(order))
    seeds = f"{len(results.seeds)} seed{'s' * (len(results.seeds) > 1)} {results.purpose}"
    title = f"Regret over the best tuning-free policy's, T = {results.horizon:,}"
    chart.suptitle(f"{title} ({seeds})", x=0.012, ha="left", fontsize=7.5)
    return finish(chart, path)


def _colours() -> tuple[Colormap, LogNorm]:
    return LinearSegmentedColormap.from_list("ratios", STOPS), LogNorm(LOW, HIGH, clip=True)


def _cell(axes: Axes, x: float, y: float, value: float, paint: tuple[float, ...], size: float) -> None:
    """A coloured box with its number, in the ink that can be read on it."""
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1.0, 1.0, facecolor=paint, edgecolor="white", linewidth=0.5))
    dark = 0.299 * paint[0] + 0.587 * paint[1] + 0.114 * paint[2] < 0.5
    axes.text(x, y + 0.03, ratio_text(value), ha="center", va="center", fontsize=size, color="white" if dark else INK)


def ratio_text(value: float) -> str:
    """A ratio in at most four characters.

    >>> [ratio_text(value) for value in (0.004, 0.3456, 1.0, 9.996, 12.34, 99.96, 1234.5, 12345.0)]
    ['.00', '.35', '1.00', '10.0', '12.3', '100', '1234', '>9k']
    """
    if value < 0.995:
        return f"{value:.2f}"[1:]
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 9999.5 else ">9k"


def _axes(axes: Axes, where: NDArray[Any], at: NDArray[Any], columns: list[str], labels: list[str]) -> None:
    axes.set_xlim(where[0] - 0.5, where[-1] + 0.5)
    axes.set_ylim(at[-1] + 0.5, at[0] - 0.5)
    axes.set_xticks(where, columns, rotation=90, fontsize=6.0)
    axes.set_yticks(at, labels, linespacing=0.95)
    for text in axes.get_yticklabels():
        text.set_fontsize(min(6.0, 10.0 / (1 + text.get_text().count("\n"))))
    axes.get_xticklabels()[0].set_fontweight("bold")
    axes.tick_params(length=0.0, pad=2.0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _scale(chart: Chart, axes: Axes, colours: Colormap, norm: LogNorm, rows: int) -> None:
    """What the colours say."""
    mappable = ScalarMappable(norm, colours)
    bar = chart.colorbar(mappable, ax=axes, location="right", fraction=0.02, pad=0.012, aspect=18, shrink=1.0)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_locator(FixedLocator(TICKS if rows > FEW_ROWS else FEW_TICKS))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    bar.ax.tick_params(labelsize=6.0, length=1.5, pad=1.5)
