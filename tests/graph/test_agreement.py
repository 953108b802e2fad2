"""Batch, sifter and the definition agree: for all constructs together, in any order of edges within one time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings

from cepheid.graph.batch import GraphMatch, find_in
from cepheid.graph.edges import Edge, Edges
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.graph_pattern import GraphPattern

sys.path.insert(0, str(Path(__file__).parent))

from graph_oracle import OracleEdge, all_matches
from graph_strategies import Happens, histories, patterns


def shape(match: GraphMatch) -> str:
    return repr((sorted(match.binds.items()), [(name, i.start) for name, i in match.intervals]))


def sifted(pattern: GraphPattern, ticks: list[list[Happens]]) -> tuple[list[GraphMatch], Edges]:
    sifter = Sifter([ReadyPattern(pattern)])
    for number, happens in enumerate(ticks):
        for h in happens:
            source, label, target, start = h.edge
            if h.closes:
                known = sifter.edges.find(source, label, target, start)
                assert known is not None
                assert h.end is not None
                sifter.close(known, h.end)
            else:
                sifter.add(Edge(source, label, target, start, h.end))
        if number < len(ticks) - 1:
            sifter.end_tick()
    sifter.finish_all()
    return sifter.drain_completed(), sifter.edges


def by_definition(pattern: GraphPattern, edges: Edges) -> list[str]:
    given_edges = [
        OracleEdge(e.source, e.label, e.target, e.start, e.end, e.tick, e.end_tick) for e in edges.all
    ]
    return sorted(repr(m) for m in all_matches(pattern, given_edges))


def check(pattern: GraphPattern, ticks: Any) -> int:
    """How many matches there are."""
    found, edges = sifted(pattern, ticks)
    expected = by_definition(pattern, edges)
    batch = sorted(shape(m) for m in find_in(ReadyPattern(pattern), edges))
    note(f"edges: {edges.all}")
    assert batch == expected
    assert sorted(shape(m) for m in found) == expected
    return len(expected)


def agree(examples: int) -> None:
    """All of them, and that enough of them match: that nothing is found nowhere shows little."""
    matched: list[bool] = []

    @given(patterns(), histories())
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    def one(pattern: GraphPattern, ticks: list[list[Happens]]) -> None:
        matched.append(check(pattern, ticks) > 0)

    one()
    assert sum(matched) > len(matched) / 10


def test_all_agree() -> None:
    agree(300)


@pytest.mark.soak
def test_many_more_agree() -> None:
    agree(5_000)
