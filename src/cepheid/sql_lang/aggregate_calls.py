"""A call of an aggregate taken apart: `f(DISTINCT a, b ORDER BY c) WITHIN GROUP (ORDER BY d) FILTER (WHERE e)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from cepheid.sql_lang.marking import aggregate_name
from cepheid.sql_lang.scalar import Tree

_AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


@dataclass(frozen=True)
class CallParts:
    name: str
    arguments: tuple[Tree, ...]
    distinct: bool
    order: tuple[Tree, ...]  # each with ASC or DESC
    within: tuple[Tree, ...]
    filter: Tree | None
    nulls: str

    @property
    def trees(self) -> Iterator[Tree]:
        """All that looks at rows."""
        yield from (*self.arguments, *self.order, *self.within)
        if self.filter is not None:
            yield self.filter

    @property
    def star(self) -> Tree | None:
        """`*` or `A.*`, if it is the argument."""
        if len(self.arguments) != 1:
            return None
        (only,) = self.arguments
        return only if isinstance(only, exp.Star) or isinstance(only.this, exp.Star) else None

    @property
    def plain(self) -> bool:
        return not (self.order or self.within or self.nulls)


def is_call(node: Tree) -> bool:
    """Also with FILTER and the like around it."""
    while isinstance(node, _AROUND):
        node = node.this
    return bool(aggregate_name(node))


def call_parts(node: Tree) -> CallParts:
    within: tuple[Tree, ...] = ()
    condition: Tree | None = None
    nulls = ""
    while isinstance(node, _AROUND):
        if isinstance(node, exp.Filter):
            condition = node.expression.this
        elif isinstance(node, exp.WithinGroup):
            within = tuple(node.expression.expressions)
        else:
            nulls = _nulls(node)
        node = node.this
    arguments, order, distinct = list(node.expressions), list[Tree](), False
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments[-1].expressions
        arguments[-1] = arguments[-1].this
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        distinct = True
        arguments = arguments[0].expressions
    if arguments and isinstance(arguments[-1], (exp.IgnoreNulls, exp.RespectNulls)):
        nulls = _nulls(arguments[-1])
        arguments[-1] = arguments[-1].this
    return CallParts(aggregate_name(node), tuple(arguments), distinct, tuple(order), within, condition, nulls)


def _nulls(node: Tree) -> str:
    return "IGNORE NULLS" if isinstance(node, exp.IgnoreNulls) else "RESPECT NULLS"
