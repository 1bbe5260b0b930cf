"""Pictures with the rounds as their horizontal axis: means with significant phases, and a run's anatomy."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from sigshift.analysis.phases import Phases
from sigshift.analysis.phases import phases as phases_of
from sigshift.checks import refuse, whole
from sigshift.environment import Environment
from sigshift.environments import env as named
from sigshift.report.anatomy import Anatomy
from sigshift.report.bins import Stretches, Track, bin_edges, condense, covered, outline, played
from sigshift.report.style import (
    BINS,
    GREY,
    INK,
    Chart,
    check_path,
    colour,
    drawn,
    finish,
    label_ends,
    linear_ticks,
    new_chart,
    titled,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Path = str | os.PathLike[str] | None

PHASE_SHADE = "#e9edf3"
EPISODE_SHADES = ("#f1f3f6", "#dde3ea")
RESTART = "#c1121f"
FORGOTTEN = "#e76f00"
SOFT = (0, (3, 2))
IN_MASTER, REPLAYED, GIVEN_UP, PLAYED = "#a9cfe8", "#f6c177", "#f2f2f2", "#1d3557"
MOST_LINES = 60  # phases or restarts that are marked one by one
FEW_RESTARTS = 15  # so few are marked through all panels
FEW_ARMS = 7  # of so few arms all have a colour of their own
RESTLESS = 100.0  # times its whole span that a mean goes up or down
TITLE_PAD = 5.0
HAIRS = 600  # as many hairs as can stand side by side
MOST_NAMES = 12  # arms that are named beside the means
NARROWEST_NAME = 0.022  # of the width: a strip's stretch that holds the number of its arm
CLOSEST_NAMES = 0.035  # of the width: between the names of two phases


@drawn
def means_and_phases(
    environment_or_means: Any,
    phases: Phases | None = None,
    path: Path = None,
    *,
    first: int = 0,
    last: int | None = None,
) -> Chart:
    """The means over time, their significant phases (shaded in turn), the best arm and the last safe arm.

    ``phases`` are computed unless they are given. ``first`` and ``last`` cut out some rounds. Of many arms only those
    that are the best or the last safe one at some time have a colour.
    """
    check_path(path)
    environment = _environment(environment_or_means)
    first, last = _window(first, last, environment.horizon)
    found = phases_of(environment) if phases is None else _matching(phases, environment)
    track = condense(environment, first, last, BINS)
    safe = _safe_arms(found)
    paints = _paints(environment.arms, track, safe)
    chart = new_chart(3.0)
    means, best, last_safe = chart.subplots(3, 1, sharex=True, height_ratios=[1.0, 0.09, 0.09])
    _draw_means(means, track, paints)
    pad = _shade_phases(means, found, first, last)
    _name_arms(means, track, paints)
    _strip(best, track.stretches, track, paints, "best arm", first, last)
    _strip(last_safe, safe, track, paints, "last safe arm", first, last)
    _round_axis(last_safe, first, last)
    counts = rf"$\tilde L$ = {found.significant:,},  S = {found.switches:,},  L = {found.changes:,}"
    means.set_title(titled(f"{environment.name} ({environment.arms} arms)", counts), pad=pad)
    return finish(chart, path)


@drawn
def anatomy_chart(anatomy: Anatomy, path: Path = None, *, first: int = 0, last: int | None = None) -> Chart:
    """A run laid open: the means, the episodes with their nested replays, and what became of each arm.

    Every replay is a bar at its depth, below its parent; what is too short to be seen is widened to a hair, and of
    several in one place the longest is shown. In the row of an arm the height of the dark area is the share of rounds
    in which it was played, and a mark says that what was known of this arm alone was forgotten.
    """
    check_path(path)
    first, last = _window(first, last, anatomy.rounds)
    track = condense(anatomy.environment, first, last, BINS)
    found = phases_of(anatomy.environment)
    paints = _paints(anatomy.arms, track, _safe_arms(found))
    replays = _replays(anatomy, first, last)
    deepest = int(anatomy.bases.depth[replays].max()) if replays.size else 0
    heights = [1.0, 0.45 + 0.12 * deepest, float(np.clip(0.22 * anatomy.arms, 0.8, 3.2))]
    chart = new_chart(sum(heights) + 1.0)
    grid = chart.add_gridspec(3, 2, height_ratios=heights, width_ratios=[1.0, 0.018])
    means = chart.add_subplot(grid[0, 0])
    middle, bottom = (chart.add_subplot(grid[row, 0], sharex=means) for row in (1, 2))
    _draw_means(means, track, paints)
    pad = _shade_phases(means, found, first, last)
    _draw_episodes(middle, anatomy, deepest)
    if deepest > 0:
        _draw_replays(middle, anatomy, replays, first, last)
        _length_scale(chart, chart.add_subplot(grid[1, 1]), anatomy)
    _draw_arms(bottom, anatomy, paints, bin_edges(first, last, BINS))
    forgotten = _forgotten(anatomy, first, last)
    _mark_forgotten(bottom, anatomy, forgotten)
    restarts = anatomy.restarts[(anatomy.restarts >= first) & (anatomy.restarts < last)]
    for axes in (means, middle, bottom) if restarts.size <= FEW_RESTARTS else (middle,):
        _mark_restarts(axes, restarts, anatomy.soft_restarts)
    for axes in (means, middle):
        axes.tick_params(labelbottom=False)
    _round_axis(bottom, first, last)
    keys = _keys(anatomy, restarts, forgotten.size > 0)
    columns = len(keys) if len(keys) <= 5 else 3
    chart.legend(handles=keys, loc="outside lower center", ncols=columns, handlelength=1.2, columnspacing=1.2)
    facts = [_counted(restarts.size, "restart"), _counted(_begun(anatomy.bases.start[replays], first), "replay")]
    where = "" if last - first == anatomy.rounds else f", rounds {first:,} to {last:,}"
    about = f"{anatomy.policy.label} on {anatomy.environment.name}{where}"
    means.set_title(titled(about, ",  ".join(facts if anatomy.has_bases else facts[:1])), pad=pad)
    return finish(chart, path)


def _environment(value: Any) -> Environment:
    if isinstance(value, str):
        return named(value)
    return value if isinstance(value, Environment) else Environment.from_means(value, name="means")


def _window(first: int, last: int | None, rounds: int) -> tuple[int, int]:
    cure = f"There are {rounds:,} rounds."
    begin = whole("first", first, 0, cure, rounds - 1)
    return begin, rounds if last is None else whole("last", last, begin + 1, cure, rounds)


def _matching(phases: Phases, environment: Environment) -> Phases:
    if (phases.horizon, phases.arms) != (environment.horizon, environment.arms):
        rule = f"must be those of the environment, of {environment.horizon:,} rounds and {environment.arms} arms"
        got = f"{phases.horizon:,} rounds and {phases.arms} arms"
        raise refuse("phases", rule, got, "Leave them out, and they are computed.")
    return phases


def _safe_arms(phases: Phases) -> Stretches:
    return Stretches(phases.starts, phases.starts + phases.lengths, phases.safe_arm)


def _paints(arms: int, track: Track, safe: Stretches) -> dict[int, str]:
    """The colour of each arm that has one: all of few, else those that are the best or last safe at some time."""
    first, last = track.edges[0], track.edges[-1]
    shown = (safe.starts < last) & (safe.ends > first)
    important = set(np.flatnonzero(track.best.any(axis=0)).tolist()) | set(safe.arms[shown].tolist())
    chosen = range(arms) if arms <= FEW_ARMS else sorted(important)
    return {arm: colour(i) for i, arm in enumerate(chosen)}


def _draw_means(axes: Axes, track: Track, paints: dict[int, str]) -> None:
    plain = [arm for arm in range(track.low.shape[1]) if arm not in paints]
    if plain:
        lines = [np.column_stack(outline(track, arm)) for arm in plain]
        axes.add_collection(LineCollection(lines, colors=GREY, linewidths=0.5, alpha=0.6, zorder=2.0))
    share = track.best.mean(axis=0)
    for arm, paint in paints.items():  # the more often it is the best one, the further in front
        x, y = outline(track, arm)
        axes.plot(x, y, color=paint, linewidth=_line_width(y), solid_joinstyle="round", zorder=2.2 + 0.5 * share[arm])
    low, high = float(track.low.min()), float(track.high.max())
    margin = 0.06 * max(high - low, 0.05)
    axes.set_ylim(low - margin, high + margin)
    axes.set_ylabel("Mean reward")
    linear_ticks(axes.yaxis, 5)


def _line_width(values: Floats) -> float:
    """A thin line for means that never rest, so that it does not become a carpet."""
    way, span = float(np.abs(np.diff(values)).sum()), float(np.ptp(values))
    return 0.35 if way > RESTLESS * span else 1.1


def _name_arms(axes: Axes, track: Track, paints: dict[int, str]) -> None:
    """Name the coloured arms where their means end."""
    if len(paints) <= MOST_NAMES:
        ends = [float(outline(track, arm)[1][-1]) for arm in paints]
        label_ends(axes, ends, [f"arm {arm}" for arm in paints], list(paints.values()), points=128.0)


def _shade_phases(axes: Axes, phases: Phases, first: int, last: int) -> float:
    """Shade every other phase, and name tau_1, tau_2, ... above the axes where there is room; the points they need."""
    ends = phases.starts + phases.lengths
    odd = np.arange(len(ends)) % 2 == 1
    shown = odd & (ends > first) & (phases.starts < last)
    blocks = _blocks(phases.starts[shown], ends[shown], 0.0, 1.0)
    transform = axes.get_xaxis_transform()
    axes.add_collection(PolyCollection(blocks, facecolors=PHASE_SHADE, transform=transform, zorder=0.5), autolim=False)
    named = -np.inf
    marked = np.flatnonzero((phases.starts > first) & (phases.starts < last))
    for i in marked if marked.size <= MOST_LINES else []:
        at = int(phases.starts[i])
        axes.axvline(at, color="#7a8797", linewidth=0.6, linestyle=(0, (3, 2)), zorder=1.0)
        if at - named >= CLOSEST_NAMES * (last - first):
            axes.text(at, 1.02, rf"$\tau_{{{i}}}$", transform=transform, ha="center", va="bottom", fontsize=7.5)
            named = at
    return TITLE_PAD if named < 0 else TITLE_PAD + 9.0


def _blocks(starts: Iterable[float], ends: Iterable[float], low: float, high: float) -> list[Floats]:
    """Rectangles as the corners that a collection takes."""
    return [
        np.array([(a, low), (a, high), (b, high), (b, low)], dtype=np.float64)
        for a, b in zip(starts, ends, strict=True)
    ]


def _strip(
    axes: Axes, stretches: Stretches | None, track: Track, paints: dict[int, str], name: str, first: int, last: int
) -> None:
    """A band whose colour says which arm it is about, with the arm's number where there is room."""
    axes.set_ylim(0.0, 1.0)
    axes.yaxis.set_major_locator(NullLocator())
    axes.set_ylabel(name, rotation=0.0, ha="right", va="center")
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(bottom=False, labelbottom=False)
    if stretches is None:
        _mixed_strip(axes, track, paints)
        return
    starts, ends = np.clip(stretches.starts, first, last), np.clip(stretches.ends, first, last)
    order = np.argsort(starts - ends, kind="stable")  # the short ones last: a hair on top of the long ones
    order = order[ends[order] > starts[order]]
    tints = [paints[int(arm)] for arm in stretches.arms[order]]
    blocks = _blocks(starts[order], ends[order], 0.0, 1.0)
    axes.add_collection(PolyCollection(blocks, facecolors=tints, edgecolors=tints, linewidths=0.4), autolim=False)
    again = starts[1:][(np.diff(stretches.arms) == 0) & (starts[1:] > first) & (starts[1:] < last)]
    borders = [[(t, 0.0), (t, 1.0)] for t in again.tolist()]  # the next phase may have the same last safe arm
    axes.add_collection(LineCollection(borders, colors="white", linewidths=0.8, zorder=2.0), autolim=False)
    for i in np.sort(order):
        if ends[i] - starts[i] >= NARROWEST_NAME * (last - first):
            middle = (int(starts[i]) + int(ends[i])) / 2
            text = axes.text(middle, 0.5, str(stretches.arms[i]), color="white", fontsize=6.5, fontweight="bold")
            text.set(ha="center", va="center_baseline")


