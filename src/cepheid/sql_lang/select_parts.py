"""A SELECT cut into its clauses: where each begins and ends in a statement, and nothing of what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from cepheid.sql_lang.clause import Name
from cepheid.sql_lang.cursor import can_be_name, read_name
from cepheid.sql_lang.heads import ends_value
from cepheid.sql_lang.scan import Kind, Token
from cepheid.sql_lang.source import CLOSING, Span, SqlSource

Range = tuple[int, int]  # of tokens: from an index to before another


class Part(Enum):
    FROM = "FROM"
    WHERE = "WHERE"
    GROUP = "GROUP BY"
    HAVING = "HAVING"
    WINDOW = "WINDOW"
    QUALIFY = "QUALIFY"
    ORDER = "ORDER BY"
    SORT = "SORT BY"
    CLUSTER = "CLUSTER BY"
    DISTRIBUTE = "DISTRIBUTE BY"
    REST = "LIMIT"


_ROWS = (Part.FROM, Part.WHERE, Part.GROUP, Part.HAVING)
_ALONE = {"FROM": Part.FROM, "WHERE": Part.WHERE, "HAVING": Part.HAVING, "QUALIFY": Part.QUALIFY}
_WITH_BY = {
    "GROUP": Part.GROUP,
    "ORDER": Part.ORDER,
    "SORT": Part.SORT,
    "CLUSTER": Part.CLUSTER,
    "DISTRIBUTE": Part.DISTRIBUTE,
}
_OF_ALL = (
    Part.ORDER,
    Part.SORT,
    Part.CLUSTER,
    Part.DISTRIBUTE,
    Part.REST,
)  # behind UNION they are the whole's
_QUERY = {"SELECT", "FROM", "WITH", "VALUES", "TABLE"}


@dataclass(frozen=True)
class NamedWindow:
    """`w AS (...)` in a WINDOW clause; `w AS v` has no parentheses."""

    name: Name
    tokens: Range
    opening: int | None


@dataclass(frozen=True)
class SelectParts:
    source: SqlSource
    tokens: Range
    distinct: Range  # DISTINCT, DISTINCT ON (...) or nothing
    items: tuple[Range, ...]
    parts: dict[Part, Range]  # each with the words it begins with
    windows: tuple[NamedWindow, ...]
    in_set: bool  # is it a part of a UNION or the like?

    @property
    def span(self) -> Span:
        return span_of(self.source, self.tokens)

    def text(self, tokens: Range) -> str:
        span = span_of(self.source, tokens)
        return self.source.text[span.start : span.end]

    @property
    def rows(self) -> str:
        """FROM, WHERE, GROUP BY and HAVING, as they are written."""
        return "\n".join(self.text(self.parts[part]) for part in _ROWS if part in self.parts)


def span_of(source: SqlSource, tokens: Range) -> Span:
    start, stop = tokens
    if start >= stop:
        return Span(source.tokens[start - 1].end, source.tokens[start - 1].end)
    return Span(source.tokens[start].start, source.tokens[stop - 1].end)


def outside_brackets(source: SqlSource, start: int, stop: int) -> Iterator[int]:
    """The indexes of tokens that stand in no bracket; of a bracket only the one that opens it."""
    i = start
    while i < stop:
        yield i
        i = source.partners[i] + 1 if source.tokens[i].is_sign(*CLOSING) else i + 1


def inside_query(source: SqlSource, start: int, stop: int) -> Iterator[int]:
    """The indexes of tokens in any depth, but not in queries within."""
    i = start
    while i < stop:
        if source.tokens[i].is_sign("(") and begins_query(source, i + 1):
            i = source.partners[i] + 1
            continue
        yield i
        i += 1


def begins_query(source: SqlSource, i: int) -> bool:
    return i < len(source.tokens) and source.tokens[i].word in _QUERY


def select_around(source: SqlSource, at: int) -> int | None:
    """The SELECT whose query a token stands in; None if there is none."""
    around = sorted(((i, j) for i, j in source.partners.items() if i < at < j), reverse=True)
    for start, stop in [*around, (-1, len(source.tokens))]:
        selects = [
            i
            for i in outside_brackets(source, start + 1, min(at, stop))
            if source.tokens[i].word == "SELECT" and not _after_dot(source, i)
        ]
        if selects:
            return selects[-1]
    return None


def read_select(source: SqlSource, at: int) -> SelectParts:
    """The SELECT that begins at a token."""
    begin, end = _group(source, at)
    stop = next((i for i in outside_brackets(source, at + 1, end) if _ends_select(source, i)), end)
    before = any(_is_set_operation(source, i) for i in outside_brackets(source, begin, at))
    in_set = before or (stop < end and _is_set_operation(source, stop))
    heads: list[tuple[int, Part]] = []
    for i in outside_brackets(source, at + 1, stop):
        part = _head(source, i, at, bool(heads))
        if part is None or (part is Part.REST and heads and heads[-1][1] is Part.REST):
            continue
        if in_set and part in _OF_ALL:
            stop = i
            break
        heads.append((i, part))
    borders = [*(i for i, _ in heads), stop]
    parts = {part: (i, after) for (i, part), after in zip(heads, borders[1:], strict=True)}
    distinct = _distinct(source, at + 1)
    return SelectParts(
        source,
        (at, stop),
        distinct,
        tuple(split_at_commas(source, distinct[1], borders[0])),
        parts,
        tuple(_windows(source, parts[Part.WINDOW])) if Part.WINDOW in parts else (),
        in_set,
    )


def _group(source: SqlSource, at: int) -> Range:
    """The parenthesis a token stands in, without itself; or the whole statement."""
    start, stop = max(
        ((i, j) for i, j in source.partners.items() if i < at < j), default=(-1, len(source.tokens))
    )
    return start + 1, stop


def _after_dot(source: SqlSource, i: int) -> bool:
    return i > 0 and source.tokens[i - 1].is_sign(".")


def _ends_select(source: SqlSource, i: int) -> bool:
    return source.tokens[i].is_sign(";", "|>") or _is_set_operation(source, i)


def _is_set_operation(source: SqlSource, i: int) -> bool:
    tokens = source.tokens
    if tokens[i].word not in ("UNION", "INTERSECT", "EXCEPT", "MINUS") or i + 1 >= len(tokens):
        return False
    if _after_dot(source, i) or (i > 0 and tokens[i - 1].is_sign("*")):  # `* EXCEPT (x)`
        return False
    return tokens[i + 1].word in {*_QUERY, "ALL", "DISTINCT", "BY"} or tokens[i + 1].is_sign("(")


def _head(source: SqlSource, i: int, first: int, begun: bool) -> Part | None:
    tokens = source.tokens
    token, before = tokens[i], tokens[i - 1]
    after = tokens[i + 1] if i + 1 < len(tokens) else Token(Kind.END, "", token.end)
    if before.is_sign(".") or before.word == "AS":
        return None
    if token.word == "FROM" and before.word == "DISTINCT" and i - 1 > first + 1:
        return None  # IS DISTINCT FROM
    if token.word in _ALONE:
        return _ALONE[token.word]
    if token.word in _WITH_BY and after.word == "BY":
        return _WITH_BY[token.word]
    if token.word == "WINDOW" and can_be_name(after) and i + 2 < len(tokens) and tokens[i + 2].word == "AS":
        return Part.WINDOW
    if (
        token.word in ("LIMIT", "OFFSET", "FETCH")
        and begun
        and ends_value(before)
        and before.word not in _ALONE
    ):
        return Part.REST if after.kind is not Kind.SIGN or after.is_sign("(", "?", "$", ":") else None
    return None


def _distinct(source: SqlSource, i: int) -> Range:
    tokens = source.tokens
    if i >= len(tokens) or tokens[i].word not in ("DISTINCT", "ALL"):
        return i, i
    if i + 2 < len(tokens) and tokens[i + 1].word == "ON" and tokens[i + 2].is_sign("("):
        return i, source.partners[i + 2] + 1
    return i, i + 1


def split_at_commas(source: SqlSource, start: int, stop: int) -> Iterator[Range]:
    """What stands between commas outside of brackets; nothing is left out, but an empty rest."""
    begin = start
    for i in outside_brackets(source, start, stop):
        if source.tokens[i].is_sign(","):
            yield begin, i
            begin = i + 1
    if begin < stop:
        yield begin, stop


def _windows(source: SqlSource, tokens: Range) -> Iterator[NamedWindow]:
    for start, stop in split_at_commas(source, tokens[0] + 1, tokens[1]):
        found = source.tokens[start:stop]
        if len(found) < 3 or not can_be_name(found[0]) or found[1].word != "AS":
            continue  # the database will say what it thinks of that
        opening = start + 2 if found[2].is_sign("(") else None
        yield NamedWindow(read_name(source, found[0]), (start, stop), opening)
