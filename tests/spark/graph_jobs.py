"""Many graphs with their patterns as a few jobs: each case has labels of its own, so that its edges meet no others.

Cases of one pattern are partitions of one graph.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from graph_bundle import relabelled

import cepheid
from cepheid.engines.graph.matches import Match
from cepheid.engines.spark.graph_answer import match_of
from cepheid.graph.edges import Edge
from cepheid.pattern.graph_pattern import GraphPattern

sys.path.insert(0, str(Path(__file__).parent.parent / "graph"))

KINDS = {bool: "flag", int: "whole", float: "fraction", str: "text"}
TYPES = {"flag": pa.bool_(), "whole": pa.int64(), "fraction": pa.float64(), "text": pa.string()}


@dataclass(frozen=True)
class Case:
    """Patterns, and the graphs to find them in: edges with times in microseconds."""

    name: str
    patterns: tuple[GraphPattern, ...]
    graphs: tuple[tuple[Edge, ...], ...]

    def layout(self) -> tuple[Any, ...]:
        """Cases whose tables have the same columns go together; nodes of other types than text are a table apart."""
        edges = [e for graph in self.graphs for e in graph]
        texts = all(isinstance(e.target, str) for e in edges)
        ends = any(e.end is not None for e in edges)
        ticks = any(p.deadline is not None for p in self.patterns)
        return texts, ends, ticks, all(isinstance(e.source, str) for e in edges)


# A handful of rows under very many joins: each case is one task, and nothing is compiled or planned again for it.
LIGHT = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


def by_spark(spark: Any, cases: Iterable[Case]) -> dict[tuple[str, int], list[Match]]:
    """By case and graph: all matches."""
    groups: dict[tuple[Any, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(case.layout(), []).append(case)
    found: dict[tuple[str, int], list[Match]] = {}
    with settings(spark, LIGHT):
        for group in groups.values():
            found |= _group(spark, group)
    return found


@contextmanager
def settings(spark: Any, wanted: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def _group(spark: Any, cases: list[Case]) -> dict[tuple[str, int], list[Match]]:
    texts, ends, ticks, _ = cases[0].layout()
    rows = [
        row
        for n, case in enumerate(cases)
        for g, graph in enumerate(case.graphs)
        for row in _rows(n, g, graph)
    ]
    found: dict[tuple[str, int], list[Match]] = {
        (case.name, g): [] for case in cases for g in range(len(case.graphs))
    }
    graph = cepheid.Graph(time_unit="us")
    for kind in (str, int):
        own = [row for row in rows if isinstance(row["source"], kind)]
        if own:
            graph.read(
                spark.createDataFrame(_table(own, pa.string() if kind is str else pa.int64(), ends)).coalesce(
                    1
                ),
                target="text" if texts else list(TYPES),
                tick="tick" if ticks else None,
                partition_by="graph",
            )
    tables = [
        graph.find([relabelled(p, str(n)) for p in case.patterns]).selectExpr("to_json(struct(*)) row")
        for n, case in enumerate(cases)
    ]
    for text in _together(tables).toArrow()["row"].to_pylist():
        row = json.loads(text)
        number, _, name = row["pattern"].partition(".")
        intervals = [{"end": None, **i} for i in row["intervals"]]  # JSON leaves nulls out
        found[cases[int(number)].name, row["graph"]].append(
            match_of({**row, "pattern": name, "intervals": intervals})
        )
    return found


def _together(tables: list[Any]) -> Any:
    """In a tree of little depth: Spark looks at all that is below each time."""
    if len(tables) == 1:
        return tables[0]
    half = len(tables) // 2
    return _together(tables[:half]).union(_together(tables[half:]))


def _rows(number: int, graph: int, edges: Iterable[Edge]) -> list[dict[str, Any]]:
    """An edge whose end was told in a later tick is two rows."""
    rows = []
    for e in edges:
        row = {"graph": graph, "source": e.source, "label": f"{number}.{e.label}", "start": e.start}
        row |= {KINDS[type(e.target)]: e.target, "end": e.end, "tick": e.tick}
        if e.end is not None and e.end_tick != e.tick:
            rows.append(row | {"tick": e.end_tick})
            row["end"] = None
        rows.append(row)
    return rows


def _table(rows: list[dict[str, Any]], source: pa.DataType, ends: bool) -> pa.Table:
    times = {"start": pa.int64(), **({"end": pa.int64()} if ends else {}), "tick": pa.int64()}
    kinds = {"graph": pa.int64(), "source": source, "label": pa.string(), **TYPES, **times}
    return pa.table({n: pa.array([row.get(n) for row in rows], kind) for n, kind in kinds.items()})
