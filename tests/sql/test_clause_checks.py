"""What a clause may not say although it can be read; and row patterns in windows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.errors import CepheidError, PatternMistake
from cepheid.sql_lang.checks import pattern_size
from cepheid.sql_lang.clause import AfterMatch, Search
from cepheid.sql_lang.reading import read_statement
from cepheid.sql_lang.row_patterns import read_row_pattern
from cepheid.sql_lang.windows import find_windows

BEFORE = "SELECT * FROM t MATCH_RECOGNIZE ("


@pytest.mark.parametrize(
    "inside",
    [
        "PATTERN (A B)",
        "PATTERN (A B) DEFINE b AS x > 1",
        "PATTERN (A `a`) DEFINE A AS x, `a` AS y",
        'MEASURES 1 AS a, 2 AS "a" PATTERN (A)',
        "AFTER MATCH SKIP TO u PATTERN (A B) SUBSET U = (A, b)",
        "AFTER MATCH SKIP TO FIRST b PATTERN (A B)",
        "ALL ROWS PER MATCH PATTERN (A {- B -})",
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B)",
        "MEASURES A.select AS x, 'SELECT (SELECT' AS y PATTERN (A) DEFINE A AS `(select` = match_recognize",
        "PATTERN (PERMUTE(A,B,C,D,E,F,G,H))",
        "PATTERN ((A{1000}){100})",
        "PATTERN (A{5,})",
        "ORDER BY a PATTERN (())",
    ],
)
def test_what_is_allowed(inside: str) -> None:
    assert len(read_statement(f"{BEFORE}{inside})").clauses) == 1


@pytest.mark.parametrize(
    ("inside", "code", "column", "message", "hint"),
    [
        (
            "PATTERN (A) DEFINE B AS 1",
            "unknown_variable",
            53,
            "in DEFINE, `B` is no variable of the pattern",
            "the pattern has A",
        ),
        (
            "PATTERN (DOWN UP) DEFINE dwn AS 1",
            "unknown_variable",
            59,
            "in DEFINE, `DWN` is no variable of the pattern",
            "did you mean `DOWN`?",
        ),
        (
            "PATTERN (`a`) DEFINE a AS 1",
            "unknown_variable",
            55,
            "in DEFINE, `A` is no variable of the pattern",
            "names in quotes keep their case, others are read in upper case: the pattern has `a`",
        ),
        (
            "PATTERN (A) DEFINE A AS 1, a AS 2",
            "duplicate_variable",
            61,
            "`A` is defined twice",
            "write one condition, with AND or OR between the two",
        ),
        (
            "PATTERN (A) SUBSET u = (A) DEFINE u AS 1",
            "subset_defined",
            68,
            "`U` is a SUBSET: it has no condition of its own",
            "define the variables it is made of",
        ),
        (
            "PATTERN (A B) SUBSET a = (B)",
            "subset_is_variable",
            55,
            "`A` is a variable of the pattern already",
            "give the SUBSET another name",
        ),
        (
            "PATTERN (A B) SUBSET u = (A), U = (B)",
            "duplicate_subset",
            64,
            "there are two SUBSETs called `U`",
            "rename one of them",
        ),
        (
            "PATTERN (A B) SUBSET u = (A), v = (u)",
            "unknown_variable",
            69,
            "in SUBSET, `U` is no variable of the pattern",
            "the pattern has A, B",
        ),
        (
            "PATTERN (A B) SUBSET u = (A, a)",
            "duplicate_member",
            63,
            "`A` stands twice in the SUBSET",
            "leave one out",
        ),
        (
            "AFTER MATCH SKIP TO LAST start PATTERN (strt B)",
            "unknown_variable",
            59,
            "in SKIP TO, `START` is no variable of the pattern and no SUBSET",
            "did you mean `STRT`?",
        ),
        (
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})",
            "exclusion_with_unmatched",
            84,
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS cannot go with an exclusion `{- -}`",
            "leave out WITH UNMATCHED ROWS, or the signs `{-` and `-}`",
        ),
        (
            "MEASURES 1 AS a, 2 AS A PATTERN (A)",
            "duplicate_measure",
            56,
            "there are two measures called `A`",
            "rename one of them",
        ),
        (
            "PATTERN (A) DEFINE A AS x IN (SELECT 1)",
            "query_in_clause",
            64,
            "in a condition a subquery cannot stand",
            "join what it needs to the table before MATCH_RECOGNIZE",
        ),
        (
            "MEASURES ( WITH c AS (SELECT 1) SELECT 1) AS x PATTERN (A)",
            "query_in_clause",
            45,
            "in a measure a subquery cannot stand",
            "join what it needs to the table before MATCH_RECOGNIZE",
        ),
        (
            "PATTERN (PERMUTE(A,B,C,D,E,F,G,H,I))",
            "pattern_too_big",
            43,
            "PERMUTE has 9 parts; it may have 8",
            "PERMUTE stands for all orders of its parts: write those that are needed, with `|` between them",
        ),
        (
            "PATTERN (B (A{1000}){101} C)",
            "pattern_too_big",
            45,
            "with its bounds written out the pattern has 101002 parts; it may have 100000",
            "take lower bounds, or `*` and `+`",
        ),
    ],
)
def test_mistakes(inside: str, code: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(PatternMistake) as caught:
        read_statement(f"{BEFORE}{inside})")
    error = caught.value
    assert error.place is not None
    assert (error.code, error.message, error.hint) == (code, message, hint)
    assert (error.place.line, error.place.column) == (1, column)


def test_a_clause_in_a_condition() -> None:
    inner = "EXISTS (SELECT 1 FROM u MATCH_RECOGNIZE (PATTERN (X)))"
    with pytest.raises(PatternMistake) as caught:
        read_statement(f"{BEFORE}PATTERN (A)\nDEFINE A AS x >\n  1 AND {inner})")
    assert caught.value.code == "query_in_clause"
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (3, 17)


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("A", 1),
        ("A B | C", 3),
        ("A* B+ C?", 3),
        ("A{3} B{2,5} C{4,}", 12),
        ("(A{3} B){10}", 40),
        ("PERMUTE(A, B, C)", 12),
        ("^ () {- A -} $", 4),
    ],
)
def test_size(pattern: str, size: int) -> None:
    assert pattern_size(read_row_pattern(pattern)) == size


# Windows.

WINDOWS = """
SELECT m OVER w, coalesce(n OVER w, 0), sum(x) OVER w, k OVER (ORDER BY t
    MEASURES LAST(A.t) AS k ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING PATTERN (A+)),
  sum(x) OVER (PARTITION BY pattern(x) ORDER BY pattern)
