"""Graph patterns over a streaming DataFrame of edges: the graph of each partition is sifted by itself."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.graph.patterns import ready_patterns
from cepheid.engines.local.events import Columns
from cepheid.engines.options import Duration, policy_of
from cepheid.engines.spark.arrow_tasks import arrow_kinds
from cepheid.engines.spark.inputs import Input, is_spark
from cepheid.engines.spark.prepare import balanced
from cepheid.engines.spark.setup import check_state_store, check_time_column, check_worker_python
from cepheid.engines.spark.sifting_work import (
    END,
    HAPPENINGS,
    KEY,
    LABEL,
    OWN_COLUMNS,
    SOURCE,
    START,
    TARGET,
    TICK,
    TIME,
    TOO_LATE,
    SiftingWork,
)
from cepheid.engines.spark.stream import bucket_count, with_watermark
from cepheid.engines.spark.table_stream import found_in_buckets
from cepheid.errors import InputMistake, nearest
from cepheid.pattern.duration import duration
from cepheid.time.lateness import TooLatePolicy

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def sift(
    patterns: Any,
    edges: DataFrame,
    *,
    partition_by: str | Sequence[str] = (),
    source: str = "source",
    label: str = "label",
    target: str | Sequence[str] = "target",
    start: str = "start",
    end: str | None = None,
    tick: str | None = None,
    time: str | None = None,
    disorder: Duration | None = None,
    too_late: str = "fail",
    happenings: Iterable[str] = (),
    buckets: int | None = None,
) -> DataFrame:
    """The matches of graph patterns in a streaming DataFrame of edges, each once, when the watermark makes it certain.

    Edges wait until the watermark has passed them and are then fed in the order of their starts, to the sifter of their
    partition. A row with an end whose edge is there says that it ends.

    Args:
        patterns: A text of graph patterns, or patterns built in Python.
        edges: A streaming DataFrame, a row for each edge.
        partition_by: Columns; each of their values has a graph of its own.
        source: The column of an edge's node.
        label: The column of its label.
        target: The column of its target, or several of which one has a value.
        start: The column of its start.
        end: The column of its end, if it has one.
        tick: The column that says in which tick it came, for deadlines in ticks.
        time: A column that is the start of an edge that begins and the end of one that ends; without it rows go by
            their start.
        disorder: How far rows may be out of order, if the DataFrame has no watermark.
        too_late: What becomes of edges later than that: `fail`, `drop` or `dead_letter`.
        happenings: What else is told: "negated", "expired", "excluded"; with too_late="dead_letter" also edges
            that came too late.
        buckets: How many buckets the partitions are spread over.
    """
    _check_frame(edges)
    columns = _Columns(
        _names(partition_by), source, label, _names(target), start, _end(edges, end), tick, time or start
    )
    columns.check(edges)
    ready = ready_patterns(patterns)
    kinds = arrow_kinds(edges.select(*(_named(name) for name in (*columns.keys, columns.time))))
    given = Input(Columns(columns.time, ""), pa.schema(list(kinds.items())), True)
    timed = with_watermark(edges, given, None if disorder is None else duration(disorder))
    policy = policy_of(too_late)
    _check_keys({name: kinds[name] for name in columns.keys})
    work = SiftingWork(
        tuple(r.pattern for r in ready),
        tuple((name, kinds[name]) for name in columns.keys),
        columns.targets,
        columns.time == columns.start,
        columns.end is not None,
        columns.tick is not None,
        _kinds(happenings, policy),
        policy,
        bucket_count(edges, buckets) if columns.keys else 1,
        secrets.token_hex(8),
    )
    rows = columns.prepared(timed, sorted({label for r in ready for label in r.labels}))
    return found_in_buckets(rows, work.key_names(), work, work.schema)


@dataclass(frozen=True)
class _Columns:
    """Which columns hold what."""

    keys: tuple[str, ...]
    source: str
    label: str
    targets: tuple[str, ...]
    start: str
    end: str | None
    tick: str | None
    time: str

    def check(self, edges: DataFrame) -> None:
        optional = [name for name in (self.end, self.tick) if name is not None]
        known = edges.columns
        for name in (*self.keys, self.source, self.label, *self.targets, self.start, *optional, self.time):
            if name not in known:
                raise InputMistake(
                    f"there is no column `{name}`",
                    code="no_column",
                    hint=nearest(name, known) or f"the columns are {', '.join(known)}",
                )
        for name in {self.start, self.time, *([] if self.end is None else [self.end])}:
            check_time_column(edges, name)

    def prepared(self, edges: DataFrame, labels: Sequence[str]) -> DataFrame:
        """The edges that a pattern names, under names of our own. All others move the watermark alone."""
        from pyspark.sql import functions as F

        columns = [_named(name).alias(f"{KEY}{i}") for i, name in enumerate(self.keys)]
        columns += [
            F.unix_micros(_named(self.time)).alias(TIME),
            _named(self.source).alias(SOURCE),
            _named(self.label).cast("string").alias(LABEL),
            *(_named(name).alias(f"{TARGET}{i}") for i, name in enumerate(self.targets)),
            F.unix_micros(_named(self.start)).alias(START),
        ]
        if self.end is not None:
            columns.append(F.unix_micros(_named(self.end)).alias(END))
        if self.tick is not None:
            columns.append(_named(self.tick).cast("bigint").alias(TICK))
        wanted = [
            F.col(LABEL).isin(list(labels)),
            F.col(LABEL).isNull(),  # refused aloud
            # Never true, and not to be seen through: a filter that does not look at the time is moved below the
            # watermark by Spark's optimizer, and then rows that nobody wants would not move the watermark.
            F.col(TIME).isNull() | (F.col(TIME) < F.lit(-(2**62)).cast("bigint")),
        ]
        return edges.select(*columns).where(balanced(wanted, lambda one, other: one | other))


def _named(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _end(edges: DataFrame, end: str | None) -> str | None:
    """The column `end` is read if there is one."""
    return "end" if end is None and "end" in edges.columns else end


def _kinds(happenings: Iterable[str], policy: TooLatePolicy) -> frozenset[str]:
    asked = frozenset([happenings] if isinstance(happenings, str) else happenings)
    for name in sorted(asked - set(HAPPENINGS)):
        raise InputMistake(
            f"{name!r} is nothing that happens to threads",
            code="bad_option",
            hint=nearest(name, list(HAPPENINGS)) or f"there are {', '.join(HAPPENINGS)}",
        )
    return asked | ({TOO_LATE} if policy is TooLatePolicy.DEAD_LETTER else frozenset())


def _check_keys(keys: dict[str, pa.DataType]) -> None:
    for name, kind in keys.items():
        if name in OWN_COLUMNS:
            raise InputMistake(
                f"what is found has a column `{name}` of its own",
                code="duplicate_name",
                hint=f'rename the partition: df.withColumnRenamed("{name}", "graph")',
            )
        if pa.types.is_nested(kind):
            raise InputMistake(
                f"edges cannot be partitioned by `{name}`: it holds other values",
                code="nested_in_stream",
                hint="take the values in it, one by one",
            )


def _check_frame(edges: Any) -> None:
    if not is_spark(edges) or not edges.isStreaming:
        raise InputMistake(
            "edges that are sifted come as a streaming DataFrame",
            code="not_streaming",
            hint="what is there as a whole goes into a Graph: cepheid.Graph().read(edges).find(patterns)",
        )
    check_worker_python(edges)
    check_state_store(edges)
