"""Diagrams of matches hold what listing gives, in its order."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid
from cepheid.errors import CepheidError

sys.path.insert(0, str(Path(__file__).parent))

from test_trends_by_listing import NESTED

CAPTURED = [{"type": "B", "time": i + 1, "id": i, "v": i * 7 % 5} for i in range(100)]
HUNDRED: list[dict[str, Any]] = [{"type": "A", "time": 0}, *CAPTURED, {"type": "C", "time": 101}]


def rows(kinds: list[str], values: list[int]) -> list[dict[str, Any]]:
    return [
        {"type": k, "time": i, "id": i, "v": v} for i, (k, v) in enumerate(zip(kinds, values, strict=True))
    ]


@pytest.mark.parametrize("query", NESTED)
def test_holds_what_listing_gives(query: str) -> None:
    @settings(max_examples=6)
    @given(
        st.lists(st.tuples(st.sampled_from("AABBBCCX"), st.integers(0, 3)), min_size=4, max_size=9),
        st.sampled_from(["", " .within(5s)"]),
    )
    def run(given_events: list[tuple[str, int]], more: str) -> None:
        events = rows([k for k, _ in given_events], [v for _, v in given_events])
        text = f"{query}{more} .subsets()" if not query.endswith("3s") else f"{query} .subsets()"  # one bound
        found = cepheid.diagrams(text, events)
        wanted = cepheid.match(text, events)
        assert [row for diagram in found for row in diagram] == wanted
        assert sum(diagram.count() for diagram in found) == len(wanted)

    run()


def test_a_hundred_captured_events() -> None:
    (found,) = cepheid.diagrams("A -> all B as b -> C .subsets() .emit(n: count(b), v: sum(b.v))", HUNDRED)
    assert found.count() == 2**100 - 1
    assert found.size() < 300
    assert [row["n"] for row in found.first(102)] == [1] * 100 + [2] * 2
    drawn = found.sample(50, seed=1)
    assert 40 < sum(row["n"] for row in drawn) / 50 < 60
    tight = found.restrict(lambda one, other: other["time"] - one["time"] < timedelta(seconds=2))
    assert [row["n"] for row in tight] == [100]


def test_a_match_is_found_by_its_events() -> None:
    (found,) = cepheid.diagrams("A as a -> all B as b -> C as c .subsets()", HUNDRED)
    some = [("b", {"id": i}) for i in range(0, 100, 7)]
    assert found.contains([("a", {}), *some, ("c", {"type": "C"})])
    assert not found.contains([("a", {}), ("c", {})])
    assert not found.contains([*some, ("c", {})])
    assert not found.contains([("a", {}), ("b", {"id": 100}), ("c", {})])
    with pytest.raises(CepheidError, match="no step is called `d`"):
        found.contains([("d", {})])


def test_partitions_have_diagrams_of_their_own() -> None:
    events = [{"type": "T", "time": i, "k": i % 2} for i in range(9)]
    found = cepheid.diagrams("T as t -> all T as u .subsets() .partition_by(k)", events)
    assert [(d.key, d.count()) for d in found] == [((0,), 26), ((1,), 11)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("A -> all B .longest()", "no_diagram"),
        ("A -> all B .subsets() .stnm()", "no_trends"),
        ("A -> all B .trend_aggregate(n: count_trends())", "no_diagram"),
        ("A -> all B as b -> C .subsets() .where(sum(b.v) > 1)", "not_decidable"),
    ],
)
def test_what_has_no_diagram(query: str, code: str) -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.diagrams(query, HUNDRED)
    assert caught.value.code == code


def test_nothing_found() -> None:
    assert cepheid.diagrams("A -> all B -> Z .subsets()", [*HUNDRED[:3], {"type": "Z", "time": 0}]) == []
