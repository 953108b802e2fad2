"""Clauses in whole statements: found wherever they stand, and nothing else is touched."""

from __future__ import annotations

import pytest

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.scan import STANDARD
from cepheid.sql_lang.source import Span
from cepheid.sql_lang.statement import FoundClause, find_clauses, replace_spans
from cepheid.sql_lang.table_factor import Alias

MR = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > 1)"


def _cut(text: str, span: Span) -> str:
    return text[span.start : span.end]


def _alias(alias: Alias | None) -> str:
    if alias is None:
        return ""
    columns = ",".join(c.name for c in alias.columns)
    return alias.name.name + (f"({columns})" if columns else "")


def _told(text: str, clause: FoundClause) -> tuple[str, str, str]:
    """The table, its alias, the alias of the clause."""
    return _cut(text, clause.table.span), _alias(clause.table.alias), _alias(clause.alias)


@pytest.mark.parametrize(
    ("table", "span", "alias"),
    [
        ("t", "t", ""),
        ("a.b.c", "a.b.c", ""),
        ("`a b`.`c``d`", "`a b`.`c``d`", ""),
        ("a . b", "a . b", ""),
        ("cat.select", "cat.select", ""),
        ("t AS u", "t", "U"),
        ("t u", "t", "U"),
        ("t `u v`", "t", "u v"),
        ('t "u v"', "t", "u v"),
        ("t AS u (c, `d`)", "t", "U(C,d)"),
        ("t u(c)", "t", "U(C)"),
        ("(SELECT * FROM s WHERE a = 1)", "(SELECT * FROM s WHERE a = 1)", ""),
        ("(SELECT 1) u", "(SELECT 1)", "U"),
        ("(SELECT 1) AS u(c)", "(SELECT 1)", "U(C)"),
        ("(VALUES (1, 2), (3, 4)) AS v (c, d)", "(VALUES (1, 2), (3, 4))", "V(C,D)"),
        ("VALUES (1, 2), (3, 4) AS v (c, d)", "VALUES (1, 2), (3, 4)", "V(C,D)"),
        ("f(1, g(2))", "f(1, g(2))", ""),
        ("s.f(1) AS u", "s.f(1)", "U"),
        ("f(1) u(c)", "f(1)", "U(C)"),
        ("TABLE(f(1, 2))", "TABLE(f(1, 2))", ""),
        ("TABLE(f(1, 2)) u", "TABLE(f(1, 2))", "U"),
        ("LATERAL f(1)", "f(1)", ""),
        ("t VERSION AS OF 3", "t VERSION AS OF 3", ""),
        ("t TIMESTAMP AS OF '2024-01-01'", "t TIMESTAMP AS OF '2024-01-01'", ""),
        ("t TIMESTAMP AS OF current_date", "t TIMESTAMP AS OF current_date", ""),
        ("t TABLESAMPLE (10 PERCENT)", "t TABLESAMPLE (10 PERCENT)", ""),
        ("t TABLESAMPLE (10 PERCENT) u", "t TABLESAMPLE (10 PERCENT)", "U"),
        ("match_recognize", "match_recognize", ""),
        ("{df}", "{df}", ""),
        ("{df} u", "{df}", "U"),
        ("t@v3", "t@v3", ""),
        ("match_recognize AS match_recognize", "match_recognize", "MATCH_RECOGNIZE"),
        ("t /* the table */ -- here\n", "t", ""),
    ],
)
@pytest.mark.parametrize(
    "before", ["SELECT * FROM ", "SELECT * FROM x JOIN ", "SELECT * FROM x, ", "FROM (", "FROM x,"]
)
def test_tables(before: str, table: str, span: str, alias: str) -> None:
    text = f"{before}{table} {MR}" + (")" if before.endswith("(") else "")
    (found,) = find_clauses(text)
    assert _told(text, found) == (span, alias, "")
    assert _cut(text, found.inside) == "PATTERN (A) DEFINE A AS x > 1"
    assert _cut(text, found.span).startswith(span)


