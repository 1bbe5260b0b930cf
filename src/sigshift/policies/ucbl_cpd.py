"""UCBL-CPD: UCB with Laplace's intervals, started over when these are disjoint before and after some split.

Mukherjee and Maillard (2019), "Distribution-dependent and time-uniform bounds for piecewise i.i.d. bandits", Algorithm
1. It is :mod:`sigshift.policies.detect` with the base ``ucbl`` and the detector ``laplace`` (see there how splits are
kept), global restarts and no forced exploration: the paper assumes that a change moves all arms. ``delta=None`` of
the detector is 1/T.
"""

from typing import Any

from sigshift.compose import compose
from sigshift.detectors import laplace
from sigshift.policies import detect, ucbl

PAPER = "Mukherjee, Maillard 2019"
GUARANTEE = "changes that move all arms, large and far apart: O(sqrt(L T log T))"

MADE = compose(detect, base=ucbl, detector=laplace)
Params, State, init, select, update = MADE.Params, MADE.State, MADE.init, MADE.select, MADE.update
crowded, grow, restarts = MADE.crowded, MADE.grow, MADE.restarts


def configure(arms, horizon, *, delta: float | None = None) -> Any:
    return MADE.configure(arms, horizon, exploration="none", detector_delta=delta)
