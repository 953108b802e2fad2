"""What a bounded job finds: to the driver with all that is behind it, or to files that Spark writes itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cepheid.engines.session import Found
from cepheid.engines.spark.cascade import apart, why_not
from cepheid.engines.spark.evidence import evidence_payload, found_by
from cepheid.engines.spark.failures import in_our_words
from cepheid.engines.spark.output import COUNT, KIND, STREAM, Answer, each_finding
from cepheid.engines.spark.run import SparkJob, one_partition
from cepheid.engines.spark.units import units_of
from cepheid.errors import InputMistake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_AT_ONCE = 1000
_NESTED = ("struct", "array", "map")


def collected(job: SparkJob, streams: Sequence[str], whole: bool = False) -> Iterator[list[Found]]:
    """All findings of the streams in the order in which they became certain, by one action of Spark.

    `whole`: with all fields of the events behind them, not only those that the query reads.
    """
    from pyspark.sql import functions as F

    answer = Answer(tuple(evidence_payload(name, whole) for name in streams))
    # All streams have the same columns, so they lie at the same places.
    arrays = answer.arrays(answer.payloads[0])
    rows = each_finding(job.table(answer), arrays, ["at", "text"], beside=[STREAM])
    # Not orderBy: it would look at all rows once before, to find its ranges, and so match twice.
    ordered = rows.repartition(1).sortWithinPartitions(F.col("at").asc_nulls_last(), STREAM, "text")
    some: list[Found] = []
    with in_our_words():
        for row in ordered.toLocalIterator():
            some.append(found_by(row[0], row[2]))
            if len(some) >= _AT_ONCE:
                yield some
                some = []
    yield some


def written(
    job: SparkJob,
    streams: Sequence[str],
    folder: str,
    format: str,
    limit: int | None,
    unfinished: str | None,
    foretold: str | None = None,
) -> dict[tuple[str, str], int]:
    """Spark writes each stream to a folder of its name. The answer: how much was found, by kind and stream."""
    kinds = ["match", "timeout", "pending", "forecast", "outcome"]
    answer = job.answer(streams, kinds)
    above = {"timeout": unfinished, "pending": unfinished, "forecast": foretold, "outcome": foretold}
    parts = [(p.kind, p.stream, _place(p.kind, p.stream, folder, above)) for p in answer.payloads]
    targets = [(kind, stream, place) for kind, stream, place in parts if place is not None]
    # Several folders of one pass: the findings wait in memory, and where that ends on disk.
    table = job.table(answer).persist()
    try:
        with in_our_words():
            found = table.groupBy(KIND, STREAM).sum(COUNT).collect()
            for kind, stream, place in targets:
                rows = answer.part(table, kind, stream)
                rows = rows if limit is None or kind != "match" else rows.limit(limit)
                _write(rows, place, format if kind == "match" else "json")
    finally:
        table.unpersist()
    return {(row[0], row[1]): row[2] for row in found}


def _place(kind: str, stream: str, folder: str, above: dict[str, str | None]) -> str | None:
    if kind == "match":
        return f"{folder}/{stream}"
    return None if above[kind] is None else f"{above[kind]}/{kind}/{stream}"


def _write(rows: DataFrame, place: str, format: str) -> None:
    from pyspark.errors import AnalysisException

    options = (
        {"header": "true"} if format == "csv" else {"ignoreNullFields": "false"} if format == "json" else {}
    )
    try:
        (flat(rows) if format == "csv" else rows).write.format(format).options(**options).save(place)
    except AnalysisException as failure:
        if failure.getCondition() == "PATH_ALREADY_EXISTS":
            raise already_there(place) from None
        raise


def already_there(place: str) -> InputMistake:
    return InputMistake(
        f"{place} is there already", code="cannot_write", hint="remove it, or name another folder with --out"
    )


def flat(rows: DataFrame) -> DataFrame:
    """Events and lists as JSON text: a cell of CSV holds no columns."""
    from pyspark.sql import functions as F

    def shown(field: Any) -> Any:
        column = F.col("`" + field.name.replace("`", "``") + "`")
        return F.to_json(column).alias(field.name) if field.dataType.typeName() in _NESTED else column

    return rows.select(*(shown(field) for field in rows.schema.fields))


def extent(df: DataFrame, time: str) -> tuple[int, int | None]:
    """How many events there are, and the time of the last."""
    from pyspark.sql import functions as F

    instant = F.col("`" + time.replace("`", "``") + "`").cast("timestamp")
    row = df.agg(F.count(F.lit(1)), F.max(F.unix_micros(instant))).collect()[0]
    return row[0], row[1]


def advice(job: SparkJob, streams: Iterable[str]) -> list[str]:
    """What will be slow, by the look of the plan."""
    wanted = set(streams)
    return [
        one_partition(part, why)
        for unit in units_of(job.program)
        for part in apart(unit, job.given)
        if wanted.intersection(part.names) and not part.key and (why := why_not(part, job.given))
    ]


__all__ = ["advice", "already_there", "collected", "extent", "flat", "written"]
