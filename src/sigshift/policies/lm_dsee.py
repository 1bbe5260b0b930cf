"""LM-DSEE: explore all arms in turn, exploit the best, and begin again, in epochs of growing length.

Wei, Srivastava (2018), "On abruptly-changing and slowly-varying multiarmed bandit problems" (ACC; arXiv:1802.08380),
Algorithm 1, limited-memory deterministic sequencing of exploration and exploitation. Epoch k = 1, 2, ... has
ceil(a k^rho l) rounds: first every arm for L(k) = ceil(gamma ln(k^rho l b)) of them, then the arm whose exploration in
this epoch had the largest mean. Here gamma = 2 / gap^2, where ``gap`` is a lower bound of the smallest gap between
means; l is the least whole number with a l >= K ceil(gamma ln(l b)) > 0; for O(T^nu) changes rho = (1 - nu) / (1 + nu).

The paper is told nu; here that follows from ``changes=L`` and the horizon, L = T^nu, and is 0 without it, so that
``rho`` is 1. The paper gives no value of ``gap``, ``a`` > 0 and 0 < ``b`` <= 1; 0.5, 1 and 0.25 here. The first epoch
is all exploration, some K gamma ln(K gamma) rounds: a gap that is right for a hard problem needs a long horizon.

A late reward counts if it comes within the epoch of its decision. An arm all of whose exploration has brought no reward
yet counts with mean 1/2. The schedule is made for the arms at hand, so that they cannot be added or retired.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.indices import share
from sigshift.kernel import kernel

PAPER = "Wei, Srivastava 2018"
GUARANTEE = "O(T^nu) changes: O(T^((1 + nu) / 2) log T) if told nu and a lower bound of the gaps"
TOLD = "gap, changes (optional)"
FIXED_ARMS = True

UNTOLD = 0.5
EPOCH, START, END, SAMPLES, CLOCK = 0, 1, 2, 3, 4


class Params(NamedTuple):
    gamma: float
    rho: float
    unit: float  # a l
    depth: float  # l b


class State(NamedTuple):
    clock: np.ndarray  # the epoch, its first round, that of the next one, and L(k)
    told: np.ndarray
    total: np.ndarray
    mean: np.ndarray


def configure(
    arms,
    horizon,
    *,
    changes: int | None = None,
    gap: float = 0.5,
    a: float = 1.0,
    b: float = 0.25,
    rho: float | None = None,
) -> Params:
    not_both(changes=changes, rho=rho)
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    gap = real("gap", gap, "A lower bound of the gaps between means.", least=1e-6, most=1.0)
    a = real("a", a, "Epochs are proportional to it.", least=0.01, most=1e6)
    b = real("b", b, "The samples of an epoch are gamma ln(k^rho l b).", least=1e-6, most=1.0)
    if rho is None:
        nu = min(float(np.log(changes) / np.log(horizon)), 1.0) if changes and horizon > 1 else 0.0
        rho = (1.0 - nu) / (1.0 + nu)
    rho = real("rho", rho, "Epochs grow like k^rho; None is the paper's.", least=0.0)
    gamma = 2.0 / gap**2
    return Params(gamma, rho, a * _least(arms, gamma, a, b), b * _least(arms, gamma, a, b))


def _least(arms: int, gamma: float, a: float, b: float) -> float:
    """The least l with a l >= K ceil(gamma ln(l b)) > 0: the right side only grows, so that one climbs from below."""
    least = np.floor(1.0 / b) + 1.0
    while True:
        wanted = np.ceil(arms * np.ceil(gamma * np.log(least * b)) / a)
        if wanted <= least:
            return float(least)
        least = wanted


def init(p, arms, key):
    return State(np.zeros(CLOCK, np.int64), np.zeros(arms), np.zeros(arms), np.full(arms, UNTOLD))


@kernel
def select(p, s, t):
    if t >= s.clock[END]:
        _begin_epoch(p, s, t)
    position = t - s.clock[START]
    if position < s.mean.size * s.clock[SAMPLES]:
        return position // s.clock[SAMPLES], 1.0
    best = 0
    for a in range(s.mean.size):
        if s.mean[a] > s.mean[best]:
            best = a
    return best, 1.0


@kernel
def _begin_epoch(p, s, t):
    s.clock[EPOCH] += 1
    growth = float(s.clock[EPOCH]) ** p.rho
    s.clock[SAMPLES] = max(int(np.ceil(p.gamma * np.log(growth * p.depth))), 1)
    s.clock[START] = t
    s.clock[END] = t + max(int(np.ceil(p.unit * growth)), s.mean.size * s.clock[SAMPLES])
    for a in range(s.mean.size):
        s.told[a] = 0.0
        s.total[a] = 0.0
        s.mean[a] = UNTOLD


@kernel
def update(p, s, t, a, y, q):
    position = t - s.clock[START]
    if 0 <= position < s.mean.size * s.clock[SAMPLES]:
        s.told[a] += 1.0
        s.total[a] += y
        s.mean[a] = share(s.total[a], s.told[a], UNTOLD)
