"""What stands around the windows of a SELECT, over columns that are computed before: the text stays as it is written.

Columns, aggregates of groups and windows of the database are leaves: each becomes a column of an inner query, whose
rows the row patterns are matched in. All else of an expression is computed after, with those columns in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from cepheid.errors import PatternMistake, Place
from cepheid.sql_lang.scalar import Tree
from cepheid.sql_lang.scan import Dialect, Token, scan
from cepheid.sql_lang.select_parts import inside_query
from cepheid.sql_lang.source import Span, SqlSource
from cepheid.sql_lang.statement import replace_spans
from cepheid.sql_lang.window_uses import overs_in

_SELECT = "SELECT "
_BEFORE_WHOLE = frozenset({"(", ",", "["})
_BEHIND_WHOLE = frozenset({")", ",", "]"})


class Leaves:
    """The columns that are computed before; each text has one name."""

    def __init__(self, dialect: str, letters: Dialect, groups: Sequence[str] | None) -> None:
        """`groups` are the expressions of GROUP BY; None if rows are not grouped, or only all together."""
        self.dialect, self.letters = dialect, letters
        self.groups = [[_folded(t) for t in scan(text, letters)] for text in groups or ()]
        self.names: dict[str, str] = {}

    def name(self, text: str) -> str:
        return self.names.setdefault(text, f"__i{len(self.names)}")

    def over_leaves(
        self,
        text: str,
        place: Place,
        marks: frozenset[str] = frozenset(),
        aliases: Mapping[str, str] | None = None,
        is_call: bool = False,
    ) -> str:
        """The text with names of leaves. `marks` stay as they are, `aliases` stand for other texts.

        Of a call the function itself is none, though what it holds is.
        """
        text = self._without_calls(text, is_call, marks, place)
        columns = [
            (span, c)
            for span, c in _columns(text, self.dialect, place)
            if c not in marks and not self._is_own(c)
        ]
        known = {name.lower(): other for name, other in (aliases or {}).items()}
        return replace_spans(
            text,
            [
                (span, known.get(column.lower()) or self.name(text[span.start : span.end]))
                for span, column in columns
            ],
        )

    def _is_own(self, column: str) -> bool:
        return column in self.names.values()

    def _without_calls(self, text: str, is_call: bool, marks: frozenset[str], place: Place) -> str:
        source = SqlSource(text, dialect=self.letters)
        found: list[tuple[int, int]] = []
        for start, stop in self._calls(source, is_call):
            if not any(i <= start and stop <= j for i, j in found):
                found = [(i, j) for i, j in found if not (start <= i and j <= stop)]
                found.append((start, stop))
        if any(token.text in marks for i, j in found for token in source.tokens[i:j]):
            raise PatternMistake(
                "an aggregate cannot hold what is asked over a window, which comes after it",
                code="nested_window",
                place=place,
                hint="compute it in a subquery",
            )
        spans = (Span(source.tokens[i].start, source.tokens[j - 1].end) for i, j in found)
        return replace_spans(text, [(span, self.name(text[span.start : span.end])) for span in spans])

    def _calls(self, source: SqlSource, is_call: bool) -> Iterator[tuple[int, int]]:
        """Windows of the database, aggregates, and what rows are grouped by."""
        tokens = source.tokens
        yield from ((over.start, over.stop) for over in overs_in(source, 0, len(tokens)))
        for i in inside_query(source, 0, len(tokens)):
            for group in self.groups:
                stop = i + len(group)
                if [_folded(t) for t in tokens[i:stop]] == group and _is_whole(tokens, i, stop):
                    yield i, stop
            if not (tokens[i].word and i + 1 < len(tokens) and tokens[i + 1].is_sign("(")) or (
                is_call and i == 0
            ):
                continue
            stop = _behind_call(source, i + 1)
            call = source.text[tokens[i].start : tokens[stop - 1].end]
            if _is_aggregate(call, self.dialect) and not (i and tokens[i - 1].is_sign(".")):
                yield i, stop


def _folded(token: Token) -> str:
    return token.word or token.text


def _is_whole(tokens: Sequence[Token], start: int, stop: int) -> bool:
    """Does what is found bind together, whatever stands beside it?"""
    if stop - start == 1 and (start == 0 or not tokens[start - 1].is_sign(".")):
        return stop >= len(tokens) or not tokens[stop].is_sign("(", ".")
    before, behind = start == 0 or tokens[start - 1].text in _BEFORE_WHOLE, stop == len(tokens)
    return before and (behind or tokens[stop].text in _BEHIND_WHOLE)


def _behind_call(source: SqlSource, opening: int) -> int:
    """Behind the parenthesis, and behind FILTER (...) and WITHIN GROUP (...)."""
    tokens, stop = source.tokens, source.partners[opening] + 1
    while True:
        words = [t.word for t in tokens[stop : stop + 2]]
        if words[:1] == ["FILTER"] and stop + 1 < len(tokens) and tokens[stop + 1].is_sign("("):
            stop = source.partners[stop + 1] + 1
        elif words == ["WITHIN", "GROUP"] and stop + 2 < len(tokens) and tokens[stop + 2].is_sign("("):
            stop = source.partners[stop + 2] + 1
        else:
            return stop


def _is_aggregate(call: str, dialect: str) -> bool:
    try:
        node = sqlglot.parse_one(call, read=dialect)
    except SqlglotError:
        return False
    while isinstance(node, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        node = node.this
    return isinstance(node, exp.AggFunc)


def _columns(text: str, dialect: str, place: Place) -> Iterator[tuple[Span, str]]:
    """Where columns stand in an expression, but for those of queries in it."""
    root = parsed_item(text, dialect, place)
    for column in root.find_all(exp.Column):
        if isinstance(column.this, exp.Star) or column.find_ancestor(exp.Query) is not root:
            continue
        metas = [part.meta for part in column.parts]
        if all("start" in meta for meta in metas):
            start = min(int(meta["start"]) for meta in metas)
            end = max(int(meta["end"]) for meta in metas) + 1
            yield (
                Span(start - len(_SELECT), end - len(_SELECT)),
                ".".join(str(part.name) for part in column.parts),
            )


def parsed_item(text: str, dialect: str, place: Place) -> Tree:
    """A SELECT of nothing but this."""
    try:
        return sqlglot.parse_one(_SELECT + text, read=dialect)
    except SqlglotError as problem:
        message = str(problem).split("\n", 1)[0]
        raise PatternMistake(
            f"this is no expression: {message}", code="bad_expression", place=place
        ) from None
