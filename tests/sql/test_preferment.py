"""The oracle against matches worked out by hand. Rows are written as the variables that may take them."""

from __future__ import annotations

import re
from itertools import pairwise, permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from preferment import (
    RowMatch,
    SkipMistake,
    Taken,
    Way,
    all_matches,
    first_match,
    potential_matches,
    unmatched_rows,
)
from row_strategies import NAMES, BitTable, bit_tables, conditions_over_the_match, row_patterns, skips

from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowNode,
    Variable,
    variables_of,
)
from cepheid.sql_lang.clause import AfterMatch

A, B, C = Variable("A"), Variable("B"), Variable("C")


def table(text: str) -> BitTable:
    return BitTable(tuple(tuple(name in row for name in NAMES) for row in text.split()))


def seq(*parts: RowNode) -> RowNode:
    return Concatenation(parts)


def either(*parts: RowNode) -> RowNode:
    return Alternation(parts)


def times(part: RowNode, least: int, most: int | None = None) -> RowNode:
    return Quantified(part, least, most)


def seldom(part: RowNode, least: int, most: int | None = None) -> RowNode:
    return Quantified(part, least, most, greedy=False)


def spelt(way: Way | None) -> str | None:
    """`ABb`: the variables of a match, the excluded ones small."""
    if way is None:
        return None
    return "".join(t.variable.lower() if t.excluded else t.variable for t in way)


def every(pattern: RowNode, rows: str, start: int = 0) -> list[str | None]:
    bits = table(rows)
    return [spelt(way) for way in potential_matches(pattern, bits.rows, bits.holds, start)]


def found(
    pattern: RowNode, rows: str, skip: AfterMatch = AfterMatch.PAST_LAST_ROW, to: str | None = None
) -> list[tuple[int, str | None]]:
    bits = table(rows)
    subsets = {"U": ("A", "B")}
    return [(m.start, spelt(m.taken)) for m in all_matches(pattern, bits.rows, bits.holds, skip, to, subsets)]


@pytest.mark.parametrize(
    ("pattern", "rows", "wanted"),
    [
        (A, "A", ["A"]),
        (A, "B", []),
        (A, "", []),
        (Empty(), "", [""]),
        (seq(A, B), "A B", ["AB"]),
        (seq(A, B), "A", []),
        (either(A, B), "AB", ["A", "B"]),
        (either(B, A), "AB", ["B", "A"]),
        (either(A, seq(A, B)), "A B", ["A", "AB"]),
        (times(A, 0), "A A B", ["AA", "A", ""]),
        (seldom(A, 0), "A A B", ["", "A", "AA"]),
        (times(A, 1), "A A B", ["AA", "A"]),
        (seldom(A, 1), "A A B", ["A", "AA"]),
        (times(A, 0, 1), "A A", ["A", ""]),
        (seldom(A, 0, 1), "A A", ["", "A"]),
        (times(A, 2, 3), "A A A A", ["AAA", "AA"]),
        (seldom(A, 2, 3), "A A A A", ["AA", "AAA"]),
        (times(A, 2), "A B", []),
        (times(A, 0, 0), "A", [""]),
        # more iterations of the outer are preferred only after the choice inside each of them
        (times(either(A, B), 0), "AB AB", ["AA", "AB", "A", "BA", "BB", "B", ""]),
        (seq(times(A, 0), times(B, 0)), "AB AB", ["AA", "AB", "A", "BB", "B", ""]),
        (times(times(A, 0, 1), 0), "A A", ["AA", "A", ""]),  # no endless empty iterations
        (times(times(A, 0, 1), 2, 2), "A", ["A", "A", ""]),  # A and nothing, nothing and A, nothing twice
        (times(seldom(A, 0, 1), 0), "A A", ["AA", "A", ""]),
        (times(Empty(), 1), "A", [""]),
        (times(either(Empty(), A), 0), "A A", ["AA", "A", ""]),
        (Permutation((A, B)), "AB AB", ["AB", "BA"]),
        (Permutation((A, B, C)), "ABC ABC ABC", ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]),
        (Permutation((A, times(B, 0, 1))), "AB AB", ["AB", "A", "BA", "A"]),
        (seq(A, Exclusion(seq(B, times(C, 0))), A), "A B C A", ["AbcA"]),
        (Exclusion(seq(A, Exclusion(B))), "A B", ["ab"]),
        (seq(Anchor(True), A), "A A", ["A"]),
        (seq(A, Anchor(True)), "A", []),
        (seq(A, Anchor(False)), "A A", []),
        (seq(times(A, 0), Anchor(False)), "A A", ["AA"]),
        (seq(Anchor(True), Anchor(False)), "", [""]),
        (seq(A, either(B, Empty()), C), "A C", ["AC"]),
    ],
)
def test_potential_matches_come_in_order_of_preferment(
    pattern: RowNode, rows: str, wanted: list[str]
) -> None:
    assert every(pattern, rows) == wanted


