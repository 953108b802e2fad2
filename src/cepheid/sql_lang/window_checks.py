"""What a window with a row pattern may not say, and what it takes over from a window that it refines."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.row_pattern import Anchor, walk_rows
from cepheid.sql_lang.clause import Clause, Name, OrderItem, SqlText
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.heads import Section, head
from cepheid.sql_lang.items import read_order, read_values
from cepheid.sql_lang.select_parts import NamedWindow, SelectParts
from cepheid.sql_lang.windows import FoundWindow


def check_window(window: FoundWindow) -> None:
    """All that can be known of the window alone."""
    clause = window.parts.clause
    anchor = next((n for n in walk_rows(clause.pattern) if isinstance(n, Anchor)), None)
    if anchor is not None:
        raise _mistake(
            "anchor_in_window",
            "`^` and `$` cannot stand in the pattern of a window",
            anchor.place,
            "a row looks only at its frame, so nothing says where the partition begins or ends",
        )
    if window.parts.frame is None:
        raise _mistake(
            "missing_frame",
            "a window with a row pattern needs a frame",
            clause.place,
            "write `ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING` before AFTER MATCH, INITIAL, SEEK or PATTERN",
        )


def complete_clause(select: SelectParts, window: FoundWindow, patterned: list[FoundWindow]) -> Clause:
    """The clause with PARTITION BY and ORDER BY of the window it refines, if it does."""
    clause, base = window.parts.clause, window.parts.base
    if base is not None:
        inherited = _base(select, base, _before(select, window), patterned)
        if clause.partition_by:
            raise _bad_base(base, "PARTITION BY cannot stand in a window that refines another", clause.place)
        if clause.order_by and inherited.order_by:
            raise _bad_base(base, f"`{base.written}` has an ORDER BY already", clause.place)
        clause = replace(
            clause, partition_by=inherited.partition_by, order_by=clause.order_by or inherited.order_by
        )
    if not clause.order_by:
        raise _mistake(
            "missing_order",
            "a window with a row pattern needs ORDER BY: a pattern is about rows in an order",
            clause.place,
            "write for example `ORDER BY time`",
        )
    return clause


@dataclass(frozen=True)
class _Inherited:
    partition_by: tuple[SqlText, ...]
    order_by: tuple[OrderItem, ...]


def _before(select: SelectParts, window: FoundWindow) -> tuple[NamedWindow, ...]:
    """Those a window can refine: named ones that are defined before it."""
    if window.name is None:
        return select.windows
    return tuple(w for w in select.windows if w.opening is None or w.opening < window.opening)


def _base(
    select: SelectParts, name: Name, known: tuple[NamedWindow, ...], patterned: list[FoundWindow]
) -> _Inherited:
    index = next((i for i, w in enumerate(known) if w.name.name == name.name), None)
    if index is None:
        names = [w.name.written for w in known]
        raise _mistake(
            "unknown_window",
            f"there is no window `{name.written}` before this one",
            name.place,
            nearest(name.written, names) or (f"there are {', '.join(names)}" if names else None),
        )
    found, source = known[index], select.source
    if any(w.opening == found.opening for w in patterned):
        raise _bad_base(
            name, f"`{name.written}` has a row pattern: no other window can be made of it", name.place
        )
    if found.opening is None:
        return _base(select, read_name(source, source.tokens[found.tokens[1] - 1]), known[:index], patterned)
    cursor = Cursor(source, found.opening + 1, source.partners[found.opening])
    inherited = _Inherited((), ())
    if can_be_name(cursor.here) and head(cursor) is None:
        inherited = _base(select, read_name(source, cursor.take()), known[:index], patterned)
    if head(cursor) is Section.PARTITION:
        cursor.at += 2
        inherited = replace(inherited, partition_by=read_values(cursor, "PARTITION BY"))
    if head(cursor) is Section.ORDER:
        cursor.at += 2
        inherited = replace(inherited, order_by=read_order(cursor))
    if not cursor.done:
        raise _bad_base(name, f"`{name.written}` has a frame: no other window can be made of it", name.place)
    return inherited


def _bad_base(base: Name, message: str, place: Place) -> PatternMistake:
    return _mistake("bad_base", message, place, f"leave it out, or do not refine `{base.written}`")


def _mistake(code: str, message: str, place: Place | None, hint: str | None) -> PatternMistake:
    return PatternMistake(message, code=code, place=place, hint=hint)
