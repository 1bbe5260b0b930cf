"""CUSUM-UCB: UCB1 that forgets an arm when a two-sided CUSUM says that its mean has changed.

Liu, Lee, Shroff (2018), "A change-detection based framework for piecewise-stationary multi-armed bandit problem",
Algorithm 2 with CUSUM. It is :mod:`sigshift.policies.detect` with the base ``ucb1`` and the detector ``cusum``: with
probability ``rate`` a random arm is played; an alarm forgets its arm alone (``restart="local"``), and ``"global"`` all.

``samples`` (the paper's M), ``tolerance`` (epsilon) and ``height`` (h) are the detector's. With L the ``changes``, or
1 if they are not told, h is ln(T / L) and the rate sqrt(L / T ln(T / L)), as in the paper's corollary. ``exploration``
is its xi, 1 in its experiments.
"""

from typing import Any

import numpy as np

from sigshift.checks import whole
from sigshift.compose import compose
from sigshift.detectors import cusum
from sigshift.policies import detect, ucb1

PAPER = "Liu, Lee, Shroff 2018"
GUARANTEE = "L changes, told, larger than 3 tolerance and far apart: O(sqrt(L T log(T / L)))"
TOLD = "changes (optional)"

MADE = compose(detect, base=ucb1, detector=cusum)
Params, State, init, select, update = MADE.Params, MADE.State, MADE.init, MADE.select, MADE.update
crowded, grow, restarts = MADE.crowded, MADE.grow, MADE.restarts


def configure(
    arms,
    horizon,
    *,
    changes: int | None = None,
    samples: int = 200,
    tolerance: float = 0.1,
    height: float | None = None,
    rate: float | None = None,
    exploration: float = 1.0,
    restart: str = "local",
) -> Any:
    test = {"samples": samples, "tolerance": tolerance, "height": height, "changes": changes}
    rate = share(horizon, changes) if rate is None else rate
    options = {f"detector_{name}": value for name, value in test.items()}
    return MADE.configure(
        arms, horizon, restart=restart, exploration="random", rate=rate, changes=changes,
        base_exploration=exploration, **options,
    )  # fmt: skip


def share(horizon, changes):
    """The share of random rounds, sqrt(L / T ln(T / L))."""
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    each = max(horizon, 2) / max(changes or 1, 1)
    return min(1.0, float(np.sqrt(max(np.log(each), 1.0) / each)))
