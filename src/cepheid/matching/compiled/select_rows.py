"""The rows of many keys that a plan needs (`needed_rows.py`).

What a further plan costs is a look at the rows around its anchors (`find_rows.py`): plans share the rows, the answers
of tests, and the lists of rows that pass one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.matching.compiled.find_rows import Found, Input, find
from cepheid.matching.compiled.keyed_rows import KeyedRows, Places
from cepheid.matching.compiled.needed_rows import Needed
from cepheid.matching.compiled.tables import Table

_NO_MARKS = np.zeros(0, np.bool_)
_NO_ROWS = np.zeros(0, np.int64)


class Selected(NamedTuple):
    """Rows by their numbers; their own bits; their ranks, which count also rows that are not here."""

    rows: Table
    bits: Table
    ranks: Table
    keys: Table  # those that have rows
    offsets: Table  # where the rows of each of them begin, and the last one's end


class _Anchor(NamedTuple):
    """A test that every match passes, with so many of its events, as which step first."""

    column: int
    bit: int
    together: int
    at: int


def select_rows(
    needed: Needed,
    places: Places,
    rows: KeyedRows,
    keys: tuple[int, int] | None = None,
    also: npt.NDArray[np.bool_] | None = None,
    pairs: Table | None = None,
) -> Selected:
    """Of the keys from one up to another.

    `also` are rows that the plan sees whatever they pass. `pairs` tell how each row of these keys follows the one
    before it; without them that is not looked at.
    """
    offsets = rows.offsets if keys is None else rows.offsets[keys[0] : keys[1] + 1]
    count, longest = int(offsets[-1] - offsets[0]), int(np.diff(offsets).max(initial=0))
    out = Found(
        *(np.empty(count, np.int64) for _ in range(3)), *(np.empty(len(offsets), np.int64) for _ in "ko")
    )
    steps = len(needed.chain)
    found, size, _ = find(
        needed,
        _input(needed, places, rows, offsets, also, pairs),
        out,
        np.empty((longest if steps else 0, steps), np.int64),
        np.empty((2, steps), np.int64),
    )
    return Selected(
        out.rows[:size], out.bits[:size], out.ranks[:size], out.keys[:found], out.offsets[: found + 1]
    )


def _input(
    needed: Needed,
    places: Places,
    rows: KeyedRows,
    offsets: Table,
    also: npt.NDArray[np.bool_] | None,
    pairs: Table | None,
) -> Input:
    anchor, anchors = _Anchor(0, 0, 1, 0), _NO_ROWS
    if len(needed.chain):
        anchor = _anchor(needed, places, rows)
        anchors = rows.passing(anchor.column, anchor.bit)
        first, last = np.searchsorted(anchors, (offsets[0], offsets[-1]))
        anchors = anchors[first:last]
    return Input(
        rows.shared,
        rows.times,
        offsets,
        _NO_MARKS if also is None else also,
        places,
        rows.masks(places),
        rows.masks(places[needed.chain]),
        needed.ways if pairs is not None else needed.ways[:0],
        _NO_ROWS if pairs is None else pairs,
        anchors,
        anchor.together,
        anchor.at,
    )


def _anchor(needed: Needed, places: Places, rows: KeyedRows) -> _Anchor:
    """The rarest test of the chain; one that a match passes several times is as good as one so much rarer."""
    tests = [(int(column), int(bit)) for column, bit in places[needed.chain]]
    shares = {test: rows.share(*test) / tests.count(test) for test in tests}
    best = min(shares, key=shares.__getitem__)
    return _Anchor(*best, tests.count(best), tests.index(best))
