"""The MATCH_RECOGNIZE clauses of a statement, and the statement with something else in their place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.cursor import Cursor
from cepheid.sql_lang.scan import SPARK, Dialect
from cepheid.sql_lang.source import Span, SqlSource
from cepheid.sql_lang.table_factor import Alias, TableFactor, factor_before, read_alias


@dataclass(frozen=True)
class FoundClause:
    """One clause with the table it reads and the names it has."""

    span: Span  # from the table to the alias behind the clause: what another table may stand for
    table: TableFactor
    inside: Span  # between the parentheses of the clause
    alias: Alias | None = None


def find_clauses(text: str, source: str = "query", dialect: Dialect = SPARK) -> list[FoundClause]:
    """All clauses of a statement; those inside the table of another come before that.

    >>> found = find_clauses("select * from t match_recognize (pattern (A) define A as x > 1) as m")
    >>> [(c.table.span, c.alias.name.name) for c in found]
    [(Span(start=14, end=15), 'M')]
    """
    return clauses_of(SqlSource(text, source, dialect))


def clauses_of(source: SqlSource) -> list[FoundClause]:
    if "match_recognize" not in source.text.lower():
        return []  # a statement for someone else, who may know more of SQL than we do
    starts = [i for i in range(len(source.tokens)) if _may_be_clause(source, i)]
    found = [clause for i in starts if (clause := _clause(source, i)) is not None]
    return sorted(found, key=lambda c: c.span.end)


def replace_spans(text: str, replacements: Iterable[tuple[Span, str]]) -> str:
    """The text with other text in some spans, none of which overlap; all else stays byte for byte.

    >>> replace_spans("a b c", [(Span(4, 5), "z"), (Span(0, 1), "xy")])
    'xy b z'
    """
    parts, at = [], 0
    for span, new in sorted(replacements, key=lambda r: r[0].start):
        if span.start < at:
            raise ValueError("spans overlap")
        parts += [text[at : span.start], new]
        at = span.end
    return "".join([*parts, text[at:]])


def _may_be_clause(source: SqlSource, i: int) -> bool:
    tokens = source.tokens
    if tokens[i].word != "MATCH_RECOGNIZE" or not (i + 1 < len(tokens) and tokens[i + 1].is_sign("(")):
        return False
    return i == 0 or not tokens[i - 1].is_sign(".")


def _clause(source: SqlSource, at: int) -> FoundClause | None:
    table = factor_before(source, at)
    tokens, close = source.tokens, source.partners[at + 1]
    if table is None:
        if _is_meant(source, at + 2, close):
            raise _no_table(source, at)
        return None
    after = Cursor(source, close + 1, len(tokens))
    alias = read_alias(after)
    if after.words("MATCH_RECOGNIZE") and after.peek(1).is_sign("("):
        raise _two_clauses(source, after)
    end = alias.span.end if alias else tokens[close].end
    return FoundClause(
        Span(table.span.start, end), table, Span(tokens[at + 1].end, tokens[close].start), alias
    )


def _is_meant(source: SqlSource, start: int, stop: int) -> bool:
    """Does it look like a clause inside? Else it is a function or a table of that name."""
    cursor = Cursor(source, start, stop)
    words = set()
    while not cursor.done:
        if cursor.here.is_sign("(", "[", "{", "{-"):
            cursor.take_group()
        else:
            words.add(cursor.take().word)
    return {"PATTERN", "DEFINE"} <= words


def _no_table(source: SqlSource, at: int) -> SyntaxMistake:
    return source.syntax(
        "missing_table",
        "before MATCH_RECOGNIZE there is no table",
        source.place_of(source.tokens[at]),
        "it stands directly behind a table or a subquery in FROM: `FROM t MATCH_RECOGNIZE (...)`, "
        "`FROM (SELECT ... WHERE ...) MATCH_RECOGNIZE (...)`",
    )


def _two_clauses(source: SqlSource, after: Cursor) -> SyntaxMistake:
    return source.syntax(
        "two_clauses",
        "one MATCH_RECOGNIZE follows directly on another",
        after.place,
        "put the first into a subquery: `FROM (SELECT * FROM t MATCH_RECOGNIZE (...)) MATCH_RECOGNIZE (...)`",
    )
