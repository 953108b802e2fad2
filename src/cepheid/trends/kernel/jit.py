"""How functions here are compiled: an entrance is kept on disk, with all that it calls; the others are for it alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

compiled: Any = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


def stamp() -> int:
    """A number that changes with any of the sources here: what was compiled from others is not found."""
    text = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")


def entrance_of(make: Callable[[int, Any], Any]) -> Any:
    """An entrance, called from Python; other threads go on meanwhile. `make` uses the number it is given in it."""
    try:
        return make(stamp(), njit(cache=True, nogil=True))
    except RuntimeError:  # there is no folder to keep it in
        return make(stamp(), njit(nogil=True))
