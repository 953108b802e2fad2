"""Names in the expressions of rules: which of them are variables, and bare ones as fields of a variable."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.pattern.expr import Expr, Field, rewrite, walk
from cepheid.pattern.time_test import TimeTest


def variable_name(expr: Expr) -> str | None:
    """The variable that a field hangs on, if it does.

    >>> from cepheid.pattern.rule_model import object_field
    >>> variable_name(object_field("e", "state")), variable_name(Field(None, ("state",)))
    ('e', None)
    """
    if isinstance(expr, Field) and expr.path and expr.path[0].startswith("?"):
        return expr.path[0][1:]
    return None


def variables_named(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Every variable an expression names, and where."""
    for node in walk(expr):
        name = variable_name(node)
        if name is not None:
            yield name, node
        elif isinstance(node, TimeTest):
            yield node.left, node
            yield node.right, node


def of_object(expr: Expr, variable: str) -> Expr:
    """Bare names become fields of an object: `count + 1` in `modify ?e` is `?e.count + 1`."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and not node.path[0].startswith("?"):
            return Field(None, (f"?{variable}", *node.path), place=node.place)
        return None

    return rewrite(expr, change)
