"""The tables of WITH that a place in a statement can see, so that what stands there can be asked by itself."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.sql_lang.source import Span, SqlSource


@dataclass(frozen=True)
class CommonTable:
    text: str  # `name (columns) AS (...)`, as it stands there
    recursive: bool


def common_tables_before(source: SqlSource, at: int) -> list[CommonTable]:
    """Those that are complete before a place of the text, of every WITH whose query it is in; outer ones first."""
    found: list[CommonTable] = []
    for i, token in enumerate(source.tokens):
        if token.start >= at:
            break
        if token.word == "WITH" and _scope(source, i).holds(Span(at, at)):
            found += _tables(source, i, at)
    return found


def _scope(source: SqlSource, at: int) -> Span:
    """The text of the query that a WITH begins: up to the parenthesis it is in."""
    for i in range(at - 1, -1, -1):
        if source.tokens[i].is_sign(")"):
            continue
        if source.tokens[i].is_sign("(") and source.partners[i] > at:
            return Span(source.tokens[i].start, source.tokens[source.partners[i]].start)
    return Span(0, len(source.text))


def _tables(source: SqlSource, at: int, before: int) -> list[CommonTable]:
    tokens, i = source.tokens, at + 1
    recursive = i < len(tokens) and tokens[i].word == "RECURSIVE"
    i += recursive
    found: list[CommonTable] = []
    while i < len(tokens):
        start = i
        i += 1
        if i < len(tokens) and tokens[i].is_sign("("):  # names of columns
            i = source.partners[i] + 1
        if i >= len(tokens) or tokens[i].word != "AS":
            return found
        while i < len(tokens) and not tokens[i].is_sign("("):  # AS [NOT] MATERIALIZED
            i += 1
        if i >= len(tokens):
            return found
        close = source.partners[i]
        if tokens[close].end > before:
            return found
        found.append(CommonTable(source.text[tokens[start].start : tokens[close].end], recursive))
        i = close + 1
        if i >= len(tokens) or not tokens[i].is_sign(","):
            return found
        i += 1
    return found


def with_tables(tables: list[CommonTable], query: str) -> str:
    """The query with what it needs in front. Of two tables of one name the inner one is the later, and wins."""
    if not tables:
        return query
    recursive = "RECURSIVE " if any(t.recursive for t in tables) else ""
    return f"WITH {recursive}{', '.join(t.text for t in tables)} {query}"
