"""One stage of a graph pattern by joins: its own edges about its node, those of other nodes, and what must be absent.

No column is renamed on the way: each edge that is joined brings its columns under a mark of its own, and what a
variable is bound to is in one of them. Spark reads only those that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from cepheid.engines.spark.graph_edges import (
    END,
    PARTITION,
    SOURCE,
    START,
    TARGET,
    TICK,
    SparkEdges,
)
from cepheid.engines.spark.graph_tests import Condition, Held, filtered, read_by, spark_condition
from cepheid.engines.spark.graph_values import Kinds, kinds_of, same
from cepheid.graph.clauses import ReadyClause
from cepheid.graph.finding import ReadyStage
from cepheid.pattern.expr import conjuncts
from cepheid.pattern.graph_pattern import variables_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PART = ""  # the variable of the partition: every edge binds it
Binds = Mapping[str, Held]


@dataclass(frozen=True)
class EdgeAt:
    """An edge that was taken for a clause, by its columns."""

    clause: ReadyClause
    mark: str
    source: Held
    target: Held
    has_end: bool

    def column(self, name: str) -> Column:
        from pyspark.sql import functions as F

        return F.col(self.mark + name)

    @property
    def start(self) -> Column:
        return self.column(START)

    def is_same(self, other: EdgeAt) -> Column | None:
        """None: it cannot be."""
        one, two = self.clause.constant, other.clause.constant
        if self.clause.label != other.clause.label or (one is not None and two is not None and one != two):
            return None
        return all_of(
            [
                equal(self.source, other.source),
                equal(self.target, other.target),
                self.start == other.start,
            ]
        )

    def holds_at(self, time: Column) -> Column:
        begun = self.start <= time
        if not self.has_end:
            return begun
        end = self.column(END)
        return begun & (end.isNull() | (time < end) | ((end == self.start) & (end == time)))


@dataclass(frozen=True)
class HoldAt:
    """A stage that was found, by its columns."""

    stage: int
    own: tuple[EdgeAt, ...]

    @property
    def time(self) -> Column:
        return greatest(edge.start for edge in self.own)

    @property
    def end(self) -> Column:
        """Null if it still holds; one of its edges may have ended before the last began."""
        from pyspark.sql import functions as F

        if not self.own[0].has_end:
            return F.lit(None).cast("bigint")
        first = least(edge.column(END) for edge in self.own)
        return F.when(first.isNotNull(), greatest([self.time, first]))


@dataclass(frozen=True)
class FoundRows:
    """Rows in which a stage was found."""

    df: DataFrame
    binds: Binds
    hold: HoldAt
    others: tuple[EdgeAt, ...]

    @property
    def edges(self) -> tuple[EdgeAt, ...]:
        return (*self.hold.own, *self.others)

    @property
    def tick(self) -> Column:
        return greatest(edge.column(TICK) for edge in self.edges)


Asked = Callable[[HoldAt], "list[Column]"]  # conditions on the time at which a stage was found


class StageJoins:
    """Joins edges to rows. Marks are unique: one of these makes all joins of a job."""

    def __init__(self, edges: SparkEdges) -> None:
        self.edges = edges
        self._numbers = count()

    def found(
        self, stage: ReadyStage, number: int, rows: DataFrame | None, binds: Binds, asked: Asked
    ) -> FoundRows:
        """Every way to find a stage with the variables of each row."""
        own = self._own(stage, number)
        conditions = [*_agree(own.binds, binds), *asked(own.hold)]
        if rows is None:
            df = own.df.where(all_of(conditions)) if conditions else own.df
        else:
            df = rows.join(own.df, all_of(conditions)) if conditions else rows.crossJoin(own.df)
        bound = {**own.binds, **binds}
        others: list[EdgeAt] = []
        for clause in _in_order(stage.others, bound):
            df, bound, edge = self._with_other(df, bound, clause, own.hold.time)
            others.append(edge)
        found = FoundRows(df, bound, own.hold, tuple(others))
        df = filtered(df, [c for edge in found.edges for c in _late(edge, bound)])
        known = {name: held for name, held in bound.items() if name not in stage.beside}
        for clause in stage.absent:
            df = self._without(df, known, clause, own.hold.time)
        return FoundRows(df, bound, own.hold, tuple(others))

    def forbidden(
        self, stage: ReadyStage, rows: DataFrame, known: Binds, asked: Callable[[FoundRows], Column]
    ) -> DataFrame:
        """The rows without those for which a stage is found. `known`: the variables that it may read."""
        own = self._own(stage, -1)
        both = {**own.binds, **known}
        tests = [c for edge in own.hold.own for c in _late(edge, both)]
        columns = [spark_condition(test) for test in tests]
        if not stage.waits and all(c is not None for c in columns):
            conditions = [*_agree(own.binds, known), asked(own), *(c for c in columns if c is not None)]
            return rows.join(own.df, all_of(conditions), "left_anti")
        found = self.found(stage, -1, rows, known, lambda hold: [])
        return minus(rows, found.df.where(asked(found)))

    # Edges.

    def _side(self, clause: ReadyClause) -> tuple[DataFrame, EdgeAt]:
        """The edges that may satisfy a clause, as far as can be said of each alone."""
        mark = f"q{next(self._numbers)}"
        early = [part for part in conjuncts(clause.clause.test) if not variables_in(part)]
        left: list[Condition] = []

        def wanted(column: str, kinds: Kinds) -> Column | None:
            found = []
            for test in early:
                one = Condition(test, {"value": Held(column, kinds)}, in_clause=True)
                tested = spark_condition(one)
                if tested is None:
                    left.append(Condition(test, {"value": Held(mark + TARGET, kinds)}, in_clause=True))
                else:
                    found.append(tested)
            return all_of(found) if found else None

        df = self.edges.labelled(clause.label, mark, wanted)
        unique = {id(c.expr): c for c in left}
        source = Held(mark + SOURCE, self.edges.sources)
        target = Held(mark + TARGET, self.edges.targets(clause.label))
        return filtered(df, list(unique.values())), EdgeAt(clause, mark, source, target, self.edges.ends)

    def _bound(self, edge: EdgeAt) -> tuple[dict[str, Held], list[Column]]:
        """What an edge binds, and what must hold of it alone."""
        binds = {edge.clause.source: edge.source}
        if self.edges.partitioned:
            binds[PART] = Held(edge.mark + PARTITION, self.partition_kinds)
        if edge.clause.bind is None:
            return binds, []
        if edge.clause.bind == edge.clause.source:
            return binds, [equal(edge.source, edge.target)]
        return {**binds, edge.clause.bind: edge.target}, []

    @property
    def partition_kinds(self) -> Kinds:
        frame = self.edges.frames[0]
        assert frame.partition is not None
        return kinds_of([(frame.partition, frame.given.kind(frame.partition))], "partition")

    def _own(self, stage: ReadyStage, number: int) -> FoundRows:
        """The edges of its own node: those that must lead to one value first, there are the fewest of them."""
        order = sorted(range(len(stage.own)), key=lambda i: stage.own[i].constant is None)
        df: DataFrame | None = None
        binds: dict[str, Held] = {}
        edges: dict[int, EdgeAt] = {}
        for i in order:
            side, edges[i] = self._side(stage.own[i])
            new, conditions = self._bound(edges[i])
            if df is None:
                df = side.where(all_of(conditions)) if conditions else side
            else:
                df = df.join(side, all_of([*_agree(new, binds), *conditions]))
            binds = {**new, **binds}
        assert df is not None
        hold = HoldAt(number, tuple(edges[i] for i in range(len(stage.own))))
        return FoundRows(df, binds, hold, ())

    def _with_other(
        self, df: DataFrame, binds: Binds, clause: ReadyClause, time: Column
    ) -> tuple[DataFrame, dict[str, Held], EdgeAt]:
        side, edge = self._side(clause)
        new, conditions = self._bound(edge)
        conditions = [*_agree(new, binds), *conditions, edge.holds_at(time)]
        return df.join(side, all_of(conditions)), {**new, **binds}, edge

    def _without(self, df: DataFrame, binds: Binds, clause: ReadyClause, time: Column) -> DataFrame:
        """The rows for which no edge satisfies a clause at a time. Variables they do not know may be anything."""
        side, edge = self._side(clause)
        new, conditions = self._bound(edge)
        conditions = [*_agree(new, binds), *conditions, edge.holds_at(time)]
        tests = _late(edge, {**new, **binds})
        columns = [spark_condition(test) for test in tests]
        if all(c is not None for c in columns):
            conditions += [c for c in columns if c is not None]
            return df.join(side, all_of(conditions), "left_anti")
        return minus(df, filtered(df.join(side, all_of(conditions)), tests))


def _in_order(clauses: Iterable[ReadyClause], binds: Binds) -> Iterable[ReadyClause]:
    """Those about a node that is known before those about one that they lead to."""
    left, known = list(clauses), set(binds)
    while left:
        ready = [c for c in left if c.source in known] or [c for c in left if c.bind in known] or left
        clause = ready[0]
        left.remove(clause)
        known |= {clause.source} | ({clause.bind} if clause.bind is not None else set())
        yield clause


def _agree(new: Binds, known: Binds) -> list[Column]:
    return [equal(held, known[name]) for name, held in new.items() if name in known]


def _late(edge: EdgeAt, binds: Binds) -> list[Condition]:
    """Its tests with variables."""
    parts = [part for part in conjuncts(edge.clause.clause.test) if variables_in(part)]
    fields = {"value": edge.target, **{f"?{name}": held for name, held in binds.items()}}
    return [Condition(p, {n: fields[n] for n in read_by(p)}, in_clause=True) for p in parts]


def minus(rows: DataFrame, bad: DataFrame) -> DataFrame:
    """The rows that are not among the others, which have more columns: rows that are the same are one to all of us."""
    from pyspark.sql import functions as F

    names = rows.columns
    listed = bad.select(*(F.col(name).alias(f"bad_{name}") for name in names)).distinct()
    same_row = all_of([F.col(name).eqNullSafe(F.col(f"bad_{name}")) for name in names])
    return rows.join(listed, same_row, "left_anti")


def equal(one: Held, other: Held) -> Column:
    from pyspark.sql import functions as F

    return same(F.col(one.column), one.kinds, F.col(other.column), other.kinds)


def all_of(columns: Sequence[Column]) -> Column:
    return reduce(lambda one, other: one & other, columns)


def any_of(columns: Sequence[Column]) -> Column:
    return reduce(lambda one, other: one | other, columns)


def greatest(columns: Iterable[Column]) -> Column:
    from pyspark.sql import functions as F

    every = list(columns)
    return every[0] if len(every) == 1 else F.greatest(*every)


def least(columns: Iterable[Column]) -> Column:
    from pyspark.sql import functions as F

    every = list(columns)
    return every[0] if len(every) == 1 else F.least(*every)


__all__ = [
    "PART",
    "Binds",
    "EdgeAt",
    "FoundRows",
    "HoldAt",
    "StageJoins",
    "all_of",
    "any_of",
    "greatest",
    "least",
]
