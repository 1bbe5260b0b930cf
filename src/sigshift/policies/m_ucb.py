"""M-UCB: UCB1 that starts over when the two halves of an arm's last rewards differ.

Cao, Wen, Kveton, Xie (2019), "Nearly optimal adaptive procedure with change detection for piecewise-stationary
bandit", Algorithm 1. It is :mod:`sigshift.policies.detect` with the base ``ucb1``, the detector ``window``, global
restarts and each arm once in every floor(K / gamma) rounds by force.

``window`` (w), or the smallest change to be found (``gap``), and ``limit`` (b) are the detector's. ``rate`` is gamma;
the paper's is sqrt(L K (2 b + 3 sqrt(w)) / (2 T)) for L ``changes``, 1 if they are not told.
"""

from typing import Any

import numpy as np

from sigshift.checks import not_both, whole
from sigshift.compose import compose
from sigshift.detectors import window as detector
from sigshift.policies import detect, ucb1

PAPER = "Cao, Wen, Kveton, Xie 2019"
GUARANTEE = "L changes, told, larger than the window's gap and far apart: O(sqrt(L K T log T))"
TOLD = "changes (optional), gap (optional)"

MADE = compose(detect, base=ucb1, detector=detector)
Params, State, init, select, update = MADE.Params, MADE.State, MADE.init, MADE.select, MADE.update
crowded, grow, restarts = MADE.crowded, MADE.grow, MADE.restarts


def configure(
    arms,
    horizon,
    *,
    changes: int | None = None,
    window: int | None = None,
    gap: float | None = None,
    limit: float | None = None,
    rate: float | None = None,
) -> Any:
    not_both(changes=changes, rate=rate)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    test = detector.configure(arms, horizon, window=window, gap=gap, limit=limit)
    if rate is None:
        cost = 2.0 * test.limit + 3.0 * np.sqrt(test.window)
        rate = min(1.0, float(np.sqrt(max(changes or 1, 1) * arms * cost / (2.0 * horizon))))
    options = {"detector_window": test.window, "detector_limit": test.limit}
    return MADE.configure(arms, horizon, rate=rate, **options)
