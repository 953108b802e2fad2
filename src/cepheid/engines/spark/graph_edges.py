"""DataFrames of edges, or of events, as the edges with one label: what the stages of a pattern are joined of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.graph.reading import EdgeColumns, EventColumns
from cepheid.engines.local.events import Columns
from cepheid.engines.local.times import PER_SECOND
from cepheid.engines.spark import python_columns
from cepheid.engines.spark.graph_values import Kinds, exact, kind_of_column, kinds_of, together
from cepheid.engines.spark.inputs import Input
from cepheid.errors import InputMistake, nearest

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The columns of edges: what they lead from and to, from when until when, in which tick they came and ended.
SOURCE, TARGET, START, END, TICK, END_TICK = "s", "t", "b", "e", "k", "x"
PARTITION, LABEL, WRONG = "p", "l", "w"
_DAY = 86_400 * 10**6

Wanted = Callable[[str, Kinds], "Column | None"]  # a condition on the column of targets


@dataclass(frozen=True)
class Times:
    """How times are written: as numbers of a unit, or as dates."""

    numbers: bool
    whole: bool  # numbers without a fraction
    unit: str

    def shown(self, column: Column) -> Column:
        """Microseconds as the user writes times."""
        from pyspark.sql import functions as F

        if not self.numbers:
            return F.timestamp_micros(column)
        if self.whole:
            per = PER_SECOND[self.unit]
            if per > 10**6:
                return column * F.lit(per // 10**6)
            return _divided(column, 10**6 // per)
        return column / F.lit(10**6 / PER_SECOND[self.unit])


@dataclass(frozen=True)
class EdgeFrame:
    """A DataFrame in which each row is an edge."""

    df: DataFrame
    columns: EdgeColumns
    given: Input
    partition: str | None
    prepared: dict[tuple[Kinds, bool], DataFrame] = field(default_factory=dict, compare=False)

    @property
    def sources(self) -> Kinds:
        return kinds_of([(self.columns.source, self.given.kind(self.columns.source))], "source")

    def targets(self, label: str) -> Kinds:
        return kinds_of([(name, self.given.kind(name)) for name in self.columns.target], "target")

    @property
    def has_end(self) -> bool:
        return self.given.columns.end is not None

    def comes_twice(self) -> bool:
        """May an edge be in two rows that say different things of it?"""
        return self.has_end or self.columns.tick is not None

    def rows(self, label: str, targets: Kinds, check: bool) -> tuple[DataFrame, Column]:
        """Rows, and which of them have the label. `check`: all rows, with what is wrong with them."""
        from pyspark.sql import functions as F

        wanted = F.col(LABEL) == F.lit(label)
        if self.slow and not check:
            of_label = self.df.where(_named(self.columns.label).cast("string") == F.lit(label))
            return self._prepared(of_label, targets, check), wanted
        # All labels are read alike, so they are prepared once.
        key = targets, check
        if key not in self.prepared:
            self.prepared[key] = self._prepared(self.df, targets, check)
        return self.prepared[key], wanted

    @property
    def slow(self) -> bool:
        return not all(_is_fast(self.given.kind(n)) for n in self.given.columns.times())

    def _prepared(self, df: DataFrame, targets: Kinds, check: bool) -> DataFrame:
        columns = [
            _value(self.columns.source, self.given, self.sources).alias(SOURCE),
            _named(self.columns.label).cast("string").alias(LABEL),
            _target(self.columns.target, self.given, targets).alias(TARGET),
            instant(self.given, self.columns.start).alias(START),
            *_optional(self.given.columns.end, lambda n: instant(self.given, n).alias(END)),
            *_optional(self.columns.tick, lambda n: _named(n).cast("bigint").alias(TICK)),
            *_optional(self.partition, lambda n: _named(n).alias(PARTITION)),
            *([self._wrong().alias(WRONG)] if check else []),
        ]
        return _timed(df, self.given).select(*columns)

    def _wrong(self) -> Column:
        from pyspark.sql import functions as F

        targets = [_filled(name, self.given) for name in self.columns.target]
        many = reduce(lambda a, b: a + b, [t.cast("int") for t in targets]) if len(targets) > 1 else None
        lacks = [
            (~_filled(self.columns.source, self.given), "an edge without a source"),
            (_named(self.columns.label).isNull(), "an edge without a label"),
            (reduce(lambda a, b: a & b, [~t for t in targets]), "an edge without a target"),
            *([] if many is None else [(many > 1, "an edge with two targets")]),
            *_wrong_times(self.given, self.columns.start),
        ]
        if self.columns.tick is not None:
            lacks.append((_named(self.columns.tick).isNull(), "an edge without a tick"))
        return _first(lacks, F.lit(None).cast("string"))


@dataclass(frozen=True)
class EventFrame:
    """A DataFrame in which each row is a node, and each column an edge of it."""

    df: DataFrame
    columns: EventColumns
    given: Input
    partition: str | None

    @property
    def sources(self) -> Kinds:
        return kinds_of([self._typed(str(self.columns.node))], "source")

    def targets(self, label: str) -> Kinds:
        if label not in self._labels():
            return Kinds(())
        if label == self.columns.time:
            return kinds_of([(label, self._time_kind())], "target")
        return kinds_of([self._typed(label)], "target")

    def _time_kind(self) -> pa.DataType:
        kind = self.given.kind(self.columns.time)
        return kind if is_number(kind) else pa.timestamp("us", "UTC")

    def _typed(self, name: str) -> tuple[str, pa.DataType]:
        return name, self.given.kind(name)

    def _labels(self) -> list[str]:
        own = (self.columns.node, self.columns.end, self.partition)
        return [name for name in self.given.arrow.names if name not in own]

    @property
    def has_end(self) -> bool:
        return True

    def comes_twice(self) -> bool:
        return self.columns.end is not None

    def rows(self, label: str, targets: Kinds, check: bool) -> tuple[DataFrame, Column]:
        from pyspark.sql import functions as F

        known = label in self._labels()
        df = self.df if check or not known else self.df.where(_named(label).isNotNull())
        start = instant(self.given, self.columns.time)
        end = start if self.columns.end is None else instant(self.given, self.columns.end)
        columns = [
            _value(str(self.columns.node), self.given, self.sources).alias(SOURCE),
            self._label_value(label, targets, start).alias(TARGET),
            start.alias(START),
            end.alias(END),
            *_optional(self.partition, lambda n: _named(n).alias(PARTITION)),
            *([self._wrong().alias(WRONG)] if check else []),
        ]
        return _timed(df, self.given).select(*columns), F.col(TARGET).isNotNull()

    def _label_value(self, label: str, targets: Kinds, start: Column) -> Column:
        if label not in self._labels():
            return targets.column({})
        if label != self.columns.time or is_number(self.given.kind(label)):
            return _value(label, self.given, targets)
        from pyspark.sql import functions as F

        return targets.column({"timestamp": F.timestamp_micros(start)})

    def _wrong(self) -> Column:
        from pyspark.sql import functions as F

        lacks = [(~_filled(str(self.columns.node), self.given), "an edge without a source")]
        lacks += _wrong_times(self.given, self.columns.time)
        return _first(lacks, F.lit(None).cast("string"))


Frame = EdgeFrame | EventFrame


@dataclass
class SparkEdges:
    """The edges of all DataFrames of a graph, label by label."""

    frames: tuple[Frame, ...]
    ticks: bool  # are they asked for?
    checked: bool = False  # what is wrong with a row is told where the rows are read first

    @property
    def sources(self) -> Kinds:
        return exact(together(frame.sources for frame in self.frames))

    def targets(self, label: str) -> Kinds:
        return exact(together(frame.targets(label) for frame in self.frames))

    @property
    def ends(self) -> bool:
        return any(frame.has_end for frame in self.frames)

    @property
    def partitioned(self) -> bool:
        return self.frames[0].partition is not None

    def labelled(self, label: str, mark: str = "", wanted: Wanted | None = None) -> DataFrame:
        """Those with a label whose targets are wanted; each edge once if it matters. The mark is for columns."""
        check, self.checked = not self.checked, True
        parts = [self._part(frame, label, mark, wanted, check) for frame in self.frames]
        edges = reduce(lambda one, other: one.unionByName(other), parts)
        twice = any(f.comes_twice() for f in self.frames) or (len(self.frames) > 1 and self.ends)
        return self._each_once(edges, mark) if twice else edges

    def _part(self, frame: Frame, label: str, mark: str, wanted: Wanted | None, check: bool) -> DataFrame:
        from pyspark.sql import functions as F

        targets = self.targets(label)
        rows, has_label = frame.rows(label, targets, check)
        condition = None if wanted is None else wanted(TARGET, targets)
        kept = has_label if condition is None else has_label & condition
        start = F.col(START)
        if check:
            # By the start itself, which is always looked at: a filter of its own would be a job of its own.
            kept = kept | F.col(WRONG).isNotNull()
            start = F.when(F.col(WRONG).isNotNull(), F.raise_error(F.col(WRONG)).cast("bigint")).otherwise(
                start
            )
        null = F.lit(None).cast("bigint")
        columns = {
            SOURCE: frame.sources.widened(F.col(SOURCE), self.sources),
            TARGET: F.col(TARGET),
            START: start,
            **({END: F.col(END) if frame.has_end else null} if self.ends else {}),
            **({TICK: self._tick(frame)} if self.ticks else {}),
            **({END_TICK: self._tick(frame)} if self.end_ticks else {}),
            **({PARTITION: F.col(PARTITION)} if self.partitioned else {}),
        }
        return rows.where(kept).select(*(column.alias(mark + name) for name, column in columns.items()))

    def _tick(self, frame: Frame) -> Column:
        from pyspark.sql import functions as F

        known = isinstance(frame, EdgeFrame) and frame.columns.tick is not None
        return F.col(TICK) if known else F.lit(0).cast("bigint")

    def _each_once(self, edges: DataFrame, mark: str) -> DataFrame:
        """The same edge twice is one; one that comes again with an end is closed."""
        from pyspark.sql import functions as F

        values: dict[str, Column] = {}
        if self.ends:
            end, said = F.max(mark + END), F.lit("an edge has ended already, at another time")
            twice = F.min(mark + END) != end
            values[END] = F.when(twice, F.raise_error(said).cast("bigint")).otherwise(end)
        if self.ticks:
            values[TICK] = F.min(mark + TICK)
        if self.end_ticks:
            values[END_TICK] = F.min(F.when(F.col(mark + END).isNotNull(), F.col(mark + TICK)))
        if not values:
            return edges
        home = [mark + name for name in (*([PARTITION] if self.partitioned else []), SOURCE)]
        # What is shuffled by the source is where the join with other edges of the node wants it.
        grouped = edges.repartition(*home).groupBy(*home, mark + TARGET, mark + START)
        return grouped.agg(*(value.alias(mark + name) for name, value in values.items()))

    @property
    def end_ticks(self) -> bool:
        return self.ticks and self.ends


# Columns.


def checked_input(
    arrow: pa.Schema,
    columns: EdgeColumns | EventColumns,
    times: tuple[str, str | None],
    unit: str,
    partition: str | None,
) -> Input:
    """The DataFrame's columns, where all that were named are there. `times`: start and end."""
    for name in (*columns.named(), *([] if partition is None else [partition])):
        if name not in arrow.names:
            raise _no_column(name, arrow.names)
    start, end = times
    return Input(Columns(start, "", end=end, time_unit=unit), arrow, streaming=False)


