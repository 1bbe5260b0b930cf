"""Policies that are assembled from parts: any base policy, any detector.

A policy with parts is real code, written against some of them: its lines marked ``# part`` import these, and
``PARTS`` says of what kind they are. :func:`compose` copies its text with those lines pointed at other parts, into a
file whose name holds the hash of all it depends on, as :mod:`sigshift.compile` does with the loop.

The parameters of a part are the assembled policy's, with the part's name in front: ``base_exploration=0.5``.
"""

import functools
import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from sigshift.checks import InvalidInput, refuse
from sigshift.compile import dependencies, load_text

GIVEN = ("arms", "horizon", "environment")
LINE = r"^from [\w.]+ import \w+(?: as \w+)?  # part {part}\n"


@functools.cache
def _composed(template: ModuleType, parts: tuple[tuple[str, ModuleType], ...]) -> ModuleType:
    origin = Path(str(template.__file__))
    text, files = origin.read_text(encoding="utf-8"), dependencies(origin)
    for part, module in parts:
        text, count = re.subn(LINE.format(part=part), _line(part, module), text, flags=re.MULTILINE)
        if count != 1:
            raise RuntimeError(f"{origin.name} must have one line that ends in '# part {part}'.")
        place = Path(str(module.__file__))
        files += dependencies(place, place.parent)
    stem = "_".join([_stem(template), *(_stem(module) for _, module in parts)])
    return load_text(stem, sorted(set(files)), text)


def compose(template: ModuleType, **parts: ModuleType) -> ModuleType:
    """The policy in ``template`` with these modules for its parts."""
    other = {part: module for part, module in parts.items() if getattr(template, part) is not module}
    return _composed(template, tuple(sorted(other.items()))) if other else template


def parameters(module: ModuleType) -> dict[str, Any]:
    """What a policy or part can be told, with defaults: its own parameters and those of its parts."""
    if not hasattr(module, "configure"):
        return dict(getattr(module.Params, "_field_defaults", {}))
    named = inspect.signature(module.configure).parameters.values()
    found = {item.name: item.default for item in named if item.kind is not inspect.Parameter.VAR_KEYWORD}
    for part in getattr(module, "PARTS", {}):
        inner = getattr(module, part)
        own = getattr(inner, "KNOB", ()) if getattr(module, "TUNES", False) else ()  # what no user is to set
        for key, default in parameters(inner).items():
            if key not in GIVEN and key not in own:
                found[f"{part}_{key}"] = default
    return found


def configured(module: ModuleType, known: Mapping[str, Any], params: Mapping[str, Any]) -> Any:
    """The ``Params`` of a policy or part, from what is known of the problem and from what the user says."""
    bare = [name for name in _bare(module) if name not in GIVEN]
    if bare:
        raise InvalidInput(
            f"parameter {bare[0]!r} must have a default, but it has none: only arms, horizon and environment are told "
            "to a policy or its part. Write one in configure, or in Params."
        )
    if not hasattr(module, "configure"):
        defaults = module.Params()
        return defaults._replace(**{key: type(getattr(defaults, key))(value) for key, value in params.items()})
    if "environment" in parameters(module) and "environment" not in known:
        rule = "must be one that need not be told the environment"
        raise refuse("base", rule, _stem(module), "Play it by itself, as the oracle that it is.")
    asked = {key: known[key] for key in parameters(module) if key in known}
    return module.configure(**asked, **params)


def _bare(module: ModuleType) -> list[str]:
    """The parameters of a policy or part that have no default."""
    if not hasattr(module, "configure"):
        return [name for name in module.Params._fields if name not in parameters(module)]
    return [name for name, default in parameters(module).items() if default is inspect.Parameter.empty]


def options_of(part: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that are meant for this part, without its name in front."""
    return {key.removeprefix(f"{part}_"): value for key, value in options.items() if key.startswith(f"{part}_")}


def _line(part: str, module: ModuleType) -> str:
    package, _, name = module.__name__.rpartition(".")
    return f"from {package} import {name} as {part}\n" if package else f"import {name} as {part}\n"


def _stem(module: ModuleType) -> str:
    return re.sub(r"^sigshift_(user_)?|_[0-9a-f]{20}$", "", module.__name__.rpartition(".")[2])


def known_part(module: ModuleType) -> bool:
    """Whether the module can be imported by its name, as the text of an assembled policy does."""
    return sys.modules.get(module.__name__) is module and bool(getattr(module, "__file__", None))
