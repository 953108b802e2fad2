"""The sections about variables: SUBSET, which gives several of them one name, and DEFINE, which says what they are."""

from __future__ import annotations

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.clause import Definition, Name, Subset
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.items import missing_comma, read_items, second_as

_FORMS = {"SUBSET": "`SUBSET U = (A, B)`", "DEFINE": "`DEFINE A AS price > 10`"}


def read_subsets(cursor: Cursor) -> tuple[Subset, ...]:
    return tuple(_subset(item) for item in read_items(cursor, "SUBSET"))


def read_definitions(cursor: Cursor) -> tuple[Definition, ...]:
    return tuple(_definition(item) for item in read_items(cursor, "DEFINE"))


def _definition(item: Cursor) -> Definition:
    variable = _name(item, "DEFINE")
    if not item.take_words("AS"):
        raise _missing(item, "AS", variable)
    if item.done:
        raise _missing(item, "its condition", variable)
    between = second_as(item, item.left)
    if between is not None:
        raise missing_comma(item, between - 1)
    return Definition(variable, item.rest())


def _missing(item: Cursor, what: str, variable: Name) -> SyntaxMistake:
    return item.source.syntax(
        "bad_definition",
        f"in DEFINE, {what} is missing after `{item.before.text}`",
        item.source.place_of(item.before),
        f"write `{variable.written} AS` and a condition",
    )


def _subset(item: Cursor) -> Subset:
    name = _name(item, "SUBSET")
    if not item.here.is_sign("="):
        raise _expected(item, "SUBSET", "`=`")
    item.take()
    if not item.here.is_sign("("):
        raise _expected(item, "SUBSET", "`(`")
    start, stop = item.take_group()
    if not item.done:
        raise _expected(item, "SUBSET", "a comma or the next section")
    return Subset(name, _members(Cursor(item.source, start, stop)))


def _members(inner: Cursor) -> tuple[Name, ...]:
    found = [_name(inner, "SUBSET")]
    while not inner.done:
        if not inner.here.is_sign(","):
            raise _expected(inner, "SUBSET", "a comma")
        inner.take()
        found.append(_name(inner, "SUBSET"))
    return tuple(found)


def _name(cursor: Cursor, section: str) -> Name:
    if not can_be_name(cursor.here):
        raise _expected(cursor, section, "the name of a variable")
    return read_name(cursor.source, cursor.take())


def _expected(cursor: Cursor, section: str, what: str) -> SyntaxMistake:
    message = f"in {section}, {what} is expected instead of {cursor.shown()}"
    return cursor.source.syntax("syntax", message, cursor.place, f"write for example {_FORMS[section]}")
