"""Walking and rebuilding pattern trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cepheid.pattern.model import Absence, And, Closure, Node, Or, Sequence, Step


def map_nodes(node: Node, change: Callable[[Node], Node]) -> Node:
    """A copy in which every node has been changed, children first."""
    if isinstance(node, Closure):
        node = replace(node, body=map_nodes(node.body, change))
    elif isinstance(node, Sequence):
        node = replace(node, links=tuple(replace(x, node=map_nodes(x.node, change)) for x in node.links))
    elif isinstance(node, (And, Or)):
        node = replace(node, operands=tuple(map_nodes(o, change) for o in node.operands))
    elif isinstance(node, Absence):
        step = map_nodes(node.step, change)
        assert isinstance(step, Step)
        node = replace(node, step=step)
    return change(node)
