"""States: NamedTuples of arrays and numbers, and of the states of the parts that a policy is assembled from.

A leaf is an array or a number; its name is the path to it, as in ``mean`` or ``base.mean``.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np


def is_state(value: Any) -> bool:
    """Whether a part of a state is a state itself."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def leaves(state: Any, path: str = "") -> dict[str, Any]:
    """All arrays and numbers of a state by their names, in order."""
    found: dict[str, Any] = {}
    for name, value in zip(state._fields, state, strict=True):
        found |= leaves(value, f"{path}{name}.") if is_state(value) else {f"{path}{name}": value}
    return found


def replaced(state: Any, values: Mapping[str, Any], path: str = "") -> Any:
    """The state with these values in place of the leaves of those names."""
    parts = {
        name: replaced(value, values, f"{path}{name}.") if is_state(value) else values.get(f"{path}{name}", value)
        for name, value in zip(state._fields, state, strict=True)
    }
    return type(state)(**parts)


def copied(state: Any) -> Any:
    """The same state in memory of its own."""
    return replaced(state, {name: value.copy() for name, value in leaves(state).items() if hasattr(value, "copy")})


def shapes(state: Any) -> dict[str, tuple[str, int]]:
    """The type and the number of dimensions of each leaf: what a compiled loop depends on."""
    return {name: (np.asarray(value).dtype.str, np.ndim(value)) for name, value in leaves(state).items()}
