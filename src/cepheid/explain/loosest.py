"""A pattern with all its rules taken away: what events could be at all."""

from __future__ import annotations

from dataclasses import replace

from cepheid.explain.editing import Edit
from cepheid.pattern.model import And, Arrow, Closure, Emission, Loop, Node, Pattern, Sequence
from cepheid.plan.plan import Plan


def loosest(plan: Plan) -> Pattern:
    """Only types and order are left, and everything may be taken or passed over: what events could be at all."""

    def closure(n: int, closure: Closure, positions: range) -> Closure:
        most = 1 if closure.single else None
        return replace(closure, min=min(closure.min, 1), max=most, loop=Loop.ANY, until=None, gap=None)

    edit = Edit(
        step=lambda n, step: replace(step, where=None),
        closure=closure,
        absence=lambda n, absence: None,
        link=lambda first, link: replace(link, arrow=Arrow.ANY if first else None, within=None),
    )
    root = _unspanned(edit.node(plan.pattern.root))
    return Pattern(root, emission=Emission.SUBSETS)


def _unspanned(node: Node) -> Node:
    if isinstance(node, Sequence):
        return replace(node, span=None, links=tuple(replace(x, node=_unspanned(x.node)) for x in node.links))
    if isinstance(node, Closure):
        return replace(node, body=_unspanned(node.body))
    if isinstance(node, And):
        return replace(node, operands=tuple(_unspanned(o) for o in node.operands))
    return node