@pytest.mark.parametrize(
    ("after", "alias", "end"),
    [
        ("", "", ""),
        (" AS m", "M", " AS m"),
        (" m", "M", " m"),
        (" `m`", "m", " `m`"),
        (' AS "m"', "m", ' AS "m"'),
        (" AS m (c1, c2)", "M(C1,C2)", " AS m (c1, c2)"),
        (" m(c1) WHERE 1", "M(C1)", " m(c1)"),
        (" WHERE x = 1", "", ""),
        (" LEFT JOIN u ON 1 = 1", "", ""),
        (" ORDER BY x", "", ""),
        (" UNION ALL SELECT 1", "", ""),
        (" /* c */ m -- d", "M", " /* c */ m"),
        ("; SELECT 1", "", ""),
        (", u", "", ""),
    ],
)
def test_the_alias_behind(after: str, alias: str, end: str) -> None:
    text = f"SELECT * FROM t {MR}{after}"
    (found,) = find_clauses(text)
    assert _alias(found.alias) == alias
    assert _cut(text, found.span) == f"t {MR}{end}"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        f"SELECT '{MR}' FROM t",
        f"SELECT 1 -- FROM t {MR}",
        f"SELECT 1 /* FROM t /* */ {MR} */ FROM t",
        "SELECT match_recognize FROM t",
        "SELECT match_recognize(x) FROM t",
        "SELECT a, match_recognize (x) FROM t",
        "SELECT * FROM t WHERE match_recognize (x)",
        "SELECT * FROM t WHERE a = match_recognize (x) AND 1 = 1",
        "SELECT t.match_recognize (x) FROM t",
        "SELECT * FROM `t MATCH_RECOGNIZE (`",
        "SELECT * FROM t `MATCH_RECOGNIZE` (a)",
        "SELECT * FROM t AS match_recognize (a, b)",
        "SELECT * FROM match_recognize (a)",
        "WITH match_recognize (a) AS (SELECT 1) SELECT * FROM match_recognize",
        "INSERT INTO match_recognize (a) SELECT 1",
        "SELECT * FROM a JOIN b USING (x) WHERE 1 = 1",
        "SELECT 'not closed",
    ],
)
def test_no_clause(text: str) -> None:
    assert find_clauses(text) == []


def test_double_quotes_hide_what_is_in_them() -> None:
    text = f'SELECT * FROM "t {MR} u"'
    assert find_clauses(text) == find_clauses(text, dialect=STANDARD) == []
    text = f'SELECT * FROM "a b" "c" {MR}'
    (found,) = find_clauses(text, dialect=STANDARD)
    assert _told(text, found) == ('"a b"', "c", "")


def test_inner_clauses_come_first() -> None:
    text = f"""
WITH c AS (SELECT * FROM c1 {MR})
SELECT * FROM (SELECT * FROM (SELECT * FROM i1 {MR} AS x) {MR}) {MR} o
JOIN r1 {MR} ON 1 = 1, (SELECT * FROM k1 {MR} k)
WHERE EXISTS (SELECT 1 FROM w1 {MR})"""
    found = find_clauses(text)
    assert len(found) == 7
    tables = [_cut(text, c.table.span) for c in found]
    assert [t if len(t) < 3 else t.count("MATCH") for t in tables] == ["c1", "i1", 1, 2, "r1", "k1", "w1"]
    for i, clause in enumerate(found):
        assert not any(
            later.span != clause.span and clause.span.holds(later.span) for later in found[i + 1 :]
        )


def test_replacing() -> None:
    assert replace_spans("abcdef", [(Span(4, 5), ""), (Span(0, 2), "XYZ"), (Span(6, 6), "!")]) == "XYZcdf!"
    with pytest.raises(ValueError, match="overlap"):
        replace_spans("abc", [(Span(0, 2), ""), (Span(1, 3), "")])


@pytest.mark.parametrize(
    ("text", "code", "at", "message", "hint"),
    [
        (
            f"SELECT *\nFROM {MR}",
            "missing_table",
            (2, 6),
            "before MATCH_RECOGNIZE there is no table",
            "`FROM t MATCH_RECOGNIZE (...)`",
        ),
        (
            f"SELECT * FROM t WHERE a = b {MR}",
            "missing_table",
            (1, 29),
            "before MATCH_RECOGNIZE there is no table",
            "(SELECT ... WHERE ...)",
        ),
        (
            f"SELECT * FROM a JOIN b USING (x) {MR}",
            "missing_table",
            (1, 34),
            "before MATCH_RECOGNIZE there is no table",
            "subquery",
        ),
        (
            f"FROM t LATERAL VIEW explode(a) v AS b {MR}",
            "missing_table",
            (1, 39),
            "before MATCH_RECOGNIZE there is no table",
            "subquery",
        ),
        (f"FROM t {MR} m {MR}", "two_clauses", (1, 58), "one MATCH_RECOGNIZE follows", "into a subquery"),
        ("FROM t MATCH_RECOGNIZE (PATTERN (A)", "unclosed_bracket", (1, 24), "this `(` is not closed", "`)`"),
        (f"FROM t {MR} AS", "missing_name", (1, 58), "after AS a name is missing", "AS m"),
        (f"FROM t {MR} m (1)", "missing_name", (1, 59), "instead of `1` the name of a column", ""),
        (f"FROM t {MR} m (a b)", "missing_comma", (1, 61), "a comma is expected, not `b`", ""),
        (f"FROM t {MR} WHERE a = 'x", "unclosed_string", (1, 66), "this string does not end", "'"),
    ],
)
def test_mistakes(text: str, code: str, at: tuple[int, int], message: str, hint: str) -> None:
    with pytest.raises(SyntaxMistake) as caught:
        find_clauses(text, source="job.sql")
    error = caught.value
    assert error.place is not None
    assert (error.code, (error.place.line, error.place.column)) == (code, at)
    assert message in error.message
    assert hint in (error.hint or "")
    assert error.place.source == "job.sql"
