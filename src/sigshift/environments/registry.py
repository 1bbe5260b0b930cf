"""The registry of the catalogue: one function per environment, known by its name with hyphens."""

import difflib
import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sigshift.checks import refuse, whole
from sigshift.environment import MOST_ROUNDS, Environment, law_spread

if TYPE_CHECKING:
    import pandas as pd

Recipe = Callable[..., Environment]


class Entry(NamedTuple):
    """One environment of the catalogue."""

    name: str
    source: str
    shows: str
    build: Recipe
    defaults: dict[str, Any]


ENTRIES: dict[str, Entry] = {}


def entry(source: str, law: str = "bernoulli", sd: float = 0.1) -> Callable[[Recipe], Recipe]:
    """Put a function that returns an environment into the catalogue.

    The function describes the means; its keyword parameters, all with defaults, are the environment's, and the first
    line of its docstring is the description. The parameters ``law``, ``concentration`` and ``sd`` are added here.
    """

    def register(recipe: Recipe) -> Recipe:
        name = recipe.__name__.replace("_", "-")
        own = {p.name: p.default for p in inspect.signature(recipe).parameters.values()}
        defaults = own | {"law": law, "concentration": 10.0, "sd": sd}

        @functools.wraps(recipe)
        def build(**params: Any) -> Environment:
            for param in params:
                if param not in defaults:
                    raise _unknown(f"parameter of environment {name!r}", param, list(defaults))
            given = defaults | params
            spread = law_spread(given["law"], given["concentration"], given["sd"])
            described = recipe(**{param: given[param] for param in own})
            return replace(described, name=name, law=given["law"], spread=spread)

        shows = inspect.getdoc(recipe) or ""
        ENTRIES[name] = Entry(name, source, shows.partition("\n")[0], build, defaults)
        return build

    return register


def env(name: str, **params: Any) -> Environment:
    """The environment of that name in the catalogue, e.g. ``env("pb1", horizon=50_000, law="beta")``."""
    known = str(name).replace("_", "-")
    if known not in ENTRIES:
        raise _unknown("environment", name, sorted(ENTRIES))
    return ENTRIES[known].build(**params)


def envs() -> "pd.DataFrame":
    """The catalogue as a table: name, arms, horizon (both by default), source, what it shows, parameters."""
    import pandas as pd

    rows = []
    for one in ENTRIES.values():
        built = one.build()
        params = ", ".join(f"{param}={value!r}" for param, value in one.defaults.items())
        rows.append((one.name, built.arms, built.horizon, one.source, one.shows, params))
    return pd.DataFrame(rows, columns=["name", "arms", "horizon", "source", "shows", "parameters"])


def _unknown(what: str, name: object, known: list[str]) -> Exception:
    plain = {one.replace("-", "_"): one for one in known}
    close = [plain[match] for match in difflib.get_close_matches(str(name).replace("-", "_"), plain)]
    hint = f"Did you mean {' or '.join(repr(match) for match in close)}? " if close else ""
    return refuse(what, "must be a known name", name, f"{hint}Known: {', '.join(known)}.")


def rounds(horizon: int, least: int) -> int:
    """A horizon long enough for the environment's pattern."""
    return whole("horizon", horizon, least, "The pattern of this environment needs that many rounds.", MOST_ROUNDS)


def equal_starts(horizon: int, segments: int) -> list[int]:
    """The starts of segments of the same length (within a round)."""
    return [horizon * i // segments for i in range(segments)]


def scaled_starts(horizon: int, changes: ArrayLike, published_horizon: int) -> list[int]:
    """Round 0 and the published changes, moved in proportion to the horizon."""
    return [0] + [int(change) * horizon // published_horizon for change in np.asarray(changes)]


def draws(seed: int, stream: int) -> Callable[..., NDArray[np.float64]]:
    """A function of a shape: the next uniform numbers on [0, 1) of this seed and stream.

    They are raw words of Philox, which NumPy promises never to change.
    """
    whole("seed", seed, 0, "Pass a seed below 2 ** 64.", 2**64 - 1)
    words = np.random.Philox(key=np.array([seed, stream], dtype=np.uint64))

    def draw(*shape: int) -> NDArray[np.float64]:
        raw = words.random_raw(int(np.prod(shape)))
        return np.asarray((raw >> np.uint64(11)) * 2.0**-53, dtype=np.float64).reshape(shape)

    return draw


def numbers(seed: int, stream: int, *shape: int) -> NDArray[np.float64]:
    """The first numbers of :func:`draws`."""
    return draws(seed, stream)(*shape)


def other_arms(draws: NDArray[np.float64], arms: int) -> NDArray[np.int64]:
    """An arm per draw, never the same twice in a row."""
    jumps = 1 + np.floor(draws * (arms - 1)).astype(np.int64)
    jumps[0] = int(draws[0] * arms)
    return np.asarray(np.cumsum(jumps) % arms)


def reflect(walk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers on the line folded into [0, 1] as by mirrors at 0 and 1."""
    return np.asarray(1.0 - np.abs(1.0 - np.mod(walk, 2.0)))
