"""The fields a run has to remember: what tests and outputs read, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cepheid.pattern.expr import Aggregate, Element, Expr, Field, Opaque, walk
from cepheid.pattern.model import Closure, Output, Pattern, Step, walk_nodes


def needed_fields(
    pattern: Pattern, outputs: tuple[Output, ...] | None, others: Iterable[Expr] = ()
) -> frozenset[str] | None:
    """The names of the needed fields, of whatever type of event; None: all of them."""
    if outputs is None and pattern.trends is None:
        return None
    names = {c.path[0] for c in pattern.trends.columns if c.path} if pattern.trends is not None else set()
    for expr in [*_conditions(pattern), *others, *(o.expr for o in outputs or ())]:
        for node in walk(expr):
            if isinstance(node, Opaque):
                return None
            if isinstance(node, (Field, Element, Aggregate)):
                if not node.path:
                    return None
                names.add(node.path[0])
    return frozenset(names)


def _conditions(pattern: Pattern) -> Iterator[Expr]:
    yield from pattern.partition_by
    yield from _given([pattern.where, *(g.step.where for g in pattern.guards)])
    for node in walk_nodes(pattern.root):
        if isinstance(node, Step):
            yield from _given([node.where])
        elif isinstance(node, Closure):
            yield from _given([node.until])


def _given(exprs: Iterable[Expr | None]) -> Iterator[Expr]:
    return (e for e in exprs if e is not None)
