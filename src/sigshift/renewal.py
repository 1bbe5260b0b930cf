"""What a kernel does with the whole state of a part: begin it afresh, and give it draws of its own.

Both work on any NamedTuple of arrays and numbers, nested or not. numba writes them out field by field; with the
JIT off they are the loops that stand here.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from sigshift.states import is_state


def renew(live: Any, fresh: Any) -> None:
    """Copy a fresh state into one that has been used, array by array; room that has grown since is emptied."""
    for old, new in zip(live, fresh, strict=True):
        if is_state(old):
            renew(old, new)
        elif isinstance(old, np.ndarray):
            old[...] = 0
            old[tuple(slice(0, length) for length in new.shape)] = new


def rekeyed(state: Any, key: Any) -> Any:
    """The same state (the same arrays) with its key mixed with another: a part that begins afresh draws anew."""
    values = [
        rekeyed(value, key) if is_state(value) else value ^ key if name == "key" else value
        for name, value in zip(state._fields, state, strict=True)
    ]
    return type(state)(*values)


@overload(renew)
def _renew(live, fresh):
    lines = ["def made(live, fresh):", "    pass"]
    for name, kind in zip(live.fields, live.types, strict=True):
        if isinstance(kind, types.BaseNamedTuple):
            lines.append(f"    renew(live.{name}, fresh.{name})")
        elif isinstance(kind, types.Array):
            lines += _copy(name, kind.ndim)
    return _made(lines, renew=renew)


def _copy(name: str, axes: int) -> list[str]:
    """Loops over an array: the fresh one where it has an entry, nothing elsewhere."""
    indices = [f"i{axis}" for axis in range(axes)]
    place, lines = ", ".join(indices), [f"    old, new = live.{name}, fresh.{name}"]
    for axis, index in enumerate(indices):
        lines.append(f"{'    ' * (axis + 1)}for {index} in range(old.shape[{axis}]):")
    inner = "    " * (axes + 1)
    within = " and ".join(f"{index} < new.shape[{axis}]" for axis, index in enumerate(indices))
    return [
        *lines,
        f"{inner}if {within}:",
        f"{inner}    old[{place}] = new[{place}]",
        f"{inner}else:",
        f"{inner}    old[{place}] = 0",
    ]


@overload(rekeyed)
def _rekeyed(state, key):
    values = []
    for name, kind in zip(state.fields, state.types, strict=True):
        if isinstance(kind, types.BaseNamedTuple):
            values.append(f"rekeyed(state.{name}, key)")
        else:
            values.append(f"state.{name} ^ key" if name == "key" else f"state.{name}")
    lines = ["def made(state, key):", f"    return Kind({', '.join(values)})"]
    return _made(lines, rekeyed=rekeyed, Kind=state.instance_class)


def _made(lines: list[str], **known: Any) -> Any:
    exec("\n".join(lines), known)
    return known["made"]
