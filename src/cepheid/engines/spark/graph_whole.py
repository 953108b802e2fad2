"""A graph pattern that joins cannot find: all edges with its labels in one task, matched as locally."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.spark.failures import without_stack
from cepheid.engines.spark.graph_answer import Found
from cepheid.engines.spark.graph_edges import (
    END,
    END_TICK,
    LABEL,
    PARTITION,
    SOURCE,
    START,
    TARGET,
    TICK,
    SparkEdges,
)
from cepheid.engines.spark.graph_rows import DECIDED, FIRST, LATEST, PAST, RowShape
from cepheid.engines.spark.graph_stages import PART, StageJoins
from cepheid.engines.spark.graph_values import EVERY_KIND, Kinds, together
from cepheid.graph.batch import GraphMatch, find_in
from cepheid.graph.edges import Edge, Edges
from cepheid.graph.renaming import bound_in
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.graph_pattern import GraphPattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS_OUT = 1000
_PAST = pa.list_(pa.struct([("time", pa.int64()), ("name", pa.string()), ("end", pa.int64())]))


def found_as_whole(pattern: ReadyPattern, joins: StageJoins) -> Found:
    from pyspark.sql.pandas.types import from_arrow_schema

    edges, targets = _edges(pattern, joins.edges)
    shape = _shape(pattern, joins)
    together = edges.repartition(PARTITION) if joins.edges.partitioned else edges.repartition(1)
    if joins.edges.partitioned:
        together = together.sortWithinPartitions(PARTITION)
    fields = [(shape.column(n), shape.kinds[n].arrow) for n in shape.variables]
    schema = pa.schema([*fields, *((n, pa.int64()) for n in (FIRST, LATEST, DECIDED)), (PAST, _PAST)])
    task = _task(pattern.pattern, joins.edges.sources, targets, shape, schema)
    return Found(pattern.name, together.mapInArrow(task, from_arrow_schema(schema)), shape)


def _edges(pattern: ReadyPattern, edges: SparkEdges) -> tuple[DataFrame, Kinds]:
    from pyspark.sql import functions as F

    stages = [*pattern.stages, *(guard.stage for rules in pattern.rules for guard in rules.guards)]
    labels = sorted({c.label for stage in stages for c in (*stage.positive, *stage.absent)})
    targets = together(edges.targets(label) for label in labels)
    tables = []
    for label in labels:
        rows = edges.labelled(label)
        wide = edges.targets(label).widened(F.col(TARGET), targets)
        tables.append(rows.withColumns({TARGET: wide, LABEL: F.lit(label)}))
    return reduce(lambda one, other: one.unionByName(other), tables), targets


def _shape(pattern: ReadyPattern, joins: StageJoins) -> RowShape:
    """What a variable may be: a node, the target of a label, or what a `let` makes, which may be anything."""
    program = pattern.program
    kinds: dict[str, list[Kinds]] = {name: [] for name in bound_in(program.body)}
    for stage in program.stages:
        kinds[stage.anchor].append(joins.edges.sources)
        for clause in stage.clauses:
            if not clause.negated:
                kinds[clause.source].append(joins.edges.sources)
                if clause.bind is not None:
                    kinds[clause.bind].append(joins.edges.targets(clause.label))
    for piece in program.pieces:
        for let in piece.block.lets:
            kinds[let.variable].append(EVERY_KIND)
    found = {name: together(every) for name, every in kinds.items()}
    if joins.edges.partitioned:
        found[PART] = joins.partition_kinds
    return RowShape(tuple(sorted(found)), found, ticks=False)


def _task(
    pattern: GraphPattern, sources: Kinds, targets: Kinds, shape: RowShape, schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ready = ReadyPattern(pattern)
        rows = (row for batch in batches for row in batch.to_pylist())
        waiting: list[dict[str, Any]] = []
        with without_stack():
            for part, group in groupby(rows, key=lambda row: row.get(PARTITION)):
                edges = Edges()
                for row in group:
                    edges.add(_edge(row, sources, targets))
                waiting += [_row(match, shape, part) for match in find_in(ready, edges)]
                if len(waiting) >= _ROWS_OUT:
                    yield pa.RecordBatch.from_pylist(waiting, schema)
                    waiting = []
        if waiting:
            yield pa.RecordBatch.from_pylist(waiting, schema)

    return run


def _edge(row: dict[str, Any], sources: Kinds, targets: Kinds) -> Edge:
    source, target = sources.value(row[SOURCE]), targets.value(row[TARGET])
    ticks = row.get(TICK, 0), row.get(END_TICK) or 0
    return Edge(source, row[LABEL], target, row[START], row.get(END), *ticks)


def _row(match: GraphMatch, shape: RowShape, part: Any) -> dict[str, Any]:
    values = {**match.binds, **({PART: part} if PART in shape.variables else {})}
    cells = {shape.column(n): shape.kinds[n].cell(values.get(n)) for n in shape.variables}
    past = [{"time": i.start, "name": name, "end": i.end} for name, i in match.intervals]
    return {**cells, FIRST: match.first, LATEST: match.last, DECIDED: match.decided, PAST: past}
