"""Values of objects by which they are found: equal wherever the language finds the values equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cepheid.pattern.expr import Expr, Field
from cepheid.rules.closures import EXACT, Value, lookup_key, place, value_in_two_worlds, value_of

Key = Callable[[Any], Any]  # None: a null is in it, which equals nothing


def key_of(exprs: Sequence[Expr]) -> Key | None:
    """Of a tuple of objects."""
    if len(exprs) == 1 and isinstance(exprs[0], Field) and len(exprs[0].path) < 2:
        at = place(str(exprs[0].alias))
        return _field_key(at, exprs[0].path[0]) if exprs[0].path else _identity_key(at)
    return _key([value_of(e) for e in exprs])


def key_in_two_worlds(exprs: Sequence[Expr]) -> Key | None:
    return _key([value_in_two_worlds(e) for e in exprs])


def _key(values: list[Value]) -> Key | None:
    if not values:
        return None
    if len(values) == 1:
        return _single_key(values[0])

    def key(objects: Any) -> Any:
        found = tuple(value(objects) for value in values)
        return None if None in found else tuple(map(lookup_key, found))

    return key


def _field_key(at: int, name: str) -> Key:
    def key(objects: Any) -> Any:
        found = objects[at].fields.get(name)
        kind = found.__class__
        if kind is str or (kind is int and -EXACT < found < EXACT):
            return found
        return None if found is None or found != found else lookup_key(found)

    return key


def _identity_key(at: int) -> Key:
    def key(objects: Any) -> Any:
        found = objects[at].identity
        kind = found.__class__
        return found if kind is str or (kind is int and -EXACT < found < EXACT) else lookup_key(found)

    return key


def _single_key(value: Value) -> Key:
    def key(objects: Any) -> Any:
        found = value(objects)
        return found if found is None or found.__class__ is str else lookup_key(found)

    return key
