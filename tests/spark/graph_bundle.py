"""The golden graph scenarios as partitions of one stream of edges, each with labels of its own."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

import cepheid
from cepheid.engines.spark.sifting_rows import value_text
from cepheid.pattern.graph_pattern import Block, Body, Choice, Concurrent, GraphPattern, Repeat, Stage, Then

sys.path.insert(0, str(Path(__file__).parents[1] / "graph"))

from graph_scenarios import GraphScenario, load_graph_scenarios

START = datetime(2024, 5, 1, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("graph", pa.string()),
        ("source", pa.string()),
        ("label", pa.string()),
        ("text", pa.string()),
        ("whole", pa.int64()),
        ("real", pa.float64()),
        ("truth", pa.bool_()),
        ("start", MOMENT),
        ("end", MOMENT),
        ("tick", pa.int64()),
        ("time", MOMENT),
    ]
)
TARGETS = ("text", "whole", "real", "truth")
_COLUMN = {str: "text", int: "whole", float: "real", bool: "truth"}
Shape = tuple[Any, ...]


@dataclass(frozen=True)
class Bundle:
    patterns: tuple[GraphPattern, ...]
    rows: pa.Table  # in the order of time
    expected: list[Shape]  # of all partitions, in order


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def bundle(ticks: bool = True) -> Bundle:
    """Those whose nodes are texts, and that ask for nothing of a sifter alone; with ticks or without."""
    patterns: list[GraphPattern] = []
    rows: list[dict[str, Any]] = []
    expected: list[Shape] = []
    for scenario in load_graph_scenarios():
        steps = [edge for step in scenario.steps for edge in step.edges]
        if scenario.options.get("sifter") or not all(isinstance(source, str) for source, _, _ in steps):
            continue
        if not ticks and any(step.time is None for step in scenario.steps):
            continue
        own = [p for p in cepheid.graph_patterns(scenario.pattern) if not p.private]
        patterns += [relabelled(p, scenario.name) for p in own]
        rows += scenario_rows(scenario)
        expected += in_batch(scenario)
    rows.append(edge("end", ("e", "k", "end"), 1_000_000.0))  # lets time go on
    return Bundle(tuple(patterns), table(rows), sorted(expected))


def scenario_rows(scenario: GraphScenario) -> list[dict[str, Any]]:
    rows, started, tick = [], {}, 0
    for step in scenario.steps:
        if step.time is None:
            tick += 1
        for source, label, target in step.edges:
            ends = (source, f"{scenario.name}.{label}", target)
            if step.closes:
                rows.append(edge(scenario.name, ends, started[ends], step.time, tick, time=step.time))
            else:
                assert step.time is not None
                started[ends] = step.time
                rows.append(edge(scenario.name, ends, step.time, step.end, tick))
    return rows


def edge(
    graph: str,
    ends: tuple[str, str, Any],
    start: float,
    end: float | None = None,
    tick: int = 0,
    time: float | None = None,
) -> dict[str, Any]:
    """A row; without a time it is about the start."""
    source, label, target = ends
    return {
        "graph": graph,
        "source": source,
        "label": label,
        _COLUMN[type(target)]: target,
        "start": at(start),
        "end": None if end is None else at(end),
        "tick": tick,
        "time": at(start if time is None else time),
    }


def table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    in_order = sorted(rows, key=lambda row: row["time"])
    return pa.Table.from_pylist([{f.name: row.get(f.name) for f in SCHEMA} for row in in_order], SCHEMA)


def relabelled(pattern: GraphPattern, scenario: str) -> GraphPattern:
    """With a name and labels that no other scenario has."""
    return replace(pattern, name=f"{scenario}.{pattern.name}", body=_body(pattern.body, scenario))


def _body(body: Body, mark: str) -> Body:
    if isinstance(body, Repeat):
        return replace(body, part=_body(body.part, mark))
    if isinstance(body, (Then, Choice)):
        return replace(body, parts=tuple(_body(part, mark) for part in body.parts))
    assert isinstance(body, Block)
    unless = tuple(replace(u, clauses=_clauses(u.clauses, mark)) for u in body.unless)
    return replace(body, parts=tuple(_part(p, mark) for p in body.parts), unless=unless)


def _part(part: Stage | Concurrent, mark: str) -> Stage | Concurrent:
    if isinstance(part, Concurrent):
        return replace(part, stages=tuple(replace(s, clauses=_clauses(s.clauses, mark)) for s in part.stages))
    return replace(part, clauses=_clauses(part.clauses, mark))


def _clauses(clauses: Sequence[Any], mark: str) -> tuple[Any, ...]:
    return tuple(replace(c, label=f"{mark}.{c.label}") for c in clauses)


# What is found. Which intervals have ended is not compared: of a match that is told it is known so far.


def in_batch(scenario: GraphScenario) -> list[Shape]:
    graph, tick = cepheid.Graph(), 0
    for step in scenario.steps:
        if step.time is None:
            tick += 1
            continue
        for one in step.edges:
            if step.closes:
                graph.close(*one, at(step.time), tick=tick)
            else:
                end = None if step.end is None else at(step.end)
                graph.add(*one, at(step.time), end, tick=tick)
    return [_shape(scenario.name, m) for m in graph.find(scenario.pattern)]


def _shape(graph: str, match: Any) -> Shape:
    binds = tuple(sorted((name, value_text(value)) for name, value in match.binds.items()))
    stages = tuple((i.stage, i.start) for i in match.intervals)
    return graph, f"{graph}.{match.pattern}", binds, stages, match.first, match.last, match.decided


def found_shapes(found: pa.Table) -> list[Shape]:
    rows = [row for row in found.to_pylist() if row["kind"] == "match"]
    assert len({row["id"] for row in rows}) == len(rows)
    return sorted(
        (
            row["graph"],
            row["pattern"],
            tuple(sorted(row["bindings"])),
            tuple((i["stage"], i["start"]) for i in row["intervals"]),
            row["first"],
            row["last"],
            row["decided"],
        )
        for row in rows
    )


# How it comes.


def shuffled(rows: pa.Table, chance: random.Random, delay: float) -> pa.Table:
    """No row is more than the delay behind. What is about the end of an edge comes after what is about its start."""
    times = [time.timestamp() for time in rows["time"].to_pylist()]
    late = [time + chance.uniform(0, delay) for time in times]
    order = sorted(range(len(late)), key=lambda i: late[i])
    return rows.take(_open_first(rows, order))


def _open_first(rows: pa.Table, order: list[int]) -> list[int]:
    columns = (rows[name].to_pylist() for name in ("graph", "source", "label", *TARGETS, "start"))
    identity = list(zip(*columns, strict=True))
    closes = [
        time != start for time, start in zip(rows["time"].to_pylist(), rows["start"].to_pylist(), strict=True)
    ]
    places = sorted(order, key=lambda i: identity[i].__repr__())
    for _, group in groupby(places, key=lambda i: identity[i].__repr__()):
        same = list(group)
        where = sorted(order.index(i) for i in same)
        for place, i in zip(where, sorted(same, key=lambda i: closes[i]), strict=True):
            order[place] = i
    return order


def cut(rows: pa.Table, chance: random.Random, parts: int) -> list[pa.Table]:
    places = sorted(chance.sample(range(1, rows.num_rows), parts - 1))
    return [rows.slice(a, b - a) for a, b in zip([0, *places], [*places, rows.num_rows], strict=True)]
