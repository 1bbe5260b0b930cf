"""The significant phases of a known environment: Definition 1 of the paper, without an algorithm that learns.

How they are found in one pass is told, and done, in :mod:`sigshift.analysis.envelope`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sigshift.analysis.rates import rates
from sigshift.checks import refuse, whole

if TYPE_CHECKING:
    import pandas

Means = NDArray[np.float64]
Rounds = NDArray[np.int64]

BLOCK = 65_536  # rounds of a matrix of means that are handed to the kernel at a time
SHOWN = 12  # phases that the text of a result lists


@dataclass(frozen=True, eq=False, repr=False)
class Phases:
    """The significant phases of an environment (Definition 1). Rounds and arms count from 0."""

    starts: Rounds
    """The first round of each phase: tau_0 = 0, tau_1, ..."""
    unsafe_at: Rounds
    """[phase, arm]: the round s2 at which the arm's regret became significant in that phase, -1 if it never did. The
    arm that was last became unsafe in the first round of the next phase."""
    switches: int
    """S: the least number of switches of the best arm (with ties, it may stay as long as it is among the best)."""
    changes: int
    """L: the number of rounds at which the mean of any arm changed."""
    variation: float
    """V: the sum over rounds of the largest change of any mean."""
    horizon: int
    """T: the number of rounds."""

    @property
    def arms(self) -> int:
        """K: the number of arms."""
        return int(self.unsafe_at.shape[1])

    @property
    def significant(self) -> int:
        """L~: the number of significant shifts, one less than that of the phases."""
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Rounds:
        """The number of rounds of each phase."""
        return np.diff(self.starts, append=np.int64(self.horizon))

    @cached_property
    def safe_arm(self) -> Rounds:
        """The last safe arm of each phase: the last to become unsafe, or one that never does; of several the lowest."""
        never = np.iinfo(np.int64).max
        last: Rounds = np.where(self.unsafe_at < 0, never, self.unsafe_at).argmax(axis=1).astype(np.int64)
        return last

    def rates(self) -> dict[str, float]:
        """The five rates of dynamic regret of :func:`sigshift.analysis.rates.rates`."""
        counts = (self.significant, self.switches, self.changes, self.variation)
        return rates(self.lengths.tolist(), *counts, self.horizon, self.arms)

    def table(self) -> "pandas.DataFrame":
        """One row per phase; ``end`` is the first round after it, ``unsafe`` lists the arms as they became unsafe."""
        import pandas

        return pandas.DataFrame(
            {
                "phase": np.arange(len(self.starts)),
                "start": self.starts,
                "end": self.starts + self.lengths,
                "length": self.lengths,
                "last_safe_arm": self.safe_arm,
                "unsafe": [_in_order(row) for row in self.unsafe_at],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and lists, ready for JSON."""
        return {
            "horizon": self.horizon,
            "arms": self.arms,
            "starts": self.starts.tolist(),
            "lengths": self.lengths.tolist(),
            "significant": self.significant,
            "unsafe_at": self.unsafe_at.tolist(),
            "safe_arm": self.safe_arm.tolist(),
            "switches": self.switches,
            "changes": self.changes,
            "variation": self.variation,
            "rates": self.rates(),
        }

    def __repr__(self) -> str:
        return f"<Phases: {self.arms} arms, {self.horizon:,} rounds, {_counted(self.significant, 'significant shift')}>"

    def __str__(self) -> str:
        lines = [
            f"{self.arms} arms, {_counted(self.horizon, 'round')}: {_counted(self.significant, 'significant shift')}",
            f"  {_counted(self.switches, 'best-arm switch', 'es')}, {_counted(self.changes, 'change')} of means, "
            f"total variation {self.variation:.6g}",
        ]
        for i in range(min(len(self.starts), SHOWN)):
            first, length = int(self.starts[i]), int(self.lengths[i])
            lines.append(
                f"  phase {i}: rounds {first:,} to {first + length - 1:,} ({length:,}), last safe arm "
                f"{self.safe_arm[i]}; unsafe: {_in_order(self.unsafe_at[i])}"
            )
        if len(self.starts) > SHOWN:
            lines.append(f"  ... and {_counted(len(self.starts) - SHOWN, 'more phase')}")
        names = {
            "phases": "sum of sqrt(K length)",
            "significant": "sqrt((L~ + 1) K T)",
            "switches": "sqrt((S + 1) K T)",
            "changes": "sqrt((L + 1) K T)",
            "variation": "sqrt(K T) + (K V)^(1/3) T^(2/3)",
        }
        lines += [f"  rate {names[key]}: {value:,.1f}" for key, value in self.rates().items()]
        return "\n".join(lines)


