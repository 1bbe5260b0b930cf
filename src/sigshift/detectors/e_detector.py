"""E-detector for bounded rewards: bets against every mean the arm could have; alarm when none is left.

Shin, Ramdas, Rinaldo (2024), "E-detectors: a nonparametric framework for sequential change detection", with their
Shiryaev-Roberts sums, betting on bounded rewards (Section 4); for a mean that is not known, one e-detector per
hypothesis on it, as in Shekhar and Ramdas (2023), "Reducing sequential change detection to sequential estimation".

[0, 1] is divided into ``cells`` of equal width. For a cell [l, u] and a bet b,

    up = (up + 1) (1 + b (y / u - 1)),    down = (down + 1) (1 + b ((1 - y) / (1 - l) - 1))

is what gamblers own who bet, one more of them before each reward, that the mean is above u, or below l. The cell's
e-detector is the average over up and down and ``bets`` bets b = 1/2, 1/4, ... A cell whose e-detector has reached
``level`` is dropped, and it is an alarm when no cell is left.

*The null that is tested:* there is a cell that contains the mean of each reward given those before. Rewards need not
be independent, or of one law. Under it a gambler's wealth is a supermartingale, so the e-detector of that cell is at
most the number of rewards in mean, at any stopping time; and an alarm needs that it reaches the level. Hence, proven:

    the mean number of rewards up to a false alarm is at least ``level``;
    a false alarm within N rewards has probability at most N / level.

``level`` is T / delta unless given, with ``delta`` 1/sqrt(T) unless given: with probability at least 1 - delta there
is none in T rewards. A change within a cell is never found: 1 / cells is the resolution. After a stationary stretch
one or two cells are left, so that a reward costs O(bets), not O(cells bets). Rewards count in the order in which they
arrive.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real, whole
from sigshift.kernel import kernel

PAPER = "Shin, Ramdas, Rinaldo 2024; Shekhar, Ramdas 2023"


class Params(NamedTuple):
    """What the kernels read."""

    cells: int
    bets: int
    level: float


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    left: np.ndarray  # how many cells are left
    cell: np.ndarray  # [arm, i] which they are
    wealth: np.ndarray  # [arm, cell, up or down, bet]


def configure(
    horizon, *, delta: float | None = None, level: float | None = None, cells: int = 64, bets: int = 6
) -> Params:
    """What the user says, checked."""
    cells = whole("cells", cells, 2, "The resolution at which a mean is known is 1 / cells.")
    bets = whole("bets", bets, 1, "The bets are 1/2, 1/4, ...", most=50)
    if delta is None:
        delta = float(max(horizon, 2)) ** -0.5
    delta = real("delta", delta, "The chance of a false alarm in T rewards; None is 1/sqrt(T).", above=0.0, below=1.0)
    if level is None:
        return Params(cells, bets, max(horizon, 2) / delta)
    level = real("level", level, "The mean number of rewards up to a false alarm; None is T / delta.", above=1.0)
    return Params(cells, bets, level)


def init(p, arms):
    """The state before the first reward."""
    state = State(
        left=np.full(arms, p.cells, np.int64),
        cell=np.zeros((arms, p.cells), np.int64),
        wealth=np.zeros((arms, p.cells, 2, p.bets)),
    )
    state.cell[:] = np.arange(p.cells)
    return state


@kernel
def observe(p, s, a, y):
    """Take in the reward y of arm a; whether its rewards have changed."""
    kept = 0
    for i in range(s.left[a]):
        c = s.cell[a, i]
        up = y * p.cells / (c + 1.0) - 1.0
        down = (1.0 - y) * p.cells / (p.cells - c) - 1.0
        owned = 0.0
        b = 0.5
        for j in range(p.bets):
            s.wealth[a, c, 0, j] = (s.wealth[a, c, 0, j] + 1.0) * (1.0 + b * up)
            s.wealth[a, c, 1, j] = (s.wealth[a, c, 1, j] + 1.0) * (1.0 + b * down)
            owned += s.wealth[a, c, 0, j] + s.wealth[a, c, 1, j]
            b *= 0.5
        if owned < 2.0 * p.bets * p.level:
            s.cell[a, kept] = c
            kept += 1
    s.left[a] = kept
    return kept == 0


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    s.left[a] = p.cells
    for c in range(p.cells):
        s.cell[a, c] = c
    s.wealth[a] = 0.0
