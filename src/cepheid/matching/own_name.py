"""A closure's own name in its own condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.matching.moment import Moment, Test
from cepheid.pattern.expr import Aggregate, Expr, Field, Opaque, walk
from cepheid.pattern.values import clean


def where_own_is_known(expr: Expr, own: str, test: Test) -> Test:
    """Nothing captured yet and nothing to compare with: the conjunct as a whole is not tested.

    Decided before evaluation, so that it does not depend on which side of an `or` is evaluated first.
    """
    needed = _own_paths(expr, own)
    aggregated = any(isinstance(node, Aggregate) and node.alias == own for node in walk(expr))
    if not (aggregated or needed):
        return test

    def guarded(moment: Moment) -> bool:
        if not moment.binds.get(own):
            previous = moment.previous
            if aggregated or previous is None:
                return True
            for path in needed:
                if not _has(previous.fields, path):
                    return True
        return test(moment)

    return guarded


def _own_paths(expr: Expr, own: str) -> tuple[tuple[str, ...], ...]:
    """The fields of the event captured before that a conjunct looks at; () is the whole event."""
    found: dict[tuple[str, ...], None] = {}
    for node in walk(expr):
        if isinstance(node, Field) and node.alias == own:
            found[node.path] = None
        elif isinstance(node, Opaque) and own in node.aliases:
            found[()] = None
    return tuple(found)


def _has(fields: Any, path: tuple[str, ...]) -> bool:
    """A null is as good as no field: a table has every column for every type of event."""
    for name in path:
        if not isinstance(fields, Mapping) or clean(fields.get(name)) is None:
            return False
        fields = fields[name]
    return True