FROM t
WINDOW z AS (PARTITION BY u), w AS (z ORDER BY t MEASURES count(*) AS m, A.x AS n
  ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
  AFTER MATCH SKIP TO NEXT ROW SEEK PATTERN (A B) SUBSET u = (A, B) DEFINE A AS f(x, 1))
"""


def test_windows() -> None:
    unnamed, named = read_statement(WINDOWS).windows
    assert WINDOWS[named.span.start : named.span.end].startswith("w AS (z ORDER")
    assert (named.name and named.name.name, named.parts.base and named.parts.base.name) == ("W", "Z")
    assert named.parts.search is Search.SEEK
    assert named.parts.clause.skip.to is AfterMatch.TO_NEXT_ROW
    assert named.parts.frame is not None
    assert named.parts.frame.text.text == "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
    assert named.parts.frame.end is None
    assert (unnamed.name, unnamed.parts.search) == (None, Search.INITIAL)
    assert unnamed.parts.frame is not None
    assert unnamed.parts.frame.end == "5"
    assert [m.name.name for m in unnamed.parts.clause.measures] == ["K"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(x) OVER (PARTITION BY pattern) FROM t",
        "SELECT 'OVER (ROWS PATTERN (A))'",
        "WITH pattern AS (SELECT 1) SELECT * FROM pattern WINDOW w AS (ORDER BY x)",
        "WITH w AS (SELECT x pattern FROM t) SELECT sum(x) over w",
        "SELECT patterns FROM t WHERE over > (1",
    ],
)
def test_no_row_pattern_in_the_window(text: str) -> None:
    assert find_windows(text) == []


@pytest.mark.parametrize(
    ("inside", "code", "message"),
    [
        ("ORDER BY t ONE ROW PER MATCH PATTERN (A)", "section_not_here", "only in MATCH_RECOGNIZE"),
        (
            "ORDER BY t RANGE BETWEEN 1 PRECEDING AND CURRENT ROW PATTERN (A)",
            "bad_frame",
            "begins with the current",
        ),
        ("ORDER BY t ROWS UNBOUNDED PRECEDING PATTERN (A)", "bad_frame", "begins with the current"),
        ("ORDER BY t PATTERN (A) DEFINE B AS 1", "unknown_variable", "`B` is no variable"),
    ],
)
def test_mistakes_in_windows(inside: str, code: str, message: str) -> None:
    with pytest.raises(CepheidError) as caught:
        read_statement(f"SELECT m OVER ({inside}) FROM t")
    assert caught.value.code == code
    assert message in caught.value.message


# Nonsense is a mistake with a place, never a crash.

GOOD = """SELECT * FROM a.b AS t ( c , d ) MATCH_RECOGNIZE ( PARTITION BY x , y ORDER BY z DESC NULLS LAST
    MEASURES CASE WHEN x THEN 1 END AS m , FINAL LAST ( A.x ) AS "n" ALL ROWS PER MATCH OMIT EMPTY MATCHES
    AFTER MATCH SKIP TO LAST B PATTERN ( ^ A {- B {2,3} ? -} | PERMUTE ( A , B ) * $ | () )
    WITHIN INTERVAL '5' MINUTE SUBSET U = ( A , B ) DEFINE A AS x > 1 , B AS f ( [ y ] , 'z' ) ) AS o ( e )
    JOIN u USING ( v ) WINDOW w AS ( o ORDER BY q MEASURES 1 AS r ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING SEEK
    PATTERN ( A ) )"""
WORDS = GOOD.split()


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The statement with some words left out, doubled or put elsewhere."""
    words = list(WORDS)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(words) - 1))
        other = draw(
            st.sampled_from([[], words[at : at + 1] * 2, [draw(st.sampled_from(WORDS))], ["'"], ["/*"]])
        )
        words[at : at + 1] = other
    return " ".join(words[: draw(st.integers(0, len(words)))] if draw(st.booleans()) else words)


def _mistake_in(text: str) -> CepheidError | None:
    try:
        read_statement(text)
    except CepheidError as error:
        return error
    return None


def test_the_statement_is_good() -> None:
    assert _mistake_in(GOOD) is None


@settings(max_examples=200)
@given(damaged())
def test_nonsense(text: str) -> None:
    error = _mistake_in(text)
    assert error is None or (error.place is not None and str(error))
