"""Threads of one or more ways through a pattern under the same columns: what rounds and answers are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from cepheid.engines.spark.graph_stages import HoldAt, StageJoins
from cepheid.engines.spark.graph_tests import Held
from cepheid.engines.spark.graph_threads import ThreadRows
from cepheid.engines.spark.graph_values import Kinds, together
from cepheid.graph.threads import ReadyPattern

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIRST, LATEST, DECIDED, CREATED, TICK = "first", "latest", "decided", "created", "tick"
PAST = "past"  # the stages that were found, in the order of time: time, stage, name, end, edges
ALTERNATIVE = "alternative"


@dataclass(frozen=True)
class RowShape:
    """The columns: one for each variable, and those above."""

    variables: tuple[str, ...]
    kinds: Mapping[str, Kinds]
    ticks: bool

    def column(self, variable: str) -> str:
        return f"v{self.variables.index(variable)}"

    def held(self, variable: str, mark: str = "") -> Held:
        return Held(mark + self.column(variable), self.kinds[variable])

    @property
    def values(self) -> list[str]:
        return [self.column(name) for name in self.variables]

    @property
    def names(self) -> list[str]:
        ticks = [CREATED, TICK] if self.ticks else []
        return [*self.values, FIRST, LATEST, DECIDED, *ticks, PAST]


def shape_of(ways: Sequence[ThreadRows], ticks: bool) -> RowShape:
    names = sorted({name for way in ways for name in way.binds})
    kinds = {n: together([way.binds[n].kinds for way in ways if n in way.binds]) for n in names}
    return RowShape(tuple(names), kinds, ticks)


class SameColumns:
    """Puts the threads of a pattern under the columns of a shape."""

    def __init__(self, pattern: ReadyPattern, joins: StageJoins) -> None:
        self.pattern = pattern
        self.ends = joins.edges.ends
        labels = {c.label for stage in pattern.stages for c in stage.own}
        self.targets = together(joins.edges.targets(label) for label in sorted(labels))

    def rows(self, ways: Sequence[ThreadRows], shape: RowShape) -> DataFrame:
        from pyspark.sql import functions as F

        tables = []
        for way in ways:
            assert way.df is not None
            columns = {**self._columns(way, shape), ALTERNATIVE: F.lit(way.alternative)}
            tables.append(way.df.select(*(column.alias(name) for name, column in columns.items())))
        return reduce(lambda one, other: one.unionByName(other), tables)

    def _columns(self, way: ThreadRows, shape: RowShape) -> dict[str, Column]:
        from pyspark.sql import functions as F

        columns = {shape.column(name): _value(way, name, shape.kinds[name]) for name in shape.variables}
        assert way.first is not None
        assert way.latest is not None
        columns |= {FIRST: way.first, LATEST: way.latest}
        columns[DECIDED] = way.latest if way.decided is None else F.greatest(way.latest, way.decided)
        if shape.ticks:
            assert way.created is not None
            assert way.tick is not None
            columns |= {CREATED: way.created, TICK: way.tick}
        columns[PAST] = self._past(way)
        return columns

    def _past(self, way: ThreadRows) -> Column:
        from pyspark.sql import functions as F

        own = [self._hold(hold) for hold in way.holds]
        arrays = [F.col(name) for name in way.pasts] + ([F.array(*own)] if own else [])
        whole = arrays[0] if len(arrays) == 1 else F.concat(*arrays)
        return whole if self._in_order(way) else F.sort_array(whole)

    def _in_order(self, way: ThreadRows) -> bool:
        """Are they in the order of time as they stand? Stages of one slot may not be."""
        slots = [self.pattern.slot_of[hold.stage] for hold in way.holds]
        return not way.pasts and len(set(slots)) == len(slots)

    def _hold(self, hold: HoldAt) -> Column:
        from pyspark.sql import functions as F

        columns = {
            "time": hold.time,
            "stage": F.lit(hold.stage),
            "name": F.lit(self.pattern.program.stages[hold.stage].name),
            "end": hold.end,
        }
        if self.pattern.ends_matter:  # then other edges are another match
            edges = [
                F.struct(
                    # Of an earlier round no variable tells it any more.
                    F.col(edge.source.column).alias("source"),
                    edge.target.kinds.widened(F.col(edge.target.column), self.targets).alias("target"),
                    edge.start.alias("start"),
                )
                for edge in hold.own
            ]
            columns["edges"] = F.array(*edges)
        return F.struct(*(column.alias(name) for name, column in columns.items()))


def _value(way: ThreadRows, name: str, kinds: Kinds) -> Column:
    from pyspark.sql import functions as F

    held = way.binds.get(name)
    if held is None:
        return kinds.column({})
    return held.kinds.widened(F.col(held.column), kinds)


def each_once(rows: DataFrame, shape: RowShape, has_edges: bool, choose: bool) -> DataFrame:
    """Two that bind the same at the same times are one: of the first alternative, that is certain first, that lasts
    longest. `has_edges`: with the same edges, too. `choose`: whether two that are one may differ in anything: not, if
    nothing ends, for then no relation is true, and all is certain as it is found."""
    from pyspark.sql import functions as F

    starts = F.transform(F.col(PAST), lambda x: F.struct(x["name"].alias("stage"), x["time"].alias("start")))
    same = {name: F.col(name) for name in (*shape.values, FIRST, LATEST)} | {"starts": starts}
    if has_edges:
        same["edges"] = F.transform(F.col(PAST), lambda x: x["edges"])
    keys = [column.alias(name) for name, column in same.items()]
    if not choose:
        null = F.lit(None).cast("bigint")
        past = F.transform(
            F.col("starts"),
            lambda x: F.struct(x["start"].alias("time"), x["stage"].alias("name"), null.alias("end")),
        )
        certain = {DECIDED: F.col(LATEST), ALTERNATIVE: F.lit(0), PAST: past}
        return rows.select(*keys).distinct().withColumns(certain)
    columns = rows.select(*keys, *(F.col(n) for n in (DECIDED, ALTERNATIVE, PAST)))
    lasting = F.transform(F.col(PAST), lambda x: F.coalesce(x["end"], F.lit(2**63 - 1).cast("bigint")))
    order = F.struct((-F.col(ALTERNATIVE)).alias("a"), (-F.col(DECIDED)).alias("d"), lasting.alias("l"), PAST)
    best = F.col("best")
    return (
        columns.groupBy(*same)
        .agg(F.max(order).alias("best"))
        .select(*same, (-best["d"]).alias(DECIDED), (-best["a"]).alias(ALTERNATIVE), best[PAST].alias(PAST))
    )


__all__ = [
    "ALTERNATIVE",
    "CREATED",
    "DECIDED",
    "FIRST",
    "LATEST",
    "PAST",
    "RowShape",
    "SameColumns",
    "shape_of",
]
