"""How functions here are compiled: an entrance is kept on disk, with all that it calls; the others are for it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

compiled: Any = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


def entrance(function: Callable[..., Any]) -> Any:
    """Called from Python. Other threads go on meanwhile."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return njit(nogil=True)(function)
