"""Row patterns, as SQL has them: a regular expression over the rows of a partition, one variable for each row.

Not the patterns of `model.py`: a row belongs to one variable, no row may be skipped, and of all ways to match the
first in the order of preferment counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cepheid.errors import Place


@dataclass(frozen=True)
class RowNode:
    """A part of a row pattern."""

    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[RowNode, ...]:
        return ()


@dataclass(frozen=True)
class Variable(RowNode):
    """One row that satisfies the condition of its name; every row, if that has none."""

    name: str


@dataclass(frozen=True)
class Empty(RowNode):
    """`()`: no row at all."""


@dataclass(frozen=True)
class Anchor(RowNode):
    """`^` before the first row of the partition, `$` after the last."""

    start: bool


@dataclass(frozen=True)
class Concatenation(RowNode):
    parts: tuple[RowNode, ...]

    def children(self) -> tuple[RowNode, ...]:
        return self.parts


@dataclass(frozen=True)
class Alternation(RowNode):
    """The leftmost that leads to a match is preferred."""

    parts: tuple[RowNode, ...]

    def children(self) -> tuple[RowNode, ...]:
        return self.parts


@dataclass(frozen=True)
class Quantified(RowNode):
    """`* + ? {n} {n,} {,m} {n,m}`: as often as possible, or (reluctant, `*?`) as seldom as possible."""

    part: RowNode
    least: int
    most: int | None
    greedy: bool = True

    def children(self) -> tuple[RowNode, ...]:
        return (self.part,)


@dataclass(frozen=True)
class Permutation(RowNode):
    """`PERMUTE(x, y, z)`: the alternation of all orders, in the order of the places of their parts."""

    parts: tuple[RowNode, ...]

    def children(self) -> tuple[RowNode, ...]:
        return self.parts


@dataclass(frozen=True)
class Exclusion(RowNode):
    """`{- x -}`: matched as ever, but its rows are not shown by ALL ROWS PER MATCH."""

    part: RowNode

    def children(self) -> tuple[RowNode, ...]:
        return (self.part,)


def walk_rows(node: RowNode) -> Iterator[RowNode]:
    yield node
    for child in node.children():
        yield from walk_rows(child)


def variables_of(node: RowNode) -> tuple[str, ...]:
    """The primary variables of a pattern, in the order in which they first stand in it."""
    return tuple(dict.fromkeys(n.name for n in walk_rows(node) if isinstance(n, Variable)))


def has_one_way(node: RowNode) -> bool:
    """Is there only one way to match it from a row on: no choice, and always as many rows?"""
    if isinstance(node, (Alternation, Permutation)):
        return False
    if isinstance(node, Quantified) and node.most != node.least:
        return False
    return all(has_one_way(child) for child in node.children())
