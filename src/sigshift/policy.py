"""Policies as values, the registry of the built-in ones, and the loading of a user's file.

A policy is a module (or anything with the same names in it) of functions over an explicit state:

``State``
    a NamedTuple; its arrays are updated in place.
``init(p, arms, key) -> State``
    plain Python. ``key`` seeds the policy's own draws (:mod:`sigshift.rng`).
``select(p, s, t) -> (arm, propensity)``
    a kernel. ``t`` counts 0, 1, 2, ... and every round is selected once, in order. The propensity is the
    probability with which that arm was chosen: 1.0 where there is no randomness, nan where it is unknown.
``update(p, s, t, a, y, q)``
    a kernel: the reward ``y`` in [0, 1] of the decision of round ``t``, arm ``a``, taken with propensity ``q``.
    Rewards may come late, in any order, or never.
``Params``, and ``configure(arms, horizon, environment, *, name=default, ...) -> Params``
    what the kernels read, and how it follows from what the user says. Only those of arms, horizon and
    environment that it names are passed to it; keyword arguments are the user's parameters. Without
    ``configure`` the fields of ``Params`` are the parameters. A policy that names ``horizon`` and is not told
    one is run in epochs of 1, 2, 4, ... rounds, each afresh.

Optional functions: ``crowded(p, s) -> bool`` (a kernel, asked after every reward) with ``grow(p, s) -> State`` for a
state that must grow; ``restarts(p, s) -> rounds``; ``inspect(p, s, origin, names) -> dict``, what an ``ask`` has just
used, where ``origin`` is the first round of the policy's own clock and ``names`` maps its arms to the caller's;
``caution(p, arms, horizon) -> str``, what somebody should know before such a run, or nothing (it becomes an
``ss.Caution``);
``form(params) -> module``, the module with all of these parts that plays with the user's parameters, for an algorithm
of several forms;
``add_arm(p, s, fresh)`` and ``retire_arm(p, s, a)`` where the general way (one more entry on every axis of length K, or
one less) will not do.

A policy that may be the base of another one, which now and then chooses by itself or forgets what has changed, also
has the kernels ``chosen(p, s, t, a)`` (somebody else chose arm ``a`` in round ``t``, in place of ``select``;
:func:`sigshift.kernel.unmoved` where ``select`` changes nothing) and
``forget(p, s, a)`` (nothing is known of arm ``a`` any more). A policy that is itself assembled from such parts lists
them in ``PARTS``; :mod:`sigshift.compose` says how.

Optional facts: ``PAPER`` and ``GUARANTEE`` for the table of policies; ``TOLD``, its parameters that say something about
the world and are no mere tuning (``"gap, changes (optional)"``), which every result shows; ``FIXED_ARMS = True`` if
arms can neither be added nor retired, ``LEARNS = False`` if nothing is to be expected of it.
"""

import functools
import hashlib
import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from sigshift.absences import ABSENCES, absence
from sigshift.checks import Caution, InvalidInput, choice, refuse, whole
from sigshift.compose import GIVEN, compose, configured, options_of, parameters

POLICY_PARTS = ("Params", "State", "init", "select", "update")
OPTIONAL = " (optional)"  # after a parameter in ``TOLD``
DETECTOR_PARTS = ("Params", "State", "init", "observe", "clear")
UNPLANNED = 10**6  # the run that a caution speaks of where nobody knows the horizon


