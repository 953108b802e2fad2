"""Rows picked out of a batch by marks. numpy can do it too, but lets no other thread go on meanwhile."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from cepheid.engines.columnar.instants import Marks, Numbers

# What may not be written to is of another kind to numba; whatever can be is taken for it, so that there is one.
_MARKS = types.Array(types.boolean, 1, "C", readonly=True)
_NUMBERS = types.Array(types.int64, 1, "C", readonly=True)
_FOUND = types.Array(types.int64, 1, "C")


def places(marks: Marks) -> Numbers:
    """Where marks are set."""
    found = _room(marks)
    return found[: _places(marks, found)]


def those(numbers: Numbers, marks: Marks) -> Numbers:
    """The numbers that are marked."""
    found = _room(marks)
    return found[: _those(numbers, marks, found)]


def _room(marks: Marks) -> Numbers:
    """One more place: a number that is not marked is written, too, and the next one over it."""
    return np.empty(len(marks) + 1, np.int64)


@njit(types.int64(_MARKS, _FOUND), cache=True, nogil=True)
def _places(marks, found):  # type: ignore[no-untyped-def]
    size = 0
    for i in range(len(marks)):
        found[size] = i
        size += marks[i]
    return size


@njit(types.int64(_NUMBERS, _MARKS, _FOUND), cache=True, nogil=True)
def _those(numbers, marks, found):  # type: ignore[no-untyped-def]
    size = 0
    for i in range(len(marks)):
        found[size] = numbers[i]
        size += marks[i]
    return size
