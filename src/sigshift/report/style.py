"""What all pictures share: size, fonts, colours, the labels of ticks, and how they are written to a file."""

import io
import os
import textwrap
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from sigshift.checks import refuse
from sigshift.files import write_atomically

WIDTH = 5.5  # inches: the text width of the usual one-column paper
DPI = 200
BINS = 1_000  # what the width can show
FORMATS = (".pdf", ".png", ".svg")

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.grid": False,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 8.5,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "mathtext.fontset": "dejavusans",
    "patch.linewidth": 0.0,
    "path.simplify": True,
    "pdf.fonttype": 42,
    "savefig.facecolor": "white",
    "svg.hashsalt": "sigshift",
    "xtick.labelsize": 7.0,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7.0,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
}

# Okabe and Ito's colours without the yellow, which white paper swallows; then those of Tol's muted scheme.
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#5A4A42",
    "#332288",
    "#88A52A",
    "#882255",
    "#44AA99",
    "#CC6677",
    "#7F3FBF",
    "#AA4499",
    "#A08A1E",
)
GREY = "#b8b8b8"
INK = "#222222"

Arguments = ParamSpec("Arguments")


class Chart(Figure):
    """A figure that shows itself in a notebook, with no window and no global state."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with styled():
            self.savefig(buffer, format="png", dpi=DPI)
        return buffer.getvalue()


def styled() -> AbstractContextManager[None]:
    """The project's style, for as long as the context lasts."""
    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, **STYLE}
    del settings["backend"]
    return matplotlib.rc_context(settings)


def drawn(function: Callable[Arguments, Chart]) -> Callable[Arguments, Chart]:
    """Let ``function`` draw in the project's style, whatever the user's own settings are."""

    @wraps(function)
    def inside(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Chart:
        with styled():
            return function(*args, **kwargs)

    return inside


def new_chart(height: float) -> Chart:
    """An empty chart of the common width that lays itself out."""
    return Chart(figsize=(WIDTH, height), layout="constrained")


def check_path(path: str | os.PathLike[str] | None) -> None:
    """Refuse a path that cannot become a picture, before any work is done."""
    if path is None:
        return
    if not isinstance(path, str | os.PathLike):
        raise refuse("path", "must be the name of a file", path, 'Pass for example "picture.pdf", or None.')
    if Path(path).suffix.lower() not in FORMATS:
        cure = 'Name it for example "picture.pdf", "picture.svg" or "picture.png".'
        raise refuse("path", "must end in .pdf, .svg or .png", os.fspath(path), cure)


def finish(chart: Chart, path: str | os.PathLike[str] | None) -> Chart:
    """Write the chart if a path is given (whole or not at all, the same bytes every time), and return it."""
    if path is not None:
        kind = Path(path).suffix.lower()[1:]
        undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[kind]
        write_atomically(path, lambda draft: chart.savefig(draft, format=kind, dpi=DPI, metadata=undated))
    return chart


def colour(index: int) -> str:
    """The colour of the arm or policy with this number; they come again after fifteen."""
    return COLOURS[index % len(COLOURS)]


def short(number: float, _: object = None) -> str:
    """A number as a tick says it.

    >>> [short(n) for n in (0.25, 950, 1_000, 12_500, 1e6, 2.5e9)]
    ['0.25', '950', '1k', '12.5k', '1M', '2.5G']
    """
    size = abs(number)
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= unit * (1.0 - 1e-9):
            return f"{number / unit:.6g}{letter}"
    return f"{number:.6g}"


def linear_ticks(axis: Axis, count: int = 6) -> None:
    """Few round ticks, with short labels."""
    axis.set_major_locator(MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(short))


def log_ticks(axis: Axis, low: float, high: float) -> None:
    """Ticks at the powers of ten, and at 2 and 5 times these where there are few; none without a label."""
    decades = np.log10(high / low)
    multiples = (1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1.6 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(10.0, multiples, numticks=12))
    axis.set_major_formatter(FuncFormatter(short))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def spread(places: Sequence[float], needs: Sequence[float]) -> list[float]:
    """Places within [0, 1] near the given ones, in their order, with the room that each ``needs`` for itself.

    It is the least squares answer, by pooling neighbours that are too close; without enough room the last ones stick
    out.

    >>> spread([0.5, 0.5, 0.9], [0.1, 0.1, 0.1])
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    room = np.array([needs[i] for i in order])
    offsets = np.cumsum(room) - room / 2.0
    pools: list[tuple[float, int]] = []  # sum and number of what is pooled
    for i, offset in zip(order, offsets.tolist(), strict=True):
        total, count = places[i] - offset, 1
        while pools and pools[-1][0] * count >= total * pools[-1][1]:
            total, count = total + pools[-1][0], count + pools.pop()[1]
        pools.append((total, count))
    flat = np.repeat([total / count for total, count in pools], [count for _, count in pools])
    moved = np.maximum(np.minimum(flat, 1.0 - room.sum()), 0.0) + offsets
    answer = np.empty(len(places))
    answer[order] = moved
    return [round(place, 6) for place in answer.tolist()]


def label_ends(axes: Axes, ends: Sequence[float], labels: Sequence[str], colours: Sequence[str], points: float) -> None:
    """Write each label to the right of the axes at the height where its curve ends, moved apart where they meet.

    The limits of the axes must be set before; they are about ``points`` high.
    """
    shown = [wrapped(label) for label in labels]
    to_axes = (axes.transScale + axes.transLimits).transform
    inside = np.clip(ends, *axes.get_ylim())
    places = [float(to_axes((1.0, end))[1]) for end in inside]
    moved = spread(places, [label_height(label) / points for label in shown])
    for label, at, to, tint in zip(shown, places, moved, colours, strict=True):
        axes.plot([1.0, 1.02], [at, to], color=tint, linewidth=0.6, transform=axes.transAxes, clip_on=False)
        axes.text(1.027, to, label, color=tint, transform=axes.transAxes, va="center", ha="left", linespacing=1.05)


def titled(subject: str, facts: str, longest: int = 76) -> str:
    """A title in one line if it fits; the subject is shown as it is, whatever its name."""
    if len(subject) + len(facts) <= longest:
        return f"{plain(subject)}:  {facts}"
    return f"{plain(textwrap.fill(subject, longest))}:\n{facts}"


def plain(text: str) -> str:
    """A text in which a dollar is a dollar, and not the beginning of a formula."""
    return text.replace("$", r"\$")


def label_height(label: str) -> float:
    """The points that a label needs."""
    return 2.0 + 8.6 * (1 + wrapped(label).count("\n"))


def wrapped(label: str, longest: int = 24) -> str:
    """A long label on several lines, broken before a bracket and after a comma."""
    if len(label) <= longest:
        return label
    lines: list[str] = []
    for piece in label.replace("(", "\0(", 1).replace(", ", ", \0").split("\0"):
        if lines and len(lines[-1]) + len(piece) <= longest:
            lines[-1] += piece
        else:
            lines.append(piece)
    return "\n".join(line.rstrip() for line in lines)
