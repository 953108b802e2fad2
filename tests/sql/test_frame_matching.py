"""The matcher in frames against the plain rules: random patterns, rows, conditions, frames, INITIAL and SEEK, skips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from frame_rules import FrameMatch, match_in, matches_of_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from preferment import SkipMistake, Taken
from row_strategies import NAMES, row_patterns, skips
from test_row_matching import MODES

from cepheid.errors import EvaluationError
from cepheid.matching.rows.found import PAST_LAST, TO_NEXT, Skipping
from cepheid.matching.rows.frames import FrameMatches, Frames, match_in_frames
from cepheid.matching.rows.match import goes_by_bits
from cepheid.matching.rows.program import RowProgram, compile_rows
from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Quantified,
    RowNode,
    Variable,
    walk_rows,
)
from cepheid.sql_lang.aggregate_names import KeptAggregates
from cepheid.sql_lang.clause import AfterMatch, SqlText
from cepheid.sql_lang.expressions import Terms
from cepheid.sql_lang.source import SqlSource

Values = list[int | None]
Rule = Callable[[Values, int, list[tuple[int, str]], range], bool]


def see(x: Values, row: int, frame: range) -> int | None:
    return x[row] if row in frame else None


def less(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other


# What looks at a row and its neighbours.
LOCAL: dict[str, Rule] = {
    "x = 1": lambda x, r, m, f: x[r] == 1,
    "x IS NULL OR x < 2": lambda x, r, m, f: x[r] is None or x[r] < 2,  # type: ignore[operator]
    "x > PREV(x)": lambda x, r, m, f: less(see(x, r - 1, f), x[r]),
    "PREV(x) IS NULL": lambda x, r, m, f: see(x, r - 1, f) is None,
    "x < PREV(x, 2) OR PREV(x) IS NULL": lambda x, r, m, f: (
        less(x[r], see(x, r - 2, f)) or see(x, r - 1, f) is None
    ),
    "x < NEXT(x)": lambda x, r, m, f: less(x[r], see(x, r + 1, f)),
    "x = 1 AND NEXT(x) IS NULL": lambda x, r, m, f: x[r] == 1 and see(x, r + 1, f) is None,
    "NEXT(x, 2) IS NULL": lambda x, r, m, f: see(x, r + 2, f) is None,
    "NEXT(x) > PREV(x)": lambda x, r, m, f: less(see(x, r - 1, f), see(x, r + 1, f)),
    "PREV(x, 3) IS NULL AND NEXT(x) IS NOT NULL": lambda x, r, m, f: (
        see(x, r - 3, f) is None and see(x, r + 1, f) is not None
    ),
}
# What a database would answer of one row alone.
OF_ONE_ROW: dict[str, Callable[[int | None], Any]] = {
    "x": lambda v: v,
    "x = 1": lambda v: None if v is None else v == 1,
    "x IS NULL OR x < 2": lambda v: v is None or v < 2,
}
# What looks at the match so far, too.
OF_THE_MATCH: dict[str, Rule] = {
    "x >= FIRST(x)": lambda x, r, m, f: (
        not less(x[r], x[([*m, (r, "")])[0][0]]) and None not in (x[r], x[([*m, (r, "")])[0][0]])
    ),
    "COUNT(*) < 3": lambda x, r, m, f: len(m) < 2,
    "PREV(FIRST(x)) IS NULL": lambda x, r, m, f: see(x, ([*m, (r, "")])[0][0] - 1, f) is None,
    "NEXT(FIRST(x), 2) IS NOT NULL": lambda x, r, m, f: see(x, ([*m, (r, "")])[0][0] + 2, f) is not None,
}
values = st.lists(st.none() | st.integers(0, 3), max_size=8)
frame_sizes = st.none() | st.lists(st.integers(0, 4), min_size=8, max_size=8) | st.integers(0, 5)
patterns = row_patterns().filter(lambda p: not any(isinstance(n, Anchor) for n in walk_rows(p)))


def frames_of(sizes: Any, rows: int) -> list[range]:
    def last(row: int) -> int:
        size = rows if sizes is None else sizes if isinstance(sizes, int) else sizes[row]
        return min(rows, row + int(size) + 1)

    return [range(row, last(row)) for row in range(rows)]


def found_for(program: RowProgram, found: FrameMatches) -> list[FrameMatch | None]:
    matches = found.matches
    ends = np.cumsum(matches.sizes)
    answer: list[FrameMatch | None] = []
    for which in found.of_row.tolist():
        if which < 0:
            answer.append(None)
            continue
        start, size = int(matches.starts[which]), int(matches.sizes[which])
        labels = matches.labels[ends[which] - size : ends[which]].tolist()
        taken = (
            Taken(start + i, program.variables[program.first[at]], bool(program.excluded[at]))
            for i, at in enumerate(labels)
        )
        answer.append(FrameMatch(start, tuple(taken)))
    return answer


def check(
    pattern: RowNode,
    x: Values,
    texts: dict[str, str],
    sizes: Any,
    seek: bool,
    skip: tuple[AfterMatch, str | None],
    by_bits: bool,
) -> None:
    rules = {**LOCAL, **OF_THE_MATCH}
    place = SqlSource("x").place(0, 1)
    terms = Terms(KeptAggregates("duckdb"), {name: frozenset({name}) for name in NAMES})
    conditions = {name: terms.condition(SqlText(text, place), name) for name, text in texts.items()}
    columns = {
        name: pa.array([OF_ONE_ROW[text](v) for v in x], pa.int64() if text == "x" else pa.bool_())
        for text, name in terms.columns.items()
    }
    table = pa.table({"x": pa.array(x, pa.int64()), **columns})
    frames = frames_of(sizes, len(x))
    program = compile_rows(pattern)
    skipping = Skipping(MODES[skip[0]], frozenset({skip[1]} if skip[1] else ()), skip[1] or "")
    ends = np.array([f.stop for f in frames], np.int64)
    given_frames = Frames(ends, sizes is not None, seek)
    assert goes_by_bits(program, conditions) or not by_bits or program.marks > 6

    def run() -> FrameMatches:
        return match_in_frames(program, conditions, table, np.array([0, len(x)]), given_frames, skipping)

    def holds(name: str, row: int, so_far: list[tuple[int, str]], frame: range) -> bool:
        return name not in texts or rules[texts[name]](x, row, so_far, frame)

    try:
        expected = matches_of_rows(pattern, frames, holds, seek, *skip)
    except SkipMistake:
        with pytest.raises(EvaluationError):
            run()
        return
    assert found_for(program, run()) == expected


@settings(max_examples=1500)
@given(
    st.data(),
    patterns,
    values,
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(list(LOCAL))),
    frame_sizes,
    st.booleans(),
)
def test_by_bits(
    data: st.DataObject, pattern: RowNode, x: Values, texts: dict[str, str], sizes: Any, seek: bool
) -> None:
    check(pattern, x, texts, sizes, seek, data.draw(skips(pattern)), by_bits=True)


@settings(max_examples=800)
@given(
    st.data(),
    patterns,
    values,
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*LOCAL, *OF_THE_MATCH]), min_size=1),
    frame_sizes,
    st.booleans(),
)
def test_by_path(
    data: st.DataObject, pattern: RowNode, x: Values, texts: dict[str, str], sizes: Any, seek: bool
) -> None:
    check(pattern, x, texts, sizes, seek, data.draw(skips(pattern)), by_bits=False)


def test_a_frame_that_ends_before_the_one_of_the_row_before() -> None:
    """Row 3 is no A for row 1, which sees that a row follows; for row 2 none does."""
    text = "x = 1 AND NEXT(x) IS NULL"
    skip = (AfterMatch.TO_NEXT_ROW, None)
    optional = Concatenation((Quantified(Variable("B"), 0, None), Variable("A")))
    for pattern in (Variable("A"), optional):
        for seek in (True, False):
            check(pattern, [0, 0, 1, 0], {"A": text}, [3, 1, 0, 0], seek, skip, by_bits=True)


# The rules themselves, by hand.


def test_the_first_row_of_a_frame_sees_nothing_before_it() -> None:
    def rises(name: str, row: int, so_far: list[tuple[int, str]], frame: range) -> bool:
        return row - 1 in frame

    assert match_in(Variable("A"), range(1, 3), rises, seek=False) is None
    assert match_in(Variable("A"), range(1, 3), rises, seek=True) == FrameMatch(2, (Taken(2, "A"),))


def test_what_is_skipped_has_no_match() -> None:
    def every(name: str, row: int, so_far: list[tuple[int, str]], frame: range) -> bool:
        return True

    two = Quantified(Variable("A"), 2, 2)
    frames = [range(row, 4) for row in range(4)]
    past = matches_of_rows(two, frames, every, seek=False)
    assert [m and m.start for m in past] == [0, None, 2, None]
    following = matches_of_rows(two, frames, every, False, AfterMatch.TO_NEXT_ROW)
    assert [m and m.start for m in following] == [0, 1, 2, None]


# The work grows with the rows.


def timed_rows(
    rows: int, seek: bool, mode: int, pattern: RowNode, bits: Any, size: int | None = None
) -> FrameMatches:
    from cepheid.matching.rows.frames import by_bits
    from cepheid.matching.rows.sight import Looks

    ends = np.minimum(np.arange(rows) + (rows if size is None else size + 1), rows)
    frames = Frames(ends, size is not None, seek)
    looks = Looks((1,))
    return by_bits(
        compile_rows(pattern),
        np.stack([bits, bits]),
        looks,
        np.array([0, rows]),
        frames,
        Skipping(mode),
        None,
        None,
    )


@pytest.mark.parametrize("size", [None, 50_000])
@pytest.mark.parametrize("seek", [False, True])
@pytest.mark.parametrize("mode", [PAST_LAST, TO_NEXT])
def test_what_has_failed_is_not_tried_again(seek: bool, mode: int, size: int | None) -> None:
    """Every way through `(A | B)* C` fails at every row: a hundred thousand passes, or one."""
    either = Alternation((Variable("A"), Variable("B")))
    pattern = Concatenation((Quantified(either, 0, None), Variable("C")))
    rows = 200_000
    found = timed_rows(rows, seek, mode, pattern, np.full(rows, 3), size)
    assert (found.of_row < 0).all()


def test_what_lies_far_off_is_found_once() -> None:
    rows = 200_000
    bits = np.zeros(rows, np.int64)
    bits[-2:] = 1
    found = timed_rows(rows, True, TO_NEXT, Quantified(Variable("A"), 2, 2), bits)
    # Near the match it is searched again: the rows from which PREV could not see its first.
    assert len(found.matches) <= 3
    assert (found.of_row[:-1] >= 0).all()
