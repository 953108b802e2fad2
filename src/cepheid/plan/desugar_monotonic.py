"""`.increasing(f)` on a closure is a test against the event captured before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from cepheid.pattern.expr import Binary, Expr, Field, conjunction, conjuncts
from cepheid.pattern.model import Closure, Emission, Node, Pattern, Step, walk_nodes
from cepheid.pattern.tree import map_nodes


def desugar_monotonic(pattern: Pattern) -> Pattern:
    """`all T.increasing(p) as r` becomes `all T[p > r.p] as r`; emission `longest` unless one was said."""
    if not any(isinstance(n, Closure) and n.monotonic for n in walk_nodes(pattern.root)):
        return pattern
    emission = pattern.emission or Emission.LONGEST
    numbers = count(1)
    root = map_nodes(pattern.root, lambda node: _desugar(node, numbers))
    return replace(pattern, root=root, emission=emission)


def _desugar(node: Node, numbers: Iterator[int]) -> Node:
    if not isinstance(node, Closure) or node.monotonic is None:
        return node
    assert isinstance(node.body, Step)  # validation refuses it on a group
    # Without a name of its own the step gets one no user can write; it is not a column of the answer.
    # Numbered: two closures of one name would be compared with each other's events.
    alias = node.body.alias or f"${next(numbers)}"
    path = node.monotonic.path
    op = ">" if node.monotonic.rising else "<"
    test: Expr = Binary(op, Field(None, path), Field(alias, path), place=node.place)
    where = conjunction([*conjuncts(node.body.where), test])
    return replace(node, body=replace(node.body, alias=alias, where=where), monotonic=None)
