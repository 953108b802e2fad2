"""How runs are kept: all of them, one way each (`stnm`), or one run that starts again (`every`).

All of them are kept by their state where their order does not matter.

The kind of a pattern is told by the *type* of a value that is handed down, so that what differs is chosen when the
kernel is compiled: each kind is compiled by itself, when it is first used, and none carries the others along.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from cepheid.matching.compiled.kernel.counting import finish_all
from cepheid.matching.compiled.kernel.every import (
    advance_every,
    finish_every,
)
from cepheid.matching.compiled.kernel.jit import (
    OPTIONS,
)
from cepheid.matching.compiled.kernel.partition import (
    advance,
)
from cepheid.matching.compiled.kernel.stnm import (
    advance_stnm,
    finish_all_stnm,
)

# For the compiler: a truth, a whole number, a double; and a complex number where all runs are kept by their state.
ALL, ONE_WAY, AGAIN, ALL_BY_STATE = False, 0, 0.0, 0j


def advance_by_kind(kind: Any, t: Any, w: Any, row: Any, rank: Any) -> None:
    """An event is offered to every run."""


def finish_by_kind(kind: Any, t: Any, w: Any, detected: Any) -> None:
    """What is complete is given out."""


@overload(advance_by_kind, jit_options=OPTIONS)
def _advance_by_kind(kind, t, w, row, rank):
    if isinstance(kind, types.Integer):
        return lambda kind, t, w, row, rank: advance_stnm(t, w, row, rank)
    if isinstance(kind, types.Float):
        return lambda kind, t, w, row, rank: advance_every(t, w, row, rank)
    return lambda kind, t, w, row, rank: advance(t, w, row, rank)


@overload(finish_by_kind, jit_options=OPTIONS)
def _finish_by_kind(kind, t, w, detected):
    if isinstance(kind, types.Integer):
        return lambda kind, t, w, detected: finish_all_stnm(t, w, detected)
    if isinstance(kind, types.Float):
        return lambda kind, t, w, detected: finish_every(t, w, detected)
    return lambda kind, t, w, detected: finish_all(t, w, detected)
