"""Partitions of which more rows may come: what is found stays, whatever comes, and nothing that stays is missing.

The plain rules of preferment, run over the rows and each of many ways to go on: what all answers begin with is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from random import Random
from typing import Any

import numpy as np
import pytest
from preferment import Holds, SkipMistake, _next_start, first_match
from preferment import RowMatch as PlainMatch
from row_strategies import NAMES, BitTable, conditions_over_the_match, random_pattern
from test_row_matching import MODES, Asked, bits_of, one_partition, told, wanted

from cepheid.errors import EvaluationError
from cepheid.matching.rows.by_bits import MOST_MARKS, match_bits
from cepheid.matching.rows.by_path import match_paths
from cepheid.matching.rows.found import Matches, OpenEnds, Skipping
from cepheid.matching.rows.program import compile_rows
from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Quantified,
    RowNode,
    Variable,
    variables_of,
    walk_rows,
)
from cepheid.sql_lang.clause import AfterMatch

STUCK = "stuck"  # AFTER MATCH SKIP leads nowhere
Skip = tuple[AfterMatch, str | None]
LETTERS = tuple(product((False, True), repeat=len(NAMES)))
ALL = (True,) * len(NAMES)
Row = tuple[bool, ...]


def ways_to_go_on(most: int) -> list[tuple[Row, ...]]:
    """All short ones, and longer ones of rows that may be anything."""
    short = [way for size in range(most + 1) for way in product(LETTERS, repeat=size)]
    return short + [(ALL,) * size for size in range(most + 1, 10)]


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


MORE = 2  # rows that may come


def certain(case: Case) -> list[Any]:
    answers = []
    for more in ways_to_go_on(MORE):
        table = BitTable((*case.table.bits, *more))
        for later in (0, 100) if case.within is not None and more else (0,):
            times = [*case.times.tolist(), *(case.reached + later for _ in more)]
            holds = within_time(table.holds, times, case.within)
            answers.append(plain(case.pattern, table.rows, holds, case.skip))
    return common(answers)


def skipping_of(skip: Skip) -> Skipping:
    return Skipping(MODES[skip[0]], frozenset({skip[1]} if skip[1] else ()), skip[1] or "")


def found_by(find: Any) -> Matches | None:
    try:
        return find()  # type: ignore[no-any-return]
    except EvaluationError:
        return None


@dataclass(frozen=True)
class Case:
    """By chance: a pattern, rows that are known, when they were and when others may come, and how to go on."""

    pattern: RowNode
    table: BitTable
    times: Any
    reached: int
    within: int | None
    skip: Skip

    @classmethod
    def of(cls, seed: int) -> Case:
        chance = Random(seed)
        pattern = random_pattern(chance, chance.randint(1, 5), anchors=chance.random() < 0.3)
        rows = chance.randint(1, 5)
        table = BitTable(tuple(tuple(chance.random() < 0.6 for _ in NAMES) for _ in range(rows)))
        times = np.cumsum([chance.randint(0, 3) for _ in range(rows)])
        within = chance.choice((None, chance.randint(0, 6)))
        return cls(
            pattern, table, times, int(times[-1]) + chance.randint(0, 5), within, _skip(chance, pattern)
        )

    @property
    def anchored(self) -> bool:
        return any(isinstance(node, Anchor) for node in walk_rows(self.pattern))

    @property
    def needs(self) -> int:
        """The most rows that a part needs which may be there or not."""
        parts = (node for node in walk_rows(self.pattern) if isinstance(node, (Quantified, Alternation)))
        return max((shortest(node) for node in parts), default=0)

    def told(self) -> str:
        return f"{self} {self.table.told()}"


def shortest(node: RowNode) -> int:
    """How few rows a part takes, once it is begun."""
    if isinstance(node, Variable):
        return 1
    if isinstance(node, Quantified):
        return shortest(node.part) * max(node.least, 1)
    if isinstance(node, Alternation):
        return max(shortest(part) for part in node.parts)
    return sum(shortest(part) for part in node.children())


def _skip(chance: Random, pattern: RowNode) -> Skip:
    names = variables_of(pattern)
    if not names or chance.random() < 0.6:
        return chance.choice((AfterMatch.PAST_LAST_ROW, AfterMatch.TO_NEXT_ROW)), None
    return chance.choice((AfterMatch.TO_FIRST, AfterMatch.TO_LAST)), chance.choice(names)


def test_what_is_found_is_what_is_certain() -> None:
    waiting = 0
    for seed in range(300):
        waiting += look_at(seed)
    assert waiting > 100


@pytest.mark.soak
def test_many_of_them() -> None:
    for seed in range(300, 5_000):
        look_at(seed)


def look_at(seed: int) -> bool:
    """By bits and by path. The answer: does the partition wait?"""
    case = Case.of(seed)
    program = compile_rows(case.pattern)
    if program.marks > MOST_MARKS:
        return False
    sure = certain(case)
    offsets, skipping = one_partition(case.table), skipping_of(case.skip)
    ends, bits = OpenEnds.fresh(offsets, case.reached), bits_of(program, case.table)
    asked = Asked(program, case.table.holds)
    answers = [
        found_by(lambda: match_bits(program, bits, offsets, skipping, case.times, case.within, ends)),
        found_by(lambda: match_paths(program, asked, offsets, skipping, case.times, case.within, ends=ends)),
    ]
    for answer in answers:
        found = None if answer is None else list(told(program, answer))
        if found is None:
            assert sure[-1] == STUCK, case.told()
        elif case.anchored or case.needs > MORE:
            # A way that asks for a row and then for `^` never leads anywhere; we wait for it. And what needs many rows
            # is decided by none of the few that are tried.
            assert found == sure[: len(found)], case.told()
        else:
            assert found == sure, case.told()
    both = [None if a is None else a.waits.tolist() for a in answers]
    assert both[0] == both[1]
    return answers[0] is not None and bool(answers[0].waits[0] < case.table.rows)


def test_conditions_over_the_match() -> None:
    for seed in range(150):
        case, salt = Case.of(seed), Random(seed).randint(0, 255)
        program, offsets = compile_rows(case.pattern), one_partition(case.table)
        asked = Asked(program, conditions_over_the_match(case.table, salt))
        ends, skipping = OpenEnds.fresh(offsets), skipping_of(case.skip)
        answer = found_by(lambda: match_paths(program, asked, offsets, skipping, None, None, ends=ends))  # noqa: B023
        answers = []
        for more in ways_to_go_on(MORE):
            whole = BitTable((*case.table.bits, *more))
            holds = conditions_over_the_match(whole, salt)
            answers.append(plain(case.pattern, whole.rows, holds, case.skip))
        sure = common(answers)
        if answer is None:
            assert sure[-1] == STUCK, case.told()
        else:
            found = list(told(program, answer))
            assert found == sure[: len(found)], case.told()


@pytest.mark.parametrize("within", [None, 5])
def test_a_partition_goes_on_where_it_waits(within: int | None) -> None:
    """`A B` over A A A B: at the second A the first is decided, and so on."""
    program = compile_rows(Concatenation((Variable("A"), Variable("B"))))
    bits, times = np.array([1, 1, 1, 2]), np.array([0, 1, 2, 3])
    offsets = np.array([0, 3])
    waits = match_bits(program, bits, offsets, Skipping(), times, within, OpenEnds.fresh(offsets, 2)).waits
    assert waits.tolist() == [2]
    ends = OpenEnds(waits, np.array([True]), np.array([4]), 3)
    found = match_bits(program, bits, np.array([0, 4]), Skipping(), times, within, ends)
    assert (found.starts.tolist(), found.waits.tolist()) == ([2], [4])
