"""A working memory for each value of a key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

from cepheid.engines.rules.keys import Keys
from cepheid.engines.rules.operations import EVENT, RETRACT_EVENT, Operation
from cepheid.errors import InputMistake, nearest


def key_of(operation: Operation, keys: Keys) -> Any:
    """The value of its key; None if no rule and no pattern reads its type: then nobody misses it."""
    column = keys.get((operation.type, operation.kind in (EVENT, RETRACT_EVENT)))
    if column is None:
        return None
    key = operation.fields.get(column)
    if isinstance(key, (list, dict)):
        raise InputMistake(f"{key!r} cannot be a key", code="bad_key", hint="use a text or a number")
    if key is not None:
        return _one_of_equals(key)
    raise InputMistake(
        f"a `{operation.type}` without its key `{column}`",
        code="no_key",
        hint=nearest(column, list(operation.fields)) or "name the column of each type: key={'Alarm': 'eqpt'}",
    )


def _one_of_equals(key: Any) -> Any:
    """7, 7.0 and a decimal 7 are equal to every test, so they are one key."""
    if isinstance(key, (float, Decimal)) and isfinite(key) and key % 1 == 0:
        return int(key)
    return key


def by_key(operations: Iterable[Operation], keys: Keys) -> Mapping[Any, list[Operation]]:
    """The operations of each key, in their order. The key of a fact stays the same."""
    found: dict[Any, list[Operation]] = {}
    for operation in operations:
        key = key_of(operation, keys)
        if key is not None:
            found.setdefault(key, []).append(operation)
    return found
