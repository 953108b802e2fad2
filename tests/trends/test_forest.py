"""Families of sets against plain sets of sets, and against oxidd's zero-suppressed decision diagrams."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.trends.forest import Forest

ITEMS = 7
Family = set[frozenset[int]]
families = st.sets(st.frozensets(st.integers(0, ITEMS - 1)), max_size=12)


def listed(forest: Forest, root: int) -> list[list[int]]:
    return list(forest.in_order(root))


def in_order(family: Family) -> list[list[int]]:
    """By the smallest item, then smaller sets first, then item by item; the empty set before all."""
    return sorted(map(sorted, family), key=lambda s: (s[:1], len(s), s))


@settings(max_examples=150)
@given(families, families)
def test_operations_are_those_of_sets(one: Family, other: Family) -> None:
    forest = Forest()
    a, b = forest.of_sets(one), forest.of_sets(other)
    for root, wanted in (
        (a, one),
        (forest.union(a, b), one | other),
        (forest.intersection(a, b), one & other),
        (forest.difference(a, b), one - other),
    ):
        assert listed(forest, root) == in_order(wanted)
        assert forest.count(root) == len(wanted)
        assert root == forest.of_sets(wanted)  # one family, one number
        for items in one | other:
            assert forest.contains(root, items) == (items in wanted)


@settings(max_examples=100)
@given(families, st.sets(st.tuples(st.integers(0, ITEMS - 1), st.integers(0, ITEMS - 1))))
def test_restricting_keeps_the_sets_whose_neighbours_pass(
    family: Family, pairs: set[tuple[int, int]]
) -> None:
    forest = Forest()
    root = forest.restricted(forest.of_sets(family), lambda a, b: (a, b) in pairs)
    wanted = {s for s in family if all(p in pairs for p in zip(sorted(s), sorted(s)[1:], strict=False))}
    assert listed(forest, root) == in_order(wanted)


def in_oxidd(manager: Any, variables: list[Any], family: Family) -> Any:
    """A family as oxidd has it: of each set, the product of its items and of the complements of all others."""
    root = manager.false()
    for items in family:
        one = manager.true()
        for i, variable in enumerate(variables):
            one &= variable if i in items else ~variable
        root |= one
    return root


@settings(max_examples=60)
@given(families, families)
def test_agrees_with_oxidd(one: Family, other: Family) -> None:
    zbdd = pytest.importorskip("oxidd.zbdd")
    manager = zbdd.ZBDDManager(100_000, 10_000, 1)
    manager.add_vars(ITEMS)
    variables = [manager.var(i) for i in range(ITEMS)]
    mine = Forest()
    a, b = mine.of_sets(one), mine.of_sets(other)
    theirs_a, theirs_b = in_oxidd(manager, variables, one), in_oxidd(manager, variables, other)
    pairs = (
        (a, theirs_a),
        (mine.union(a, b), theirs_a | theirs_b),
        (mine.intersection(a, b), theirs_a & theirs_b),
        (mine.difference(a, b), theirs_a & ~theirs_b),
    )
    for root, theirs in pairs:
        assert mine.count(root) == theirs.sat_count(ITEMS)
        for number in range(2**ITEMS):
            items = [i for i in range(ITEMS) if number >> i & 1]
            assignment = [(i, i in items) for i in range(ITEMS)]
            assert mine.contains(root, items) == theirs.eval(assignment)


@pytest.mark.parametrize("least", [0, 1, 2, 3])
def test_subsets(least: int) -> None:
    forest = Forest()
    root = forest.subsets(range(6), least)
    wanted = {frozenset(i for i in range(6) if n >> i & 1) for n in range(64)}
    assert listed(forest, root) == in_order({s for s in wanted if len(s) >= least})


def test_a_hundred_events_are_counted_exactly() -> None:
    forest = Forest()
    root = forest.subsets(range(100))
    assert forest.count(root) == 2**100 - 1
    assert len(forest.nodes(root)) < 200
    assert forest.contains(root, range(0, 100, 3))
    assert not forest.contains(root, [])


def test_a_deep_family_needs_no_recursion() -> None:
    forest = Forest()
    root = forest.subsets(range(5000))
    assert forest.count(root) == 2**5000 - 1
    small = forest.restricted(forest.subsets(range(200)), lambda a, b: b == a + 1)
    assert forest.count(small) == 200 * 201 // 2


def test_sampling_is_uniform() -> None:
    """Chi-squared over all sets: with 31 degrees of freedom it exceeds 62 once in a thousand times."""
    forest, random, draws = Forest(), Random(5), 6400
    sets = [frozenset(i for i in range(ITEMS) if n * 2654435761 >> i & 1) for n in range(40)]
    root = forest.of_sets(sets)
    size = forest.count(root)
    seen = Counter(tuple(forest.sample(root, random)) for _ in range(draws))
    assert set(seen) <= {tuple(s) for s in listed(forest, root)}
    expected = draws / size
    chi_squared = sum((seen[tuple(s)] - expected) ** 2 / expected for s in listed(forest, root))
    assert chi_squared < 2 * size


def test_nothing_cannot_be_drawn_from() -> None:
    forest = Forest()
    with pytest.raises(ValueError, match="no set"):
        forest.sample(forest.of_sets([]), Random(1))
