"""A clause read section by section: each at most once, in the order of the standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.clause import Clause, Search, WindowClause
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.definitions import read_definitions, read_subsets
from cepheid.sql_lang.heads import Section, head, misspelt_head
from cepheid.sql_lang.items import read_measures, read_order, read_values
from cepheid.sql_lang.row_patterns import row_pattern_of
from cepheid.sql_lang.section_words import read_frame, read_rows, read_search, read_skip
from cepheid.sql_lang.source import Span, SqlSource
from cepheid.sql_lang.within import read_within

_Parts = dict[Section, Any]


def read_clause(source: SqlSource, inside: Span) -> Clause:
    """What stands between the parentheses of MATCH_RECOGNIZE; not checked yet."""
    cursor = Cursor(source, *source.inside(inside))
    return _clause(source, inside, _sections(cursor, inside, _IN_CLAUSE), "clause")


def read_window(source: SqlSource, inside: Span) -> WindowClause:
    """What stands between the parentheses of a window with a row pattern; not checked yet."""
    cursor = Cursor(source, *source.inside(inside))
    base = None
    if can_be_name(cursor.here) and head(cursor) is None:
        base = read_name(source, cursor.take())
    parts = _sections(cursor, inside, _IN_WINDOW)
    return WindowClause(
        _clause(source, inside, parts, "window"),
        parts.get(Section.FRAME),
        parts.get(Section.SEARCH, Search.INITIAL),
        base,
    )


def _clause(source: SqlSource, inside: Span, parts: _Parts, where: str) -> Clause:
    if Section.PATTERN not in parts:
        raise source.syntax(
            "missing_pattern",
            f"the {where} has no PATTERN",
            source.place(inside.start - 1, inside.start),
            "write for example `PATTERN (A B+)` and say in DEFINE which rows A and B are",
        )
    named = {field: parts[section] for section, field in _FIELDS.items() if section in parts}
    return Clause(place=source.place(inside.start, inside.end), **named)


_FIELDS = {
    Section.PARTITION: "partition_by",
    Section.ORDER: "order_by",
    Section.MEASURES: "measures",
    Section.ROWS: "rows",
    Section.SKIP: "skip",
    Section.PATTERN: "pattern",
    Section.WITHIN: "within",
    Section.SUBSET: "subsets",
    Section.DEFINE: "define",
}


def _sections(cursor: Cursor, inside: Span, known: tuple[Section, ...]) -> _Parts:
    parts: _Parts = {}
    last: Section | None = None
    while not cursor.done:
        section = head(cursor)
        if section is None:
            raise _unknown(cursor, last, known)
        if section not in known:
            raise _not_here(cursor, section)
        if section in parts:
            raise _twice(cursor, section)
        if last is not None and section.rank < last.rank:
            raise _too_late(cursor, section, parts)
        parts[section] = _READERS[section](cursor)
        last = section
    return parts


def _after_words(count: int, read: Callable[[Cursor], Any]) -> Callable[[Cursor], Any]:
    """A reader that does not want the first words of its section."""

    def reader(cursor: Cursor) -> Any:
        cursor.at += count
        return read(cursor)

    return reader


_READERS: dict[Section, Callable[[Cursor], Any]] = {
    Section.PARTITION: _after_words(2, lambda cursor: read_values(cursor, "PARTITION BY")),
    Section.ORDER: _after_words(2, read_order),
    Section.MEASURES: _after_words(1, read_measures),
    Section.FRAME: read_frame,
    Section.ROWS: read_rows,
    Section.SKIP: _after_words(2, read_skip),
    Section.SEARCH: read_search,
    Section.PATTERN: _after_words(1, row_pattern_of),
    Section.WITHIN: _after_words(1, read_within),
    Section.SUBSET: _after_words(1, read_subsets),
    Section.DEFINE: _after_words(1, read_definitions),
}
_IN_CLAUSE = tuple(s for s in Section if s not in (Section.FRAME, Section.SEARCH))
_IN_WINDOW = tuple(s for s in Section if s is not Section.ROWS)


def _unknown(cursor: Cursor, last: Section | None, known: tuple[Section, ...]) -> SyntaxMistake:
    after = f"after {_short(last)}" if last else "at the beginning of the clause"
    meant = misspelt_head(cursor.here)
    possible = [s.value for s in known if last is None or s.rank > last.rank]
    hint = "here may come " + ", ".join(possible) if possible else "here the clause ends: write `)`"
    return cursor.source.syntax(
        "unknown_section",
        f"{after} {cursor.shown()} cannot stand here",
        cursor.place,
        f"did you mean `{meant}`?" if meant else hint,
    )


def _short(section: Section) -> str:
    return section.value.split(" or ")[0]


def _not_here(cursor: Cursor, section: Section) -> SyntaxMistake:
    if section is Section.ROWS:
        what, hint = "only in MATCH_RECOGNIZE", "a window gives its value for every row"
    else:
        what, hint = "only in a window", "leave it out"
    return cursor.source.syntax("section_not_here", f"{section.value} may stand {what}", cursor.place, hint)


def _twice(cursor: Cursor, section: Section) -> SyntaxMistake:
    return cursor.source.syntax(
        "section_twice", f"{_short(section)} stands here a second time", cursor.place, _AGAIN.get(section)
    )


_AGAIN = dict.fromkeys(
    (Section.PARTITION, Section.ORDER, Section.MEASURES, Section.SUBSET, Section.DEFINE),
    "write it once, with commas between its parts",
)


def _too_late(cursor: Cursor, section: Section, parts: _Parts) -> SyntaxMistake:
    follower = min((s for s in parts if s.rank > section.rank), key=lambda s: s.rank)
    order = ", ".join(_short(s) for s in Section if s in (*parts, section))
    return cursor.source.syntax(
        "section_order",
        f"{_short(section)} must stand before {_short(follower)}",
        cursor.place,
        f"the order is {order}",
    )