def _mixed_strip(axes: Axes, track: Track, paints: dict[int, str]) -> None:
    """The shares of the arms in each bin, stacked: for a best arm that changes faster than the eye can see."""
    levels = 24
    tints = np.array([to_rgb(paint) for paint in paints.values()])
    reached = np.cumsum(track.best[:, list(paints)], axis=1)
    height = (np.arange(levels) + 0.5) / levels
    place = (reached[np.newaxis] < height[:, np.newaxis, np.newaxis] - 1e-9).sum(axis=2)
    image = tints[np.minimum(place, len(tints) - 1)]
    extent = (float(track.edges[0]), float(track.edges[-1]), 0.0, 1.0)
    axes.imshow(image, origin="lower", extent=extent, aspect="auto")


def _round_axis(axes: Axes, first: int, last: int) -> None:
    axes.set_xlim(first, last)
    linear_ticks(axes.xaxis)
    axes.tick_params(bottom=True, labelbottom=True)
    axes.set_xlabel("Round")


def _draw_episodes(axes: Axes, anatomy: Anatomy, deepest: int) -> None:
    """Episodes as blocks, shaded in turn."""
    transform = axes.get_xaxis_transform()
    ends = np.append(anatomy.episodes[1:], anatomy.rounds)
    for odd in (0, 1):
        blocks = _blocks(anatomy.episodes[odd::2], ends[odd::2], 0.0, 1.0)
        shade = PolyCollection(blocks, facecolors=EPISODE_SHADES[odd], transform=transform, zorder=0.5)
        axes.add_collection(shade, autolim=False)
    axes.set_ylim(deepest + 0.6, 0.4)
    axes.set_yticks(_depth_ticks(deepest))
    axes.set_ylabel("Replay depth" if deepest > 1 else "Replays" if deepest else "Episodes")
    if not anatomy.has_bases:
        note = f"{anatomy.policy.label} has no replays: its choices are all there is to show"
        axes.text(0.5, 0.5, note, transform=axes.transAxes, ha="center", va="center", color=INK)


