"""Spark streaming: events a second beside the floor of the same run; then a stream with many idle keys in its state.

The floor is the same packed plan with a processor that does nothing. Both run in turns, and of
three such pairs the one with the middle ratio is told. Matches are checked against the reference on some keys after
every run, and the stream of idle keys against the stream without them.

    python benchmarks/spark_stream.py [--events 10000000] [--batches 10] [--repeat 3]
        [--only throughput|idle] [--query rising_trend]
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _beside_floor import Figure, Pair, keep, typical
from _spark_data import EVENTS_A_KEY, QUERIES, events, sampled
from pyspark.sql import functions as F

import cepheid
from cepheid.engines.options import make_options
from cepheid.engines.spark.prepare import prepared, split
from cepheid.engines.spark.run import plan_job
from cepheid.engines.spark.setup import start_session
from cepheid.engines.spark.stream import packed_by
from cepheid.engines.spark.units import units_of

FOLDER = Path("build/bench")
END = "the end"


def main() -> None:
    warnings.simplefilter("ignore")
    arguments = _arguments()
    spark = start_session("cepheid stream benchmark", cores=2, config={"spark.sql.shuffle.partitions": "2"})
    if arguments.only != "idle":
        _throughput(
            spark, arguments.events, arguments.batches, arguments.repeat, arguments.query or list(QUERIES)
        )
    if arguments.only != "throughput":
        _idle(spark, arguments.idle)


# Throughput.


def _throughput(spark: Any, count: int, batches: int, repeat: int, names: Sequence[str]) -> None:
    df = _with_end(spark, events(spark, count, batches, FOLDER / "stream"))
    # A stream goes on for days: the workers are there, and the JVM has compiled both ways, before a time is taken.
    _drive(_floor(QUERIES["fraud"], _stream(spark, df)))
    _drive(cepheid.match(QUERIES["fraud"], _stream(spark, df), disorder="0s", end_type=END))
    print(f"{count:,} events, {count // EVENTS_A_KEY:,} keys, {batches} micro-batches")
    print(f"{'query':14} {'matches':>9} {'floor ev/s':>12} {'ours ev/s':>12} {'ours/floor':>10}")
    figures: list[Figure] = []
    for name in names:
        query = QUERIES[name]
        pairs: list[Pair] = []
        for _ in range(repeat):
            floor, _ = _drive(_floor(query, _stream(spark, df)))
            ours, rows = _drive(cepheid.match(query, _stream(spark, df), disorder="0s", end_type=END))
            _check(name, df, rows, max(count // EVENTS_A_KEY // 200, 1))
            pairs.append((floor, ours))
        floor, ours = typical(pairs)
        matches = rows.count()
        figures.append(Figure(name, count, matches, floor, ours))
        keep("spark_stream", figures)
        print(
            f"{name:14} {matches:>9,} {count / floor:>12,.0f} {count / ours:>12,.0f} {ours / floor:>9.2f}x",
            flush=True,
        )


def _with_end(spark: Any, df: Any) -> Any:
    """A last file with the end marker, so that the stream gives what a bounded input gives."""
    folder = Path(_folder(df))
    if not (folder / "the_end.parquet").exists():
        row = df.orderBy(df.time.desc()).limit(1).withColumn("type", F.lit(END))
        row.coalesce(1).write.parquet(str(folder / "_end"))
        (file,) = (folder / "_end").glob("part-*.parquet")
        file.rename(folder / "the_end.parquet")
        shutil.rmtree(folder / "_end")
        os.utime(folder / "the_end.parquet", (2_000_000, 2_000_000))
    return spark.read.parquet(str(folder)).where(F.col("type") != END)


def _folder(df: Any) -> str:
    (folder,) = {str(Path(f.removeprefix("file:")).parent) for f in df.inputFiles()}
    return folder


def _stream(spark: Any, df: Any) -> Any:
    folder = _folder(df)
    return spark.readStream.schema(df.schema).option("maxFilesPerTrigger", 1).parquet(folder)


def _floor(query: str, df: Any) -> Any:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Nothing(StatefulProcessor):
        def init(self, handle: Any) -> None:
            pass

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            for _ in rows:
                pass
            return iter(())

        def close(self) -> None:
            pass

    job = plan_job(query, df, make_options(disorder="0s"))
    (unit,) = units_of(job.program)
    work = split(unit, job.given)
    packed = packed_by(prepared(job.df, work), work.layout.key_names(), job.buckets).groupBy("bucket")
    return packed.transformWithState(Nothing(), "body binary", outputMode="Append", timeMode="EventTime")


def _drive(table: Any) -> tuple[float, Any]:
    """The seconds of all micro-batches, and what was written."""
    folder = tempfile.mkdtemp()
    writer = table.writeStream.format("parquet").option("path", f"{folder}/out")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    seconds = sum(p["batchDuration"] for p in query.recentProgress) / 1000
    rows = table.sparkSession.read.schema(table.schema).parquet(f"{folder}/out").localCheckpoint()
    shutil.rmtree(folder)
    return seconds, rows


def _check(name: str, df: Any, rows: Any, one_in: int) -> None:
    """The matches of some users, by the reference matcher: the same ids, or there is no figure."""
    some = sampled(df, one_in)
    expected = sorted(
        cepheid.match(QUERIES[name], some.toArrow(), now=_end(df), engine="reference")["id"].to_pylist()
    )
    found = sorted(sampled(rows, one_in).toArrow()["id"].to_pylist())
    assert found == expected, f"{name}: {len(found)} matches instead of {len(expected)}"
    assert expected, f"{name}: no match to compare"


def _end(df: Any) -> Any:
    return df.agg({"time": "max"}).toArrow()["max(time)"][0].as_py()


# Idle keys.


IDLE_QUERY = "Open as o -> Close as c .within(90d) .partition_by(user) .emit(user: user, n: c.n)"


def _idle(spark: Any, idle: int) -> None:
    """Ten micro-batches of ten thousand busy keys, with and without a million idle ones in the state."""
    alone = _busy_seconds(spark, 0)
    beside = _busy_seconds(spark, idle)
    ratio = f"{beside / alone:.2f}x"
    print(
        f"10,000 busy keys: {alone:.2f} s a micro-batch; beside {idle:,} idle keys: {beside:.2f} s, {ratio}"
    )


def _busy_seconds(spark: Any, idle: int) -> float:
    """The median of the micro-batches that only touch busy keys."""
    folder = Path(tempfile.mkdtemp())
    _idle_batches(spark, idle, folder / "in")
    stream = spark.readStream.schema("type string, time timestamp, user string, n bigint")
    df = stream.option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    table = cepheid.match(IDLE_QUERY, df, disorder="0s")
    writer = table.writeStream.format("parquet").option("path", f"{folder}/out")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    durations = [p["batchDuration"] / 1000 for p in query.recentProgress if p["numInputRows"] == 10_000]
    assert len(durations) == 10, durations
    found = spark.read.schema(table.schema).parquet(f"{folder}/out").count()
    assert found == 15 * 10_000, found  # the n-th Close meets n open runs of its key
    shutil.rmtree(folder)
    return float(sorted(durations)[len(durations) // 2])


def _idle_batches(spark: Any, idle: int, folder: Path) -> None:
    """A big file that opens a run for every idle key, then small ones: busy keys open and close."""
    folder.mkdir(parents=True)
    plan = [("idle", idle, "Open", 0)] if idle else []
    plan += [("busy", 10_000, "Open" if i % 2 == 0 else "Close", 1 + i) for i in range(10)]
    plan += [("last", 1, "Open", 100)]  # moves the watermark past all others
    for at, (who, count, kind, hour) in enumerate(plan):
        rows = spark.range(count).select(
            F.lit(kind).alias("type"),
            F.timestamp_seconds(F.lit(1_700_000_000 + hour * 3600)).alias("time"),
            F.concat(F.lit(f"{who}-"), F.col("id")).alias("user"),
            F.lit(hour).cast("bigint").alias("n"),
        )
        part = folder.parent / f"part{at}"
        rows.coalesce(1).write.parquet(str(part))
        (file,) = part.glob("part-*.parquet")
        target = folder / f"{at:03}.parquet"
        file.rename(target)
        os.utime(target, (1_000_000 + at, 1_000_000 + at))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument(
        "--repeat", type=int, default=3, help="pairs of runs, of which the middle one is told"
    )
    parser.add_argument("--idle", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["throughput", "idle"])
    parser.add_argument(
        "--query", action="append", choices=list(QUERIES), help="all of them, if none is said"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
