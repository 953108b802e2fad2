"""The rows of many keys that a plan needs (`needed_rows.py`): one look over all rows, little more over the plan's own.

Rows come with the bits of tests that several plans share, so what a further plan costs is this look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.needed_rows import ALL_THAT_PASS, IN_A_CHOICE, Needed
from cepheid.matching.compiled.tables import Table

BITS_A_COLUMN = 62
Places = Table  # for each test of a plan: which shared column, which bit of it


def places_of(numbers: Sequence[int]) -> Places:
    """By the numbers of a plan's tests among the shared ones."""
    return np.array([divmod(number, BITS_A_COLUMN) for number in numbers], np.int64).reshape(-1, 2)


class Selected(NamedTuple):
    """Rows by their numbers; their own bits; their ranks, which count also rows that are not here."""

    rows: Table
    bits: Table
    ranks: Table
    keys: Table  # those that have rows
    offsets: Table  # where the rows of each of them begin, and the last one's end


def select_rows(
    needed: Needed,
    places: Places,
    columns: Sequence[Table],
    times: Table,
    offsets: Table,
    also: npt.NDArray[np.bool_] | None = None,
) -> Selected:
    """Rows of keys that lie one after the other, in order. `also` are rows that the plan sees whatever they pass."""
    count, keys = int(offsets[-1] - offsets[0]), len(offsets) - 1
    longest = int(np.diff(offsets).max(initial=0))
    shared = np.stack(columns) if len(columns) > 1 else columns[0].reshape(1, -1)
    rows, bits, ranks = (np.empty(count, np.int64) for _ in range(3))
    own = np.empty((4, longest), np.int64)
    ends = np.empty((longest, max(len(needed.chain), 1)), np.int64)
    busy, begins = np.empty(keys, np.int64), np.empty(keys + 1, np.int64)
    found, size = _select(
        needed.how,
        needed.chain,
        needed.within,
        needed.span,
        needed.others,
        needed.max_runs,
        needed.max_matches,
        places,
        shared,
        times,
        offsets,
        np.zeros(0, np.bool_) if also is None else also,
        (rows, bits, ranks),
        (own, ends),
        (busy, begins),
    )
    return Selected(rows[:size], bits[:size], ranks[:size], busy[:found], begins[: found + 1])


def _made(cache: bool) -> Any:
    @njit(cache=cache, nogil=True)
    def select(
        how: Any,
        chain: Any,
        within: Any,
        span: Any,
        others: Any,
        max_runs: Any,
        max_matches: Any,
        places: Any,
        shared: Any,
        times: Any,
        offsets: Any,
        also: Any,
        out: Any,
        room: Any,
        keys: Any,
    ) -> Any:
        rows, bits, ranks = out
        own, end_of = room
        busy, begins = keys
        steps, sees_more = len(chain), len(also) > 0
        masks = np.zeros(len(shared), np.int64)
        for i in range(len(places)):
            masks[places[i, 0]] |= np.int64(1) << places[i, 1]
        ends = np.empty(steps, np.int64)  # the earliest end of the ways that begin with a step at a later row
        starts = np.empty(steps, np.int64)  # the latest start of the ways that come to a step before this row
        counts = np.empty(steps, np.int64)
        size, found = 0, 0
        for key in range(len(offsets) - 1):
            # The plan's own rows: number, time, bits, rank.
            n, rank = 0, np.int64(-1)
            for row in range(offsets[key], offsets[key + 1]):
                passes = shared[0, row] & masks[0]
                for c in range(1, len(masks)):
                    passes |= shared[c, row] & masks[c]
                if passes == 0 and not (sees_more and also[row]):
                    continue
                word = np.int64(0)
                for i in range(len(places)):
                    word |= ((shared[places[i, 0], row] >> places[i, 1]) & 1) << i
                if n > 0 and own[1, n - 1] != times[row]:
                    rank = np.int64(-1)
                rank += word != 0
                own[0, n], own[1, n], own[2, n], own[3, n] = row, times[row], word, max(rank, 0)
                n += 1
            before = size
            whole = how == ALL_THAT_PASS
            if not whole:
                counts[:] = 0
                for at in range(n):
                    for i in range(steps):
                        counts[i] += (own[2, at] >> chain[i]) & 1
                # Where a limit might be reached all rows stay: it has to be reached as ever.
                runs, ways, at_once = 0.0, 1.0, 1.0
                for i in range(steps - 1 if how == IN_A_CHOICE else 1):
                    ways *= counts[i]
                    runs += ways
                    at_once *= counts[i] if i > 0 else 1  # of one start, by one last event
                whole = runs > max_runs or (how == IN_A_CHOICE and at_once > max_matches)
            if whole:
                for at in range(n):
                    rows[size], bits[size], ranks[size] = own[0, at], own[2, at], own[3, at]
                    size += 1
            elif counts.min() > 0:
                ends[:] = NEVER
                for at in range(n - 1, -1, -1):
                    for i in range(steps):  # a row is never two steps: the next step's end is of later rows
                        end = NEVER
                        if (own[2, at] >> chain[i]) & 1:
                            end = own[1, at] if i == steps - 1 else ends[i + 1]
                        end_of[at, i] = end
                        ends[i] = min(ends[i], end)
                starts[:] = -NEVER
                until = -NEVER  # no run that can end in a match is open after it
                for at in range(n):
                    time = own[1, at]
                    stays = False
                    if how == IN_A_CHOICE:
                        word = own[2, at] & others if time <= until else np.int64(0)
                        for i in range(steps - 1, -1, -1):
                            end = end_of[at, i]
                            if end == NEVER:
                                continue
                            start = time if i == 0 else starts[i - 1]
                            if start == -NEVER or (within >= 0 and end - start > within):
                                continue
                            word |= np.int64(1) << chain[i]
                            starts[i] = max(starts[i], start)
                            if i == 0:
                                until = time + span if span >= 0 else NEVER
                        stays = word != 0
                    else:
                        if end_of[at, 0] != NEVER and end_of[at, 0] - time <= within:
                            until = max(until, time + span)
                        word, stays = own[2, at], time <= until
                    if stays:
                        rows[size], bits[size], ranks[size] = own[0, at], word, own[3, at]
                        size += 1
            if size > before:
                busy[found], begins[found] = key, before
                found += 1
        begins[found] = size
        return found, size

    return select


try:
    _select = _made(cache=True)
except RuntimeError:  # there is no folder to keep it in
    _select = _made(cache=False)
