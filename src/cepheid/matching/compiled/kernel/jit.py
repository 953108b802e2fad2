"""How functions of the kernel are compiled: only for each other, never to be called from Python."""

from __future__ import annotations

from typing import Any

from numba import njit

# Without the wrappers for Python and C there is half as much to compile.
inner: Any = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
