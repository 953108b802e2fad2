"""The sections of a clause: what they say, their order, and that formatting does not matter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.errors import CepheidError, SyntaxMistake
from cepheid.pattern.row_pattern import Quantified, Variable
from cepheid.sql_lang.clause import AfterMatch, Clause, Rows, SqlText
from cepheid.sql_lang.row_pattern_text import row_pattern_text
from cepheid.sql_lang.scan import SPARK, Kind, scan
from cepheid.sql_lang.sections import read_clause
from cepheid.sql_lang.source import SqlSource
from cepheid.sql_lang.statement import clauses_of

BEFORE = "SELECT * FROM t MATCH_RECOGNIZE ("


def read(inside: str) -> Clause:
    source = SqlSource(f"{BEFORE}{inside})")
    (found,) = clauses_of(source)
    return read_clause(source, found.inside)


def texts(values: Any) -> list[str]:
    return [value.text for value in values]


FULL = """
  PARTITION BY symbol, upper(`a,b`)
  ORDER BY ts DESC NULLS LAST, CASE WHEN f(a, b) THEN c ELSE d END ASC, z NULLS FIRST, [1, 2]
  MEASURES FIRST(A.ts) AS start_ts, FINAL count(*) AS "Nr", CAST(A.x AS int) AS `y z`
  ALL ROWS PER MATCH OMIT EMPTY MATCHES
  AFTER MATCH SKIP TO FIRST B
  PATTERN (A B+? {- C -})
  WITHIN INTERVAL '5' MINUTE
  SUBSET U = (A, B), v = ("C")
  DEFINE B AS B.price > PREV(B.price) AND x IN (1, 2), c AS price BETWEEN 1 AND 2
