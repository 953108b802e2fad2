"""Matches where every condition is about a row and its neighbours alone: one pass over rows of bits, compiled.

Whether a place of the program leads to a match from a row on does then not depend on how it was reached. What has
failed once is noted and not tried again, so the work grows with the rows and not with the ways to match them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
from cepheid.matching.rows.sight import level_of, sight_of

MOST_VARIABLES = 62
MOST_MARKS = 6  # loops whose body may be empty: what has failed is noted for each set of them
_TO_NEXT, _PAST_LAST, _TO_FIRST, _TO_LAST = range(4)
# What a search says instead of a size: nothing; its arrays are too short; it asks for what is not known yet.
NONE, SHORT, ASKS = -1, -2, -3


class Machine(NamedTuple):
    """A program for the compiled matcher, with what it was made ready for."""

    ops: Any
    first: Any
    second: Any
    states: Any  # of each SPLIT its number among them
    marks: int
    width: int  # how many things can be noted of a row
    may_begin: int  # which variables a match can begin with, as bits; -1: it may be empty


class Limits(NamedTuple):
    """A bound on time: the times of all rows, and how long a match may last."""

    times: Any
    within: int


class Scratch(NamedTuple):
    """What one search needs and the next can use again."""

    path: Any  # the places in the program of the rows taken
    waiting: Any  # ways not tried yet: the place, the row, the marks, and how long the trail was
    trail: Any  # what was noted on the way that is being tried


def machine_of(program: RowProgram) -> Machine:
    states = np.cumsum(program.ops == SPLIT) - 1
    width = int(states[-1] + 1 if len(states) else 0) << program.marks
    first = first_variables(program)
    return Machine(
        program.ops,
        program.first,
        program.second,
        states,
        program.marks,
        width,
        -1 if first is None else first,
    )


def limits_of(times: Any, within: int | None) -> Limits:
    return Limits(np.zeros(0, np.int64), NEVER) if within is None else Limits(times, within)


def scratch_for(offsets: Any) -> Scratch:
    longest = int(np.diff(offsets).max(initial=0))
    return Scratch(np.empty(longest, np.int32), np.empty((1024, 4), np.int64), np.empty(1024, np.int64))


def notes_for(machine: Machine, offsets: Any) -> Any:
    """Bits for all that can be noted of the longest partition."""
    longest = int(np.diff(offsets).max(initial=0))
    return np.zeros(((longest + 1) * max(machine.width, 1)) // 64 + 1, np.uint64)


def target_bits(program: RowProgram, skipping: Skipping) -> int:
    target = 0
    for name in skipping.variables:
        target |= 1 << program.variables.index(name)
    return target


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
    machine = machine_of(program)
    if ends is not None and unknown is None:
        unknown = np.zeros(offsets[-1], np.int64)
    answer = _match(
        machine,
        sight_of(bits),
        offsets,
        skipping.mode,
        target_bits(program, skipping),
        limits_of(times, within),
        notes_for(machine, offsets),
        scratch_for(offsets),
        offsets[:-1] if ends is None else ends.starts,
        np.zeros(len(offsets) - 1, np.bool_) if ends is None else ends.cut,
        unknown,
        -NEVER if ends is None else ends.reached,
    )
    starts, sizes, partitions, labels, waits, stuck, where = answer
    raise_if_stuck(stuck, where, skipping)
    return Matches(starts, sizes, partitions, labels, None if ends is None else waits)


@njit(cache=True, nogil=True)
def _match(  # type: ignore[no-untyped-def]
    machine, sight, offsets, mode, target, limits, noted, scratch, begin_at, cut, unknown, reached
):
    """Starts, sizes and partitions of all matches, the place in the program of each of their rows, and how far each
    partition was searched. `unknown` is None if partitions have no open ends: then nothing of that is compiled."""
    starts, sizes, partitions = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    labels = np.empty(4096, np.int32)
    waits = offsets[1:].copy()
    found = taken = 0
    ops, first, second, states, marks, width, may_begin = machine
    (times, within), (path, waiting, trail), (bits, back, forth) = limits, scratch, sight
    for partition in range(len(offsets) - 1):
        begin, end = offsets[partition], offsets[partition + 1]
        noted[: ((end - begin + 1) * width) // 64 + 1] = 0
        low = begin - 1 if cut[partition] else begin  # its first row may no longer be there
        start = begin_at[partition]
        while start < end:
            if may_begin >= 0 and bits[0, start] & may_begin == 0 and _is_known(unknown, start, may_begin):
                start += 1
                continue
            size, _ = first_from(
                ops, first, second, states, marks, width, bits, back, forth, begin, low, end, start,
                times, within, noted, path, waiting, trail, unknown, reached,
            )  # fmt: skip
            if size == SHORT:
                waiting, trail = more(waiting), bigger(trail)
                continue
            if size == ASKS:  # what comes decides it; whatever else was tried is not preferred to it
                waits[partition] = start
                break
            if size < 0:
                start += 1
                continue
            if found >= len(starts):
                starts, sizes, partitions = bigger(starts), bigger(sizes), bigger(partitions)
            starts[found], sizes[found], partitions[found] = start, size, partition
            found += 1
            while taken + size > len(labels):
                labels = bigger(labels)
            labels[taken : taken + size] = path[:size]
            taken += size
            step = onward(path, size, first, target, mode)
            if step <= 0:
                return (
                    starts[:found],
                    sizes[:found],
                    partitions[:found],
                    labels[:taken],
                    waits,
                    1 - step,
                    start,
                )
            start += step
    return starts[:found], sizes[:found], partitions[:found], labels[:taken], waits, 0, 0


@njit(cache=True, nogil=True)
def _is_known(unknown, row, variables):  # type: ignore[no-untyped-def]
    if unknown is None:
        return True
    return unknown[row] & variables == 0


@njit(cache=True, nogil=True)
def first_from(  # type: ignore[no-untyped-def]
    ops, first, second, states, marks, width, bits, back, forth, begin, low, high, start,
    times, within, noted, path, waiting, trail, unknown, reached,
):  # fmt: skip
    """The size of the match that is preferred from a row on, its rows in the path; NONE: there is none.

    SHORT: `waiting` and `trail` must be longer. They are not made so here, as a call with arrays of its own costs more
    than most searches. ASKS: it depends on what is not known yet; only where `unknown` is not None. Rows from `low` to
    before `high` can be seen; what is noted counts from the partition's `begin`.
    The second answer is how far the search saw: one more than the last row that was asked.
    """
    most_back, most_forth = back[-1], forth[-1]
    near_low, near_high = low + most_back, high - most_forth
    at, row, mask, ways, steps, far = 0, start, 0, 0, 0, start
    matched = False
    while True:
        op = ops[at]
        failed = False
        if op == ROW:
            far = max(far, row + 1)
            if row < high and (within == NEVER or times[row] - times[start] <= within):
                level = 0
                if row < near_low or row >= near_high:
                    level = level_of(back, forth, row, low, high)
                seen = bits[level, row]
                failed = (seen >> first[at]) & 1 == 0
            else:
                failed = True
            if unknown is not None and failed:  # is it for want of a row, or of what is to be known of it?
                missing = row >= high or (unknown[row] >> first[at]) & 1 == 1
                time = reached if row >= high else times[row] if within != NEVER else 0
                if missing and (within == NEVER or time - times[start] <= within):
                    return ASKS, far
            if not failed:
                path[row - start] = at
                row += 1
                at += 1
                mask = 0
        elif op == SPLIT:
            place = (row - begin) * width + ((states[at] << marks) | mask)
            if (noted[place >> 6] >> np.uint64(place & 63)) & np.uint64(1):
                failed = True
            else:
                if steps >= len(trail):  # there are never more ways than steps
                    _unnote(noted, trail, steps)
                    return SHORT, far
                noted[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
                trail[steps] = place
                steps += 1
                waiting[ways, 0], waiting[ways, 1] = second[at], row
                waiting[ways, 2], waiting[ways, 3] = mask, steps
                ways += 1
                at = first[at]
        elif op == JUMP:
            at = first[at]
        elif op == START:
            failed = row != low
            at += 1
        elif op == END:
            failed = row != high
            if unknown is not None and not failed:
                return ASKS, far
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
    if within != NEVER:  # what has failed for one start may not for the next
        forget(noted, width, start - begin, far - begin)
    if matched:
        _unnote(noted, trail, steps)  # what led to a match has not failed
    return row - start if matched else NONE, far


@njit(cache=True, nogil=True)
def _unnote(noted, trail, steps):  # type: ignore[no-untyped-def]
    for i in range(steps):
        noted[trail[i] >> 6] &= ~(np.uint64(1) << np.uint64(trail[i] & 63))


@njit(cache=True, nogil=True)
def onward(path, size, first, target, mode):  # type: ignore[no-untyped-def]
    """How many rows after the match's first to go on; 0: that is its own first; -1: it has no such row."""
    if size == 0 or mode == _TO_NEXT:
        return 1
    if mode == _PAST_LAST:
        return size
    return _goal(path, size, first, target, mode)


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
def forget(noted, width, first, last):  # type: ignore[no-untyped-def]
    """All that is noted of some rows, the last of them too; more may be lost, which costs time and nothing else."""
    noted[(first * width) >> 6 : (((last + 1) * width) >> 6) + 1] = 0


@njit(cache=True, nogil=True)
def forget_exactly(noted, width, first, end):  # type: ignore[no-untyped-def]
    """Only what is noted of some rows."""
    for place in range(first * width, end * width):
        noted[place >> 6] &= ~(np.uint64(1) << np.uint64(place & 63))


@njit(cache=True, nogil=True)
def bigger(values):  # type: ignore[no-untyped-def]
    found = np.empty(2 * len(values), values.dtype)
    found[: len(values)] = values
    return found


@njit(cache=True, nogil=True)
def more(values):  # type: ignore[no-untyped-def]
    found = np.empty((2 * len(values), values.shape[1]), values.dtype)
    found[: len(values)] = values
    return found
