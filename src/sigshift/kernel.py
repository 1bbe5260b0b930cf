"""The one decorator of compiled code: a typed ``numba.njit`` with the settings of this project.

Kernels release the interpreter lock, divide as IEEE says, allocate nothing (so that no array is counted in and
out on every access: META runs five times faster for it), and are never cached on disk by themselves:
only the loop that :mod:`sigshift.compile` specialises for one policy is, because a cached function that
meets a user's types poisons its own index. With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain
Python, decision for decision alike.
"""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function, **options: Any) -> Function:
    compiler: Any = numba.njit
    return cast(Function, compiler(nogil=True, error_model="numpy", **{"_nrt": False, **options})(function))


def kernel(function: Function) -> Function:
    """Compile ``function`` when it is first called; callers compiled later link it in."""
    return _compiled(function)


def inlined_kernel(function: Function) -> Function:
    """The same, copied into its callers: for what every round passes through, where a call with a large state costs."""
    return _compiled(function, inline="always")


def allocating_kernel(function: Function) -> Function:
    """The same for functions that need fresh arrays (``np.zeros``, ``np.argsort``, ...): slower to pass arrays to."""
    return _compiled(function, _nrt=True)


def cached_kernel(function: Function) -> Function:
    """The same, kept on disk: never for a user's types, and in modules that :func:`sigshift.compile.fresh` loads."""
    try:
        made: Any = _compiled(function, cache=True)
    except RuntimeError:  # numba knows no folder that it may write to
        return _compiled(function)
    if hasattr(made, "_cache"):  # the JIT is on
        made._cache = _Forgiving(made._cache)
    return cast(Function, made)


class _Forgiving:
    """numba's cache of one function, where a full disk or a garbled file costs a compile and no more."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *wanted: Any) -> Any:
        try:
            return self._cache.load_overload(*wanted)
        except Exception:  # whatever a truncated pickle may raise
            with contextlib.suppress(OSError):
                self._cache.flush()
            return None

    def save_overload(self, *made: Any) -> None:
        with contextlib.suppress(OSError):
            self._cache.save_overload(*made)


@kernel
def unmoved(p, s, t, a):  # type: ignore[no-untyped-def]
    """What a policy does about a choice that is not its own if its ``select`` changes nothing: ``chosen = unmoved``."""