"""


def test_all_sections() -> None:
    clause = read(FULL)
    assert texts(clause.partition_by) == ["symbol", "upper(`a,b`)"]
    assert [(o.value.text, o.descending, o.nulls_first) for o in clause.order_by] == [
        ("ts", True, False),
        ("CASE WHEN f(a, b) THEN c ELSE d END", False, None),
        ("z", False, True),
        ("[1, 2]", False, None),
    ]
    assert [(m.value.text, m.name.name, m.name.written) for m in clause.measures] == [
        ("FIRST(A.ts)", "START_TS", "start_ts"),
        ("FINAL count(*)", "Nr", "Nr"),
        ("CAST(A.x AS int)", "y z", "y z"),
    ]
    assert clause.rows is Rows.ALL_OMIT_EMPTY
    assert (clause.skip.to, clause.skip.variable and clause.skip.variable.name) == (AfterMatch.TO_FIRST, "B")
    assert row_pattern_text(clause.pattern) == "A B+? {- C -}"
    assert clause.within == 300_000_000
    assert [(s.name.name, [m.name for m in s.members]) for s in clause.subsets] == [
        ("U", ["A", "B"]),
        ("V", ["C"]),
    ]
    assert [(d.variable.name, d.condition.text) for d in clause.define] == [
        ("B", "B.price > PREV(B.price) AND x IN (1, 2)"),
        ("C", "price BETWEEN 1 AND 2"),
    ]


def test_only_a_pattern() -> None:
    clause = read("PATTERN (A+)")
    assert clause.pattern == Quantified(Variable("A"), 1, None)
    assert (clause.rows, clause.skip.to, clause.within) == (Rows.ONE, AfterMatch.PAST_LAST_ROW, None)
    assert clause.partition_by == clause.order_by == clause.measures == clause.subsets == clause.define == ()


def test_places_are_exact() -> None:
    clause = read(FULL)
    values = [
        *clause.partition_by,
        *(m.value for m in clause.measures),
        *(d.condition for d in clause.define),
    ]
    names = [
        *(m.name for m in clause.measures),
        *(d.variable for d in clause.define),
        clause.subsets[1].members[0],
    ]
    lines = clause.place.text.split("\n")
    for value in values:
        place = value.place
        assert lines[place.line - 1][place.column - 1 : place.end_column - 1] == value.text
    for name in names:
        shown = lines[name.place.line - 1][name.place.column - 1 : name.place.end_column - 1]
        assert shown.strip('`"') == name.written


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("ONE ROW PER MATCH", Rows.ONE),
        ("ALL ROWS PER MATCH", Rows.ALL),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", Rows.ALL),
        ("all rows per match omit empty matches", Rows.ALL_OMIT_EMPTY),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", Rows.ALL_WITH_UNMATCHED),
    ],
)
def test_rows(words: str, rows: Rows) -> None:
    assert read(f"{words} PATTERN (A)").rows is rows


@pytest.mark.parametrize(
    ("words", "to", "variable"),
    [
        ("PAST LAST ROW", AfterMatch.PAST_LAST_ROW, None),
        ("TO NEXT ROW", AfterMatch.TO_NEXT_ROW, None),
        ("TO FIRST a", AfterMatch.TO_FIRST, "A"),
        ("TO LAST `a`", AfterMatch.TO_LAST, "a"),
        ("TO a", AfterMatch.TO_LAST, "A"),
        ("TO first", AfterMatch.TO_LAST, "FIRST"),
        ("TO LAST first", AfterMatch.TO_LAST, "FIRST"),
    ],
)
def test_skip(words: str, to: AfterMatch, variable: str | None) -> None:
    skip = read(f"AFTER MATCH SKIP {words} PATTERN (A)").skip
    assert skip.to is to
    assert (skip.variable.name if skip.variable else None) == variable


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("INTERVAL '5' MINUTE", 300),
        ("INTERVAL '5' MINUTES", 300),
        ("INTERVAL '5 minutes'", 300),
        ("INTERVAL 5 MINUTES", 300),
        ("INTERVAL 1 HOUR 30 MINUTES", 5400),
        ("INTERVAL '1.5' second", 1.5),
        ("'5 minutes'", 300),
        ("'1 hour 5 minutes'", 3900),
        ("5 MINUTES", 300),
        ("10 second", 10),
        ("INTERVAL '1:30' HOUR TO MINUTE", 5400),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", 93784.5),
        ("INTERVAL '2' DAY", 172800),
        ("1 WEEK", 604800),
    ],
)
def test_within(words: str, seconds: float) -> None:
    assert read(f"PATTERN (A) WITHIN {words} DEFINE A AS 1 = 1").within == seconds * 10**6
    assert read(f"PATTERN (A) WITHIN {words}").within == seconds * 10**6


def test_words_of_the_clause_may_be_columns() -> None:
    clause = read(
        "PARTITION BY measures, define ORDER BY pattern, within DESC, subset "
        "MEASURES pattern AS pattern, A.define + seek AS define, final AS x, t.end AS y, initial AS all "
        "PATTERN (pattern define) SUBSET subset = (define) "
        "DEFINE pattern AS measures > define AND one = 1, define AS after + subset > rows"
    )
    assert texts(clause.partition_by) == ["measures", "define"]
    assert [o.value.text for o in clause.order_by] == ["pattern", "within", "subset"]
    assert texts(m.value for m in clause.measures) == [
        "pattern",
        "A.define + seek",
        "final",
        "t.end",
        "initial",
    ]
    assert texts(d.condition for d in clause.define) == [
        "measures > define AND one = 1",
        "after + subset > rows",
    ]


def test_values_that_look_like_sections() -> None:
    clause = read(
        "MEASURES percentile_cont(0.5) WITHIN GROUP (ORDER BY A.x) AS p, pattern(A.x) AS q "
        "PATTERN (A B) DEFINE A AS CASE WHEN x THEN 1 ELSE 2 END > 1, "
        "B AS rows BETWEEN 1 AND 2 AND range BETWEEN 3 AND 4"
    )
    assert [m.name.name for m in clause.measures] == ["P", "Q"]
    assert texts(d.condition for d in clause.define) == [
        "CASE WHEN x THEN 1 ELSE 2 END > 1",
        "rows BETWEEN 1 AND 2 AND range BETWEEN 3 AND 4",
    ]


@pytest.mark.parametrize(
    ("inside", "code", "column", "message", "hint"),
    [
        ("", "missing_pattern", 33, "the clause has no PATTERN", "PATTERN (A B+)"),
        ("DEFINE A AS 1", "missing_pattern", 33, "the clause has no PATTERN", "PATTERN (A B+)"),
        ("PATTERN A", "missing_parenthesis", 34, "after PATTERN its parentheses", "PATTERN (A B+)"),
        (
            "PATTERN (A) ORDER BY x",
            "section_order",
            46,
            "ORDER BY must stand before PATTERN",
            "ORDER BY, PATTERN",
        ),
        (
            "MEASURES 1 AS x PARTITION BY y PATTERN (A)",
            "section_order",
            50,
            "before MEASURES",
            "PARTITION BY, M",
        ),
        (
            "PATTERN (A) SUBSET u = (A) WITHIN '1 h'",
            "section_order",
            61,
            "WITHIN must stand before SUBSET",
            "WITHIN",
        ),
        ("PATTERN (A) PATTERN (B)", "section_twice", 46, "PATTERN stands here a second time", ""),
        ("ORDER BY a ORDER BY b PATTERN (A)", "section_twice", 45, "ORDER BY stands", "commas between"),
        (
            "MEASURE A.x AS b PATTERN (A)",
            "unknown_section",
            34,
            "at the beginning of the clause",
            "`MEASURES`",
        ),
        ("ORDER BY t MEASURE A.x AS b PATTERN (A)", "unknown_section", 45, "after ORDER BY", "`MEASURES`"),
        ("PATTERN (A) DEFINED A AS 1", "unknown_section", 46, "after PATTERN `DEFINED`", "`DEFINE`"),
        ("PATTERN (A) foo", "unknown_section", 46, "after PATTERN `foo`", "WITHIN, SUBSET, DEFINE"),
        (
            "ROWS PER MATCH PATTERN (A)",
            "unknown_section",
            34,
            "`ROWS` cannot stand here",
            "PARTITION BY, ORDER BY",
        ),
        ("INITIAL PATTERN (A)", "section_not_here", 34, "only in a window", "leave it out"),
        ("SEEK PATTERN (A)", "section_not_here", 34, "only in a window", "leave it out"),
        ("PARTITION BY PATTERN (A)", "missing_pattern", 33, "the clause has no PATTERN", ""),
        ("PARTITION BY", "empty_section", 44, "after PARTITION BY nothing follows", "PARTITION BY user"),
        (
            "PARTITION BY a, , b PATTERN (A)",
            "extra_comma",
            48,
            "nothing follows this comma",
            "leave the comma",
        ),
        ("MEASURES A.x PATTERN (A)", "measure_without_name", 43, "this measure has no name", "`A.x AS name`"),
        ("MEASURES A.x y PATTERN (A)", "measure_without_name", 43, "this measure has no name", "AS name"),
        ("MEASURES A.x AS 1 PATTERN (A)", "measure_without_name", 43, "this measure has no name", "AS name"),
        (
            "MEASURES A.x AS b, PATTERN (A)",
            "extra_comma",
            51,
            "nothing follows this comma",
            "leave the comma",
        ),
        ("PARTITION BY ORDER BY ts PATTERN (A)", "empty_section", 44, "after PARTITION BY nothing", "user"),
        ("PARTITION BY a, ORDER BY b PATTERN (A)", "extra_comma", 48, "nothing follows this comma", "leave"),
        (
            "MEASURES A.x AS b B.x AS c PATTERN (A)",
            "missing_comma",
            52,
            "before `B` a comma is missing",
            "comma between",
        ),
        (
            "MEASURES CASE WHEN x THEN 1 AS b PATTERN (A)",
            "unclosed_case",
            43,
            "this CASE does not end",
            "END",
        ),
        ("ONE ROWS PER MATCH PATTERN (A)", "unknown_section", 34, "`ONE` cannot stand here", ""),
        (
            "ALL ROWS PER MTCH PATTERN (A)",
            "bad_rows_per_match",
            47,
            "after `PER` `MTCH`",
            "ONE ROW PER MATCH",
        ),
        ("ALL ROWS PER MATCH SHOW PATTERN (A)", "bad_rows_per_match", 58, "after `SHOW` `PATTERN`", "EMPTY"),
        ("AFTER MATCH SKIP TO PATTERN (A)", "bad_skip", 54, "after `TO` `PATTERN`", "SKIP TO NEXT ROW"),
        ("AFTER MATCH SKIP PAST ROW PATTERN (A)", "bad_skip", 51, "after `SKIP` `PAST`", "PAST LAST ROW"),
        ("AFTER MATCH PAST LAST ROW PATTERN (A)", "bad_skip", 46, "after `MATCH` `PAST`", "AFTER MATCH SKIP"),
        ("PATTERN (A) WITHIN", "bad_duration", 46, "after WITHIN a duration is missing", "5 MINUTES"),
        ("PATTERN (A) WITHIN 0 SECONDS", "bad_duration", 53, "longer than nothing", "5 MINUTES"),
        ("PATTERN (A) WITHIN INTERVAL '1' MONTH", "bad_duration", 53, "no fixed length", "in days"),
        ("PATTERN (A) WITHIN '2 years'", "bad_duration", 53, "no fixed length", "in days"),
        ("PATTERN (A) WITHIN '5 foos'", "bad_duration", 53, "`foos` is not a unit of time", "5 MINUTES"),
        ("PATTERN (A) WITHIN INTERVAL '5'", "bad_duration", 53, "not a duration", "5 MINUTES"),
        ("PATTERN (A) WITHIN x", "bad_duration", 53, "`x` is not a duration", "5 MINUTES"),
        ("PATTERN (A) WITHIN INTERVAL '1:2:3' HOUR TO MINUTE", "bad_duration", 53, "not a duration", ""),
        ("PATTERN (A) SUBSET u (A)", "syntax", 55, "`=` is expected instead of `(`", "SUBSET U = (A, B)"),
        ("PATTERN (A) SUBSET u = A", "syntax", 57, "`(` is expected instead of `A`", "SUBSET U = (A, B)"),
        ("PATTERN (A) SUBSET u = (A,)", "syntax", 60, "the name of a variable is expected", "SUBSET U"),
        ("PATTERN (A) SUBSET u = ()", "syntax", 58, "the name of a variable is expected", "SUBSET U"),
        ("PATTERN (A) SUBSET u = (A B)", "syntax", 60, "a comma is expected instead of `B`", "SUBSET U"),
        ("PATTERN (A) SUBSET u = (A) x", "syntax", 61, "a comma or the next section", "SUBSET U"),
        ("PATTERN (A) DEFINE", "empty_section", 46, "after DEFINE nothing follows", "leave DEFINE out"),
        ("PATTERN (A) DEFINE A", "bad_definition", 53, "AS is missing after `A`", "`A AS`"),
        ("PATTERN (A) DEFINE A x > 1", "bad_definition", 53, "AS is missing after `A`", "`A AS`"),
        ("PATTERN (A) DEFINE A AS", "bad_definition", 55, "its condition is missing", "`A AS`"),
        ("PATTERN (A) DEFINE A AS 1,", "extra_comma", 59, "nothing follows this comma", "leave the comma"),
        (
            "PATTERN (A) DEFINE A AS 1 B AS 2",
            "missing_comma",
            60,
            "before `B` a comma is missing",
            "comma",
        ),
        ("PATTERN (A) DEFINE 1 AS x", "syntax", 53, "the name of a variable is expected", "DEFINE A AS"),
        ("PATTERN (A,B)", "wrong_sign", 44, "`,` cannot stand between variables", "`A B`"),
    ],
)
def test_mistakes(inside: str, code: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(CepheidError) as caught:
        read(inside)
    error = caught.value
    assert error.place is not None
    assert (error.code, error.place.line, error.place.column) == (code, 1, column)
    assert message in error.message
    assert hint in (error.hint or "")


def test_a_mistake_on_its_line() -> None:
    with pytest.raises(SyntaxMistake) as caught:
        read("\n  ORDER BY ts\n  PATTERN (A)\n  MEASURES 1 AS x\n")
    assert str(caught.value) == (
        "query, line 4, column 3: MEASURES must stand before PATTERN\n"
        "  4 |   MEASURES 1 AS x\n"
        "    |   ^^^^^^^^\n"
        "  hint: the order is ORDER BY, MEASURES, PATTERN"
    )


# Formatting does not matter.

STATEMENT = f"""WITH w AS (SELECT 'a--b' AS c FROM s)
SELECT m.* FROM w AS x MATCH_RECOGNIZE ({FULL}) AS m (a, b) WHERE 1 > 0"""
TOKENS = scan(STATEMENT)
GAPS = st.sampled_from(
    [" ", "\n", "\t", "\r\n", " /* PATTERN ( */ ", "/* a /* ' */ */", " -- DEFINE ( '\n", "\u00a0 "]
)


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """The statement with other gaps between its tokens and its words in other letters."""
    parts = []
    for token in TOKENS:
        text = token.text
        if token.kind is Kind.WORD:
            text = draw(st.sampled_from([text, text.upper(), text.lower()]))
        parts += [draw(GAPS), text]
    return "".join(parts) + draw(GAPS)


def _plain(value: Any) -> Any:
    """A part of a clause without places, and without what formatting changes."""
    if isinstance(value, SqlText):
        return [t.word or t.text for t in scan(value.text)]
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "__dataclass_fields__"):
        fields = (f for f in value.__dataclass_fields__ if f not in ("place", "written"))
        return type(value).__name__, [_plain(getattr(value, f)) for f in fields]
    return value


@settings(max_examples=60)
@given(laid_out())
def test_formatting_does_not_matter(text: str) -> None:
    source, original = SqlSource(text, dialect=SPARK), SqlSource(STATEMENT)
    (found,), (expected,) = clauses_of(source), clauses_of(original)
    assert _plain(read_clause(source, found.inside)) == _plain(read_clause(original, expected.inside))
    assert found.alias is not None
    assert [c.name for c in found.alias.columns] == ["A", "B"]
    assert text[found.span.start].upper() == "W"
    assert text[found.span.end - 1] == ")"