def _no_column(name: str, known: list[str]) -> InputMistake:
    hint = nearest(name, known)
    return InputMistake(
        f"there is no column `{name}`",
        code="no_column",
        hint=hint or f"the columns are {', '.join(known)}; name the one that is meant: source=...",
    )


def times_of(frames: tuple[Frame, ...]) -> Times:
    kinds = [f.given.kind(name) for f in frames for name in f.given.columns.times()]
    numbers = [is_number(kind) for kind in kinds]
    if len(set(numbers)) > 1:
        raise InputMistake(
            "some times are numbers and some are dates",
            code="mixed_times",
            hint="write all times of a graph in one way",
        )
    whole = all(pa.types.is_integer(kind) for kind in kinds)
    return Times(numbers[0], whole, frames[0].given.columns.time_unit)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _timed(df: DataFrame, given: Input) -> DataFrame:
    """With the times that are left to Python, which Spark could read otherwise: texts, fractions."""
    fast = [n for n in given.columns.times() if _is_fast(given.kind(n))]
    if len(fast) == len(given.columns.times()):
        return df
    fields = [f.with_type(pa.timestamp("us", "UTC")) if f.name in fast else f for f in given.arrow]
    end = None if given.columns.end == given.columns.time else given.columns.end  # once is enough
    return python_columns.added(
        df, replace(given, arrow=pa.schema(fields), columns=replace(given.columns, end=end)), ()
    )


