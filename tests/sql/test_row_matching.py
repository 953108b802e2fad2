"""The machine against the plain rules of preferment: random patterns, random rows, every way to skip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from preferment import Holds, RowMatch, SkipMistake, all_matches
from row_strategies import BitTable, bit_tables, conditions_over_the_match, row_patterns, skips

from cepheid.errors import EvaluationError, LimitReached
from cepheid.matching.rows.by_bits import MOST_MARKS, match_bits
from cepheid.matching.rows.by_path import Way, match_paths
from cepheid.matching.rows.found import PAST_LAST, TO_FIRST, TO_LAST, TO_NEXT, Matches, Skipping
from cepheid.matching.rows.program import RowProgram, compile_rows
from cepheid.pattern.row_pattern import Alternation, Concatenation, Quantified, RowNode, Variable
from cepheid.sql_lang.clause import AfterMatch

MODES = {
    AfterMatch.PAST_LAST_ROW: PAST_LAST,
    AfterMatch.TO_NEXT_ROW: TO_NEXT,
    AfterMatch.TO_FIRST: TO_FIRST,
    AfterMatch.TO_LAST: TO_LAST,
}
Told = list[tuple[int, list[tuple[int, str, bool]]]]


class Asked:
    """A predicate of the plain matcher as conditions of ours."""

    watchers = ()

    def __init__(self, program: RowProgram, holds: Holds) -> None:
        self.program, self.predicate = program, holds

    def holds(self, variable: int, row: int, way: Way) -> bool:
        names, codes = self.program.variables, self.program.first
        so_far = [(way.start + i, names[codes[at]]) for i, at in enumerate(way.path)]
        return self.predicate(names[variable], row, so_far)


def wanted(matches: list[RowMatch]) -> Told:
    return [(m.start, [(t.row, t.variable, t.excluded) for t in m.taken]) for m in matches]


def told(program: RowProgram, found: Matches) -> Told:
    answer: Told = []
    at = 0
    for start, size in zip(found.starts.tolist(), found.sizes.tolist(), strict=True):
        places = found.labels[at : at + size].tolist()
        names = [program.variables[program.first[p]] for p in places]
        hidden = [bool(program.excluded[p]) for p in places]
        answer.append((start, list(zip(range(start, start + size), names, hidden, strict=True))))
        at += size
    return answer


def both(pattern: RowNode, holds: Holds, rows: int, skip: tuple[AfterMatch, str | None], find: Any) -> None:
    program = compile_rows(pattern)
    skipping = Skipping(MODES[skip[0]], frozenset({skip[1]} if skip[1] else ()), skip[1] or "")
    try:
        expected = wanted(all_matches(pattern, rows, holds, *skip))
    except SkipMistake:
        with pytest.raises(EvaluationError):
            find(program, skipping)
        return
    assert told(program, find(program, skipping)) == expected


def bits_of(program: RowProgram, table: BitTable) -> Any:
    found = np.zeros(table.rows, np.int64)
    for code, name in enumerate(program.variables):
        found |= np.array([table.holds(name, row, []) for row in range(table.rows)], np.int64) << code
    return found


def one_partition(table: BitTable) -> Any:
    return np.array([0, table.rows] if table.rows else [0])


@settings(max_examples=250)
@given(st.data(), row_patterns(), bit_tables())
def test_by_bits(data: st.DataObject, pattern: RowNode, table: BitTable) -> None:
    program = compile_rows(pattern)
    if program.marks > MOST_MARKS:
        return
    skip = data.draw(skips(pattern))
    note(table.told())

    def find(program: RowProgram, skipping: Skipping) -> Matches:
        return match_bits(program, bits_of(program, table), one_partition(table), skipping, None, None)

    both(pattern, table.holds, table.rows, skip, find)


@settings(max_examples=250)
@given(st.data(), row_patterns(), bit_tables(), st.integers(0, 255))
def test_by_path(data: st.DataObject, pattern: RowNode, table: BitTable, salt: int) -> None:
    holds = conditions_over_the_match(table, salt)
    skip = data.draw(skips(pattern))
    note(table.told())

    def find(program: RowProgram, skipping: Skipping) -> Matches:
        return match_paths(program, Asked(program, holds), one_partition(table), skipping, None, None)

    both(pattern, holds, table.rows, skip, find)


def test_partitions_are_apart() -> None:
    program = compile_rows(Quantified(Variable("A"), 1, None))
    found = match_bits(program, np.ones(6, np.int64), np.array([0, 2, 5, 6]), Skipping(), None, None)
    assert (found.starts.tolist(), found.sizes.tolist()) == ([0, 2, 5], [2, 3, 1])
    assert found.partitions.tolist() == [0, 1, 2]


def test_what_cannot_match_is_not_tried_again_and_again() -> None:
    """Every way through `(A | B)* C` fails at every row: with two to the hundred thousand ways, or in one pass."""
    either = Alternation((Variable("A"), Variable("B")))
    program = compile_rows(Concatenation((Quantified(either, 0, None), Variable("C"))))
    rows = 100_000
    found = match_bits(program, np.full(rows, 3), np.array([0, rows]), Skipping(), None, None)
    assert len(found) == 0


def test_where_nothing_can_be_noted_there_is_a_limit() -> None:
    either = Alternation((Variable("A"), Variable("B")))
    program = compile_rows(Concatenation((Quantified(either, 0, None), Variable("C"))))
    asked = Asked(program, lambda name, row, so_far: name != "C")
    with pytest.raises(LimitReached) as caught:
        match_paths(program, asked, np.array([0, 40]), Skipping(), None, None, most_steps=10_000)
    assert caught.value.code == "too_many_steps"


def test_a_bound_on_time() -> None:
    program = compile_rows(Concatenation((Variable("A"), Quantified(Variable("B"), 1, None))))
    times = np.array([0, 4, 5, 6, 7])
    bits = np.array([1, 2, 2, 2, 2])
    found = match_bits(program, bits, np.array([0, 5]), Skipping(), times, 5)
    assert found.sizes.tolist() == [3]
