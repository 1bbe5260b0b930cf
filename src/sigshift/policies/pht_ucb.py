"""PHT-UCB: UCB1 that forgets an arm when the Page-Hinkley test says that its mean has changed.

Liu, Lee, Shroff (2018), "A change-detection based framework for piecewise-stationary multi-armed bandit problem",
Algorithm 2 with PHT (Section 6). As :mod:`sigshift.policies.cusum_ucb`, with the detector ``page_hinkley``, which
needs no first samples. ``tolerance`` (epsilon) and ``height`` (h) are the detector's; h, the ``rate`` of random rounds
and ``exploration`` (xi) are set as in CUSUM-UCB, from the ``changes`` if they are told. An alarm forgets its arm alone
(``restart="local"``), or all (``"global"``).
"""

from typing import Any

from sigshift.compose import compose
from sigshift.detectors import page_hinkley
from sigshift.policies import detect, ucb1
from sigshift.policies.cusum_ucb import share

PAPER = "Liu, Lee, Shroff 2018"
GUARANTEE = "none: the paper analyses CUSUM only"
TOLD = "changes (optional)"

MADE = compose(detect, base=ucb1, detector=page_hinkley)
Params, State, init, select, update = MADE.Params, MADE.State, MADE.init, MADE.select, MADE.update
crowded, grow, restarts = MADE.crowded, MADE.grow, MADE.restarts


def configure(
    arms,
    horizon,
    *,
    changes: int | None = None,
    tolerance: float = 0.1,
    height: float | None = None,
    rate: float | None = None,
    exploration: float = 1.0,
    restart: str = "local",
) -> Any:
    test = {"tolerance": tolerance, "height": height, "changes": changes}
    rate = share(horizon, changes) if rate is None else rate
    options = {f"detector_{name}": value for name, value in test.items()}
    return MADE.configure(
        arms, horizon, restart=restart, exploration="random", rate=rate, changes=changes,
        base_exploration=exploration, **options,
    )  # fmt: skip