def _draw_replays(axes: Axes, anatomy: Anatomy, replays: Integers, first: int, last: int) -> None:
    """Replays as bars at their depth, no narrower than a hair."""
    bases, hair = anatomy.bases, (last - first) / HAIRS
    rows = _visible(anatomy, replays, first, hair)
    starts = np.maximum(bases.start[rows], first).astype(np.float64)
    ends = np.maximum(np.minimum(bases.end[rows], last), starts + hair)
    blocks = zip(_blocks(starts, ends, -0.36, 0.36), bases.depth[rows], strict=True)
    bars = [np.add(corners, (0.0, float(depth))) for corners, depth in blocks]
    rims = np.where(ends - starts > 8 * hair, 0.4, 0.0)
    tints = _scale(anatomy).to_rgba(bases.length[rows].astype(np.float64))
    axes.add_collection(
        PolyCollection(bars, facecolors=tints, edgecolors="white", linewidths=rims, zorder=2.0), autolim=False
    )


def _depth_ticks(deepest: int) -> list[int]:
    return list(range(1, deepest + 1, 1 if deepest <= 6 else 2))


def _replays(anatomy: Anatomy, first: int, last: int) -> Integers:
    """The replays that live in these rounds."""
    bases = anatomy.bases
    return np.flatnonzero((bases.depth > 0) & (bases.start < last) & (bases.end > first))


