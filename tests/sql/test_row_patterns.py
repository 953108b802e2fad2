"""Row patterns: text to model, model to text, and what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import CepheidError
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
    walk_rows,
)
from cepheid.sql_lang.row_pattern_text import row_pattern_text
from cepheid.sql_lang.row_patterns import read_row_pattern
from cepheid.sql_lang.scan import STANDARD

A, B, C = Variable("A"), Variable("B"), Variable("C")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", A),
        ("a", A),
        ("`a`", Variable("a")),
        ('"a b"', Variable("a b")),
        ("`a``b`", Variable("a`b")),
        ("A B C", Concatenation((A, B, C))),
        ("A|B|C", Alternation((A, B, C))),
        ("A B|C", Alternation((Concatenation((A, B)), C))),
        ("A (B|C)", Concatenation((A, Alternation((B, C))))),
        ("((A))", A),
        ("(A B) C", Concatenation((Concatenation((A, B)), C))),
        ("()", Empty()),
        ("A | ()", Alternation((A, Empty()))),
        ("^A$", Concatenation((Anchor(True), A, Anchor(False)))),
        ("A*", Quantified(A, 0, None)),
        ("A+", Quantified(A, 1, None)),
        ("A?", Quantified(A, 0, 1)),
        ("A{2}", Quantified(A, 2, 2)),
        ("A{2,}", Quantified(A, 2, None)),
        ("A{,3}", Quantified(A, 0, 3)),
        ("A{2,3}", Quantified(A, 2, 3)),
        ("A{0,3}", Quantified(A, 0, 3)),
        ("A{,}", Quantified(A, 0, None)),
        ("A { 2 , 3 }", Quantified(A, 2, 3)),
        ("A*?", Quantified(A, 0, None, False)),
        ("A+?", Quantified(A, 1, None, False)),
        ("A??", Quantified(A, 0, 1, False)),
        ("A{2}?", Quantified(A, 2, 2, False)),
        ("A{2,}?", Quantified(A, 2, None, False)),
        ("A{,3}?", Quantified(A, 0, 3, False)),
        ("A{2,3} ?", Quantified(A, 2, 3, False)),
        ("(A|B)*?", Quantified(Alternation((A, B)), 0, None, False)),
        ("(A?)?", Quantified(Quantified(A, 0, 1), 0, 1)),
        ("A B*C+", Concatenation((A, Quantified(B, 0, None), Quantified(C, 1, None)))),
        ("{- A -}", Exclusion(A)),
        ("{-A B-}+", Quantified(Exclusion(Concatenation((A, B))), 1, None)),
        ("A{-B{2}-}C", Concatenation((A, Exclusion(Quantified(B, 2, 2)), C))),
        ("PERMUTE(A, B C, a|b)", Permutation((A, Concatenation((B, C)), Alternation((A, B))))),
        ("permute ( A ) {2}", Quantified(Permutation((A,)), 2, 2)),
        ("permute", Variable("PERMUTE")),
        ("A--x\nB", Concatenation((A, B))),
        ("A/* B /* ' */ */C", Concatenation((A, C))),
    ],
)
def test_patterns(text: str, expected: RowNode) -> None:
    assert read_row_pattern(text) == expected


def test_double_quotes_are_names_in_both_dialects() -> None:
    assert read_row_pattern('"a"') == read_row_pattern('"a"', dialect=STANDARD) == Variable("a")


def test_parts_know_their_places() -> None:
    pattern = read_row_pattern("A\n  (B C)+ | {- d -}")
    places = {row_pattern_text(n): n.place for n in walk_rows(pattern)}
    found = {text: (p.line, p.column, p.end_line, p.end_column) for text, p in places.items() if p}
    assert found["A"] == (1, 1, 1, 2)
    assert found["(B C)+"] == (2, 3, 2, 9)
    assert found["C"] == (2, 6, 2, 7)
    assert found["{- D -}"] == (2, 12, 2, 19)
    assert variables_of(pattern) == ("A", "B", "C", "D")


_NAMES = st.sampled_from(["A", "B", "LONG_1", "a", "x y", "b`c", "AND", "PERMUTE", "É", "ß"]).map(Variable)
_ATOMS: st.SearchStrategy[RowNode] = _NAMES | st.just(Empty()) | st.booleans().map(Anchor)
_BOUNDS = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (2, None), (0, 3), (2, 5), (1, 1)])


def _bigger(parts: st.SearchStrategy[RowNode]) -> st.SearchStrategy[RowNode]:
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    repeatable = parts.filter(lambda p: not isinstance(p, Anchor))
    return st.one_of(
        several.map(Concatenation),
        several.map(Alternation),
        st.lists(parts, min_size=1, max_size=4).map(tuple).map(Permutation),
        parts.map(Exclusion),
        st.builds(lambda p, b, g: Quantified(p, b[0], b[1], g), repeatable, _BOUNDS, st.booleans()),
    )


@given(st.recursive(_ATOMS, _bigger, max_leaves=12))
def test_what_is_printed_reads_back(pattern: RowNode) -> None:
    assert read_row_pattern(row_pattern_text(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "code", "column", "message", "hint"),
    [
        ("", "empty_pattern", 1, "the pattern is empty", "(())"),
        (" /* */ ", "empty_pattern", 1, "the pattern is empty", "(())"),
        ("A||B", "empty_alternative", 2, "an alternative is empty", "A | ()"),
        ("A | | B", "empty_alternative", 5, "an alternative is empty", "A | ()"),
        ("A |", "empty_alternative", 3, "an alternative is empty", "A | ()"),
        ("|A", "empty_alternative", 1, "an alternative is empty", "A | ()"),
        ("(A|)", "empty_alternative", 4, "an alternative is empty", "A | ()"),
        ("{- |A -}", "empty_alternative", 4, "an alternative is empty", "A | ()"),
        ("*", "nothing_to_repeat", 1, "before `*` there is nothing", "A+"),
        ("A (+ B)", "nothing_to_repeat", 4, "before `+` there is nothing", "A+"),
        ("A | {2}", "nothing_to_repeat", 5, "before `{` there is nothing", "A+"),
        ("A**", "two_quantifiers", 3, "`*` follows directly", "(A+){2}"),
        ("A+{2}", "two_quantifiers", 3, "`{` follows directly", "(A+){2}"),
        ("A???", "two_quantifiers", 4, "`?` follows directly", "(A+){2}"),
        ("^*", "quantified_anchor", 2, "an anchor cannot be repeated", "leave the quantifier out"),
        ("A $ {2}", "quantified_anchor", 5, "an anchor cannot be repeated", "leave the quantifier out"),
        ("A{3,2}", "bad_bounds", 2, "the upper bound 2 is below the lower bound 3", "{2,3}"),
        ("A{0}", "bad_bounds", 2, "the upper bound must be at least 1", "leave that part"),
        ("A{,0}", "bad_bounds", 2, "the upper bound must be at least 1", "leave that part"),
        ("A{0,0}", "bad_bounds", 2, "the upper bound must be at least 1", "leave that part"),
        ("A{}", "bad_bounds", 3, "`}` cannot stand in a quantifier", "{2,5}"),
        ("A{x}", "bad_bounds", 3, "`x` cannot stand in a quantifier", "{2,5}"),
        ("A{1.5}", "bad_bounds", 3, "`1.5` cannot stand in a quantifier", "{2,5}"),
        ("A{1,2,3}", "bad_bounds", 6, "`,` cannot stand in a quantifier", "{2,5}"),
        ("A{-1}", "wrong_sign", 4, "`1` is no part of a pattern", "DEFINE"),
        ("{- -}", "empty_pattern", 4, "this exclusion is empty", "{- A -}"),
        ("{- A }", "unclosed_bracket", 6, "this `}` closes no quantifier", "-}"),
        ("({- A)", "unclosed_bracket", 2, "this `{-` is not closed", "-}"),
        ("PERMUTE()", "empty_pattern", 9, "PERMUTE has no parts", "PERMUTE(A, B)"),
        ("PERMUTE(A,)", "extra_comma", 11, "a part of PERMUTE is missing", "leave the comma out"),
        ("A, B", "wrong_sign", 2, "`,` cannot stand between variables", "`A B`"),
        ("A -> B", "wrong_sign", 3, "`->` cannot stand between variables", "`A B`"),
        ("A and B", "wrong_sign", 3, "`and` cannot stand between variables", "`A B`"),
        ("A OR B", "wrong_sign", 3, "`OR` cannot stand between variables", "`A | B`"),
        ("NOT A", "wrong_sign", 1, "a pattern has no `NOT`", "define a variable"),
        ("A[x > 1]", "wrong_sign", 2, "`[` is no part of a pattern", "DEFINE"),
        ("t.A", "wrong_sign", 2, "`.` is no part of a pattern", "DEFINE"),
        ("A 'x'", "wrong_sign", 3, "`'x'` is no part of a pattern", "DEFINE"),
        ("A @", "syntax", 3, "`@` cannot stand here", "a variable"),
        ("(A", "unclosed_bracket", 1, "this `(` is not closed", ")"),
        ("A)", "extra_bracket", 2, "this `)` closes nothing", "("),
        ("(" * 101 + "A" + ")" * 101, "pattern_too_big", 101, "more than 100 brackets", "leave out"),
        ("A{99999999999}", "pattern_too_big", 3, "this bound is too high", ""),
    ],
)
def test_mistakes(text: str, code: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(CepheidError) as caught:
        read_row_pattern(text)
    error = caught.value
    assert error.place is not None
    assert (error.code, error.place.line, error.place.column) == (code, 1, column)
    assert message in error.message
    assert hint in (error.hint or "")


def test_a_mistake_on_a_later_line() -> None:
    with pytest.raises(CepheidError) as caught:
        read_row_pattern("A -- one\n  B,\nC")
    assert str(caught.value).splitlines()[:3] == [
        "pattern, line 2, column 4: `,` cannot stand between variables",
        "  2 |   B,",
        "    |    ^",
    ]
