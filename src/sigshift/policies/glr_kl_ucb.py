"""GLR-klUCB: kl-UCB that starts over when a likelihood ratio says that an arm has changed.

Besson, Kaufmann, Maillard, Seznec (2022), "Efficient change-point detection for tackling piecewise-stationary
bandits", Algorithm 1. It is :mod:`sigshift.policies.detect` with the base ``kl_ucb`` and the detector ``glr``: each
arm once in every floor(K / alpha) rounds by force, and with ``restart="global"`` a change of one arm forgets all, with
``"local"`` that arm alone (its index then counts the time since).

``rate`` is alpha. Without it: sqrt(L K ln(T) / T) if the ``changes`` L are told, else sqrt(k K ln(T) / T) in the k-th
episode. ``threshold`` and ``delta`` are the detector's; by default it is the authors' practical threshold. Here every
split is tested after every reward. The authors' code tests in every 10th round (``every=10``) and one split in 5 or 10
(``splits_every``), to save time. That is not harmless: forced rounds that recur with a period such as 100 then meet
no test, and on pb3, with T = 20,000, this makes a regret of 600 one of 724.
"""

from typing import Any

from sigshift.compose import compose
from sigshift.detectors import glr
from sigshift.policies import detect, kl_ucb

PAPER = "Besson, Kaufmann, Maillard, Seznec 2022"
GUARANTEE = "changes that are large and far apart: O(K sqrt(L T log T) / gap^2), also if not told L"
TOLD = "changes (optional)"

MADE = compose(detect, base=kl_ucb, detector=glr)
Params, State, init, select, update = MADE.Params, MADE.State, MADE.init, MADE.select, MADE.update
crowded, grow, restarts = MADE.crowded, MADE.grow, MADE.restarts


def configure(
    arms,
    horizon,
    *,
    restart: str = "global",
    changes: int | None = None,
    rate: float | None = None,
    threshold: str = "practical",
    delta: float | None = None,
    every: int = 1,
    splits_every: int = 1,
) -> Any:
    test = {"threshold": threshold, "delta": delta, "splits_every": splits_every}
    options = {f"detector_{name}": value for name, value in test.items()}
    return MADE.configure(arms, horizon, restart=restart, changes=changes, rate=rate, every=every, **options)