def _counted(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def _in_order(unsafe_at: Rounds) -> str:
    """For example ``arm 2 at 113, arm 0 at 250; never: arm 1``."""
    order = [int(arm) for arm in np.argsort(unsafe_at, kind="stable") if unsafe_at[arm] >= 0]
    when = ", ".join(f"arm {arm} at {int(unsafe_at[arm])}" for arm in order)
    never = ", ".join(f"arm {arm}" for arm in np.flatnonzero(unsafe_at < 0))
    return "; ".join(part for part in (when, f"never: {never}" if never else "") if part)


def phases(environment_or_means: Any) -> Phases:
    """The significant phases of an environment, or of an array of means [round, arm] within [0, 1].

    Exact, in time proportional to rounds times arms; for a piecewise environment, to segments times arms. An
    environment is read block by block: a long horizon needs no memory.

    >>> found = phases([[0.9, 0.1]] * 100 + [[0.1, 0.9]] * 100)
    >>> found.starts.tolist(), found.unsafe_at.tolist(), found.safe_arm.tolist()
    ([0, 101], [[101, 1], [102, -1]], [0, 1])
    """
    value = environment_or_means
    if getattr(value, "clock", "rounds") == "pulls":
        rule = "must have means that depend on the round, for phases to be stretches of rounds"
        cure = "A rested environment's depend on the pulls of each arm; ss.simulate measures its regret."
        raise refuse("environment", rule, value.name, cure)
    if hasattr(value, "blocks") and hasattr(value, "horizon") and hasattr(value, "arms"):
        horizon = whole("environment.horizon", value.horizon, 1, "Pass the number of rounds.")
        arms = whole("environment.arms", value.arms, 2, "Regret needs an arm to compare with.")
        return _phases(((block.starts, block.means) for block in value.blocks()), horizon, arms)
    means = _matrix(value)
    return _phases(_blocks(means), *means.shape)


def _phases(blocks: Iterator[tuple[Rounds, Means]], horizon: int, arms: int) -> Phases:
    from sigshift.compile import fresh

    envelope = fresh("sigshift.analysis.envelope")
    state = envelope.first_state(arms)
    for starts, means in blocks:
        _check_range(means, int(starts[0]))
        state = envelope.follow(state, _fixed(starts, np.int64), _fixed(means, np.float64), horizon)
    shifts = int(state.counts[envelope.SHIFTS])
    return Phases(
        starts=np.concatenate([np.zeros(1, np.int64), state.shifts[:shifts]]),
        unsafe_at=np.concatenate([state.unsafe_at[:shifts], state.unsafe[np.newaxis]]),
        switches=int(state.counts[envelope.SWITCHES]),
        changes=int(state.counts[envelope.CHANGES]),
        variation=float(state.variation[0]),
        horizon=horizon,
    )


def _blocks(means: Means) -> Iterator[tuple[Rounds, Means]]:
    for first in range(0, len(means), BLOCK):
        table = means[first : first + BLOCK]
        yield np.arange(first, first + len(table) + 1, dtype=np.int64), table


def _fixed(array: Any, kind: type[np.generic]) -> NDArray[Any]:
    """A contiguous view that cannot be written to: one type for the kernel, whoever owns the array."""
    view = np.ascontiguousarray(array, dtype=kind).view()
    view.flags.writeable = False
    return view


def _matrix(value: Any) -> Means:
    """A table of means [round, arm] as contiguous floats."""
    cure = "Pass an environment, or an array [rounds, arms] of means in [0, 1]."
    try:
        means = np.asarray(value)
        if means.dtype.kind == "O":
            means = means.astype(np.float64)
    except (TypeError, ValueError, OverflowError):  # ragged lists, texts, whole numbers of hundreds of digits
        raise refuse("means", "must be an array of numbers", value, cure) from None
    if means.dtype.kind not in "biuf" or value is None:
        raise refuse("means", "must be an array of numbers", value, cure)
    if means.ndim != 2:
        rule = "must have two dimensions [rounds, arms]"
        raise refuse("means", rule, f"shape {means.shape}", "Pass one row per round and one column per arm.")
    if means.shape[0] < 1:
        raise refuse("means", "must have at least one round", f"shape {means.shape}", "Add a row per round.")
    if means.shape[1] < 2:
        rule = "must have at least 2 arms (columns)"
        raise refuse("means", rule, f"shape {means.shape}", "Pass one column per arm; is the table transposed?")
    return np.ascontiguousarray(means, dtype=np.float64)


def _check_range(means: Means, first: int) -> None:
    if means.size == 0 or (means.min() >= 0.0 and means.max() <= 1.0):  # a NaN fails both
        return
    row, arm = np.argwhere(~((means >= 0.0) & (means <= 1.0)))[0]
    number = float(means[row, arm])
    cure = "Scale the means to [0, 1]." if math.isfinite(number) else "Fill or drop the missing numbers."
    where = f"means (row {first + int(row)}, arm {int(arm)})"
    raise refuse(where, "must be finite numbers within [0, 1]", number, cure)
