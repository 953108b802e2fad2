"""A pattern tree with one thing changed. Things go by the numbers the automaton has for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cepheid.pattern.model import Absence, And, Closure, Link, Node, Or, Sequence, Step


@dataclass
class Edit:
    """What to do with each thing on the way through the tree; an absence may go altogether (None)."""

    step: Callable[[int, Step], Step] = lambda number, step: step
    closure: Callable[[int, Closure, range], Closure] = lambda number, closure, positions: closure
    absence: Callable[[int, Absence], Absence | None] = lambda number, absence: absence
    link: Callable[[int, Link], Link] = lambda first, link: link  # by the first position in it
    scope: Callable[[int, int], int] = lambda number, bound: bound
    _positions: int = field(default=0, init=False)
    _closures: int = field(default=0, init=False)
    _absences: int = field(default=0, init=False)
    _scopes: int = field(default=0, init=False)

    def node(self, node: Node) -> Node:
        match node:
            case Step():
                self._positions += 1
                return self.step(self._positions - 1, node)
            case Closure():
                number, first = self._closures, self._positions
                self._closures += 1
                body = self.node(node.body)
                return self.closure(number, replace(node, body=body), range(first, self._positions))
            case Sequence():
                links = tuple(new for link in node.links if (new := self._link(link)) is not None)
                return replace(node, links=links, span=self._bound(node.span))
            case And() | Or():
                return replace(node, operands=tuple(self.node(o) for o in node.operands))
        return node

    def _link(self, link: Link) -> Link | None:
        if isinstance(link.node, Absence):
            self._absences += 1
            kept = self.absence(self._absences - 1, link.node)
            return None if kept is None else replace(link, node=kept)
        first = self._positions
        node = self.node(link.node)
        return self.link(first, replace(link, node=node, within=self._bound(link.within)))

    def _bound(self, bound: int | None) -> int | None:
        """Numbered after what is inside, as the automaton does it."""
        if bound is None:
            return None
        self._scopes += 1
        return self.scope(self._scopes - 1, bound)
