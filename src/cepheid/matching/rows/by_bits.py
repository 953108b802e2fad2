"""Matches where every condition is about a row and its neighbours alone: one pass over rows of bits, compiled.

Whether a place of the program leads to a match from a row on does then not depend on how it was reached. What has
failed once is noted and not tried again, so the work grows with the rows and not with the ways to match them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cepheid.matching.rows.found import NEVER, Matches, OpenEnds, Skipping, raise_if_stuck
from cepheid.matching.rows.program import (
    CHECK,
    END,
    JUMP,
    MARK,
    ROW,
    SPLIT,
    START,
    RowProgram,
    first_variables,
)

MOST_VARIABLES = 62
MOST_MARKS = 6  # loops whose body may be empty: what has failed is noted for each set of them
_TO_NEXT, _PAST_LAST, _TO_FIRST, _TO_LAST = range(4)


def match_bits(
    program: RowProgram,
    bits: Any,
    offsets: Any,
    skipping: Skipping,
    times: Any,
    within: int | None,
    ends: OpenEnds | None = None,
    unknown: Any = None,
) -> Matches:
    """`bits` says of each row which variables it may be; partitions lie between `offsets`.

    With open ends `unknown` says of which variables that is not known yet; their bits are 0.
    """
    first = first_variables(program)
    longest = int(np.diff(offsets).max(initial=0))
    states = np.cumsum(program.ops == SPLIT) - 1
    width = int(states[-1] + 1 if len(states) else 0) << program.marks
    noted = np.zeros(((longest + 1) * max(width, 1)) // 64 + 1, np.uint64)
    target = 0
    for name in skipping.variables:
        target |= 1 << program.variables.index(name)
    answer = _match(
        program.ops,
        program.first,
        program.second,
        states,
        program.marks,
        bits,
        offsets,
        -1 if first is None else first,
        skipping.mode,
        target,
        times if within is not None else np.zeros(0, np.int64),
        NEVER if within is None else within,
        noted,
        offsets[:-1] if ends is None else ends.starts,
        np.zeros(len(offsets) - 1, np.bool_) if ends is None else ends.cut,
        -NEVER if ends is None else ends.reached,
        np.zeros_like(bits) if unknown is None and ends is not None else unknown,
    )
    starts, sizes, partitions, labels, waits, stuck, where = answer
    raise_if_stuck(stuck, where, skipping)
    return Matches(starts, sizes, partitions, labels, None if ends is None else waits)


@njit(cache=True, nogil=True)
def _match(  # type: ignore[no-untyped-def]
    ops, first, second, states, marks, bits, offsets, may_begin, mode, target, times, within, noted,
    begin_at, cut, reached, unknown,
):  # fmt: skip
    """Starts, sizes and partitions of all matches, the place in the program of each of their rows, and how far each
    partition was searched. `unknown` is None if partitions have no open ends: then nothing of that is compiled."""
    starts, sizes, partitions = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    labels = np.empty(4096, np.int32)
    waits = offsets[1:].copy()
    found = taken = 0
    path = np.empty(1024, np.int32)
    # Ways not tried yet: the place, the row, the marks, and how long the trail was.
    waiting = np.empty((1024, 4), np.int64)
    trail = np.empty(1024, np.int64)  # what was noted on the way that is being tried
    width = np.int64(0)
    for state in states:
        width = max(width, state + 1)
    width = width << marks
    for partition in range(len(offsets) - 1):
        begin, end = offsets[partition], offsets[partition + 1]
        words = ((end - begin + 1) * width) // 64 + 1
        noted[:words] = 0
        start = begin_at[partition]
        while start < end:
            if may_begin >= 0 and bits[start] & may_begin == 0 and _is_known(unknown, start, may_begin):
                start += 1
                continue
            at, row, mask, ways, steps, far = 0, start, 0, 0, 0, start
            matched = asks = False
            while True:
                op = ops[at]
                failed = False
                if op == ROW:
                    if (
                        row < end
                        and (bits[row] >> first[at]) & 1
                        and (within == NEVER or times[row] - times[start] <= within)
                    ):
                        if row - start >= len(path):
                            path = _bigger(path)
                        path[row - start] = at
                        row += 1
                        at += 1
                        mask = 0
                        far = max(far, row)
                    else:
                        failed = True
                        if unknown is not None:  # is it for want of a row, or of what is to be known of it?
                            if row >= end:
                                asks = within == NEVER or reached - times[start] <= within
                            elif (unknown[row] >> first[at]) & 1:
                                asks = within == NEVER or times[row] - times[start] <= within
                            if asks:
                                break
                elif op == SPLIT:
                    place = (row - begin) * width + ((states[at] << marks) | mask)
                    if (noted[place >> 6] >> np.uint64(place & 63)) & np.uint64(1):
                        failed = True
                    else:
                        noted[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
                        if steps >= len(trail):
                            trail = _bigger(trail)
                        trail[steps] = place
                        steps += 1
                        if ways >= len(waiting):
                            waiting = _more(waiting)
                        waiting[ways, 0], waiting[ways, 1] = second[at], row
                        waiting[ways, 2], waiting[ways, 3] = mask, steps
                        ways += 1
                        at = first[at]
                elif op == JUMP:
                    at = first[at]
                elif op == START:
                    failed = row != begin or cut[partition]
                    at += 1
                elif op == END:
                    failed = row != end
                    if unknown is not None:
                        asks = not failed
                        if asks:
                            break
                    at += 1
                elif op == MARK:
                    mask |= 1 << first[at]
                    at += 1
                elif op == CHECK:
                    failed = (mask >> first[at]) & 1 == 1
                    at += 1
                else:  # MATCH
                    matched = True
                    break
                if failed:
                    if ways == 0:
                        break
                    ways -= 1
                    at, row, mask = waiting[ways, 0], waiting[ways, 1], waiting[ways, 2]
                    steps = waiting[ways, 3]
            if asks:  # what comes decides it; whatever else was tried is not preferred to it
                waits[partition] = start
                break
            if within != NEVER:
                _forget(noted, width, start - begin, far - begin)
            if not matched:
                start += 1
                continue
            for i in range(steps):  # what led to a match has not failed
                noted[trail[i] >> 6] &= ~(np.uint64(1) << np.uint64(trail[i] & 63))
            size = row - start
            if found >= len(starts):
                starts, sizes, partitions = _bigger(starts), _bigger(sizes), _bigger(partitions)
            starts[found], sizes[found], partitions[found] = start, size, partition
            found += 1
            while taken + size > len(labels):
                labels = _bigger(labels)
            labels[taken : taken + size] = path[:size]
            taken += size
            if size == 0 or mode == _TO_NEXT:
                start += 1
            elif mode == _PAST_LAST:
                start = row
            else:
                goal = _goal(path, size, first, target, mode)
                if goal <= 0:
                    return (
                        starts[:found],
                        sizes[:found],
                        partitions[:found],
                        labels[:taken],
                        waits,
                        1 - goal,
                        start,
                    )
                start += goal
    return starts[:found], sizes[:found], partitions[:found], labels[:taken], waits, 0, 0


@njit(cache=True, nogil=True)
def _is_known(unknown, row, variables):  # type: ignore[no-untyped-def]
    if unknown is None:
        return True
    return unknown[row] & variables == 0


@njit(cache=True, nogil=True)
def _goal(path, size, first, target, mode):  # type: ignore[no-untyped-def]
    """How far to the row to go on at; 0: it is the match's own first; -1: there is none."""
    goal = -1
    for i in range(size):
        if (target >> first[path[i]]) & 1:
            goal = i
            if mode == _TO_FIRST:
                break
    return goal


@njit(cache=True, nogil=True)
def _forget(noted, width, first, last):  # type: ignore[no-untyped-def]
    """With a bound on time what has failed for one start may not for the next."""
    noted[(first * width) >> 6 : (((last + 1) * width) >> 6) + 1] = 0


@njit(cache=True, nogil=True)
def _bigger(values):  # type: ignore[no-untyped-def]
    found = np.empty(2 * len(values), values.dtype)
    found[: len(values)] = values
    return found


@njit(cache=True, nogil=True)
def _more(values):  # type: ignore[no-untyped-def]
    found = np.empty((2 * len(values), values.shape[1]), values.dtype)
    found[: len(values)] = values
    return found
