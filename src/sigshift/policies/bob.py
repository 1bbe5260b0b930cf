"""Bandits-over-Bandits: in each block of rounds a base policy starts afresh, tuned by EXP3 from how past blocks went.

Cheung, Simchi-Levi, Zhu (AISTATS 2019), "Learning to optimize under non-stationarity", Algorithm 2 (BOB). The rounds
are cut into blocks of H = ``block`` rounds. In each of them ``base`` is run as if it were alone, with a value of its
knob that EXP3 (:mod:`sigshift.policies.exp3`, for T / H rounds) draws from a grid; its reward is the block's mean
reward. The grid is floor(H^(i / D)), i = 0, ..., D, with D = ceil(ln H).

``base="sw_ucb"`` is the paper's: the grid has the windows. With ``base="exp3s"`` it has the numbers of segments that
EXP3.S is told for the H rounds (gamma of Corollary 8.3, equal ones once): the way to use EXP3.S when the number of
switches is not known (Auer et al. 2019, Foster et al. 2020).

``block`` is floor(sqrt(K T)): the paper's floor(d sqrt(T)) for linear rewards with sqrt(K) in place of d, as the regret
of SW-UCB has it there. Rewards are in [0, 1], so the block's mean needs no scaling as in the paper, whose noise is not
bounded. SW-UCB is that of Garivier and Moulines; the paper's own bonus is wider (``base_exploration=2`` is near it).

The last, shorter block is not judged. A reward that comes after its block counts for nothing; the mean is over the
rewards that have come. A block whose rewards are all missing teaches nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import refuse, whole
from sigshift.compose import configured, options_of
from sigshift.kernel import kernel
from sigshift.policies import exp3
from sigshift.policies import sw_ucb as base  # part base
from sigshift.renewal import rekeyed, renew
from sigshift.rng import philox

PAPER = "Cheung, Simchi-Levi, Zhu 2019"
GUARANTEE = (
    "total variation V, or S switches of the best arm, not told: O~(V^(1/3) T^(2/3) + T^(3/4)) over sw_ucb, "
    "O~(sqrt(S T) + T^(3/4)) over exp3s"
)
PARTS = {"base": "policy"}
TUNES = True  # the base's KNOB is not the user's to set
FIXED_ARMS = True  # the grid follows the number of arms

START, BLOCK, CHOICE, HEARD, CLOCKS = range(5)
TOTAL, CHANCE, SUMS = range(3)
OWN = 7  # the stream of the numbers that a block's key is made of: no base has so many


class Params(NamedTuple):
    base: Any
    chooser: Any
    block: int
    knobs: int


class State(NamedTuple):
    key: np.uint64
    base: Any
    fresh: Any  # the base as it began
    chooser: Any
    knobs: np.ndarray  # the grid
    clock: np.ndarray  # the block's first round, its number, its knob, its rewards
    sums: np.ndarray  # their sum, and the probability of that knob
    draws: np.ndarray  # what the base's key is mixed with in this block


def configure(arms: int, horizon: int, *, block: int | None = None, **options: Any) -> Params:
    if not hasattr(base, "tuned"):
        rule = "must be a policy with a knob that can be tuned"
        raise refuse("base", rule, base.__name__.rpartition(".")[2], "Take 'sw_ucb' or 'exp3s'.")
    if block is None:
        block = max(1, int(np.sqrt(float(arms) * horizon)))
    block = min(whole("block", block, 1, "The number of rounds of a block; None is the paper's."), max(horizon, 1))
    known = {"arms": arms, "horizon": block}
    own = {"window": block} if "window" in base.KNOB else {}  # its state has room for the longest
    knobs = grid(arms, block).size
    return Params(
        base=configured(base, known, options_of("base", options) | own),
        chooser=configured(exp3, {"arms": knobs, "horizon": -(-horizon // block)}, {}),
        block=block,
        knobs=knobs,
    )


def grid(arms, block):
    """The values of the knob, in ascending order."""
    steps = max(1, int(np.ceil(np.log(block))))
    return base.grid([int(block ** (i / steps) + 1e-9) for i in range(steps + 1)], arms, block)


def init(p, arms, key):
    state = State(
        key=key,
        base=base.init(p.base, arms, key),
        fresh=base.init(p.base, arms, key),
        chooser=exp3.init(p.chooser, p.knobs, key),
        knobs=grid(arms, p.block),
        clock=np.zeros(CLOCKS, np.int64),
        sums=np.zeros(SUMS),
        draws=np.zeros(1, np.uint64),
    )
    state.clock[BLOCK] = -1
    return state


@kernel
def select(p, s, t):
    if s.clock[BLOCK] < 0 or t >= s.clock[START] + p.block:
        begin_block(p, s, t)
    return base.select(tuning(p, s), rekeyed(s.base, s.draws[0]), t - s.clock[START])


@kernel
def update(p, s, t, a, y, q):
    if t < s.clock[START]:
        return
    s.sums[TOTAL] += y
    s.clock[HEARD] += 1
    base.update(tuning(p, s), rekeyed(s.base, s.draws[0]), t - s.clock[START], a, y, q)


@kernel
def tuning(p, s):
    return base.tuned(p.base, s.knobs[s.clock[CHOICE]])


@kernel
def begin_block(p, s, t):
    """Judge the last block, and begin one with a base that knows nothing and has draws of its own."""
    if s.clock[HEARD] > 0:
        mean = s.sums[TOTAL] / s.clock[HEARD]
        exp3.update(p.chooser, s.chooser, s.clock[BLOCK], s.clock[CHOICE], mean, s.sums[CHANCE])
    s.clock[START] = t
    s.clock[BLOCK] += 1
    s.clock[HEARD] = 0
    s.sums[TOTAL] = 0.0
    s.clock[CHOICE], s.sums[CHANCE] = exp3.select(p.chooser, s.chooser, s.clock[BLOCK])
    w0, w1, _, _ = philox(s.key, np.uint64(s.clock[BLOCK]), np.uint64(0), np.uint64(0), np.uint64(OWN))
    s.draws[0] = (w0 << np.uint64(32)) | w1
    renew(s.base, s.fresh)


def restarts(p, s):
    return np.arange(p.block, s.clock[START] + 1, p.block)


def inspect(p, s, origin, names):
    """The block, the knob that it has, and how likely each knob is in the next."""
    weights = s.chooser.weights / s.chooser.weights.sum()
    return {
        "block_start": origin + int(s.clock[START]),
        "knob": float(s.knobs[s.clock[CHOICE]]),
        "knobs": [float(knob) for knob in s.knobs],
        "chances": [float((1.0 - p.chooser.gamma) * w + p.chooser.gamma / p.knobs) for w in weights],
    }
