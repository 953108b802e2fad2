"""Reads the SELECTs of a statement whose windows have row patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from cepheid.errors import PatternMistake, Place
from cepheid.sql_lang.asking import order_text
from cepheid.sql_lang.clause import Clause, OrderItem
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.items import order_item
from cepheid.sql_lang.leaves import Leaves, parsed_item
from cepheid.sql_lang.row_query import RowQuery, understood
from cepheid.sql_lang.scan import Kind, scan
from cepheid.sql_lang.select_parts import (
    Part,
    Range,
    inside_query,
    read_select,
    select_around,
    span_of,
    split_at_commas,
)
from cepheid.sql_lang.source import Span, SqlSource
from cepheid.sql_lang.statement import replace_spans
from cepheid.sql_lang.window_checks import complete_clause
from cepheid.sql_lang.window_functions import WITHOUT_FRAME, as_aggregate, function_name
from cepheid.sql_lang.window_query import WindowQuery, window_query
from cepheid.sql_lang.window_uses import WindowUse, overs_in, uses_of
from cepheid.sql_lang.windowed_select import Item, WindowedSelect
from cepheid.sql_lang.windows import FoundWindow, windows_of


def windowed_selects(source: SqlSource, dialect: str) -> list[WindowedSelect]:
    """All SELECTs with such windows, inner ones before those around them. Raises what is wrong with them."""
    by_select: dict[int, list[FoundWindow]] = {}
    for window in windows_of(source):
        at = select_around(source, window.opening)
        if at is None:
            place = source.place(window.span.start, window.span.end)
            raise source.mistake("window_not_here", "this window belongs to no SELECT", place)
        by_select.setdefault(at, []).append(window)
    found = [_Reader(source, at, windows, dialect).read() for at, windows in by_select.items()]
    return sorted(found, key=lambda select: select.span.end)


@dataclass
class _Asked:
    """A window with what is asked over it."""

    window: FoundWindow
    clause: Clause
    query: RowQuery
    measures: dict[str, str] = field(default_factory=dict)  # names of columns, by those of measures
    aggregates: dict[str, str] = field(default_factory=dict)  # the same by SQL


class _Reader:
    def __init__(self, source: SqlSource, at: int, windows: list[FoundWindow], dialect: str) -> None:
        self.source, self.dialect = source, dialect
        self.select = read_select(source, at)
        self.windows = sorted(windows, key=lambda w: w.opening)
        self._check_shape()
        self.leaves = Leaves(dialect, source.dialect, self._groups())
        self.uses = uses_of(self.select, self.windows)
        self.asked = {w.opening: self._understood(w) for w in self.windows}
        self.used = 0
        self.marks: dict[Range, str] = {use.tokens: self._mark(use) for use in self.uses}

    def read(self) -> WindowedSelect:
        items = tuple(self._item(tokens) for tokens in self.select.items)
        aliases = {item.name: f"({item.text})" for item in items if item.name is not None}
        condition = self._condition(aliases)
        distinct = self._distinct(aliases)
        order, written = self._order(aliases)
        # Only now all that the inner query must have is known.
        windows = tuple(self._window(asked) for asked in self.asked.values())
        return WindowedSelect(
            self.select.span,
            items,
            self._rows(),
            tuple(self.leaves.names),
            windows,
            distinct,
            condition,
            order,
            written,
            self._text(Part.REST),
        )

    # The shape of the SELECT.

    def _check_shape(self) -> None:
        source, start = self.source, self.select.tokens[0]
        for part in (Part.SORT, Part.CLUSTER, Part.DISTRIBUTE):
            if part in self.select.parts:
                raise self._cannot(
                    f"{part.value} cannot stand", source.tokens[self.select.parts[part][0]].start
                )
        if Part.FROM not in self.select.parts and start > 0:
            before = source.tokens[start - 1]
            if before.is_sign("|>") or self._from_before(start):
                raise self._cannot("FROM cannot stand before SELECT", source.tokens[start].start)
        group = self.select.parts.get(Part.GROUP)
        if group is not None and group[1] - group[0] == 3 and source.tokens[group[1] - 1].word == "ALL":
            raise self._cannot("GROUP BY ALL cannot stand", source.tokens[group[0]].start)
        for window in self.windows:
            if not self.select.tokens[0] <= window.opening < self.select.tokens[1]:
                raise self._cannot("ORDER BY of several SELECTs cannot have a window", window.span.start)
        names = [w.name.name for w in self.select.windows]
        twice = next((w for i, w in enumerate(self.select.windows) if w.name.name in names[:i]), None)
        if twice is not None:
            raise source.mistake(
                "duplicate_window",
                f"there are two windows called `{twice.name.written}`",
                twice.name.place,
                "rename one",
            )

    def _from_before(self, start: int) -> bool:
        """`FROM t SELECT ..`, as DuckDB can read it."""
        i = start - 1
        while i >= 0 and not self.source.tokens[i].is_sign("(", ";"):
            if self.source.tokens[i].word == "FROM":
                return True
            i = self.source.partners[i] - 1 if self.source.tokens[i].is_sign(")") else i - 1
        return False

    def _cannot(self, what: str, at: int) -> PatternMistake:
        return self.source.mistake(
            "window_select",
            f"{what} in a SELECT whose window has a row pattern",
            self.source.place(at, at + 1),
            "put that SELECT into a subquery",
        )

    def _groups(self) -> list[str]:
        """What rows are grouped by, as it is written; a number stands for an item of SELECT."""
        if Part.GROUP not in self.select.parts:
            return []
        start, stop = self.select.parts[Part.GROUP]
        return [self.select.text(tokens) for tokens in split_at_commas(self.source, start + 2, stop)]

    def _rows(self) -> str:
        """FROM and what follows, with the windows of the database that are asked for."""
        patterned, needed = {w.opening for w in self.windows}, self._needed()
        kept = [w for w in self.select.windows if w.opening not in patterned and w.name.name in needed]
        texts = [self.select.text(w.tokens) for w in kept]
        return self.select.rows + (f"\nWINDOW {', '.join(texts)}" if texts else "")

    def _needed(self) -> set[str]:
        """Names of windows that are asked over; and those they are made of, which stand before them."""
        starts = [over.over + 1 for over in overs_in(self.source, *self.select.tokens)]
        found = {self._target(i) for i in starts if i not in {w.opening for w in self.windows}}
        for window in reversed(self.select.windows):
            if window.name.name in found:
                found.add(self._target(window.opening or window.tokens[1] - 1))
        return found

    def _target(self, i: int) -> str:
        """The window that is named behind OVER or AS, or first in the parentheses there."""
        token = self.source.tokens[i + 1] if self.source.tokens[i].is_sign("(") else self.source.tokens[i]
        return read_name(self.source, token).name if can_be_name(token) else ""

    def _text(self, part: Part) -> str:
        return self.select.text(self.select.parts[part]) if part in self.select.parts else ""

    # Windows.

    def _understood(self, window: FoundWindow) -> _Asked:
        clause = complete_clause(self.select, window, self.windows)
        return _Asked(window, clause, understood(clause, self.dialect, tables=self._tables()))

    def _tables(self) -> frozenset[str]:
        """Whatever is a name in FROM may be a table's."""
        if Part.FROM not in self.select.parts:
            return frozenset()
        tokens = (self.source.tokens[i] for i in inside_query(self.source, *self.select.parts[Part.FROM]))
        return frozenset(token.unquoted.upper() for token in tokens if can_be_name(token))

    def _mark(self, use: WindowUse) -> str:
        """The column that stands for what is asked over a window."""
        asked = self.asked[use.window.opening]
        if use.measure is not None:
            return self._new_name(asked.measures, use.measure.name)
        assert use.call is not None
        call, place = self.select.text(use.call), self._place(use.call)
        if function_name(call, self.source.dialect) in WITHOUT_FRAME:
            return self.leaves.name(f"{call} OVER ({_order_of(asked.clause)})")
        over = self.leaves.over_leaves(call, place, is_call=True)
        return self._new_name(asked.aggregates, as_aggregate(over, self.dialect, self.source.dialect, place))

    def _new_name(self, known: dict[str, str], key: str) -> str:
        if key not in known:
            known[key] = f"__u{self.used}"
            self.used += 1
        return known[key]

    def _window(self, asked: _Asked) -> WindowQuery:
        frame = asked.window.parts.frame
        assert frame is not None
        texts = [*asked.query.columns.values(), *(p.text for p in asked.clause.partition_by)]
        texts += [item.value.text for item in asked.clause.order_by]
        texts += [frame.end] if frame.end is not None else []
        columns = {text: self.leaves.name(text) for text in texts}
        found = window_query(asked.clause, asked.query, columns, asked.window.parts.search, frame.end)
        by_name = {
            m.name.name: text
            for m, (_, text) in zip(asked.clause.measures, asked.query.measures, strict=True)
        }
        measures = tuple((name, by_name[measure]) for measure, name in asked.measures.items())
        aggregates = tuple((name, sql) for sql, name in asked.aggregates.items())
        return replace(
            found,
            query=replace(found.query, measures=measures),
            aggregates=aggregates,
            arguments=self._arguments(aggregates),
        )

    def _arguments(self, aggregates: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        known = set(self.leaves.names.values())
        words = (t.text for _, sql in aggregates for t in scan(sql, self.source.dialect))
        return tuple(dict.fromkeys(word for word in words if word in known))

    # What stands around them.

    def _item(self, tokens: Range) -> Item:
        text = self.select.text(tokens)
        if not self._has_use(tokens):
            return Item(text, written=_folded(text, self.source), many=self._is_many(tokens))
        marked, place = self._marked(tokens), self._place(tokens)
        (node,) = parsed_item(marked, self.dialect, place).expressions
        if isinstance(node, exp.Alias):
            return self._named(tokens, str(node.alias))
        return Item(self._over(tokens), self._shown(tokens), _folded(text, self.source))

    def _named(self, tokens: Range, name: str) -> Item:
        start, stop = tokens[0], tokens[1] - 1
        if self.source.tokens[stop - 1].word == "AS":
            stop -= 1
        return Item(self._over((start, stop)), name, _folded(self.select.text((start, stop)), self.source))

    def _shown(self, tokens: Range) -> str:
        """What an item without a name is called: a measure by its name, anything else as it is written."""
        use = next((u for u in self.uses if u.tokens == tokens), None)
        if use is not None and use.measure is not None:
            return use.measure.written
        span = span_of(self.source, tokens)
        inline = [w for w in self.windows if w.name is None and span.holds(w.span)]
        text = self.source.text[span.start : span.end]
        short = [(Span(w.inside.start - span.start, w.inside.end - span.start), "...") for w in inline]
        return " ".join(replace_spans(text, short).split())

    def _has_use(self, tokens: Range) -> bool:
        return any(tokens[0] <= start and stop <= tokens[1] for start, stop in self.marks)

    def _is_many(self, tokens: Range) -> bool:
        own = self.source.tokens[tokens[0] : tokens[1]]
        stars = (i for i, t in enumerate(own) if t.is_sign("*"))
        if any(i == 0 or own[i - 1].is_sign(".") for i in stars):
            return True
        return any(t.word == "COLUMNS" and own[i + 1].is_sign("(") for i, t in enumerate(own[:-1]))

    def _marked(self, tokens: Range) -> str:
        """The text with a column for each use of a window."""
        span = span_of(self.source, tokens)
        changes = []
        for inner, mark in self.marks.items():
            own = span_of(self.source, inner)
            if span.holds(own):
                changes.append((Span(own.start - span.start, own.end - span.start), mark))
        return replace_spans(self.source.text[span.start : span.end], changes)

    def _over(self, tokens: Range, aliases: dict[str, str] | None = None) -> str:
        marks = frozenset(self.marks.values())
        return self.leaves.over_leaves(self._marked(tokens), self._place(tokens), marks, aliases)

    def _place(self, tokens: Range) -> Place:
        span = span_of(self.source, tokens)
        return self.source.place(span.start, span.end)

    def _condition(self, aliases: dict[str, str]) -> str | None:
        if Part.QUALIFY not in self.select.parts:
            return None
        start, stop = self.select.parts[Part.QUALIFY]
        return self._over((start + 1, stop), aliases)

    def _distinct(self, aliases: dict[str, str]) -> str:
        start, stop = self.select.distinct
        if stop - start < 2:
            return self.select.text((start, stop))
        return f"DISTINCT ON ({self._over((start + 3, stop - 1), aliases)})"

    def _order(self, aliases: dict[str, str]) -> tuple[tuple[OrderItem, ...], tuple[str, ...]]:
        if Part.ORDER not in self.select.parts:
            return (), ()
        start, stop = self.select.parts[Part.ORDER]
        items, written = [], []
        for begin, end in split_at_commas(self.source, start + 2, stop):
            cursor = Cursor(self.source, begin, end)
            item = order_item(cursor)
            tokens = (begin, cursor.stop)
            items.append(replace(item, value=replace(item.value, text=self._ordered(tokens, aliases))))
            written.append(_folded(item.value.text, self.source))
        return tuple(items), tuple(written)

    def _ordered(self, tokens: Range, aliases: dict[str, str]) -> str:
        own = self.source.tokens[tokens[0] : tokens[1]]
        is_place = len(own) == 1 and (own[0].kind is Kind.NUMBER or own[0].word == "ALL")
        return own[0].text if is_place else self._over(tokens, aliases)


def _folded(text: str, source: SqlSource) -> str:
    return " ".join(t.word or t.text for t in scan(text, source.dialect))


def _order_of(clause: Clause) -> str:
    by = ", ".join(part.text for part in clause.partition_by)
    order = ", ".join(order_text(item) for item in clause.order_by)
    return f"{f'PARTITION BY {by} ' if by else ''}ORDER BY {order}"
