"""Graph patterns over Spark DataFrames find what they find locally: golden scenarios, random ones, odd input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graph_jobs import Case, by_spark
from graph_scenarios import GraphScenario, Step, load_graph_scenarios, shown, wanted
from graph_strategies import Happens, histories, patterns
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from test_agreement import sifted

from cepheid.engines.graph.clock import Clock
from cepheid.engines.graph.matches import Match, user_match
from cepheid.graph.batch import find_in
from cepheid.graph.edges import Edge, Edges
from cepheid.graph.threads import ReadyPattern
from cepheid.lang.graph import parse_graph_patterns
from cepheid.pattern.graph_pattern import GraphPattern

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")]

SECOND = 10**6


def words(matches: list[Match]) -> list[str]:
    """Everything that a match says, to be compared. In a table numbers of two types are floats."""
    return sorted(
        repr((sorted(map(_whole, m.binds.items())), m.intervals, m.first, m.last, m.decided, m.pattern))
        for m in matches
    )


def _whole(bind: tuple[str, Any]) -> tuple[str, Any]:
    name, value = bind
    return name, int(value) if isinstance(value, float) and value.is_integer() else value


def locally(pattern: GraphPattern, edges: Edges) -> list[Match]:
    clock = Clock("us", numbers=True)
    found = [user_match(m, clock) for m in find_in(ReadyPattern(pattern), edges)]
    for match in found:  # a variable that is null and one that is not bound are one in a table
        for name in [n for n, v in match.binds.items() if v is None]:
            del match.binds[name]
    return found


# Golden scenarios.


def steps_as_edges(steps: tuple[Step, ...]) -> Edges:
    edges, tick = Edges(), 0
    for step in steps:
        if step.time is None:
            tick += 1
            continue
        time = round(step.time * SECOND)
        for source, label, target in step.edges:
            if step.closes:
                number = edges.find(source, label, target)
                assert number is not None
                edges.close(number, time, tick)
            else:
                end = None if step.end is None else round(step.end * SECOND)
                edges.add(Edge(source, label, target, time, end, tick, tick))
    return edges


def golden() -> Iterator[tuple[Case, list[GraphScenario]]]:
    by_pattern: dict[str, list[GraphScenario]] = {}
    for scenario in load_graph_scenarios():
        if "sifter" not in scenario.options:
            by_pattern.setdefault(scenario.pattern, []).append(scenario)
    for text, scenarios in by_pattern.items():
        public = tuple(p for p in parse_graph_patterns(text) if not p.private)
        graphs = tuple(tuple(steps_as_edges(s.steps).all) for s in scenarios)
        yield Case(scenarios[0].name, public, graphs), scenarios


def in_seconds(match: Match) -> Match:
    """As the files write times."""

    def time(at: Any) -> Any:
        return None if at is None else at // SECOND if at % SECOND == 0 else at / SECOND

    intervals = tuple(type(i)(i.stage, time(i.start), time(i.end)) for i in match.intervals)
    times = (time(at) for at in (match.first, match.last, match.decided))
    return Match(match.pattern, dict(map(_whole, match.binds.items())), intervals, *times)


def check_golden(spark: Any, cases: list[tuple[Case, list[GraphScenario]]]) -> int:
    """How many scenarios there were."""
    found = by_spark(spark, [case for case, _ in cases])
    problems, count = [], 0
    for case, scenarios in cases:
        for number, scenario in enumerate(scenarios):
            count += 1
            got = found[case.name, number]
            if shown(map(in_seconds, got), scenario) != wanted(scenario):
                problems.append(f"{scenario.name}: {shown(map(in_seconds, got), scenario)}")
            edges = steps_as_edges(scenario.steps)
            expected = [m for p in case.patterns for m in locally(p, edges)]
            if words(got) != words(expected):
                problems.append(f"{scenario.name}:\n  spark {words(got)}\n  local {words(expected)}")
    assert problems == []
    return count


def test_golden_scenarios(spark: Any) -> None:
    """A few of the patterns: each is a plan of its own, and all of them take minutes of a core."""
    assert check_golden(spark, list(golden())[::8]) > 15


@pytest.mark.soak
def test_all_golden_scenarios(spark: Any) -> None:
    assert check_golden(spark, list(golden())) > 200


# Random ones.


def random_cases(count: int, graphs: int) -> list[Case]:
    made: list[Case] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(patterns(), st.lists(histories(), min_size=graphs, max_size=graphs))
    def collect(pattern: GraphPattern, ticks: list[list[list[Happens]]]) -> None:
        edges = tuple(tuple(sifted(pattern, one)[1].all) for one in ticks)
        made.append(Case(f"random {len(made)}", (pattern,), edges))

    collect()
    return made


def check_random(spark: Any, count: int, graphs: int) -> None:
    cases = random_cases(count, graphs)
    found = by_spark(spark, cases)
    problems, matching = [], 0
    for case in cases:
        (pattern,) = case.patterns
        for number, graph in enumerate(case.graphs):
            edges = Edges()
            for edge in graph:
                edges.add(edge)
            expected = locally(pattern, edges)
            matching += bool(expected)
            if words(found[case.name, number]) != words(expected):
                problems.append(
                    f"{case.name}: {pattern}\n  {graph}\n  spark {words(found[case.name, number])}"
                    f"\n  local {words(expected)}"
                )
    assert problems == []
    assert matching > len(cases) * graphs / 20


def test_random_graphs(spark: Any) -> None:
    check_random(spark, 8, 20)


@pytest.mark.soak
def test_many_more_random_graphs(spark: Any) -> None:
    check_random(spark, 600, 8)
