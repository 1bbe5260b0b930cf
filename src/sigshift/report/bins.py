"""Long stretches of rounds reduced to what a picture can show, without ever holding all of them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigshift.checks import refuse
from sigshift.environment import Environment

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

AT_ONCE = 2**18  # numbers that are looked at together
MOST_STRETCHES = 3_000


class Track(NamedTuple):
    """The means of an environment over some rounds, by bins of rounds."""

    edges: Integers  # bin i holds the rounds edges[i] <= t < edges[i + 1]
    low: Floats  # [bin, arm] the least mean
    high: Floats  # [bin, arm] the greatest
    best: Floats  # [bin, arm] the share of its rounds in which the arm is the best one (the first of several)
    stretches: "Stretches | None"  # while which arm is best, exactly, or None if that changes too often to be drawn
    steps: "tuple[Integers, Floats] | None"  # the borders and means of the segments (or rounds), where these are few


class Stretches(NamedTuple):
    """An arm for each stretch of rounds ``starts[i] <= t < ends[i]``."""

    starts: Integers
    ends: Integers
    arms: Integers


def bin_edges(first: int, last: int, bins: int) -> Integers:
    """The borders of at most so many bins of about as many rounds each."""
    count = min(bins, last - first)
    whole = first + np.arange(count + 1, dtype=object) * (last - first) // count
    return whole.astype(np.int64)


def condense(environment: Environment, first: int, last: int, bins: int) -> Track:
    """The track of the rounds ``first`` to ``last`` (not included)."""
    if environment.clock == "pulls":
        cure = "The arms of a rested one move by their own pulls; draw the regret instead, with Runs.plot()."
        raise refuse("environment", "must have means by round to be drawn over rounds", environment.name, cure)
    edges = bin_edges(first, last, bins)
    shape = (edges.size - 1, environment.arms)
    low, high, best = np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape)
    changes: list[tuple[Integers, Integers]] = []
    rows = max(1, AT_ONCE // environment.arms)
    count, latest = 0, -1
    segments = environment.segments()
    for block in environment.blocks(first, last, rows):
        for row in range(0, len(block.means), rows):
            starts = block.starts[row : row + rows + 1]
            cuts, means = _cut(starts, block.means[row : row + rows], edges)
            leader = means.argmax(axis=1)
            _gather(low, high, best, edges, cuts, means, leader)
            if count <= MOST_STRETCHES:
                turns = np.flatnonzero(np.diff(leader, prepend=latest))
                changes.append((cuts[turns], leader[turns]))
                count += turns.size
                latest = int(leader[-1])
    best /= np.diff(edges)[:, np.newaxis]
    stretches = None
    if count <= MOST_STRETCHES:
        begun = np.concatenate([starts for starts, _ in changes])
        stretches = Stretches(begun, np.append(begun[1:], last), np.concatenate([arms for _, arms in changes]))
    steps = None
    if segments is not None or last - first <= bins:
        block = next(environment.blocks(first, last))
        if len(block.means) <= bins:
            steps = (block.starts, block.means)
    return Track(edges, low, high, best, stretches, steps)


def _cut(starts: Integers, means: Floats, edges: Integers) -> tuple[Integers, Floats]:
    """The same means with a border more wherever an edge of the bins lies inside a segment."""
    inside = edges[(edges > starts[0]) & (edges < starts[-1])]
    fresh = inside[starts[np.searchsorted(starts, inside)] != inside]
    if fresh.size == 0:
        return starts, means
    cuts = np.insert(starts, np.searchsorted(starts, fresh), fresh)
    return cuts, means[np.searchsorted(starts, cuts[:-1], side="right") - 1]


def _gather(
    low: Floats, high: Floats, best: Floats, edges: Integers, cuts: Integers, means: Floats, leader: Integers
) -> None:
    """Add pieces of constant means, each within one bin, to the bins."""
    head = int(np.searchsorted(edges, cuts[0], side="right")) - 1
    tail = int(np.searchsorted(edges, cuts[-1], side="left"))
    begins = np.searchsorted(cuts, np.maximum(edges[head:tail], cuts[0]))
    low[head:tail] = np.minimum(low[head:tail], np.minimum.reduceat(means, begins, axis=0))
    high[head:tail] = np.maximum(high[head:tail], np.maximum.reduceat(means, begins, axis=0))
    where = np.repeat(np.arange(tail - head), np.diff(begins, append=len(means)))
    rounds = np.bincount(where * best.shape[1] + leader, np.diff(cuts), (tail - head) * best.shape[1])
    best[head:tail] += rounds.reshape(tail - head, -1)


def outline(track: Track, arm: int) -> tuple[Floats, Floats]:
    """A line that passes through the least and the greatest mean of every bin, and jumps where the means do."""
    if track.steps is not None:
        borders, means = track.steps
        return np.repeat(borders, 2)[1:-1].astype(np.float64), np.repeat(means[:, arm], 2)
    low, high = track.low[:, arm], track.high[:, arm]
    middle = (low + high) / 2
    rising = np.diff(middle, prepend=middle[:1]) >= 0.0
    left, right = track.edges[:-1], track.edges[1:]
    across = np.stack([left + (right - left) / 4, right - (right - left) / 4], axis=1)
    values = np.stack([np.where(rising, low, high), np.where(rising, high, low)], axis=1)
    return across.ravel(), values.ravel()


def covered(borders: Integers, inside: NDArray[np.bool_], edges: Integers) -> Floats:
    """[bin, arm]: the share of each bin's rounds with ``inside[i, arm]``, i being the row of borders[i] <= t."""
    lengths = np.diff(borders)[:, np.newaxis]
    total = np.concatenate([np.zeros((1, inside.shape[1])), np.cumsum(inside * lengths, axis=0)])
    at_edges = np.stack([np.interp(edges, borders, total[:, arm]) for arm in range(inside.shape[1])], axis=1)
    return np.asarray(np.diff(at_edges, axis=0) / np.diff(edges)[:, np.newaxis])


def played(choices: NDArray[np.unsignedinteger], arms: int, edges: Integers) -> Floats:
    """[bin, arm]: the share of each bin's rounds in which the arm was played."""
    lengths = np.diff(edges)
    chosen = choices[edges[0] : edges[-1]].astype(np.int64)
    place = np.repeat(np.arange(lengths.size), lengths) * arms + chosen
    return np.bincount(place, minlength=lengths.size * arms).reshape(-1, arms) / lengths[:, np.newaxis]
