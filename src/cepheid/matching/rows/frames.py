"""Matches in frames, as windows have them: each row that is not skipped looks for one match in the rows from it on.

What lies before the row or behind the end of its frame can neither be matched nor seen. Where frames end with the
partition, whether a match begins at a row does not depend on the frame, but for the first rows of it, which conditions
with PREV see otherwise. So what has failed once is not tried again, and what was found is found again without a search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from cepheid.matching.rows.by_bits import (
    SHORT,
    bigger,
    first_from,
    forget,
    forget_exactly,
    limits_of,
    machine_of,
    more,
    notes_for,
    onward,
    scratch_for,
    target_bits,
)
from cepheid.matching.rows.by_path import MOST_STEPS, PathMachine, Way
from cepheid.matching.rows.by_path import onward as path_onward
from cepheid.matching.rows.conditions import PathConditions
from cepheid.matching.rows.found import TO_NEXT, Matches, Skipping, raise_if_stuck
from cepheid.matching.rows.match import answers, bits_of, goes_by_bits
from cepheid.matching.rows.program import RowProgram
from cepheid.matching.rows.sight import Looks, level_of, sight_of
from cepheid.pattern.row_terms import Condition

_PASSES = 8  # over the rows of a partition, to look further than frames do


@dataclass(frozen=True)
class Frames:
    """Of each row the rows it may look at: from itself to before its end."""

    ends: Any
    bounded: bool  # otherwise all end with their partition
    seek: bool  # may the match begin behind the row itself?


@dataclass(frozen=True)
class FrameMatches:
    matches: Matches
    of_row: Any  # for each row of the table its match; -1: none


def match_in_frames(
    program: RowProgram,
    conditions: Mapping[str, Condition],
    table: pa.Table,
    offsets: Any,
    frames: Frames,
    skipping: Skipping,
    times: Any = None,
    within: int | None = None,
    most_steps: int = MOST_STEPS,
) -> FrameMatches:
    """Partitions lie between `offsets`, their rows in order. A variable without a condition takes every row."""
    mine = {name: asked for name, asked in conditions.items() if name in program.variables}
    looks = Looks.of(mine.values())
    if not frames.bounded:
        looks = Looks(looks.back)  # the end of the partition is where it always was
    known = answers(program, mine, table, offsets, looks)
    if goes_by_bits(program, mine):
        bits = bits_of(known, table.num_rows, len(looks.levels()))
        return by_bits(program, bits, looks, offsets, frames, skipping, times, within)
    asked = PathConditions(program.variables, mine, known, table, looks)
    machine = PathMachine(program, asked, times, within, most_steps)
    return by_path(machine, max(looks.back, default=0), offsets, frames, skipping)


def by_bits(
    program: RowProgram,
    bits: Any,
    looks: Looks,
    offsets: Any,
    frames: Frames,
    skipping: Skipping,
    times: Any,
    within: int | None,
) -> FrameMatches:
    machine = machine_of(program)
    starts, sizes, partitions, labels, of_row, stuck, where = _match(
        machine,
        sight_of(bits, looks),
        offsets,
        frames.ends,
        frames.bounded,
        frames.seek,
        skipping.mode,
        target_bits(program, skipping),
        limits_of(times, within),
        notes_for(machine, offsets),
        notes_for(machine, offsets),
        scratch_for(offsets),
    )
    raise_if_stuck(stuck, where, skipping)
    return FrameMatches(Matches(starts, sizes, partitions, labels), of_row)


@njit(cache=True, nogil=True)
def _match(machine, sight, offsets, ends, bounded, seek, mode, target, limits, noted, endless, scratch):  # type: ignore[no-untyped-def]  # fmt: skip
    starts, sizes, partitions = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    labels = np.empty(4096, np.int32)
    of_row = np.full(len(ends), -1, np.int64)
    found = taken = 0
    ops, first, second, states, marks, width, may_begin = machine
    (times, within), (path, waiting, trail), (bits, back, forth) = limits, scratch, sight
    reach, ahead = back[-1], forth[-1]
    for partition in range(len(offsets) - 1):
        begin, end = offsets[partition], offsets[partition + 1]
        noted[: ((end - begin + 1) * width) // 64 + 1] = 0
        row = begin
        # Beyond the reach of PREV no match begins before `none_before`; at it begins the one that is held, if any.
        none_before, held = begin, -1
        # What fails where no frame ends fails in every frame. So that is asked first, as long as it does not cost more
        # than a few passes. With NEXT it is no answer, for near its end a frame hides what lies behind.
        endless[: ((end - begin + 1) * width) // 64 + 1] = 0
        budget = _PASSES * (end - begin) if bounded and ahead == 0 else 0
        last_high = most_far = begin
        while row < end:
            high = ends[row]
            inner = row + reach
            forget_exactly(noted, width, row - begin, min(inner, end) - begin)
            if budget > 0:
                forget_exactly(endless, width, row - begin, min(inner, end) - begin)
            if none_before < inner:
                none_before, held = inner, -1
            if high < last_high and ahead > 0:  # it hides what was seen before
                forget(noted, width, row - begin, min(most_far, end) - begin)
                none_before, last_high = inner, high
            last_high = max(last_high, high)
            far, clean = row, True
            mine, size, start = -1, -1, row
            while start < high:
                if start >= inner and start < none_before:
                    start = none_before
                    continue
                if held >= 0 and start == none_before and start >= inner:
                    mine, size = held, sizes[held]
                    break
                begins = True
                if may_begin >= 0:
                    far = max(far, start + 1)
                    seen = bits[level_of(back, forth, start, row, high), start]
                    begins = seen & may_begin != 0
                if begins and budget > 0:
                    size, saw = first_from(
                        ops, first, second, states, marks, width, bits, back, forth, begin, row, end, start,
                        times, within, endless, path, waiting, trail, None, 0,
                    )  # fmt: skip
                    if size == SHORT:
                        size, waiting, trail = -1, more(waiting), bigger(trail)
                        continue
                    budget -= max(saw - high, 0)
                    begins = size > high - start  # it is preferred, but it is too long
                if begins:
                    size, saw = first_from(
                        ops, first, second, states, marks, width, bits, back, forth, begin, row, high, start,
                        times, within, noted, path, waiting, trail, None, 0,
                    )  # fmt: skip
                    if size == SHORT:
                        size, waiting, trail = -1, more(waiting), bigger(trail)
                        continue
                    far = max(far, saw)
                if size >= 0 or not seek:
                    break
                # Had the frame ended later, more could have been seen.
                clean = clean and (not bounded or far <= high - ahead)
                if clean and start >= inner:
                    none_before = start + 1
                start += 1
            most_far = max(most_far, far)
            if bounded and far > high - ahead:
                forget(noted, width, row - begin, min(far, end) - begin)
            if size < 0:
                row += 1
                continue
            if mine < 0:
                mine = found
                if found >= len(starts):
                    starts, sizes, partitions = bigger(starts), bigger(sizes), bigger(partitions)
                starts[found], sizes[found], partitions[found] = start, size, partition
                found += 1
                while taken + size > len(labels):
                    labels = bigger(labels)
                labels[taken : taken + size] = path[:size]
                taken += size
                if not bounded and seek and start >= inner:
                    none_before, held = start, mine
            of_row[row] = mine
            if size == 0 or mode == TO_NEXT:  # to the next row: of the row that looked, not of the match
                row += 1
                continue
            # Behind a match no row looks for it again, so it is the last that was found.
            step = onward(labels[taken - size : taken], size, first, target, mode)
            if step <= 0:
                return (
                    starts[:found],
                    sizes[:found],
                    partitions[:found],
                    labels[:taken],
                    of_row,
                    1 - step,
                    start,
                )
            row = start + step
    return starts[:found], sizes[:found], partitions[:found], labels[:taken], of_row, 0, 0


def by_path(
    machine: PathMachine, reach: int, offsets: Any, frames: Frames, skipping: Skipping
) -> FrameMatches:
    """The same, one way after the other. `reach` is how far conditions look back from a row."""
    found = _Found(machine)
    of_row = np.full(len(frames.ends), -1, np.int64)
    ends = frames.ends.tolist()
    for partition, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        row, none_before, held = begin, begin, -1
        while row < end:
            inner = row + reach
            if none_before < inner:
                none_before, held = inner, -1
            mine, start = -1, row
            while start < ends[row]:
                if inner <= start < none_before:
                    start = none_before
                    continue
                if held >= 0 and start == none_before and start >= inner:
                    mine = held
                    break
                path = machine.first_match(Way(row, ends[row], start, 0, machine.watchers))
                if path is not None:
                    mine = found.add(start, path, partition)
                if path is not None or not frames.seek:
                    break
                if not frames.bounded and start >= inner:
                    none_before = start + 1
                start += 1
            if mine < 0:
                row += 1
                continue
            if not frames.bounded and frames.seek and start >= inner:
                none_before, held = start, mine
            of_row[row] = mine
            variables = found.variables(mine)
            to_next = not variables or skipping.mode == TO_NEXT
            row = (
                row + 1
                if to_next
                else start + path_onward(variables, machine.goals(skipping), skipping, start)
            )
    return FrameMatches(found.matches(), of_row)


class _Found:
    """Matches, as they are found."""

    def __init__(self, machine: PathMachine) -> None:
        self.first = machine.first
        self.starts: list[int] = []
        self.paths: list[list[int]] = []
        self.partitions: list[int] = []

    def add(self, start: int, path: list[int], partition: int) -> int:
        self.starts.append(start)
        self.paths.append(path)
        self.partitions.append(partition)
        return len(self.paths) - 1

    def variables(self, which: int) -> list[int]:
        return [self.first[at] for at in self.paths[which]]

    def matches(self) -> Matches:
        return Matches(
            np.array(self.starts, np.int64),
            np.array([len(path) for path in self.paths], np.int64),
            np.array(self.partitions, np.int64),
            np.array([at for path in self.paths for at in path], np.int32),
        )
