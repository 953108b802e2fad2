"""The data and the queries of the Spark benchmarks: web events of many users, with a few stories planted by chance."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS_A_KEY = 100
HOT = "user-hot"
QUERIES = {
    "fraud": """Login as l -> Payment[amount > 700] as p -> Payment[amount > p.amount] as q
        .within(1d) .partition_by(user) .emit(id: match_id(), user: user, first: p.amount, second: q.amount)""",
    "brute_force": """LoginFailed{3,} as f -> Login as l
        .within(1d) .partition_by(user) .stnm() .longest() .emit(id: match_id(), user: user, tries: count(f))""",
    "absence": """Order as o -> NOT Confirm[order == o.order] within 1h
        .partition_by(user) .emit(id: match_id(), user: user, order: o.order)""",
    "rising_trend": """Payment as s -> all Payment{3,}.increasing(amount) as r
        .within(3d) .partition_by(user) .stnm() .emit(id: match_id(), user: user, top: r.amount)""",
}
# Of 100 events: what they are. Sixty are of types that no query names.
_TYPES = [(60, "View"), (72, "Payment"), (80, "Login"), (86, "LoginFailed"), (93, "Order"), (100, "Confirm")]


def events(spark: SparkSession, count: int, files: int, folder: Path, hot: int = 0) -> DataFrame:
    """Made by Spark out of hashes, the same every time, and kept as Parquet; in time order from file to file.

    `hot` in 100 events belong to one user.
    """
    path = folder / f"events_{count}_{files}{f'_hot{hot}' if hot else ''}"
    if not (path / "_SUCCESS").exists():
        shutil.rmtree(path, ignore_errors=True)
        _made(spark, count, files, hot).write.parquet(str(path))
        _in_order(path)
    return spark.read.parquet(str(path))


def _made(spark: SparkSession, count: int, files: int, hot: int) -> DataFrame:
    from pyspark.sql import functions as F

    def chance(name: str, upto: int) -> F.Column:  # type: ignore[name-defined]
        return F.pmod(F.xxhash64("id", F.lit(name)), F.lit(upto))

    kind = F.lit("Confirm")
    for limit, name in reversed(_TYPES[:-1]):
        kind = F.when(chance("type", 100) < limit, F.lit(name)).otherwise(kind)
    span = 10 * 86_400 * 1_000_000  # ten days, whatever the number of events
    keys = max(count // EVENTS_A_KEY, 1)
    time = F.lit(1_700_000_000_000_000) + (F.col("id") * F.lit(span // count))
    user = F.concat(F.lit("user-"), chance("user", keys))
    if hot:
        user = F.when(chance("hot", 100) < hot, F.lit(HOT)).otherwise(user)
    return spark.range(0, count, 1, files).select(
        kind.alias("type"),
        F.timestamp_micros(time).alias("time"),
        user.alias("user"),
        (chance("amount", 100_000) / 100.0).alias("amount"),
        chance("order", 4).alias("order"),
        F.concat(F.lit("203.0.113."), chance("ip", 250)).alias("ip"),
        F.concat(F.lit("/page/"), chance("page", 5000)).alias("page"),
    )


def _in_order(path: Path) -> None:
    """A file source reads files by their age: the first part is the oldest."""
    for i, part in enumerate(sorted(path.glob("part-*.parquet"))):
        os.utime(part, (1_000_000 + i, 1_000_000 + i))


def sampled(df: DataFrame, one_in: int) -> DataFrame:
    """All events of some of the users."""
    from pyspark.sql import functions as F

    return df.where(F.pmod(F.xxhash64("user"), F.lit(one_in)) == 0)
