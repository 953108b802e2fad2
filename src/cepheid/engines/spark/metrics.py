"""Sums over a micro-batch, for listeners of the query: Spark hands them on as the observed metrics `cepheid`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from cepheid.engines.spark.output import COUNT, KIND, STREAM, Answer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OBSERVED = "cepheid"
SUMS = ("events", "late", "too_late", "bytes_written", "waiting", "keys")
_FOUND = {
    "match": "matches",
    "timeout": "timeouts",
    "forecast": "forecasts",
    "outcome": "outcomes",
    "dead_letter": "dead_letters",
}


@dataclass(frozen=True)
class BucketState:
    """What a bucket held at the end of a micro-batch in which it had work."""

    bucket: int
    keys: int
    waiting: int


def observed(table: DataFrame, answer: Answer) -> DataFrame:
    """The table, watched as it goes by: Spark counts while it writes, there is no second pass."""
    from pyspark.sql import functions as F

    fields = _fields(answer)
    sums = [F.coalesce(F.sum(fields[name]), F.lit(0)).alias(name) for name in SUMS]
    rebuilt = F.coalesce(F.sum(fields["rebuilt"].cast("int")), F.lit(0)).alias("rebuilt")
    return table.observe(OBSERVED, *sums, rebuilt, *_counts(answer), _buckets(fields))


def metrics_text(answer: Answer) -> Column:
    """What a bucket says of itself, as JSON; null in other rows."""
    from pyspark.sql import functions as F

    values = [value.alias(name) for name, value in _fields(answer).items()]
    text = F.to_json(F.struct(*values), {"ignoreNullFields": "false", "timeZone": "UTC"})
    return F.when(F.col(KIND) == "metrics", text)


def _fields(answer: Answer) -> dict[str, Column]:
    """The metrics of a bucket, which has a row of its own."""
    from pyspark.sql import functions as F

    payload = next(p for p in answer.payloads if p.kind == "metrics")
    names = [name for name, _ in payload.columns]
    return {
        name: F.when(F.col(KIND) == "metrics", F.get(array, F.lit(0)))
        for name, array in zip(names, answer.arrays(payload), strict=True)
    }


def observed_rows(table: DataFrame) -> DataFrame:
    """What comes out of MATCH_RECOGNIZE over a stream, watched in the same way. A query may have several such clauses:
    each has a name of its own."""
    from pyspark.sql import functions as F

    names = (*SUMS, "matches")
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names]
    rebuilt = F.coalesce(F.sum(F.col("rebuilt").cast("int")), F.lit(0)).alias("rebuilt")
    fields = {name: F.col(name) for name in ("bucket", "keys", "waiting")}
    return table.observe(f"{OBSERVED}-{secrets.token_hex(4)}", *sums, rebuilt, _buckets(fields))


def _counts(answer: Answer) -> list[Column]:
    """How many matches, timeouts, dead letters, and how many of them each stream has."""
    from pyspark.sql import functions as F

    kinds = dict.fromkeys(p.kind for p in answer.payloads if p.kind in _FOUND)
    totals = [_count(F.col(KIND) == kind).alias(_FOUND[kind]) for kind in kinds]
    by_stream = [
        _count((F.col(KIND) == p.kind) & (F.col(STREAM) == p.stream)).alias(f"{_FOUND[p.kind]}.{p.stream}")
        for p in answer.payloads
        if p.stream
    ]
    return totals + by_stream


def _count(condition: Column) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(F.sum(F.when(condition, F.col(COUNT))), F.lit(0))


def _buckets(fields: Mapping[str, Column]) -> Column:
    """As text, because listeners over Connect are given flat rows only."""
    from pyspark.sql import functions as F

    parts = [fields[name].cast("string") for name in ("bucket", "keys", "waiting")]
    one = F.when(fields["bucket"].isNotNull(), F.concat_ws(":", *parts))
    return F.array_join(F.collect_list(one), " ").alias("buckets")


def observed_in(progress: Any) -> dict[str, Any] | None:
    """The sums in a query's progress, of all that is ours in it; None if the query is none of ours."""
    names = (name for name in progress.observedMetrics if name.split("-")[0] == OBSERVED)
    rows = [progress.observedMetrics[name].asDict() for name in names]
    return reduce(_added, rows) if rows else None


def _added(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = {**one, **other}
    return {
        name: " ".join(filter(None, (one.get(name), other.get(name))))
        if name == "buckets"
        else one.get(name, 0) + other.get(name, 0)
        for name in both
    }


def bucket_states(sums: Mapping[str, Any]) -> list[BucketState]:
    """The buckets that had work, and what they hold.

    >>> bucket_states({"buckets": "3:10:2"})
    [BucketState(bucket=3, keys=10, waiting=2)]
    """
    return [BucketState(*map(int, part.split(":"))) for part in (sums["buckets"] or "").split()]
