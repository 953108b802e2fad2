"""Spark batch: events a second beside the floor of the same run, matches checked against the reference on some keys.

The floor is the same filtered scan, shuffle and sort with a `mapInArrow` that does nothing with the rows. Both run in
turns, and of five such pairs the one with the middle ratio is told.

    python benchmarks/spark_batch.py [--events 10000000] [--growth | --skew] [--query rising_trend]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from _beside_floor import Figure, Pair, keep, typical
from _spark_data import EVENTS_A_KEY, HOT, QUERIES, events, sampled

import cepheid
from cepheid.engines.options import make_options
from cepheid.engines.spark.batch import in_order
from cepheid.engines.spark.prepare import prepared, split
from cepheid.engines.spark.run import plan_job
from cepheid.engines.spark.setup import start_session
from cepheid.engines.spark.units import units_of

FOLDER = Path("build/bench")
_REPEAT = 5  # pairs of runs, of which the middle one is told


def main() -> None:
    warnings.simplefilter("ignore")
    arguments = _arguments()
    spark = start_session("cepheid batch benchmark", cores=2, config={"spark.sql.shuffle.partitions": "16"})
    if arguments.skew:
        _skew(spark, arguments.events)
        return
    sizes = [arguments.events * n // 8 for n in (1, 2, 4, 8)] if arguments.growth else [arguments.events]
    names = arguments.query or (["fraud"] if arguments.growth else list(QUERIES))
    heads = f"{'floor ev/s':>12} {'ours ev/s':>12} {'ours/floor':>10}"
    print(f"{'query':14} {'events':>12} {'keys':>9} {'matches':>9} {heads}")
    for count in sizes:
        df = events(spark, count, 16, FOLDER)
        # The files are in the page cache, the workers are there, the kernel is loaded for all that follows.
        _floor(QUERIES["fraud"], df)
        for name in names:
            cepheid.match(QUERIES[name], df).count()
        keep("spark_batch", [_row(name, df, count) for name in names])


def _row(name: str, df: Any, count: int) -> Figure:
    found: list[int] = []
    pairs: list[Pair] = []
    for _ in range(_REPEAT):
        floor = _seconds(lambda: _floor(QUERIES[name], df))
        pairs.append((floor, _seconds(lambda: found.append(cepheid.match(QUERIES[name], df).count()))))
    floor, ours = typical(pairs)
    _check(name, df, max(count // EVENTS_A_KEY // 200, 1))
    keys = count // EVENTS_A_KEY
    print(
        f"{name:14} {count:>12,} {keys:>9,} {found[0]:>9,} {count / floor:>12,.0f} {count / ours:>12,.0f}"
        f" {ours / floor:>9.2f}x",
        flush=True,
    )
    return Figure(name, count, found[0], floor, ours)


def _skew(spark: Any, count: int) -> None:
    """The same number of events, evenly spread and with 30 in 100 of one user.

    Under `fraud` that user alone has more matches than could be listed (every combination within a day), and under
    `rising_trend` a hundred thousand runs open at a time.
    """
    even, skewed = (events(spark, count, 16, FOLDER, hot) for hot in (0, 30))
    _floor(QUERIES["fraud"], even)
    print(f"{'query':14} {'events':>12} {'even ev/s':>12} {'skewed ev/s':>12} {'skewed/even':>11}")
    for name in ("brute_force", "absence"):
        cepheid.match(QUERIES[name], even).count()  # the kernel is loaded for what follows
        usual = _seconds(lambda name=name: cepheid.match(QUERIES[name], even).count())
        ours = _seconds(lambda name=name: cepheid.match(QUERIES[name], skewed).count())
        _check(name, skewed, max(count // EVENTS_A_KEY // 200, 1))
        _check_hot(name, skewed)
        print(
            f"{name:14} {count:>12,} {count / usual:>12,.0f} {count / ours:>12,.0f} {ours / usual:>10.1f}x",
            flush=True,
        )


def _check_hot(name: str, df: Any) -> None:
    """All matches of the user with most events, by the reference matcher."""
    its_own = df.where(df.user == HOT)
    expected = sorted(
        cepheid.match(QUERIES[name], its_own.toArrow(), now=_end(df), engine="reference")["id"].to_pylist()
    )
    matches = cepheid.match(QUERIES[name], df)
    found = sorted(matches.where(matches.user == HOT).toArrow()["id"].to_pylist())
    assert found == expected, f"{name}: {len(found)} matches of {HOT} instead of {len(expected)}"


def _floor(query: str, df: Any) -> None:
    job = plan_job(query, df, make_options())
    (unit,) = units_of(job.program)
    work = split(unit, job.given)
    rows = in_order(prepared(df, work, None), work.layout)
    rows.mapInArrow(_counted, "n bigint").agg({"n": "sum"}).collect()


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"n": [batch.num_rows]})


def _check(name: str, df: Any, one_in: int) -> None:
    """The matches of some users, by the reference matcher: the same ids, or there is no figure."""
    some = sampled(df, one_in)
    expected = sorted(
        cepheid.match(QUERIES[name], some.toArrow(), now=_end(df), engine="reference")["id"].to_pylist()
    )
    found = sorted(sampled(cepheid.match(QUERIES[name], df), one_in).toArrow()["id"].to_pylist())
    assert found == expected, f"{name}: {len(found)} matches instead of {len(expected)}"
    assert expected, f"{name}: no match to compare"


def _end(df: Any) -> Any:
    return df.agg({"time": "max"}).toArrow()["max(time)"][0].as_py()


def _seconds(action: Any) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--growth", action="store_true", help="1, 2, 4 and 8 eighths of the events and keys")
    parser.add_argument(
        "--skew", action="store_true", help="30 in 100 events of one user, beside evenly spread"
    )
    parser.add_argument(
        "--query", action="append", choices=list(QUERIES), help="all of them, if none is said"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
