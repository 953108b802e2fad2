"""Lists of values between commas, as the sections of a clause have them. The values themselves stay text."""

from __future__ import annotations

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.clause import Measure, OrderItem, SqlText
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.heads import ends_value, head, head_after_value, misspelt_head, sure_head
from cepheid.sql_lang.scan import Token
from cepheid.sql_lang.source import CLOSING


def read_items(cursor: Cursor, section: str) -> list[Cursor]:
    """The items up to the next section, each with a cursor of its own; none is empty."""
    found: list[Cursor] = []
    while True:
        start = cursor.at
        _over_item(cursor, section)
        if cursor.at == start:
            raise _empty(cursor, section, first=not found)
        found.append(Cursor(cursor.source, start, cursor.at))
        if not cursor.here.is_sign(","):
            return found
        cursor.take()


def read_values(cursor: Cursor, section: str) -> tuple[SqlText, ...]:
    return tuple(item.rest() for item in read_items(cursor, section))


def read_order(cursor: Cursor) -> tuple[OrderItem, ...]:
    return tuple(order_item(item) for item in read_items(cursor, "ORDER BY"))


def read_measures(cursor: Cursor) -> tuple[Measure, ...]:
    return tuple(_measure(item) for item in read_items(cursor, "MEASURES"))


def _over_item(cursor: Cursor, section: str) -> None:
    """To the next comma or the next section, outside of all brackets and of CASE .. END."""
    start, cases = cursor.at, list[Token]()
    while not cursor.done:
        if cursor.here.is_sign(*CLOSING):
            cursor.take_group()
            continue
        if not cases:
            if cursor.here.is_sign(","):
                return
            if sure_head(cursor) or (cursor.at > start and head_after_value(cursor)):
                return
            _check_spelling(cursor, start, section)
        _count_case(cursor, cases)
        cursor.take()
    if cases:
        raise cursor.source.syntax(
            "unclosed_case", "this CASE does not end", cursor.source.place_of(cases[-1]), "close it with END"
        )


def _count_case(cursor: Cursor, cases: list[Token]) -> None:
    if cursor.before.is_sign("."):
        return  # a column of that name
    if cursor.here.word == "CASE":
        cases.append(cursor.here)
    elif cursor.here.word == "END" and cases:
        cases.pop()


def _check_spelling(cursor: Cursor, start: int, section: str) -> None:
    """Two values side by side, the second almost the beginning of a section: a slip of the fingers."""
    side_by_side = (
        cursor.at > start and ends_value(cursor.before) and cursor.before.word not in ("FINAL", "RUNNING")
    )
    meant = misspelt_head(cursor.here) if side_by_side else None
    if meant and ends_value(cursor.here) and not cursor.peek(1).is_sign(",", "."):
        raise cursor.source.syntax(
            "unknown_section",
            f"after {section} {cursor.shown()} cannot stand here",
            cursor.place,
            f"did you mean `{meant}`?",
        )


def _empty(cursor: Cursor, section: str, first: bool) -> SyntaxMistake:
    if first:
        return cursor.source.syntax(
            "empty_section",
            f"after {section} nothing follows",
            cursor.source.place_of(cursor.before),
            f"write {_EXAMPLES[section]}, or leave {section} out",
        )
    return cursor.source.syntax(
        "extra_comma",
        f"in {section} nothing follows this comma",
        cursor.source.place_of(cursor.before),
        "leave the comma out",
    )


_EXAMPLES = {
    "PARTITION BY": "`PARTITION BY user`",
    "ORDER BY": "`ORDER BY time`",
    "MEASURES": "`MEASURES LAST(A.time) AS finish`",
    "SUBSET": "`SUBSET U = (A, B)`",
    "DEFINE": "`DEFINE A AS price > 10`",
}


def order_item(item: Cursor) -> OrderItem:
    """The cursor ends then before DESC and NULLS LAST."""
    nulls_first, descending = None, False
    if item.left > 2 and item.last(2).word == "NULLS" and item.last().word in ("FIRST", "LAST"):
        nulls_first = item.last().word == "FIRST"
        item.stop -= 2
    if item.left > 1 and item.last().word in ("ASC", "DESC"):
        descending = item.last().word == "DESC"
        item.stop -= 1
    return OrderItem(item.rest(), descending, nulls_first)


def _measure(item: Cursor) -> Measure:
    between = second_as(item, item.left - 2)
    if between is not None:
        raise missing_comma(item, between + 2)
    if item.left < 3 or item.last(2).word != "AS" or not can_be_name(item.last()):
        if head(item) and item.source.tokens[item.at - 1].is_sign(","):
            comma = Cursor(item.source, item.at - 1, item.stop)
            comma.take()
            raise _empty(comma, "MEASURES", first=False)
        raise item.source.syntax(
            "measure_without_name",
            "this measure has no name",
            item.rest().place,
            f"write `{_shortened(item.rest().text)} AS name`",
        )
    name = read_name(item.source, item.last())
    item.stop -= 2
    return Measure(item.rest(), name)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:40] + "..."


def second_as(item: Cursor, length: int) -> int | None:
    """The index of an AS outside of all brackets: a sign that between two items the comma was forgotten."""
    look = Cursor(item.source, item.at, item.at + length)
    while not look.done:
        if look.here.is_sign(*CLOSING):
            look.take_group()
        elif look.here.word == "AS" and look.at > look.first and not look.before.is_sign("."):
            return look.at
        else:
            look.take()
    return None


def missing_comma(item: Cursor, at: int) -> SyntaxMistake:
    token = item.source.tokens[at]
    return item.source.syntax(
        "missing_comma",
        f"before `{token.text}` a comma is missing",
        item.source.place_of(token),
        "write a comma between the items",
    )
