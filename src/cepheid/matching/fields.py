"""Values read from events: fields, elements of closures, partition columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cepheid.errors import EvaluationError, PatternMistake, nearest
from cepheid.matching.evaluation_errors import short
from cepheid.matching.moment import Moment, Names, Value, constant
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Element, Field, Key, Length, Literal
from cepheid.pattern.text import expr_text
from cepheid.pattern.values import clean, kind_text


def literal(expr: Literal) -> Value:
    return constant(clean(expr.value))


def field(expr: Field, names: Names) -> Value:
    read = reader(expr.path)
    alias = expr.alias
    if alias is None:
        return lambda moment: None if moment.event is None else read(moment.event)
    if alias == names.own:
        return _own_field(alias, read)

    def last(moment: Moment) -> Any:
        events = moment.binds.get(alias)
        return read(events[-1]) if events else None

    return last


def _own_field(alias: str, read: Callable[[Event], Any]) -> Value:
    def before(moment: Moment) -> Any:
        events = moment.binds.get(alias)
        if events:
            return read(events[-1])
        return None if moment.previous is None else read(moment.previous)

    return before


def reader(path: tuple[str, ...]) -> Callable[[Event], Any]:
    """A field of an event; the whole of it if the path is empty."""
    if not path:
        return lambda event: {name: clean(value) for name, value in event.fields.items()}
    name, rest = path[0], path[1:]
    if rest:
        return lambda event: _nested(event.fields.get(name), rest)

    def read(event: Event) -> Any:
        value = event.fields.get(name)
        kind = value.__class__
        return value if kind is int or kind is str else clean(value)

    return read


def _nested(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return clean(value)


def last_element(expr: Element) -> Value:
    alias, read = expr.alias, reader(expr.path)
    return lambda moment: read(events[-1]) if (events := moment.binds.get(alias)) else None


def element(expr: Element, index: Value) -> Value:
    alias, read = expr.alias, reader(expr.path)

    def element(moment: Moment) -> Any:
        at = index(moment)
        if at is None:
            return None
        if at.__class__ is not int:
            raise EvaluationError(
                f"`{expr_text(expr.index)}` is {kind_text(at)} ({short(at)}), not a position",
                code="type_clash",
                place=expr.place,
                hint=f"positions are whole numbers from 0: {alias}[0], {alias}[{alias}.LEN - 1]",
            )
        events = moment.binds.get(alias, ())
        return read(events[at]) if 0 <= at < len(events) else None

    return element


def length(expr: Length) -> Value:
    alias = expr.alias
    return lambda moment: len(moment.binds.get(alias, ()))


def key(expr: Key, names: Names) -> Value:
    if expr.name not in names.keys:
        raise PatternMistake(
            f"`{expr.name}` is not a partition column",
            code="unknown_key",
            place=expr.place,
            hint=nearest(expr.name, names.keys),
        )
    at = names.keys.index(expr.name)
    return lambda moment: clean(moment.key[at])