def _is_fast(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def instant(given: Input, name: str) -> Column:
    """Microseconds since 1970."""
    from pyspark.sql import functions as F

    kind, column = given.kind(name), _named(name)
    if pa.types.is_integer(kind):
        per = PER_SECOND[given.columns.time_unit]
        if per > 10**6:
            return _divided(column.cast("bigint"), per // 10**6)
        return column.cast("bigint") * F.lit(10**6 // per)
    if pa.types.is_timestamp(kind):
        return F.unix_micros(_zoned(name, kind))
    if pa.types.is_date(kind):
        return F.unix_date(column).cast("bigint") * F.lit(_DAY)
    return F.col(python_columns.instant_name(given, name))


def _divided(column: Column, by: int) -> Column:
    """Rounded down, exactly."""
    from pyspark.sql import functions as F

    if by == 1:
        return column
    # A quotient of whole numbers is a double in Spark; what is left by the remainder is divided exactly.
    exact = (column - F.pmod(column, F.lit(by))).cast("decimal(20,0)") / F.lit(by).cast("decimal(10,0)")
    return exact.cast("bigint")


def _zoned(name: str, kind: pa.DataType) -> Column:
    """Without a zone it is UTC, whatever the session's zone."""
    from pyspark.sql import functions as F

    if kind.tz is not None:
        return _named(name)
    quoted = "`" + name.replace("`", "``") + "`"
    micros = F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {quoted})")
    return F.timestamp_micros(micros)


def _value(name: str, given: Input, kinds: Kinds) -> Column:
    own = kind_of_column(name, given.kind(name), "target")
    return kinds.column({} if own is None else {own: _clean(name, given)})


def _clean(name: str, given: Input) -> Column:
    """NaN is null, a time without a zone is UTC, a text has no collation."""
    from pyspark.sql import functions as F

    kind, column = given.kind(name), _named(name)
    if pa.types.is_floating(kind):
        return F.nanvl(column.cast("double"), F.lit(None).cast("double"))
    return _zoned(name, kind) if pa.types.is_timestamp(kind) else column


def _target(names: tuple[str, ...], given: Input, kinds: Kinds) -> Column:
    from pyspark.sql import functions as F

    by_kind: dict[str, list[Column]] = {}
    for name in names:
        kind = kind_of_column(name, given.kind(name), "target")
        if kind is not None:
            by_kind.setdefault(kind, []).append(_clean(name, given))
    return kinds.column({k: c[0] if len(c) == 1 else F.coalesce(*c) for k, c in by_kind.items()})


def _filled(name: str, given: Input) -> Column:
    column = _named(name)
    return (
        ~(column.isNull() | column.isNaN()) if pa.types.is_floating(given.kind(name)) else column.isNotNull()
    )


def _wrong_times(given: Input, start: str) -> list[tuple[Column, str]]:
    found = [(instant(given, start).isNull(), f"an edge without a start: `{start}` is null")]
    if given.columns.end is not None:
        ends_before = instant(given, given.columns.end) < instant(given, start)
        found.append((ends_before, "an edge ends before it starts"))
    return found


def _first(cases: list[tuple[Column, str]], otherwise: Column) -> Column:
    from pyspark.sql import functions as F

    chosen = F.when(cases[0][0], F.lit(cases[0][1]))
    for condition, said in cases[1:]:
        chosen = chosen.when(condition, F.lit(said))
    return chosen.otherwise(otherwise)


def _named(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def _optional(name: str | None, made: Callable[[str], Column]) -> list[Column]:
    return [] if name is None else [made(name)]
