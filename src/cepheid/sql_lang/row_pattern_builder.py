"""The tree of a row pattern to its model."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree

from cepheid.errors import Place
from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowNode,
    Variable,
)
from cepheid.sql_lang.source import SqlSource

_BOUNDS: dict[str, tuple[int, int | None]] = {"star": (0, None), "plus": (1, None), "optional": (0, 1)}
_DIGITS = 9  # of a bound: more are refused before they are counted with


class RowPatternBuilder:
    """Makes the model of a tree; one method for each rule of the grammar."""

    def __init__(self, source: SqlSource) -> None:
        self._source = source

    def node(self, tree: Any) -> RowNode:
        node: RowNode = getattr(self, f"_{tree.data}")(tree, self._place(tree))
        return node

    def _place(self, tree: Any) -> Place:
        return self._source.place(tree.meta.start_pos, tree.meta.end_pos)

    def _parts(self, tree: Any) -> tuple[RowNode, ...]:
        return tuple(self.node(child) for child in tree.children if isinstance(child, Tree))

    def _alternation(self, tree: Any, place: Place) -> RowNode:
        return Alternation(self._parts(tree), place=place)

    def _concatenation(self, tree: Any, place: Place) -> RowNode:
        return Concatenation(self._parts(tree), place=place)

    def _group(self, tree: Any, place: Place) -> RowNode:
        return self._parts(tree)[0]

    def _variable(self, tree: Any, place: Place) -> RowNode:
        token = self._source.token_at(tree.meta.start_pos)
        return Variable(token.word or token.unquoted, place=place)

    def _at_start(self, tree: Any, place: Place) -> RowNode:
        return Anchor(True, place=place)

    def _at_end(self, tree: Any, place: Place) -> RowNode:
        return Anchor(False, place=place)

    def _empty(self, tree: Any, place: Place) -> RowNode:
        return Empty(place=place)

    def _permutation(self, tree: Any, place: Place) -> RowNode:
        return Permutation(self._parts(tree), place=place)

    def _exclusion(self, tree: Any, place: Place) -> RowNode:
        return Exclusion(self._parts(tree)[0], place=place)

    def _quantified(self, tree: Any, place: Place) -> RowNode:
        part, how = self.node(tree.children[0]), tree.children[1]
        where = self._place(how)
        if isinstance(part, Anchor):
            raise self._source.syntax(
                "quantified_anchor",
                "an anchor cannot be repeated",
                where,
                "leave the quantifier out: `^` and `$` match no row",
            )
        least, most = self._bounds(how, where)
        return Quantified(part, least, most, how.children[-1] is None, place=place)

    def _bounds(self, how: Any, place: Place) -> tuple[int, int | None]:
        if how.data in _BOUNDS:
            return _BOUNDS[how.data]
        numbers = [self._number(n) for n in how.children if n is None or n.type == "INT"]
        if how.data == "exactly":
            least = most = numbers[0]
        else:
            least, most = numbers[0] or 0, numbers[1]
        self._check_bounds(least or 0, most, place)
        return least or 0, most

    def _number(self, token: Token | None) -> int | None:
        if token is not None and len(token) > _DIGITS:
            place = self._source.place(token.start_pos or 0, token.end_pos or 0)
            raise self._source.mistake("pattern_too_big", "this bound is too high", place)
        return None if token is None else int(token)

    def _check_bounds(self, least: int, most: int | None, place: Place) -> None:
        if most is None:
            return
        if most == 0:
            raise self._source.syntax(
                "bad_bounds",
                "the upper bound must be at least 1",
                place,
                "leave that part of the pattern out",
            )
        if most < least:
            raise self._source.syntax(
                "bad_bounds",
                f"the upper bound {most} is below the lower bound {least}",
                place,
                f"write `{{{most},{least}}}`",
            )
