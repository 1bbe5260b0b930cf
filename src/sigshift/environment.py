"""Environments: the mean reward of every arm over time, and the law of the rewards around it.

An environment's ``clock`` says which time. With ``"rounds"`` it is oblivious: it knows nothing of the policy. With
``"pulls"`` its arms are rested: the mean of each depends on how often it was pulled itself, and wherever a round is
spoken of below, that is the number of an arm's own pull. An environment is immutable data and light to build; the
compiled code of :mod:`sigshift.laws` is loaded only when rewards are drawn.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sigshift.checks import choice, real, refuse, whole
from sigshift.law_names import LAWS

Means = NDArray[np.float64]
Rounds = NDArray[np.int64]
MeanFunction = Callable[[Rounds], ArrayLike]
Number = TypeVar("Number", np.int64, np.float64)

MOST_ARMS = 65_535
MOST_ROUNDS = 2**62
KEPT_NUMBERS = 2**24
BLOCK = 65_536
PROBE = 1_024


class Block(NamedTuple):
    """The means of the rounds ``first <= t < last``: ``means[i]`` while ``starts[i] <= t < starts[i + 1]``.

    Both arrays are read-only and contiguous; ``starts[0] == first`` and ``starts[-1] == last``.
    """

    first: int
    last: int
    starts: Rounds
    means: Means


class _Source(Protocol):
    """Where the means come from."""

    arms: int
    horizon: int

    def blocks(self, first: int, last: int, size: int, keep: bool) -> Iterator[Block]: ...

    def describe(self) -> str: ...


class _Segments:
    """Means that stay the same within segments, all in memory; a matrix of means is one segment per round."""

    def __init__(self, starts: Rounds, means: Means, kind: str) -> None:
        self.arms = means.shape[1]
        self.horizon = int(starts[-1])
        self.starts = _frozen(starts)
        self.means = _frozen(means)
        self.kind = kind

    def blocks(self, first: int, last: int, size: int, keep: bool) -> Iterator[Block]:
        """One block with all the segments that meet these rounds, clipped to them."""
        if first == last:
            return
        low = int(np.searchsorted(self.starts, first, side="right")) - 1
        high = int(np.searchsorted(self.starts, last, side="left"))
        starts = self.starts[low : high + 1]
        if starts[0] != first or starts[-1] != last:
            starts = np.clip(starts, first, last)
        yield Block(first, last, _frozen(starts), self.means[low:high])

    def describe(self) -> str:
        count = len(self.means)
        return f"{count:,} segment{'s' * (count > 1)}" if self.kind == "segments" else self.kind


class _Pulls(_Segments):
    """Means that depend on an arm's own pulls and never rise with them, in memory."""

    def describe(self) -> str:
        return f"rested: {super().describe()}"

    @functools.cached_property
    def levels(self) -> tuple[Means, Means, Means]:
        """All means there are from the highest down, the rounds before the oracle comes to each, and its total then."""
        means, times = self.means.ravel(), np.repeat(np.diff(self.starts), self.arms).astype(np.float64)
        order = np.argsort(-means, kind="stable")
        ends = np.cumsum(times[order])
        count = int(np.searchsorted(ends, self.horizon)) + 1
        level = means[order[:count]]
        totals = np.cumsum(level * times[order[:count]])
        return level, np.append(0.0, ends[: count - 1]), np.append(0.0, totals[: count - 1])

    def greedy(self, rounds: int) -> float:
        """The expected total of the greedy oracle: the sum of so many of the highest means."""
        level, begins, totals = self.levels
        i = int(np.searchsorted(begins, rounds, side="right")) - 1
        return float(totals[i] + level[i] * (rounds - begins[i]))


