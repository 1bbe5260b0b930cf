"""ImpCPD: UCB in phases that grow; at the end of each it starts over if an arm's mean is not what it was before.

Mukherjee and Maillard (2019), "Distribution-dependent and time-uniform bounds for piecewise i.i.d. bandits", Algorithms
3 (ImpCPD) and 4 (CPDI). In phase m = 0, 1, ... of an episode, with epsilon = (1 + gamma)^-m, the arm with the largest

    mean + S(n),    S(n) = sqrt(alpha ln(psi epsilon^2) / (2 n)),    psi = T^2 / (K^2 ln K)

is played, n its plays in the episode. The first phase lasts K l rounds, the others |B| l, where

    l = ceil(ln(psi epsilon^2) / (2 epsilon))

and B holds the arms whose mean + S was never, at the end of a phase, below the largest mean - S: a pseudo-elimination,
which shortens phases and takes no arm away. When a phase ends, everything starts over if for some arm and the end of
some earlier phase of the episode

    |mean up to there - mean since then| > S(plays up to there) + S(plays since then).

So tests are few (one after every |B| l rounds) and so are the splits; nothing is forced, as the paper assumes that a
change moves all arms. ``gamma`` (0.05) and ``alpha`` (3/2) are those of its Corollary 1.

Where it is from. We had the paper's abstract, and its algorithms as three public re-implementations give them, two of
which quote them line by line; they agree on all of the above but for three points. S in a test has the present epsilon,
not that of the earlier phase. Splits are the ends of phases, not all rounds. psi has K^2 ln K below, not above.

What was chosen beyond that.

- Tests stop after phase M = floor(ln(T / e) / (2 ln(1 + gamma))): after that no change is ever found, and with
  T = 10^6, K = 10 and two arms in B that is after the first 14 % of the rounds. Here phases of the last length go on,
  with tests (``phases="endless"``); ``phases="paper"`` stops.
- ln(psi epsilon^2) counts as 1 where it is less, which happens if T is below K^2 ln K only; |B| as 1 where it is 0,
  which can happen when the means have changed; l is at most T.
- With late rewards n in the index counts decisions; tests and B go by the rewards that have come. A reward decided
  before the last restart counts for nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import choice, real
from sigshift.kernel import kernel

PAPER = "Mukherjee, Maillard 2019"
GUARANTEE = "L changes that move all arms, large and far apart: O(sqrt(L T)), and O(K L log(T / H) / gap)"

START, NOW, RESTARTS, PHASE, END, STORED = range(6)


class Params(NamedTuple):
    gamma: float
    alpha: float
    horizon: float
    log_psi: float
    last: int  # the phase after which epsilon stays as it is
    endless: bool


class State(NamedTuple):
    clock: np.ndarray  # start of the episode, next round, restarts, phase, the rounds after which it ends, ends stored
    radius: np.ndarray  # one number: sqrt(alpha ln(psi epsilon^2) / 2)
    asked: np.ndarray
    told: np.ndarray
    mean: np.ndarray
    width: np.ndarray  # 1 / sqrt(asked), infinite before the first
    kept: np.ndarray  # whether the arm is in B
    ends: np.ndarray  # [arm, phase] how many of its rewards had come when the phase ended
    sums: np.ndarray  # [arm, phase] their sum
    total: np.ndarray
    restarts: np.ndarray


def configure(arms: int, horizon: int, *, gamma: float = 0.05, alpha: float = 1.5, phases: str = "endless") -> Params:
    gamma = real("gamma", gamma, "How much finer each phase is; the paper's is 0.05.", least=1e-9, most=1.0)
    alpha = real("alpha", alpha, "The factor in the confidence radius; the paper's is 1.5.", above=0.0)
    choice("phases", phases, ["endless", "paper"])
    rounds = float(max(horizon, 3))
    return Params(
        gamma=gamma,
        alpha=alpha,
        horizon=rounds,
        log_psi=float(2.0 * np.log(rounds / arms) - np.log(np.log(max(arms, 2)))),
        last=int((np.log(rounds) - 1.0) / (2.0 * np.log(1.0 + gamma))),
        endless=phases == "endless",
    )


def init(p, arms, key):
    state = State(
        clock=np.zeros(6, np.int64),
        radius=np.zeros(1),
        asked=np.zeros(arms),
        told=np.zeros(arms),
        mean=np.ones(arms),
        width=np.full(arms, np.inf),
        kept=np.ones(arms, np.bool_),
        ends=np.zeros((arms, 64)),
        sums=np.zeros((arms, 64)),
        total=np.zeros(arms),
        restarts=np.zeros(16, np.int64),
    )
    _enter(p, state, 0)
    return state


@kernel
def select(p, s, t):
    s.clock[NOW] = t + 1
    best = 0
    largest = -np.inf
    for a in range(s.mean.size):
        index = s.mean[a] + s.radius[0] * s.width[a]
        if index > largest:
            largest = index
            best = a
    s.asked[best] += 1.0
    s.width[best] = 1.0 / np.sqrt(s.asked[best])
    return best, 1.0


@kernel
def update(p, s, t, a, y, q):
    if t < s.clock[START]:
        return
    s.told[a] += 1.0
    s.total[a] += y
    s.mean[a] += (y - s.mean[a]) / s.told[a]
    phase = s.clock[PHASE]
    if s.clock[NOW] - s.clock[START] >= s.clock[END] and (p.endless or phase <= p.last):
        if _changed(p, s):
            _restart(p, s)
        else:
            _narrow(s)
            _store(s)
            _enter(p, s, phase + 1)


@kernel
def _changed(p, s):
    """CPDI: whether the mean of an arm before and after the end of an earlier phase are too far apart."""
    for a in range(s.told.size):
        for k in range(s.clock[STORED]):
            before = s.ends[a, k]
            after = s.told[a] - before
            if before > 0.0 and after > 0.0:
                off = abs(s.sums[a, k] / before - (s.total[a] - s.sums[a, k]) / after)
                if off > s.radius[0] * (1.0 / np.sqrt(before) + 1.0 / np.sqrt(after)):
                    return True
    return False


@kernel
def _narrow(s):
    """Take the arms out of B whose upper bound is below the best lower bound."""
    best = -np.inf
    for a in range(s.told.size):
        if s.told[a] > 0.0:
            best = max(best, s.mean[a] - s.radius[0] / np.sqrt(s.told[a]))
    for a in range(s.told.size):
        if s.told[a] > 0.0 and s.mean[a] + s.radius[0] / np.sqrt(s.told[a]) < best:
            s.kept[a] = False


@kernel
def _store(s):
    """Keep the end of this phase as a split for later tests."""
    k = s.clock[STORED]
    if k < s.ends.shape[1]:  # there is room but where the state could not grow in time
        for a in range(s.told.size):
            s.ends[a, k] = s.told[a]
            s.sums[a, k] = s.total[a]
        s.clock[STORED] = k + 1


@kernel
def _enter(p, s, phase):
    """Begin a phase of the episode."""
    s.clock[PHASE] = phase
    log_epsilon = -min(phase, p.last) * np.log(1.0 + p.gamma)
    log = max(1.0, p.log_psi + 2.0 * log_epsilon)
    s.radius[0] = np.sqrt(0.5 * p.alpha * log)
    length = min(np.ceil(0.5 * log * np.exp(-log_epsilon)), p.horizon)
    left = 0
    for a in range(s.kept.size):
        left += s.kept[a]
    s.clock[END] = s.clock[NOW] - s.clock[START] + max(left, 1) * int(length)


@kernel
def _restart(p, s):
    """Forget everything; the next round is the first that counts."""
    s.restarts[s.clock[RESTARTS]] = s.clock[NOW]
    s.clock[RESTARTS] += 1
    s.clock[START] = s.clock[NOW]
    s.clock[STORED] = 0
    for a in range(s.told.size):
        s.asked[a] = 0.0
        s.told[a] = 0.0
        s.mean[a] = 1.0
        s.width[a] = np.inf
        s.total[a] = 0.0
        s.kept[a] = True
    _enter(p, s, 0)


@kernel
def crowded(p, s):
    return s.clock[RESTARTS] + 1 >= s.restarts.size or s.clock[STORED] + 1 >= s.ends.shape[1]


def grow(p: Params, s: State) -> State:
    """The same state with more room for restarts and splits."""
    ends, sums = (np.concatenate([part, np.zeros_like(part)], axis=1) for part in (s.ends, s.sums))
    return s._replace(restarts=np.concatenate([s.restarts, np.zeros_like(s.restarts)]), ends=ends, sums=sums)


def restarts(p: Params, s: State) -> Any:
    """The rounds of the restarts."""
    return s.restarts[: s.clock[RESTARTS]]