def test_an_anchor_looks_at_the_partition_and_not_at_the_start() -> None:
    assert every(seq(Anchor(True), A), "A A", start=1) == []
    assert every(seq(A, Anchor(False)), "A A", start=1) == ["A"]


def test_greedy_gives_back_what_the_rest_needs() -> None:
    assert first_match(seq(times(A, 1), B), 3, table("A AB AB").holds, 0) == (
        Taken(0, "A"),
        Taken(1, "A"),
        Taken(2, "B"),
    )
    assert spelt(first_match(seq(seldom(A, 1), B), 3, table("A AB AB").holds, 0)) == "AB"


def test_a_condition_sees_the_match_so_far() -> None:
    def rising(variable: str, row: int, so_far: list[tuple[int, str]]) -> bool:
        seen.append((variable, row, so_far))
        return not so_far or price[row] > price[so_far[-1][0]]

    price = [1, 3, 2]
    seen: list[tuple[str, int, list[tuple[int, str]]]] = []
    assert spelt(first_match(seq(A, times(B, 0)), 3, rising, 0)) == "AB"
    assert seen == [("A", 0, []), ("B", 1, [(0, "A")]), ("B", 2, [(0, "A"), (1, "B")])]


@pytest.mark.parametrize(
    ("skip", "to", "wanted"),
    [
        (AfterMatch.PAST_LAST_ROW, None, [(0, "ABB"), (3, "AB")]),
        (AfterMatch.TO_NEXT_ROW, None, [(0, "ABB"), (3, "AB")]),
        (AfterMatch.TO_FIRST, "B", [(0, "ABB"), (3, "AB")]),
        (AfterMatch.TO_LAST, "B", [(0, "ABB"), (3, "AB")]),
        (AfterMatch.TO_LAST, "U", [(0, "ABB"), (3, "AB")]),
    ],
)
def test_skips_where_matches_cannot_overlap(
    skip: AfterMatch, to: str | None, wanted: list[tuple[int, str]]
) -> None:
    assert found(seq(A, times(B, 1)), "A B B A B", skip, to) == wanted


@pytest.mark.parametrize(
    ("skip", "to", "wanted"),
    [
        (AfterMatch.PAST_LAST_ROW, None, [(0, "AAB")]),
        (AfterMatch.TO_NEXT_ROW, None, [(0, "AAB"), (1, "AAB"), (2, "AB")]),
        (AfterMatch.TO_FIRST, "B", [(0, "AAB"), (2, "AB")]),
        (AfterMatch.TO_LAST, "U", [(0, "AAB"), (2, "AB")]),
    ],
)
def test_skips_into_a_match(skip: AfterMatch, to: str | None, wanted: list[tuple[int, str]]) -> None:
    assert found(seq(times(A, 1, 2), B), "A A AB B", skip, to) == wanted


def test_a_skip_to_the_first_row_of_the_match_itself_fails() -> None:
    with pytest.raises(SkipMistake, match="own first row"):
        found(seq(A, B), "A B", AfterMatch.TO_FIRST, "A")
    with pytest.raises(SkipMistake, match="own first row"):
        found(seq(A, B), "A B", AfterMatch.TO_FIRST, "U")
    with pytest.raises(SkipMistake, match="match 3"):  # AAB, AAB, and AB whose last A is its first row
        found(seq(times(A, 1, 2), B), "A A AB B", AfterMatch.TO_LAST, "A")