class _Function:
    """Means computed from the round, block by block; kept in memory once if they are few."""

    def __init__(self, function: MeanFunction, horizon: int, arms: int) -> None:
        self.function = function
        self.horizon = horizon
        self.arms = arms
        self._lock = threading.Lock()
        self._table: Means | None = None

    def __getstate__(self) -> tuple[MeanFunction, int, int]:
        return self.function, self.horizon, self.arms

    def __setstate__(self, state: tuple[MeanFunction, int, int]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def blocks(self, first: int, last: int, size: int, keep: bool) -> Iterator[Block]:
        """Blocks of ``size`` rounds."""
        kept = keep and self.horizon * self.arms <= KEPT_NUMBERS
        for low in range(first, last, size):
            high = min(low + size, last)
            means = self._kept()[low:high] if kept else self.evaluate(low, high)
            yield Block(low, high, _frozen(np.arange(low, high + 1, dtype=np.int64)), means)

    def evaluate(self, first: int, last: int) -> Means:
        """What the function says of these rounds, checked."""
        value = self.function(np.arange(first, last, dtype=np.int64))
        means = _numbers("f", value, "Return a NumPy array of shape [rounds, arms].")
        if means.shape != (last - first, self.arms):
            rule = f"must return an array of shape [rounds, arms] = ({last - first}, {self.arms})"
            raise refuse("f", rule, means.shape, "Stack one column per arm, e.g. with np.stack([...], axis=1).")
        _check_range("f", means, first)
        return _frozen(means)

    def describe(self) -> str:
        return "means from a function"

    def _kept(self) -> Means:
        with self._lock:
            if self._table is None:
                table = np.empty((self.horizon, self.arms))
                for low in range(0, self.horizon, BLOCK):
                    high = min(low + BLOCK, self.horizon)
                    table[low:high] = self.evaluate(low, high)
                self._table = _frozen(table)
            return self._table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Environment:
    """Arms whose mean rewards change over time. Build one with a ``from_`` method, :meth:`piecewise`, or ``ss.env``.

    ``law`` is the law of the rewards: ``"bernoulli"``, ``"deterministic"``, ``"beta"`` (with ``concentration`` c:
    variance mean (1 - mean) / (c + 1)) or ``"normal"`` (``sd`` is that of the normal law before it is truncated to
    [0, 1]); the mean is kept by all of them. ``spread`` is the concentration or sd of the law, 0 where it has none.
    """

    name: str
    law: str
    spread: float
    _source: _Source = field(repr=False)

    @classmethod
    def from_means(
        cls,
        means: ArrayLike,
        law: str = "bernoulli",
        *,
        concentration: float = 10.0,
        sd: float = 0.1,
        name: str = "from_means",
    ) -> Self:
        """An environment whose means are ``means[round, arm]`` (copied)."""
        spread = law_spread(law, concentration, sd)
        table = _table("means", means)
        return cls._of(name, law, spread, _Segments(_each_round(len(table)), table, "means round by round"))

    @classmethod
    def from_rewards(cls, rewards: ArrayLike, *, name: str = "from_rewards") -> Self:
        """An environment that pays exactly ``rewards[round, arm]`` (copied): recorded, or an adversary's."""
        table = _table("rewards", rewards)
        source = _Segments(_each_round(len(table)), table, "rewards round by round")
        return cls._of(name, "deterministic", 0.0, source)

    @classmethod
    def piecewise(
        cls,
        starts: ArrayLike,
        means: ArrayLike,
        horizon: int,
        law: str = "bernoulli",
        *,
        concentration: float = 10.0,
        sd: float = 0.1,
        name: str = "piecewise",
    ) -> Self:
        """An environment whose means are ``means[i]`` from round ``starts[i]`` on, until the next start.

        It costs memory for its segments only, however long the horizon.
        """
        spread = law_spread(law, concentration, sd)
        rounds = whole("horizon", horizon, 1, "Pass the number of rounds.", MOST_ROUNDS)
        borders = _starts(starts, rounds)
        table = _table("means", means, what="segment")
        if len(table) != len(borders) - 1:
            rule = f"must have one row per start, {len(borders) - 1} rows"
            raise refuse("means", rule, f"{len(table)} rows", "Give each segment its row of means.")
        return cls._of(name, law, spread, _Segments(borders, table, "segments"))

    @classmethod
    def from_function(
        cls,
        f: MeanFunction,
        horizon: int,
        arms: int,
        law: str = "bernoulli",
        *,
        concentration: float = 10.0,
        sd: float = 0.1,
        name: str = "from_function",
    ) -> Self:
        """An environment whose means are ``f(rounds)[i, arm]`` in round ``rounds[i]``.

        ``f`` takes an int64 array of rounds and returns an array [rounds, arms]; it must give a round the same means
        whenever and from whatever thread it is asked. It is called block by block, so that a long horizon needs no
        memory. The first block is tried at once.
        """
        spread = law_spread(law, concentration, sd)
        rounds = whole("horizon", horizon, 1, "Pass the number of rounds.", MOST_ROUNDS)
        count = whole("arms", arms, 2, f"Pass the number of arms, 2 to {MOST_ARMS}.", MOST_ARMS)
        if not callable(f):
            raise refuse("f", "must be a function of an array of rounds", f, "Or call from_means with an array.")
        source = _Function(f, rounds, count)
        source.evaluate(0, min(PROBE, rounds))
        return cls._of(name, law, spread, source)

    @classmethod
    def rested(
        cls,
        means: ArrayLike | MeanFunction,
        horizon: int,
        law: str = "bernoulli",
        *,
        starts: ArrayLike | None = None,
        arms: int | None = None,
        concentration: float = 10.0,
        sd: float = 0.1,
        name: str = "rested",
    ) -> Self:
        """Rotting arms: the mean of an arm depends on its own pulls and never rises with them.

        ``means[n, arm]`` is the mean of pull n = 0, 1, 2, ... of that arm, and the last row lasts; with ``starts``,
        ``means[i]`` holds from an arm's pull ``starts[i]`` on. Or ``means`` is a function, as in :meth:`from_function`,
        of an array of pulls; ``arms`` is then needed, and its values are kept in memory.

        Regret is measured against the greedy oracle, which knows the means and always pulls the arm whose next one is
        highest: no policy has a greater expected total, after any number of rounds. That is why means that rise are
        refused. The reward of an arm's n-th pull is the same for all policies, in whatever round they take it.
        """
        spread = law_spread(law, concentration, sd)
        rounds = whole("horizon", horizon, 1, "Pass the number of rounds.", MOST_ROUNDS)
        kind = "means pull by pull"
        if callable(means):
            count = whole("arms", arms, 2, f"A function needs the number of arms, 2 to {MOST_ARMS}.", MOST_ARMS)
            if rounds * count > KEPT_NUMBERS:
                rule = f"must leave a function of pulls at most {KEPT_NUMBERS} means to keep"
                raise refuse("horizon", rule, rounds * count, "Pass starts and a table of means instead.")
            table = _Function(means, rounds, count).evaluate(0, rounds)
            borders = _each_round(rounds)
        elif starts is None:
            table = _table("means", means, what="pull")[:rounds]
            borders = _each_round(len(table))
            borders[-1] = rounds
        else:
            kind = "segments"
            borders = _starts(starts, rounds)
            table = _table("means", means, what="segment")
            if len(table) != len(borders) - 1:
                rule = f"must have one row per start, {len(borders) - 1} rows"
                raise refuse("means", rule, f"{len(table)} rows", "Give each segment its row of means.")
        _check_rotting(table, borders)
        return cls._of(name, law, spread, _Pulls(borders, table, kind))

    @classmethod
    def _of(cls, name: str, law: str, spread: float, source: _Source) -> Self:
        return cls(_text(name), law, spread, source)

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return self._source.arms

    @property
    def horizon(self) -> int:
        """The number of rounds, T."""
        return self._source.horizon

    @property
    def clock(self) -> str:
        """What moves the means: ``"rounds"``, or ``"pulls"`` where each arm is moved by its own pulls only."""
        return "pulls" if isinstance(self._source, _Pulls) else "rounds"

    def greedy_total(self, rounds: int) -> float:
        """The expected total after so many rounds of the greedy oracle of a rested environment."""
        if not isinstance(self._source, _Pulls):
            rule = "must be rested for a greedy oracle to be the yardstick"
            raise refuse("environment", rule, self.name, "Elsewhere the best arm of each round is: take the means.")
        return self._source.greedy(whole("rounds", rounds, 0, f"The horizon is {self.horizon}.", self.horizon))

    @property
    def law_code(self) -> int:
        """The law as the kernels know it."""
        return LAWS[self.law]

    def blocks(
        self, first: int = 0, last: int | None = None, size: int = BLOCK, *, keep: bool = True
    ) -> Iterator[Block]:
        """The means of the rounds ``first`` to ``last`` (not included; the horizon by default), as blocks.

        Where the means are in memory (segments, a matrix) there is one block; a function is evaluated for ``size``
        rounds at a time. Without ``keep`` its means are not kept for a second pass, however few they are.
        """
        first, last = self._range(first, last)
        return self._source.blocks(first, last, whole("size", size, 1, "Pass the rounds of a block."), keep)

    def means(self, first: int = 0, last: int | None = None) -> Means:
        """The means [round, arm] of the rounds ``first`` to ``last`` (not included; the horizon by default)."""
        first, last = self._range(first, last)
        table = np.empty((last - first, self.arms))
        for block in self._source.blocks(first, last, BLOCK, True):
            rows = np.repeat(block.means, np.diff(block.starts), axis=0)
            table[block.first - first : block.last - first] = rows
        return table

    def mean(self, t: int) -> Means:
        """The mean of each arm in round ``t``."""
        first = self._round(t)
        return np.array(next(self._source.blocks(first, first + 1, 1, True)).means[0])

    def segments(self) -> tuple[Rounds, Means] | None:
        """The starts and the means of a piecewise environment's segments; ``None`` for any other environment."""
        if not isinstance(self._source, _Segments) or self._source.kind != "segments":
            return None
        return self._source.starts[:-1], self._source.means[:]

    def reward(self, t: int, arm: int, run: int = 0, seed: int = 0) -> float:
        """The reward that any policy meets when it plays ``arm`` in round ``t`` of a run under this seed."""
        from sigshift.compile import fresh

        single = fresh("sigshift.laws").single
        first = self._round(t)
        index = whole("arm", arm, 0, f"The arms are 0 to {self.arms - 1}.", self.arms - 1)
        number, key = _run(run), _key(seed)
        return float(single(self.law_code, self.spread, float(self.mean(first)[index]), key, first, number, index))

    def rewards(self, first: int, last: int, run: int = 0, seed: int = 0) -> Means:
        """The rewards [round, arm] of all arms in the rounds ``first`` to ``last`` (not included)."""
        from sigshift.compile import fresh

        fill = fresh("sigshift.laws").fill
        first, last = self._range(first, last)
        number, key = _run(run), _key(seed)
        table = np.empty((last - first, self.arms))
        for block in self._source.blocks(first, last, BLOCK, True):
            out = table[block.first - first : block.last - first]
            fill(self.law_code, self.spread, block.starts, block.means, block.first, key, number, out)
        return table

    def __repr__(self) -> str:
        law = f"{self.law} rewards"
        if self.law in ("beta", "normal"):
            law += f" ({'concentration' if self.law == 'beta' else 'sd'} {self.spread:g})"
        size = f"{self.arms:,} arms, {self.horizon:,} round{'s' * (self.horizon > 1)}"
        return f"<Environment {self.name}: {size}, {law}, {self._source.describe()}>"

    def _round(self, t: int) -> int:
        return whole("t", t, 0, f"The rounds are 0 to {self.horizon - 1}.", self.horizon - 1)

    def _range(self, first: int, last: int | None) -> tuple[int, int]:
        cure = f"The horizon is {self.horizon}; rounds run from first to last - 1."
        low = whole("first", first, 0, cure, self.horizon)
        return low, self.horizon if last is None else whole("last", last, low, cure, self.horizon)


def _frozen(array: NDArray[Number]) -> NDArray[Number]:
    array.flags.writeable = False
    return array


def _text(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise refuse("name", "must be a text that is not empty", name, "Pass a name or leave it out.")
    return name


def _each_round(horizon: int) -> Rounds:
    return np.arange(horizon + 1, dtype=np.int64)


def law_spread(law: str, concentration: float, sd: float) -> float:
    """The number that the law needs (0 if none); both are checked, whichever it is."""
    choice("law", law, tuple(LAWS))
    cure = "It is the sum of the two parameters of the beta law; small is wild, large is calm."
    number = real("concentration", concentration, cure, least=1e-6, most=1e9)
    cure = 'It is a deviation of rewards in [0, 1]; for none at all take law="deterministic".'
    deviation = real("sd", sd, cure, least=1e-6, most=1.0)
    return {"beta": number, "normal": deviation}.get(law, 0.0)


def _numbers(argument: str, value: Any, cure: str) -> Means:
    """A copy of ``value`` as contiguous floats."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged lists
        raise refuse(argument, "must be an array of numbers", value, cure) from None
    if array.dtype.kind == "O":  # a data frame with columns of several types
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise refuse(argument, "must be an array of numbers", value, cure) from None
    if array.dtype.kind not in "biuf":
        raise refuse(argument, "must be an array of numbers", value, cure)
    return np.array(array, dtype=np.float64, order="C", copy=True)


def _table(argument: str, value: Any, what: str = "round") -> Means:
    """A checked copy of a table [rounds or segments, arms] of numbers in [0, 1]."""
    shape = f"[{what}s, arms]"
    table = _numbers(argument, value, f"Pass an array {shape} of numbers in [0, 1].")
    if table.ndim != 2:
        rule = f"must have two dimensions {shape}"
        raise refuse(argument, rule, f"shape {table.shape}", f"Pass one row per {what} and one column per arm.")
    if len(table) == 0:
        raise refuse(argument, f"must have at least one {what}", f"shape {table.shape}", f"Add a row per {what}.")
    if not 2 <= table.shape[1] <= MOST_ARMS:
        rule = f"must have 2 to {MOST_ARMS} arms (columns)"
        raise refuse(argument, rule, f"shape {table.shape}", "Pass one column per arm; is the table transposed?")
    _check_range(argument, table, 0, what)
    return table


def _check_range(argument: str, table: Means, first: int, what: str = "round") -> None:
    if table.size == 0 or (table.min() >= 0.0 and table.max() <= 1.0):  # a NaN fails both
        return
    row, arm = np.argwhere(~((table >= 0.0) & (table <= 1.0)))[0]
    where = f"{what} {first + int(row)}, arm {int(arm)}"
    rule = "must return means within [0, 1]" if argument == "f" else "must be numbers within [0, 1]"
    value = float(table[row, arm])
    cure = "Fill the missing numbers." if np.isnan(value) else "Scale the rewards to [0, 1]."
    raise refuse(f"{argument} ({where})", rule, value, cure)


def _check_rotting(table: Means, borders: Rounds) -> None:
    rises = np.argwhere(np.diff(table, axis=0) > 0.0)
    if len(rises):
        row, arm = rises[0]
        where = f"means (pull {int(borders[row + 1])}, arm {int(arm)})"
        value = f"{table[row, arm]:g} before {table[row + 1, arm]:g}"
        cure = "The best policy for arms that gain is not known in general, so there is no regret to measure."
        raise refuse(where, "must not be above that of the pull before", value, cure)


def _starts(value: Any, horizon: int) -> Rounds:
    """The starts of the segments and the horizon, checked."""
    cure = "Pass the first round of each segment, e.g. [0, 400, 700]."
    try:
        array = np.asarray(value)
    except ValueError:  # ragged lists
        raise refuse("starts", "must be a list of rounds", value, cure) from None
    if array.ndim != 1 or len(array) == 0:
        raise refuse("starts", "must be a list of at least one round", value, cure)
    if array.dtype.kind not in "iu":
        raise refuse("starts", "must be whole numbers", value, cure)
    if array.max() >= horizon:
        raise refuse("starts", f"must be below the horizon, {horizon}", int(array.max()), "Drop it or play longer.")
    starts = array.astype(np.int64)
    if starts[0] != 0:
        raise refuse("starts", "must begin with 0, the first round", int(starts[0]), cure)
    if not (np.diff(starts) > 0).all():
        i = int(np.argmax(np.diff(starts) <= 0))
        rule = "must be strictly increasing"
        raise refuse("starts", rule, f"{starts[i]} before {starts[i + 1]}", "Sort them and drop what is double.")
    return np.append(starts, np.int64(horizon))


def _run(run: int) -> int:
    return whole("run", run, 0, "Runs count from 0.", 2**32 - 1)


def _key(seed: int) -> np.uint64:
    """The key of the rewards under a seed."""
    from sigshift.rng import REWARD_DOMAIN, derive

    return derive(whole("seed", seed, 0, "Pass a seed below 2 ** 64.", 2**64 - 1), REWARD_DOMAIN)
