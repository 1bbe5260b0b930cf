"""Where results are kept: a folder per policy and version of its code, a file per block of seeds.

A file is written once, whole, and never changed; so a study can be killed at any time and go on, two can fill the same
folder at once, and what a policy's edit has made obsolete is simply not found any more.
"""

import functools
import hashlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import InvalidInput, refuse
from sigshift.compile import dependencies, essence, loop_files
from sigshift.environment import Environment
from sigshift.files import write_atomically
from sigshift.policy import definition
from sigshift.study.spec import Cell, Entrant, file_name, instance

FORMAT = 1
DIGITS = 9  # of a mean that tell two instances apart: machines differ in the last ones of a sine
WINDOWS, WINDOW = 16, 64  # rounds of a function that do so


class Row(NamedTuple):
    """What is kept of one run."""

    regret: float
    restarts: int
    ns_per_round: float


class Store:
    """The results in a folder, which is made when the first one is written."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        if self.folder.exists() and not self.folder.is_dir():
            raise refuse("out", "must be a folder", str(folder), "Name another one; it is made where it is missing.")

    def place(self, cell: Cell) -> Path:
        """The folder with the files of a cell."""
        who = f"{file_name(cell.entrant.label)}-{version(cell.entrant)}"
        return self.folder / who / f"{cell.environment}-{cell.horizon}-{digest(cell.environment, cell.horizon)}"

    def missing(self, cell: Cell, seeds: Iterable[int]) -> list[int]:
        """The seeds of which there is no result; only names of files are looked at."""
        there = {seed for path in self._files(cell) for seed in _seeds(path)}
        return [seed for seed in seeds if seed not in there]

    def write(self, cell: Cell, seeds: list[int], rows: list[Row]) -> None:
        """Keep the results of neighbouring seeds."""
        facts = {
            "format": FORMAT,
            "policy": cell.entrant.label,
            "told": cell.entrant.told,
            "version": version(cell.entrant),
            "environment": cell.environment,
            "horizon": cell.horizon,
            "seeds": seeds,
            **{name: [getattr(row, name) for row in rows] for name in Row._fields},
        }
        text = json.dumps({**facts, "check": _check(facts)}) + "\n"
        place = self.place(cell)
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"seeds-{seeds[0]:05}-{seeds[-1]:05}.json"
        write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))

    def read(self, cell: Cell, seeds: Iterable[int]) -> dict[int, Row]:
        """The results of these seeds, as far as there are any."""
        wanted = set(seeds)
        found: dict[int, Row] = {}
        for path in self._files(cell):
            if wanted & set(_seeds(path)):
                found |= {seed: row for seed, row in _read(path).items() if seed in wanted}
        return found

    def _files(self, cell: Cell) -> list[Path]:
        place = self.place(cell)
        try:
            names = sorted(os.listdir(place))
        except FileNotFoundError:
            return []
        return [place / name for name in names if name.startswith("seeds-") and name.endswith(".json")]


def _seeds(path: Path) -> range:
    try:
        first, last = path.stem.removeprefix("seeds-").split("-")
        return range(int(first), int(last) + 1)
    except ValueError:
        raise InvalidInput(f"{path} is no file of this store. Take it away.") from None


def _read(path: Path) -> dict[int, Row]:
    """The rows of a file, which must be exactly as it was written."""
    cure = "Delete it, and its runs are played again."
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        known = facts["format"]
        if known == FORMAT and facts.pop("check") == _check(facts) and facts["seeds"] == list(_seeds(path)):
            rows = zip(*(facts[name] for name in Row._fields), strict=True)
            return dict(zip(facts["seeds"], (Row(*row) for row in rows), strict=True))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{path} is damaged ({type(error).__name__}). {cure}") from None
    if known != FORMAT:
        raise InvalidInput(f"{path} has format {known!r}, and this version reads {FORMAT}. {cure}")
    raise InvalidInput(f"{path} is not as it was written. {cure}")


def _check(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def version(entrant: Entrant) -> str:
    """What a policy's results depend on: its parameters and the code that it runs, its own and what that imports."""
    return _version(entrant.label, tuple(_origins(entrant.policy.module, entrant.policy.name)))


@functools.cache
def _version(label: str, origins: tuple[tuple[str, str], ...]) -> str:
    """The version of loaded modules, (name, file): a user's file that was edited is loaded under another name."""
    files = set(loop_files())
    for _, file in origins:
        files.update(dependencies(Path(file), Path(file).parent))
    return hashlib.sha256(f"{label} {essence(files)}".encode()).hexdigest()[:12]


def _origins(module: ModuleType, name: str) -> Iterable[tuple[str, str]]:
    """The module of a policy and its file; of one that was assembled in memory, that of its text and of its parts."""
    if getattr(module, "__file__", None):
        yield module.__name__, str(module.__file__)
        return
    for one in (definition(name), *(getattr(module, part) for part in getattr(module, "PARTS", ()))):
        yield one.__name__, str(one.__file__)


@functools.cache
def digest(environment: str, horizon: int) -> str:
    """What tells an environment from one with another definition: its means, of two seeds."""
    whole = hashlib.sha256()
    for seed in (0, 1):
        built = instance(environment, horizon, seed)
        whole.update(f"{built.law} {built.spread} {built.arms}".encode())
        for starts, means in _samples(built):
            whole.update(starts.tobytes())
            whole.update((np.round(means, DIGITS) + 0.0).tobytes())
    return whole.hexdigest()[:8]


def _samples(built: Environment) -> Iterable[tuple[Any, Any]]:
    """All segments; of a function, some windows."""
    segments = built.segments()
    if segments is not None:
        yield segments
        return
    for i in range(WINDOWS):
        first = math.floor(i * (built.horizon - WINDOW) / (WINDOWS - 1))
        for block in built.blocks(first, first + WINDOW, keep=False):
            yield block.starts, block.means
