"""Random row patterns and conditions, for tests of a fast matcher against `preferment`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st
from preferment import Holds

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
    walk_rows,
)
from cepheid.sql_lang.clause import AfterMatch

NAMES = ("A", "B", "C")
BOUNDS = ((0, None), (1, None), (0, 1), (2, 2), (2, None), (0, 2), (1, 2), (1, 3), (0, 0))  # of quantifiers


@dataclass(frozen=True)
class BitTable:
    """For each variable and row a bit: whether the condition holds there, whatever else is matched."""

    bits: tuple[tuple[bool, ...], ...]  # by row, then by the place of the variable in `names`
    names: tuple[str, ...] = NAMES

    @property
    def rows(self) -> int:
        return len(self.bits)

    def holds(self, variable: str, row: int, so_far: list[tuple[int, str]]) -> bool:
        return self.bits[row][self.names.index(variable)]

    def told(self) -> str:
        """The rows as the variables that may take them: `AB - C`."""
        rows = ("".join(n for n, bit in zip(self.names, row, strict=True) if bit) for row in self.bits)
        return " ".join(row or "-" for row in rows)


def bit_tables(most_rows: int = 7, names: Sequence[str] = NAMES) -> st.SearchStrategy[BitTable]:
    row = st.tuples(*(st.booleans() for _ in names))
    return st.lists(row, max_size=most_rows).map(lambda rows: BitTable(tuple(rows), tuple(names)))


def conditions_over_the_match(table: BitTable, salt: int) -> Holds:
    """Conditions that depend on the match so far too: a bit of the table, turned by what was matched before."""

    def holds(variable: str, row: int, so_far: list[tuple[int, str]]) -> bool:
        last = NAMES.index(so_far[-1][1]) + 1 if so_far and so_far[-1][1] in NAMES else 0
        same = sum(1 for _, name in so_far if name == variable)
        return table.holds(variable, row, so_far) != ((salt >> ((last * 3 + same) % 8)) & 1 == 1)

    return holds


def row_patterns(names: Sequence[str] = NAMES, leaves: int = 6) -> st.SearchStrategy[RowNode]:
    """Small patterns of all constructs. Nested quantifiers and parts that take no row are among them."""
    variables: st.SearchStrategy[RowNode] = st.sampled_from(names).map(Variable)
    rare: st.SearchStrategy[RowNode] = st.sampled_from((Empty(), Anchor(True), Anchor(False)))
    leaf = st.one_of(variables, variables, variables, variables, rare)
    return st.recursive(leaf, _larger, max_leaves=leaves)


def _larger(parts: st.SearchStrategy[RowNode]) -> st.SearchStrategy[RowNode]:
    some = st.lists(parts, min_size=2, max_size=3).map(tuple)
    quantified = st.builds(
        lambda part, bounds, greedy: Quantified(part, bounds[0], bounds[1], greedy),
        parts,
        st.sampled_from(BOUNDS),
        st.booleans(),
    )
    return st.one_of(
        some.map(Concatenation),
        some.map(Alternation),
        quantified,
        quantified,
        some.map(Permutation),
        parts.map(Exclusion),
    )


def skips(pattern: RowNode) -> st.SearchStrategy[tuple[AfterMatch, str | None]]:
    """A rule for AFTER MATCH SKIP that a pattern allows. It may still fail when it is run."""
    names = sorted({n.name for n in walk_rows(pattern) if isinstance(n, Variable)})
    plain = st.sampled_from(((AfterMatch.PAST_LAST_ROW, None), (AfterMatch.TO_NEXT_ROW, None)))
    if not names:
        return plain
    return plain | st.tuples(
        st.sampled_from((AfterMatch.TO_FIRST, AfterMatch.TO_LAST)), st.sampled_from(names)
    )


def random_pattern(
    chance: Random, leaves: int, names: Sequence[str] = NAMES, anchors: bool = True
) -> RowNode:
    """A pattern of so many leaves, most of them variables: where many are looked at and few may be trivial."""
    node = (
        _random_group(chance, leaves, names, anchors) if leaves > 1 else _random_leaf(chance, names, anchors)
    )
    if chance.random() < 0.35 and not isinstance(node, Anchor):
        least, most = chance.choice(BOUNDS[:-1])
        node = Quantified(node, least, most, chance.random() < 0.6)
    return node


def _random_leaf(chance: Random, names: Sequence[str], anchors: bool) -> RowNode:
    rare: tuple[RowNode, ...] = (Empty(), Anchor(True), Anchor(False)) if anchors else (Empty(),)
    return Variable(chance.choice(names)) if chance.random() < 0.93 else chance.choice(rare)


def _random_group(chance: Random, leaves: int, names: Sequence[str], anchors: bool) -> RowNode:
    cut = chance.randint(1, leaves - 1)
    parts = tuple(random_pattern(chance, size, names, anchors) for size in (cut, leaves - cut))
    if chance.random() < 0.1:
        parts = (parts[0], Exclusion(parts[1]))
    kind = chance.choice((Concatenation, Concatenation, Concatenation, Alternation, Alternation, Permutation))
    return kind(parts)
