"""Partitions of which more rows may come: what is found stays, whatever comes, and nothing that stays is missing.

The plain rules of preferment, run over the rows and each of many ways to go on: what all answers begin with is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product, takewhile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from preferment import Holds, SkipMistake, _next_start, first_match
from preferment import RowMatch as PlainMatch
from row_strategies import NAMES, BitTable, bit_tables, conditions_over_the_match, row_patterns, skips
from test_row_matching import MODES, Asked, bits_of, one_partition, told, wanted

from cepheid.errors import EvaluationError
from cepheid.matching.rows.by_bits import MOST_MARKS, match_bits
from cepheid.matching.rows.by_path import match_paths
from cepheid.matching.rows.found import Matches, OpenEnds, Skipping
from cepheid.matching.rows.program import compile_rows
from cepheid.pattern.row_pattern import Anchor, RowNode, walk_rows
from cepheid.sql_lang.clause import AfterMatch

STUCK = "stuck"  # AFTER MATCH SKIP leads nowhere
Skip = tuple[AfterMatch, str | None]
LETTERS = tuple(product((False, True), repeat=len(NAMES)))
ALL = (True,) * len(NAMES)
Row = tuple[bool, ...]


def ways_to_go_on(most: int) -> list[tuple[Row, ...]]:
    """All short ones, and longer ones of rows that may be anything."""
    short = [way for size in range(most + 1) for way in product(LETTERS, repeat=size)]
    return short + [(ALL,) * size for size in range(most + 1, 14)]


def plain(pattern: RowNode, rows: int, holds: Holds, skip: Skip) -> list[Any]:
    """All matches in order; the last is STUCK if it comes to that."""
    found: list[PlainMatch] = []
    at = 0
    while at < rows:
        way = first_match(pattern, rows, holds, at)
        if way is None:
            at += 1
            continue
        found.append(PlainMatch(len(found) + 1, at, way))
        try:
            at = _next_start(found[-1], *skip, {})
        except SkipMistake:
            return [*wanted(found), STUCK]
    return list(wanted(found))


def common(answers: Sequence[list[Any]]) -> list[Any]:
    """What all begin with."""
    return [
        items[0]
        for items in takewhile(lambda items: all(i == items[0] for i in items), zip(*answers, strict=False))
    ]


def within_time(holds: Holds, times: Sequence[int], within: int | None) -> Holds:
    def asked(variable: str, row: int, so_far: list[tuple[int, str]]) -> bool:
        first = so_far[0][0] if so_far else row
        in_time = within is None or times[row] - times[first] <= within
        return in_time and holds(variable, row, so_far)

    return asked


def certain(
    pattern: RowNode, known: BitTable, skip: Skip, time: tuple[list[int], int, int | None]
) -> list[Any]:
    times, reached, within = time
    answers = []
    for more in ways_to_go_on(2):
        table = BitTable((*known.bits, *more))
        for later in (0, 100) if within is not None and more else (0,):
            all_times = [*times, *(reached + later for _ in more)]
            holds = within_time(table.holds, all_times, within)
            answers.append(plain(pattern, table.rows, holds, skip))
    return common(answers)


def skipping_of(skip: Skip) -> Skipping:
    return Skipping(MODES[skip[0]], frozenset({skip[1]} if skip[1] else ()), skip[1] or "")


def found_by(find: Any) -> Matches | None:
    try:
        return find()  # type: ignore[no-any-return]
    except EvaluationError:
        return None


times_and_bounds = st.tuples(
    st.lists(st.integers(0, 3), min_size=5, max_size=5), st.integers(0, 4), st.none() | st.integers(0, 5)
)


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(st.data(), row_patterns(leaves=5), bit_tables(most_rows=5), times_and_bounds)
def test_what_is_found_is_what_is_certain(
    data: st.DataObject, pattern: RowNode, table: BitTable, drawn: tuple[list[int], int, int | None]
) -> None:
    program = compile_rows(pattern)
    if program.marks > MOST_MARKS:
        return
    skip = data.draw(skips(pattern))
    gaps, lead, within = drawn
    times = np.cumsum(gaps)[: table.rows]
    reached = int(times[-1] if len(times) else 0) + lead
    note(table.told())
    sure = certain(pattern, table, skip, (times.tolist(), reached, within))
    offsets, skipping = one_partition(table), skipping_of(skip)
    ends = OpenEnds.fresh(offsets, reached)
    bits = bits_of(program, table)
    holds = within_time(table.holds, times.tolist(), None)
    answers = [
        found_by(lambda: match_bits(program, bits, offsets, skipping, times, within, ends)),
        found_by(
            lambda: match_paths(program, Asked(program, holds), offsets, skipping, times, within, ends=ends)
        ),
    ]
    for answer in answers:
        found = None if answer is None else list(told(program, answer))
        if found is None:
            assert sure[-1] == STUCK
        elif any(isinstance(node, Anchor) for node in walk_rows(pattern)):
            # A way that asks for a row and then for `^` never leads anywhere; we wait for it.
            assert found == sure[: len(found)]
        else:
            assert found == sure
    both = [None if a is None else a.waits.tolist() for a in answers]
    assert both[0] == both[1]


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.data(), row_patterns(leaves=5), bit_tables(most_rows=5), st.integers(0, 255))
def test_conditions_over_the_match(data: st.DataObject, pattern: RowNode, table: BitTable, salt: int) -> None:
    skip = data.draw(skips(pattern))
    program, offsets = compile_rows(pattern), one_partition(table)
    asked = Asked(program, conditions_over_the_match(table, salt))
    ends = OpenEnds.fresh(offsets)
    answer = found_by(lambda: match_paths(program, asked, offsets, skipping_of(skip), None, None, ends=ends))
    answers = []
    for more in ways_to_go_on(2):
        whole = BitTable((*table.bits, *more))
        answers.append(plain(pattern, whole.rows, conditions_over_the_match(whole, salt), skip))
    sure = common(answers)
    if answer is None:
        assert sure[-1] == STUCK
    else:
        found = list(told(program, answer))
        assert found == sure[: len(found)]


@pytest.mark.parametrize("within", [None, 5])
def test_a_partition_goes_on_where_it_waits(within: int | None) -> None:
    """`A B` over A A A B: at the second A the first is decided, and so on."""
    from cepheid.pattern.row_pattern import Concatenation, Variable

    program = compile_rows(Concatenation((Variable("A"), Variable("B"))))
    bits, times = np.array([1, 1, 1, 2]), np.array([0, 1, 2, 3])
    offsets = np.array([0, 3])
    waits = match_bits(program, bits, offsets, Skipping(), times, within, OpenEnds.fresh(offsets, 2)).waits
    assert waits.tolist() == [2]
    ends = OpenEnds(waits, np.array([True]), np.array([4]), 3)
    found = match_bits(program, bits, np.array([0, 4]), Skipping(), times, within, ends)
    assert (found.starts.tolist(), found.waits.tolist()) == ([2], [4])
