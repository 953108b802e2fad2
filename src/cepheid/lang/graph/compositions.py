"""Compositions: `a then b`, `a | b`, `a xor b`, `a * 2..4`, with `sharing ?x`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lark import Token

from cepheid.errors import PatternMistake, Place
from cepheid.lang.expressions import read_name
from cepheid.lang.graph.blocks import read_block
from cepheid.lang.graph.clauses import read_variable
from cepheid.lang.source import Source
from cepheid.pattern.graph_pattern import Body, Choice, Repeat, Then

Lookup = Callable[[str, Place | None], Body]


@dataclass(frozen=True)
class _Shared:
    """What the operators of a composition share; None is everything."""

    names: frozenset[str] | None
    place: Place | None


class CompositionReader:
    def __init__(self, source: Source, lookup: Lookup) -> None:
        self.source, self.lookup = source, lookup

    def composition(self, tree: Any) -> Body:
        what, sharing = tree.children
        shared = self._sharing(sharing)
        if sharing is not None and not _shares(what):
            raise PatternMistake(
                "there is nothing that could share a variable here",
                code="nothing_to_share",
                place=shared.place,
                hint="`then`, `xor` and `*` share variables; of `a | b` each has its own",
            )
        return self._body(what, shared)

    def _sharing(self, tree: Any) -> _Shared:
        if tree is None:
            return _Shared(frozenset(), None)
        names = [read_variable(t) for t in tree.children[1:] if t.type == "VARIABLE"]
        return _Shared(frozenset(names) if names else None, self.source.place(tree))

    def _body(self, tree: Any, shared: _Shared) -> Body:
        place = self.source.place(tree)
        if tree.data == "part":
            return self._part(tree)
        if tree.data == "repeated":
            part, _, count = tree.children
            least, most = _count(count)
            return Repeat(self._body(part, shared), least, most, self._named(shared, "*"), place=place)
        parts = [t for t in tree.children if not isinstance(t, Token)]
        if tree.data == "chain":
            bodies = tuple(self._body(t, shared) for t in parts)
            names = () if shared.names is None else tuple(_name(t) for t in parts)
            return Then(bodies, shared.names or frozenset(), names, place=place)
        bodies = tuple(self._unnamed(t, shared) for t in parts)
        if tree.data == "only_one_of":
            return Choice(bodies, True, self._named(shared, "xor"), place=place)
        return Choice(bodies, place=place)

    def _unnamed(self, tree: Any, shared: _Shared) -> Body:
        part = tree.children[0] if tree.data == "repeated" else tree
        if part.data == "part" and part.children[1] is not None:
            raise PatternMistake(
                "only a part of `then` can be given a name",
                code="name_without_use",
                place=self.source.place(part.children[2]),
                hint="leave `as` out: what the alternatives of a choice call by one name is one variable",
            )
        return self._body(tree, shared)

    def _named(self, shared: _Shared, operator: str) -> frozenset[str]:
        if shared.names is None:
            raise PatternMistake(
                f"`sharing all` is for `then` alone, and here is `{operator}`",
                code="shares_all",
                place=shared.place,
                hint="name the variables: sharing ?x, ?y",
            )
        return shared.names

    def _part(self, tree: Any) -> Body:
        what = tree.children[0]
        if what.data == "name":
            return self.lookup(read_name(what), self.source.place(what))
        if what.data == "composition":
            return self.composition(what)
        block, options = read_block(what, self.source)
        for said in (*options.said(), *(("meta",) if options.metadata else ())):
            raise PatternMistake(
                f"`{said}` is said of a whole pattern, and this is a part of one",
                code="bound_of_part",
                place=block.place,
                hint=f"write `{said}` after the composition",
            )
        return block


def _shares(tree: Any) -> bool:
    """Is there an operator outside of parentheses that can share?"""
    if isinstance(tree, Token) or tree.data == "part":
        return False
    return tree.data != "any_of" or any(_shares(t) for t in tree.children)


def _name(tree: Any) -> str:
    """Of a part of `then`: what it was called, or of what it is made."""
    if isinstance(tree, Token):
        return ""
    if tree.data == "part":
        what, _, name = tree.children
        if name is not None:
            return read_name(name)
        if what.data == "block":
            return "part"
        return read_name(what) if what.data == "name" else _name(what.children[0])
    if tree.data == "repeated":
        return _name(tree.children[0])
    joint = "_then_" if tree.data == "chain" else "_or_"
    return joint.join(name for t in tree.children if (name := _name(t)))


def _count(tree: Any) -> tuple[int, int | None]:
    least = int(tree.children[0])
    if tree.data == "times":
        return least, least
    most = tree.children[2]
    return least, None if most is None else int(most)