def test_a_skip_to_a_variable_without_a_row_fails() -> None:
    with pytest.raises(SkipMistake, match="mapped to C"):
        found(seq(A, times(C, 0)), "A B", AfterMatch.TO_LAST, "C")
    assert found(seq(A, times(C, 0)), "B B", AfterMatch.TO_LAST, "C") == []


def test_an_empty_match_counts_and_goes_on_at_the_next_row() -> None:
    bits = table("A B A A")
    assert all_matches(times(A, 0), bits.rows, bits.holds) == [
        RowMatch(1, 0, (Taken(0, "A"),)),
        RowMatch(2, 1, ()),
        RowMatch(3, 2, (Taken(2, "A"), Taken(3, "A"))),
    ]
    # SKIP TO A says nothing about a match without rows
    assert found(times(A, 0), "B B", AfterMatch.TO_LAST, "A") == [(0, ""), (1, "")]


def test_unmatched_rows_are_in_no_match_and_start_no_empty_one() -> None:
    bits = table("B A A B C")
    matches = all_matches(seq(A, Exclusion(times(A, 0)), B), bits.rows, bits.holds)
    assert [spelt(m.taken) for m in matches] == ["AaB"]
    assert unmatched_rows(matches, bits.rows) == [0, 4]
    assert unmatched_rows(all_matches(times(A, 0), bits.rows, bits.holds), bits.rows) == []


@settings(max_examples=150)
@given(st.data(), row_patterns(), bit_tables(), st.integers(0, 255))
def test_whatever_is_found_is_a_match(
    data: st.DataObject, pattern: RowNode, bits: BitTable, salt: int
) -> None:
    skip, to = data.draw(skips(pattern))
    holds = conditions_over_the_match(bits, salt)
    try:
        matches = all_matches(pattern, bits.rows, holds, skip, to)
    except SkipMistake:
        return
    assert [m.number for m in matches] == [*range(1, len(matches) + 1)]
    for before, after in pairwise(matches):
        assert before.start < after.start
    for m in matches:
        assert [t.row for t in m.taken] == [*range(m.start, m.start + len(m.taken))]
        assert {t.variable for t in m.taken} <= set(variables_of(pattern))
        for i, t in enumerate(m.taken):
            assert holds(t.variable, t.row, m.mapping[:i])


def regex(node: RowNode) -> str | None:
    """The pattern for Python's `re`, one letter a row; None if an iteration may take no row: `re` has its own rule."""
    parts = [regex(part) for part in node.children()]
    if None in parts:
        return None
    texts = [f"(?:{part})" for part in parts if part is not None]
    match node:
        case Variable(name):
            return name
        case Empty():
            return ""
        case Anchor(start):
            return r"\A" if start else r"\Z"
        case Alternation():
            return "|".join(texts)
        case Permutation():
            return "|".join("".join(order) for order in permutations(texts))
        case Quantified(part, least, most, greedy):
            if _may_be_empty(part):
                return None
            return f"{texts[0]}{{{least},{'' if most is None else most}}}{'' if greedy else '?'}"
        case _:
            return "".join(texts)


def _may_be_empty(node: RowNode) -> bool:
    match node:
        case Variable():
            return False
        case Empty() | Anchor():
            return True
        case Alternation(parts):
            return any(_may_be_empty(part) for part in parts)
        case Quantified(part, least):
            return least == 0 or _may_be_empty(part)
        case _:
            return all(_may_be_empty(part) for part in node.children())


@settings(max_examples=400)
@given(row_patterns(), st.text("ABC", max_size=8), st.data())
def test_where_a_row_fits_one_variable_it_is_a_regular_expression(
    pattern: RowNode, rows: str, data: st.DataObject
) -> None:
    text = regex(pattern)
    assume(text is not None)
    start = data.draw(st.integers(0, len(rows)))
    wanted = re.compile(text or "").match(rows, start)
    way = first_match(pattern, len(rows), lambda variable, row, so_far: rows[row] == variable, start)
    assert (way is None) == (wanted is None)
    if way is not None and wanted is not None:
        assert "".join(t.variable for t in way) == wanted.group()
