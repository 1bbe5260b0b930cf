"""The plain twin of ``sigshift.phases``: Definition 1 word for word, every interval tested."""

from typing import Any, NamedTuple

import numpy as np


class Plain(NamedTuple):
    starts: list[int]
    unsafe_at: list[list[int]]
    safe_arm: list[int]
    switches: int
    changes: int
    variation: float


def phases(means: Any) -> Plain:
    """The phases of ``means[round, arm]`` in quadratic time."""
    table = np.asarray(means, dtype=np.float64)
    horizon, arms = table.shape
    gaps = table.max(axis=1, keepdims=True) - table
    sums = np.vstack([np.zeros(arms), np.cumsum(gaps, axis=0)])
    starts, unsafe_at = [0], [[-1] * arms]
    for s2 in range(horizon):
        for arm in range(arms):
            if unsafe_at[-1][arm] < 0 and _significant_somewhere(sums[:, arm], starts[-1], s2, arms):
                unsafe_at[-1][arm] = s2
        if min(unsafe_at[-1]) >= 0:
            starts.append(s2)
            unsafe_at.append([-1] * arms)
    infinity = horizon + 1
    safe_arm = [int(np.argmax([infinity if round < 0 else round for round in row])) for row in unsafe_at]
    steps = np.abs(np.diff(table, axis=0)).max(axis=1)
    return Plain(starts, unsafe_at, safe_arm, _switches(table), int((steps > 0).sum()), float(steps.sum()))


def _significant_somewhere(sums: Any, start: int, s2: int, arms: int) -> bool:
    """Whether the arm's regret is significant on an interval [s1, s2] with start <= s1 < s2."""
    s1 = np.arange(start, s2)
    return bool((sums[s2 + 1] - sums[s1] >= np.sqrt(arms * (s2 - s1))).any())


def _switches(table: Any) -> int:
    """The least number of switches of a sequence of best arms, by dynamic programming over the arm played."""
    best = table == table.max(axis=1, keepdims=True)
    cost = np.where(best[0], 0, len(table) + 1)
    for row in best[1:]:
        cost = np.where(row, np.minimum(cost, cost.min() + 1), len(table) + 1)
    return int(cost.min())
