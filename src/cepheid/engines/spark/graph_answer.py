"""Threads at their end as rows of an answer: each match once, without those that an exclusive choice has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.graph.matches import Match, StageInterval
from cepheid.engines.local.events import plain
from cepheid.engines.spark.graph_edges import Times
from cepheid.engines.spark.graph_rows import (
    ALTERNATIVE,
    CREATED,
    DECIDED,
    FIRST,
    LATEST,
    PAST,
    TICK,
    RowShape,
    SameColumns,
    each_once,
    shape_of,
)
from cepheid.engines.spark.graph_stages import PART, StageJoins
from cepheid.engines.spark.graph_threads import ThreadRows
from cepheid.engines.spark.graph_values import Kinds, identity, shown, shown_as, together
from cepheid.graph.threads import ReadyPattern

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Found:
    """The matches of one pattern, under the columns of a shape."""

    name: str
    rows: DataFrame
    shape: RowShape


def found_by(pattern: ReadyPattern, ways: Sequence[ThreadRows], joins: StageJoins) -> Found:
    from pyspark.sql import functions as F

    shape = shape_of(ways, joins.edges.ticks)
    rows = SameColumns(pattern, joins).rows(ways, shape)
    if pattern.pattern.deadline is not None:
        rows = rows.where(F.col(TICK) - F.col(CREATED) <= pattern.pattern.deadline)
    exclusive = pattern.program.shared is not None
    rows = each_once(rows, shape, pattern.ends_matter, choose=joins.edges.ends or exclusive)
    if pattern.program.shared is not None:
        rows = _not_excluded(rows, shape, pattern.program.shared)
    return Found(pattern.name, rows, shape)


# An exclusive choice.


def _not_excluded(rows: DataFrame, shape: RowShape, shared: frozenset[str]) -> DataFrame:
    """Without those whose thread was ended by a match of another alternative."""
    from pyspark.sql import functions as F

    names = [n for n in shape.variables if n in shared or n == PART]
    keys = {f"g{i}": identity(F.col(shape.column(n)), shape.kinds[n]) for i, n in enumerate(names)}
    schema = rows.schema
    keyed = rows.withColumns(keys) if keys else rows
    together = keyed.repartition(*keys) if keys else keyed.repartition(1)
    ordered = together.sortWithinPartitions(*keys, DECIDED)
    return ordered.mapInArrow(_excluding(tuple(keys), schema.names), schema)


def _excluding(
    keys: tuple[str, ...], names: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, group in groupby(_numbered(batches), key=lambda row: row[2]):
            kept: list[tuple[int, int]] = []  # alternative, when it was decided
            chosen: dict[int, tuple[pa.RecordBatch, list[int]]] = {}
            for batch, at, _, first, decided, alternative in group:
                if not any(a != alternative and first < d < decided for a, d in kept):
                    kept.append((alternative, decided))
                    chosen.setdefault(id(batch), (batch, []))[1].append(at)
            for batch, numbers in chosen.values():
                yield batch.take(pa.array(numbers)).select(names)

    def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in (FIRST, DECIDED, ALTERNATIVE)]
            groups = batch.select(list(keys)).to_pylist() if keys else [{}] * batch.num_rows
            for at, (group, *more) in enumerate(zip(groups, *columns, strict=True)):
                yield batch, at, group, *more

    return run


# The table.


def table(found: Sequence[Found], times: Times, partition: str | None) -> DataFrame:
    """All matches, with the columns that they have locally."""
    kinds = _bindings(found)
    tables = [_shown(one, kinds, times, partition) for one in found]
    return reduce(lambda one, other: one.unionByName(other), tables)


def _bindings(found: Sequence[Found]) -> dict[str, Kinds]:
    """By variable, of all patterns."""
    names = sorted({n for one in found for n in one.shape.variables if n != PART})
    return {n: shown_as(together(one.shape.kinds[n] for one in found if n in one.shape.kinds)) for n in names}


def _shown(found: Found, kinds: dict[str, Kinds], times: Times, partition: str | None) -> DataFrame:
    from pyspark.sql import functions as F

    shape = found.shape
    bindings = [_binding(shape, name, kind).alias(name) for name, kind in kinds.items()]
    intervals = F.transform(
        F.col(PAST),
        lambda x: F.struct(
            x["name"].alias("stage"),
            times.shown(x["time"]).alias("start"),
            times.shown(x["end"]).alias("end"),
        ),
    )
    part = [] if partition is None else [F.col(shape.column(PART)).alias(partition)]
    return found.rows.select(
        *part,
        F.lit(found.name).alias("pattern"),
        F.struct(*bindings).alias("bindings"),
        intervals.alias("intervals"),
        times.shown(F.col(FIRST)).alias("first"),
        times.shown(F.col(LATEST)).alias("last"),
        times.shown(F.col(DECIDED)).alias("decided"),
    )


def _binding(shape: RowShape, name: str, kinds: Kinds) -> Column:
    from pyspark.sql import functions as F

    if name not in shape.kinds:
        return kinds.column({})
    own = shape.kinds[name]
    return shown_as(own).widened(shown(F.col(shape.column(name)), own), kinds)


def match_of(row: dict[str, Any]) -> Match:
    """A row that has come to the driver, as it is locally. A variable that is null is not bound."""
    binds = {name: value for name, cell in row["bindings"].items() if (value := _value(cell)) is not None}
    intervals = tuple(StageInterval(i["stage"], plain(i["start"]), plain(i["end"])) for i in row["intervals"])
    return Match(
        row["pattern"], binds, intervals, *(plain(row[name]) for name in ("first", "last", "decided"))
    )


def _value(cell: Any) -> Any:
    """Of several kinds one is filled."""
    return (
        next((plain(v) for v in cell.values() if v is not None), None)
        if isinstance(cell, dict)
        else plain(cell)
    )
