"""The oracle of restarts: a base policy that is started afresh exactly when the truth says so. It must know the truth.

Any ``base`` policy plays; nothing else is chosen. The rounds in which it starts over are, for ``at``,

    "changes"      those in which the mean of any arm changes: what a perfect detector would do (L restarts)
    "switches"     those in which no arm has been a best one all the time since the last restart (S restarts)
    "significant"  the significant shifts of Suk and Kpotufe (2022), Definition 1, computed exactly (L~ restarts)

Published comparisons of detecting policies show kl-UCB with "changes" as what detection could gain at most (Besson,
Kaufmann, Maillard, Seznec 2022). That is not the least possible regret: to forget at a change that does not move the
best arm costs more than it brings, and that is what the other two are there to show. It is a yardstick, not a rival.

The base's clock begins at 0 after each restart, and with the same horizon, that of the run. A reward whose decision
was before the last restart counts for nothing. A base that draws at random has new draws after each restart.

Where means change in nearly every round "changes" forgets before it knows anything: ``ss.simulate`` says so. Where they
change with the pulls of an arm a change has no round, and it is refused.
"""

import functools
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import choice, refuse
from sigshift.compose import configured, options_of
from sigshift.kernel import inlined_kernel, kernel
from sigshift.policies import kl_ucb as base  # part base
from sigshift.renewal import rekeyed, renew
from sigshift.rng import philox

PAPER = "Besson, Kaufmann, Maillard, Seznec 2022"
GUARANTEE = "that of the base in each stretch of its own; not a rival, it knows the truth"
PARTS = {"base": "policy"}
FIXED_ARMS = True

PLACES = ("changes", "switches", "significant")
START, COUNT = 0, 1
RENEWED = 7  # the stream of the draws that begin a stretch: no base has so many
CROWDED = 10  # with a restart in so many rounds nothing is learnt in between
NEVER = np.iinfo(np.int64).max


class Params(NamedTuple):
    base: Any
    rounds: np.ndarray  # in which it starts over, and one that never comes


class State(NamedTuple):
    key: np.uint64
    base: Any
    fresh: Any  # the base as it began
    clock: np.ndarray  # the first round of this stretch, the number of restarts
    draws: np.ndarray  # what the base's key is mixed with in this stretch


def configure(arms: int, horizon: int, environment: Any, *, at: str = "changes", **options: Any) -> Params:
    choice("at", at, PLACES)
    known = {"arms": arms, "horizon": horizon, "environment": environment}
    if environment.clock == "pulls":
        rule = "must have means that depend on the round, for a change to have one"
        cure = "A rested environment's depend on the pulls of each arm: play a policy that need not be told."
        raise refuse("environment", rule, environment.name, cure)
    of_base = configured(base, known, options_of("base", options))
    return Params(of_base, rounds_of(environment, at))


def caution(p, arms, horizon):
    """What to tell somebody who is about to run it."""
    restarts = p.rounds.size - 1
    if restarts * CROWDED < horizon:
        return ""
    return (
        f"restarting starts over in {restarts:,} of {horizon:,} rounds, and knows nothing of the arms in between: its "
        "regret is that of the arms that its base tries first. Pass at='significant', or play oracle."
    )


@functools.lru_cache(maxsize=6)
def rounds_of(environment, at):
    """The rounds of the restarts, in order, and one that never comes."""
    if at == "significant":
        analysis = import_module("sigshift.analysis.phases")  # a layer above, so met at run time
        found = analysis.phases(environment).starts[1:]
    else:
        found = [t for block in (changes if at == "changes" else switches)(environment) for t in block]
    return np.append(np.asarray(found, np.int64), NEVER)


def changes(environment):
    """The rounds in which the mean of any arm is not what it was, block by block."""
    before = None
    for block in environment.blocks():
        rows = block.means if before is None else np.concatenate([before, block.means])
        moved = (rows[1:] != rows[:-1]).any(axis=1)
        yield block.starts[len(block.means) - len(moved) : -1][moved]
        before = block.means[-1:]


def switches(environment):
    """The rounds in which no arm is left that has been a best one since the last such round, block by block."""
    left = None
    for block in environment.blocks():
        best = block.means == block.means.max(axis=1, keepdims=True)
        left = best[0] if left is None else left
        found = []
        row, step = 0, 64
        while row < len(best):
            kept = np.logical_and.accumulate(np.concatenate([left[np.newaxis], best[row : row + step]]))[1:]
            lost = ~kept.any(axis=1)
            if lost.any():
                row += int(lost.argmax())
                found.append(block.starts[row])
                left, step = best[row], 64
            else:
                left, row, step = kept[-1], row + len(kept), 2 * step
        yield found


def init(p, arms, key):
    return State(
        key=key,
        base=base.init(p.base, arms, key),
        fresh=base.init(p.base, arms, key),
        clock=np.zeros(2, np.int64),
        draws=np.zeros(1, np.uint64),
    )


@inlined_kernel
def select(p, s, t):
    while t >= p.rounds[s.clock[COUNT]]:
        _restart(p, s)
    return base.select(p.base, rekeyed(s.base, s.draws[0]), t - s.clock[START])


@inlined_kernel
def update(p, s, t, a, y, q):
    if t >= s.clock[START]:
        base.update(p.base, rekeyed(s.base, s.draws[0]), t - s.clock[START], a, y, q)


@kernel
def _restart(p, s):
    s.clock[START] = p.rounds[s.clock[COUNT]]
    s.clock[COUNT] += 1
    w0, w1, _, _ = philox(s.key, np.uint64(s.clock[COUNT]), np.uint64(0), np.uint64(0), np.uint64(RENEWED))
    s.draws[0] = (w0 << np.uint64(32)) | w1
    renew(s.base, s.fresh)


if hasattr(base, "crowded"):

    @inlined_kernel
    def crowded(p, s):
        return base.crowded(p.base, s.base)  # type: ignore[attr-defined]

    def grow(p: Params, s: State) -> State:
        """The same state with more room for the base."""
        return s._replace(base=base.grow(p.base, s.base))  # type: ignore[attr-defined]


def restarts(p: Params, s: State) -> Any:
    """The rounds in which it has started over."""
    return p.rounds[: s.clock[COUNT]]
