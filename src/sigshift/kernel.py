"""The one decorator of compiled code: a typed ``numba.njit`` with the settings of this project.

Kernels release the interpreter lock, divide as IEEE says, allocate nothing (so that no array is counted in and
out on every access: META runs five times faster for it), and are never cached on disk by themselves:
only the loop that :mod:`sigshift.compile` specialises for one policy is, because a cached function that
meets a user's types poisons its own index. With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain
Python, decision for decision alike.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` when it is first called; callers compiled later link it in."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy", _nrt=False)(function))


def inlined_kernel(function: Function) -> Function:
    """The same, copied into its callers: for what every round passes through, where a call with a large state costs."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy", _nrt=False, inline="always")(function))


def cached_kernel(function: Function) -> Function:
    """The same, kept on disk: only for functions whose arguments are never of a user's type."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy", _nrt=False, cache=True)(function))
