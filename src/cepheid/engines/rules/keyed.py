"""A working memory for each value of a key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cepheid.engines.rules.keys import Keys
from cepheid.engines.rules.operations import EVENT, RETRACT_EVENT, Operation
from cepheid.errors import InputMistake, nearest


def key_of(operation: Operation, keys: Keys) -> Any:
    """The value of its key; None if no rule reads its type, or it has none: then nobody misses it."""
    column = keys.get((operation.type, operation.kind in (EVENT, RETRACT_EVENT)))
    if column is None:
        return None
    if column in operation.fields:
        return operation.fields[column]
    if operation.identity is not None and not operation.fields:
        return None
    raise InputMistake(
        f"a `{operation.type}` without its key `{column}`",
        code="no_key",
        hint=nearest(column, list(operation.fields)) or "name the column of each type: key={'Alarm': 'eqpt'}",
    )


def by_key(operations: Iterable[Operation], keys: Keys) -> Mapping[Any, list[Operation]]:
    """The operations of each key, in their order. The key of a fact stays the same."""
    found: dict[Any, list[Operation]] = {}
    for operation in operations:
        key = key_of(operation, keys)
        if key is not None:
            found.setdefault(key, []).append(operation)
    return found
