"""Row patterns in windows: `WINDOW w AS (... PATTERN (...) DEFINE ...)` and `m OVER (... PATTERN (...) ...)`."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.sql_lang.clause import Name, WindowClause
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.heads import Section, head_after_value
from cepheid.sql_lang.scan import SPARK, Dialect
from cepheid.sql_lang.sections import read_window
from cepheid.sql_lang.source import CLOSING, Span, SqlSource


@dataclass(frozen=True)
class FoundWindow:
    span: Span  # `w AS (...)`, or the parentheses behind OVER
    inside: Span
    name: Name | None
    parts: WindowClause
    opening: int  # the index of its parenthesis among the tokens


def find_windows(text: str, source: str = "query", dialect: Dialect = SPARK) -> list[FoundWindow]:
    """All windows of a statement that have a row pattern, in the order of their ends."""
    return windows_of(SqlSource(text, source, dialect))


def windows_of(source: SqlSource) -> list[FoundWindow]:
    if not _may_have(source):
        return []  # not even its brackets are looked at: it is a statement for someone else
    opened = [i for i, token in enumerate(source.tokens) if token.is_sign("(") and i > 0]
    found = [_window(source, i) for i in opened if _is_window(source, i) and _has_pattern(source, i)]
    return sorted(found, key=lambda w: w.span.end)


def _may_have(source: SqlSource) -> bool:
    if "pattern" not in source.text.lower():
        return False
    words = {token.word for token in source.tokens}
    return "PATTERN" in words and bool({"OVER", "WINDOW"} & words)


def _is_window(source: SqlSource, i: int) -> bool:
    return source.tokens[i - 1].word == "OVER" or _is_named(source, i)


def _is_named(source: SqlSource, i: int) -> bool:
    """Is this the parenthesis of `WINDOW w AS (`, or of a further one behind a comma?"""
    tokens = source.tokens
    while i > 3 and tokens[i - 1].word == "AS" and can_be_name(tokens[i - 2]):
        if tokens[i - 3].word == "WINDOW":
            return True
        if not (tokens[i - 3].is_sign(",") and tokens[i - 4].is_sign(")")):
            return False
        i = source.partners[i - 4]
    return False


def _has_pattern(source: SqlSource, i: int) -> bool:
    cursor = Cursor(source, i + 1, source.partners[i])
    while not cursor.done:
        if cursor.here.is_sign(*CLOSING):
            cursor.take_group()
            continue
        if head_after_value(cursor) in (Section.PATTERN, Section.SEARCH) and cursor.at > cursor.first:
            return True
        cursor.take()
    return False


def _window(source: SqlSource, i: int) -> FoundWindow:
    tokens, close = source.tokens, source.partners[i]
    inside = Span(tokens[i].end, tokens[close].start)
    named = tokens[i - 1].word != "OVER"
    name = read_name(source, tokens[i - 2]) if named else None
    start = tokens[i - 2].start if named else tokens[i].start
    return FoundWindow(Span(start, tokens[close].end), inside, name, read_window(source, inside), i)