@dataclass(frozen=True)
class Policy:
    """An immutable, hashable, JSON-serialisable choice of an algorithm and its parameters."""

    name: str
    params: tuple[tuple[str, Any], ...] = ()
    module: ModuleType = field(default=None, compare=False, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.module is None:
            object.__setattr__(self, "module", _assembled(self.name, dict(self.params)))

    @property
    def label(self) -> str:
        """A short name that tells two tunings of one algorithm apart."""
        inside = ", ".join(f"{key}={_shown(value)!r}" for key, value in self.params)
        return f"{self.stem}({inside})" if inside else self.stem

    @property
    def stem(self) -> str:
        """The algorithm's short name."""
        return Path(self.name).stem if self.name.endswith(".py") else self.name

    @property
    def needs(self) -> tuple[str, ...]:
        """What of arms, horizon and environment the policy has to be told."""
        return tuple(name for name in parameters(self.module) if name in GIVEN)

    @property
    def knowledge(self) -> dict[str, Any]:
        """What it was given to know about the world: the parameters named in ``TOLD``, as far as they were set."""
        said = dict(self.params)
        usual = defaults(self.module)
        found = {
            name: said.get(name, None if optional else usual.get(name))
            for name, optional in knowledge(self.module).items()
        }
        return {name: value for name, value in found.items() if value is not None}

    @property
    def told(self) -> str:
        """What it was told, for the reader of a result: ``"horizon, changes=4"``."""
        known = ["environment"] if "environment" in self.needs else []
        if "horizon" in self.needs:
            said = dict(self.params).get("horizon")
            known.append("horizon" if said is None else f"horizon {said}")
        known += [f"{name}={value}" for name, value in self.knowledge.items()]
        return ", ".join(known) or "nothing"

    @property
    def files(self) -> list[str]:
        """The user's files that it is made of."""
        return own_files(self.name, dict(self.params))

    def configure(self, arms: int, horizon: int, environment: Any = None) -> Any:
        """What the kernels read, for so many arms and rounds."""
        without = {"horizon", *getattr(self.module, "PARTS", ())}
        params = {key: value for key, value in self.params if key not in without}
        try:
            return configured(self.module, {"arms": arms, "horizon": horizon, "environment": environment}, params)
        except InvalidInput as error:
            raise InvalidInput(_as_said(str(error), params)) from error
        except Exception as error:
            if not self.files:
                raise
            raise InvalidInput(
                f"configure of {self.stem} must return Params, but it raised {type(error).__name__}: {error}. Mend it "
                "in your file, or pass other parameters."
            ) from error

    def horizon(self, told: int | None) -> int | None:
        """The horizon this policy plans for when the caller knows ``told``; None stands for doubling."""
        said = dict(self.params).get("horizon", told)
        return None if said == "unknown" else said

    def caution(self, arms: int, horizon: int | None, environment: Any = None) -> None:
        """Warn of what this policy cannot do in such a run, if it says so."""
        say = getattr(self.module, "caution", None)
        if say is not None:
            planned = self.horizon(horizon) or UNPLANNED
            text = say(self.configure(arms, planned, environment), arms, planned)
            if text:
                warnings.warn(Caution(text), stacklevel=3)

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_dict` makes the same policy."""
        if self.name.startswith("<"):
            raise InvalidInput(
                f"policy must live in a file to be written down, but got {self.name!r} from a running program. "
                "Put it into a file (`sigshift new policy mine.py` writes a start) and pass the file's path."
            )
        return {"name": self.name, "params": dict(self.params)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Policy":
        """The policy that :meth:`to_dict` wrote down."""
        return policy(data["name"], **data["params"])

    def __str__(self) -> str:
        return self.label


def policy(name: Any, **params: Any) -> Policy:
    """A policy by its name (``"meta"``), by the path of a user's file, or from a module or class with the parts.

    >>> import sigshift as ss
    >>> ss.policy("ucb1", exploration=0.5)
    Policy(name='ucb1', params=(('exploration', 0.5),))
    """
    if isinstance(name, Policy):
        if not params:
            return name
        return policy(name.module if name.name.startswith("<") else name.name, **{**dict(name.params), **params})
    if isinstance(name, str | Path):
        name = _resolved(str(name))
        params = {key: _resolved(str(value)) if str(value).endswith(".py") else value for key, value in params.items()}
        made = Policy(name, _checked(name, _assembled(name, params), params))
    else:
        module = _from_object(name)
        made = Policy(f"<{module.__name__}>", _checked(module.__name__, module, params), module)
    return _tried(made)


def policies(absent: bool = False) -> Any:
    """Every built-in policy: paper, parameters, what it is told and what it guarantees, as a data frame.

    With ``absent=True`` the algorithms that are not given: why, what was tried, and what to use instead.
    """
    import pandas as pd

    if absent:
        return pd.DataFrame(ABSENCES).set_index("policy")
    rows = []
    for name in names():
        module = _assembled(name, {})
        told = [g for g in parameters(module) if g in GIVEN and g != "arms"]
        told += [f"{key} (optional)" if optional else key for key, optional in knowledge(module).items()]
        rows.append(
            {
                "policy": name,
                "paper": module.PAPER,
                "parameters": ", ".join(f"{key}={value!r}" for key, value in defaults(module).items()),
                "told": ", ".join(told) or "nothing",
                "guarantee": module.GUARANTEE,
            }
        )
    return pd.DataFrame(rows).set_index("policy")


@functools.cache
def names() -> tuple[str, ...]:
    """The names of the built-in policies."""
    folder = importlib.import_module("sigshift.policies")
    return tuple(sorted(found.name for found in pkgutil.iter_modules(folder.__path__)))


def definition(name: str) -> ModuleType:
    """The module of a built-in policy or of a user's file."""
    if name.endswith(".py"):
        return _load(name)
    missing = absence(name)
    if missing:
        raise InvalidInput(
            f"policy {name!r} ({missing.paper}) is not given. {missing.reason} Tried: {missing.tried} "
            f"Instead: {missing.instead}"
        )
    if name not in names():
        close = get_close_matches(name, (*names(), *(row.policy for row in ABSENCES)), 1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise refuse(
            "policy",
            f"must be one of {', '.join(names())}, or the path of a .py file",
            name,
            f"{hint}ss.policies() shows them all.",
        )
    return importlib.import_module(f"sigshift.policies.{name}")


def own_files(name: str, params: Mapping[str, Any]) -> list[str]:
    """The user's files among a policy's name and the names of its parts."""
    return [value for value in (name, *params.values()) if isinstance(value, str) and value.endswith(".py")]


def _assembled(name: str, params: Mapping[str, Any]) -> ModuleType:
    """The module of a policy, with the parts that the parameters name."""
    module = _formed(definition(name), params)
    for part in getattr(module, "PARTS", {}):
        if not isinstance(params.get(part, ""), str):
            raise refuse(part, "must be a name, or the path of a .py file", params[part], "Pass a name.")
    chosen = {
        part: _formed(PART_KINDS[kind](params[part]), options_of(part, params))
        for part, kind in getattr(module, "PARTS", {}).items()
        if part in params
    }
    return compose(module, **chosen) if chosen else module


def _formed(module: ModuleType, params: Mapping[str, Any]) -> ModuleType:
    """The form of an algorithm that these parameters are for."""
    formed: ModuleType = module.form(params) if hasattr(module, "form") else module
    return formed


def detector(name: Any) -> ModuleType:
    """The module of a built-in detector or of a user's file."""
    if str(name).endswith(".py"):
        return _load(str(name), "detector", DETECTOR_PARTS)
    choice("detector", name, detectors())
    return importlib.import_module(f"sigshift.detectors.{name}")


@functools.cache
def detectors() -> tuple[str, ...]:
    """The names of the built-in detectors."""
    folder = importlib.import_module("sigshift.detectors")
    found = sorted(item.name for item in pkgutil.iter_modules(folder.__path__))
    return tuple(name for name in found if hasattr(importlib.import_module(f"sigshift.detectors.{name}"), "observe"))


PART_KINDS: dict[str, Callable[[Any], ModuleType]] = {"policy": definition, "detector": detector}


def defaults(module: ModuleType) -> dict[str, Any]:
    """The user's parameters of a policy with their defaults, the parts that it is assembled from first."""
    parts = {part: getattr(module, part).__name__.rpartition(".")[2] for part in getattr(module, "PARTS", {})}
    found = {key: value for key, value in parameters(module).items() if key not in GIVEN}
    return parts | {key: value for key, value in found.items() if value is not inspect.Parameter.empty}


def knowledge(module: ModuleType) -> dict[str, bool]:
    """The parameters of a policy and its parts that say something about the world, and whether each is optional."""
    declared = getattr(module, "TOLD", "")
    words = [word.strip() for word in declared.split(",") if word.strip()] if isinstance(declared, str) else []
    found = {word.removesuffix(OPTIONAL): word.endswith(OPTIONAL) for word in words}
    for part in getattr(module, "PARTS", {}):
        for name, optional in knowledge(getattr(module, part)).items():
            if f"{part}_{name}" in parameters(module):
                found[f"{part}_{name}"] = optional
    return found


def _as_said(refusal: str, params: Mapping[str, Any]) -> str:
    """A part refuses ``limit``; the user has said ``detector_limit``, and is to read that."""
    word, _, rest = refusal.partition(" ")
    said = [name for name in params if name.endswith(f"_{word}")]
    return f"{said[0]} {rest}" if len(said) == 1 and word not in params else refusal


def _shown(value: Any) -> Any:
    """A value for a label: of a file its name alone."""
    return Path(value).name if str(value).endswith(".py") else value


def _checked(name: str, module: ModuleType, params: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    allowed = set(defaults(module))
    if "horizon" in parameters(module):
        allowed.add("horizon")
    for key, value in params.items():
        if key not in allowed:
            close = get_close_matches(key, sorted(allowed), 1)
            listed = ", ".join(sorted(allowed)) or "none"
            raise refuse(
                f"parameter {key!r} of {name}",
                f"is unknown; it takes {listed}",
                value,
                f"Did you mean {close[0]!r}?" if close else "Leave it out.",
            )
        if not isinstance(value, str | int | float | bool | None) and not hasattr(value, "item"):
            raise refuse(
                f"parameter {key!r} of {name}", "must be a number, a name or None", value, "Pass a plain value."
            )
    plain = {key: value.item() if hasattr(value, "item") else value for key, value in params.items()}
    if "horizon" in plain:
        told = plain["horizon"]
        if isinstance(told, str):
            choice("horizon", told, ["unknown"])
        else:
            whole("horizon", told, 1, 'Pass the number of rounds, or "unknown" for the doubling version.', 2**62)
    return tuple(sorted(plain.items()))


def _tried(made: Policy) -> Policy:
    """Configure once on a small problem, so that a wrong value is refused here and not rounds later."""
    if "environment" not in made.needs:
        made.configure(arms=2, horizon=100)
    return made


def _resolved(name: str) -> str:
    return str(Path(name).expanduser().resolve()) if name.endswith(".py") else name.replace("-", "_")


def _from_object(thing: Any) -> ModuleType:
    missing = [part for part in POLICY_PARTS if not hasattr(thing, part)]
    if missing:
        raise refuse(
            "policy",
            f"must be a name, a path, or an object with {', '.join(POLICY_PARTS)}",
            thing,
            f"It lacks {', '.join(missing)}.",
        )
    if isinstance(thing, ModuleType):
        return thing
    module = ModuleType(getattr(thing, "__name__", "policy"))
    for key in dir(thing):
        if not key.startswith("__"):
            setattr(module, key, getattr(thing, key))
    return module


def _load(path: str, kind: str = "policy", parts: tuple[str, ...] = POLICY_PARTS) -> ModuleType:
    """The module of a user's file, under a name that holds its place and contents."""
    from sigshift.compile import dependencies, fingerprint, load_file

    file = Path(path)
    cure = {
        "policy": "`sigshift new policy mine.py` writes a start.",
        "detector": "docs/policies/detectors.md has one to start from.",
    }[kind]
    if not file.is_file():
        raise refuse(kind, "must be the path of an existing file", path, cure)
    folder = str(file.parent)
    try:
        files = dependencies(file, file.parent)
    except SyntaxError as error:
        raise InvalidInput(f"{kind} file {path} is not valid Python: {error}. Mend that line.") from None
    place = hashlib.sha256(str(file).encode()).hexdigest()[:8]
    stem = re.sub(r"\W", "_", file.stem)  # the loop imports it by this name
    name = f"sigshift_user_{stem}_{place}_{fingerprint(files)}"
    if name in sys.modules:
        return sys.modules[name]
    sys.path.insert(0, folder)
    try:
        module = load_file(name, file)
    except Exception as error:
        raise InvalidInput(f"{kind} file {path} cannot be loaded: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.remove(folder)
    missing = [part for part in parts if not hasattr(module, part)]
    if missing:
        del sys.modules[name]
        raise refuse(f"{kind} file", f"must define {', '.join(parts)}", path, f"It lacks {', '.join(missing)}; {cure}")
    return module
