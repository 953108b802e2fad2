"""How functions here are compiled: kept on disk where there is a folder for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder to keep it in
        return njit(**options)(function)


def free(function: Callable[..., Any]) -> Any:
    """An entrance: other threads go on meanwhile."""
    return compiled(function, nogil=True)


def small(function: Callable[..., Any]) -> Any:
    return compiled(function, inline="always")