def _visible(anatomy: Anatomy, replays: Integers, first: int, hair: float) -> Integers:
    """The replays to draw, short ones first: of those narrower than a hair, the longest in each place and depth."""
    bases = anatomy.bases
    rows = replays[np.argsort(bases.length[replays], kind="stable")]
    narrow = bases.end[rows] - bases.start[rows] < hair
    place = ((bases.start[rows] - first) / hair).astype(np.int64) * 64 + bases.depth[rows]
    small = rows[narrow]
    _, kept = np.unique(place[narrow][::-1], return_index=True)
    return np.concatenate([small[::-1][kept], rows[~narrow]])


def _scale(anatomy: Anatomy) -> ScalarMappable:
    """From the scheduled length of a replay to a colour: the longer the darker."""
    lengths = anatomy.bases.length[anatomy.bases.depth > 0]
    shades = matplotlib.colormaps["viridis"](np.linspace(0.85, 0.0, 64))
    longest = max(float(lengths.max()), 4.0)
    shortest = min(float(lengths.min()), longest / 2.0)
    return ScalarMappable(LogNorm(shortest, longest), LinearSegmentedColormap.from_list("replays", shades))


def _length_scale(chart: Chart, axes: Axes, anatomy: Anatomy) -> None:
    scale = _scale(anatomy)
    bar = chart.colorbar(scale, cax=axes)
    least, longest = (int(np.log2(length)) for length in scale.get_clim())
    powers = [2.0**i for i in range(least, longest + 1, max(1, -(-(longest - least + 1) // 4)))]
    bar.ax.yaxis.set_major_locator(FixedLocator(powers))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda length, _: f"{int(length):,}"))
    bar.set_label("Length", fontsize=7.0)
    bar.outline.set_visible(False)


def _draw_arms(axes: Axes, anatomy: Anatomy, paints: dict[int, str], edges: Integers) -> None:
    """A row for each arm: whether it was a candidate, and how much it was played."""
    arms = anatomy.arms
    image = _arm_rows(anatomy, edges)
    extent = (float(edges[0]), float(edges[-1]), arms - 0.5, -0.5)
    axes.imshow(image, extent=extent, aspect="auto", interpolation_stage="rgba")
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    named = list(range(arms)) if arms <= 16 else _apart(sorted(paints), max(1, arms // 20))
    axes.set_yticks(named, [str(arm) for arm in named])
    axes.set_ylabel("Arm")
    axes.tick_params(axis="y", length=0.0)
    for arm, label in zip(named, axes.get_yticklabels(), strict=True):
        label.set_color(paints.get(arm, "#777777"))
        label.set_fontweight("bold")


def _apart(arms: Sequence[int], gap: int) -> list[int]:
    kept: list[int] = []
    for arm in arms:
        if not kept or arm - kept[-1] >= gap:
            kept.append(arm)
    return kept


def _arm_rows(anatomy: Anatomy, edges: Integers) -> Floats:
    """The rows as an image [line, bin, colour]: several lines per arm, the dark area rising from below."""
    arms = anatomy.arms
    lines = 24 if arms <= 8 else 12 if arms <= 20 else 6
    share = played(anatomy.choices, arms, edges)
    ground = np.broadcast_to(np.array(to_rgb(GIVEN_UP)), (*share.shape, 3))
    if anatomy.has_bases:
        ground = _candidate_colours(anatomy, edges)
    image = np.repeat(np.transpose(ground, (1, 0, 2))[:, np.newaxis], lines, axis=1)
    height = np.ceil(share.T * (lines - 1) - 1e-9)[:, np.newaxis, :]
    dark = height > np.arange(lines - 1, -1, -1)[np.newaxis, :, np.newaxis]
    image[dark] = to_rgb(PLAYED)
    image[:, 0] = 1.0
    return image.reshape(arms * lines, -1, 3)


def _candidate_colours(anatomy: Anatomy, edges: Integers) -> Floats:
    """[bin, arm, colour]: in the master set, a candidate in a replay only, or neither, mixed by their shares.

    Short replays are shown stronger than their share, or they could not be seen.
    """
    borders = np.append(anatomy.changes.round, anatomy.rounds)
    master = covered(borders, anatomy.changes.master, edges)[..., np.newaxis]
    candidate = covered(borders, anatomy.changes.candidates, edges)[..., np.newaxis]
    replayed = np.minimum(np.sqrt(np.clip(candidate - master, 0.0, 1.0)), 1.0 - master)
    tints = [np.array(to_rgb(name)) for name in (IN_MASTER, REPLAYED, GIVEN_UP)]
    return np.asarray(master * tints[0] + replayed * tints[1] + (1.0 - master - replayed) * tints[2])


def _forgotten(anatomy: Anatomy, first: int, last: int) -> Integers:
    """What was forgotten in these rounds, but for what a restart has forgotten, which is marked by itself."""
    rounds = anatomy.forgotten.round
    return np.flatnonzero((rounds >= first) & (rounds < last) & ~np.isin(rounds, anatomy.restarts))


def _mark_forgotten(axes: Axes, anatomy: Anatomy, forgotten: Integers) -> None:
    """A mark at the top of the arm's row for each time that it was forgotten."""
    rounds, arms = anatomy.forgotten.round[forgotten], anatomy.forgotten.arm[forgotten]
    axes.plot(rounds, arms - 0.3, linestyle="none", zorder=2.5, **_forgetting(anatomy.arms))


def _forgetting(arms: int) -> dict[str, Any]:
    size = 4.0 if arms <= FEW_ARMS else 2.5
    return {"marker": "v", "markersize": size, "markerfacecolor": FORGOTTEN, "markeredgecolor": "white", "mew": 0.4}


def _mark_restarts(axes: Axes, restarts: Integers, soft: Integers) -> None:
    few = restarts.size <= FEW_RESTARTS
    strength = 1.0 if few else 0.8 if restarts.size <= MOST_LINES else 0.4
    style = {"linewidths": 0.8 if few else 0.5, "alpha": strength, "zorder": 3.0 if few else 1.5}
    softly = np.isin(restarts, soft)
    for marked, dash in ((restarts[softly], SOFT), (restarts[~softly], "-")):
        if marked.size or dash != SOFT:
            lines = [[(t, 0.0), (t, 1.0)] for t in marked.tolist()]
            where = axes.get_xaxis_transform()
            marks = LineCollection(lines, colors=RESTART, linestyles=[dash], transform=where, **style)
            axes.add_collection(marks, autolim=False)


def _keys(anatomy: Anatomy, restarts: Integers, forgotten: bool) -> list[Artist]:
    keys: list[Artist] = [Patch(color=PLAYED, label="share played")]
    if anatomy.has_bases:
        keys += [
            Patch(color=IN_MASTER, label="in the master set"),
            Patch(color=REPLAYED, label="candidate in a replay only"),
            Patch(color=GIVEN_UP, label="evicted"),
        ]
    if forgotten:
        keys.append(Line2D([], [], linestyle="none", label="forgotten", **_forgetting(1)))
    softly = np.isin(restarts, anatomy.soft_restarts)
    if not softly.all():
        keys.append(Line2D([], [], color=RESTART, linewidth=1.0, label="restart"))
    if softly.any():
        keys.append(Line2D([], [], color=RESTART, linewidth=1.0, linestyle=SOFT, label="soft restart"))
    return keys


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _begun(starts: Integers, first: int) -> int:
    return int((starts >= first).sum())
