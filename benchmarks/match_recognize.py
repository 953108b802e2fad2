"""MATCH_RECOGNIZE in Spark batch beside the floor of the same run, matches checked by a plain loop on some keys.

The floor is the same scan, shuffle and sort of the same columns with a `mapInArrow` that does nothing with the rows.
Both run in turns, and of three such pairs the one with the middle ratio is told.

    python benchmarks/match_recognize.py [--events 5000000]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from _beside_floor import Figure, Pair, keep, typical
from _spark_data import EVENTS_A_KEY, events, sampled

import cepheid
from cepheid.engines.spark.row_patterns import asked_rows, in_order
from cepheid.engines.spark.setup import start_session
from cepheid.sql_lang.reading import read_statement
from cepheid.sql_lang.row_query import understood

FOLDER = Path("build/bench")
Row = dict[str, Any]
Found = list[tuple[Any, ...]]

CLAUSES = {
    "visit": """PARTITION BY user ORDER BY time
        MEASURES A.time AS began, C.time AS paid, COUNT(B.*) AS views
        PATTERN (A B* C)
        DEFINE A AS type = 'Login', B AS type = 'View', C AS type = 'Payment'""",
    "v_shape": """PARTITION BY user ORDER BY time
        MEASURES S.time AS began, LAST(D.amount) AS bottom, LAST(U.time) AS top
        PATTERN (S D+ U+)
        DEFINE D AS amount < PREV(amount), U AS amount > PREV(amount)""",
    "never": """PARTITION BY user ORDER BY time
        MEASURES C.time AS ended
        PATTERN ((A | B)* C)
        DEFINE A AS type <> 'x', B AS type <> 'y', C AS type = 'z'""",
}


def main() -> None:
    warnings.simplefilter("ignore")
    arguments = _arguments()
    spark = start_session(
        "cepheid row pattern benchmark", cores=2, config={"spark.sql.shuffle.partitions": "16"}
    )
    df = events(spark, arguments.events, 16, FOLDER)
    df.createOrReplaceTempView("events")
    heads = f"{'floor rows/s':>12} {'ours rows/s':>12} {'ours/floor':>10}"
    print(f"{'query':10} {'rows':>12} {'keys':>9} {'matches':>9} {heads}")
    for name in CLAUSES:  # the workers are there, and all is compiled
        _floor(spark, name)
        _found(spark, name).count()
    keep("match_recognize", [_row(spark, df, name, arguments.events) for name in CLAUSES])


def _row(spark: Any, df: Any, name: str, count: int) -> Figure:
    matches: list[int] = []
    pairs: list[Pair] = []
    for _ in range(3):
        floor = _seconds(lambda: _floor(spark, name))
        pairs.append((floor, _seconds(lambda: matches.append(_found(spark, name).count()))))
    floor, ours = typical(pairs)
    _check(spark, df, name, max(count // EVENTS_A_KEY // 200, 1))
    print(
        f"{name:10} {count:>12,} {count // EVENTS_A_KEY:>9,} {matches[0]:>9,} {count / floor:>12,.0f}"
        f" {count / ours:>12,.0f} {ours / floor:>9.2f}x",
        flush=True,
    )
    return Figure(name, count, matches[0], floor, ours)


def _statement(name: str) -> str:
    return f"SELECT * FROM events MATCH_RECOGNIZE ({CLAUSES[name]}) AS m"


def _found(spark: Any, name: str) -> Any:
    return cepheid.sql(_statement(name), spark=spark)


def _floor(spark: Any, name: str) -> None:
    ((_, clause),) = read_statement(_statement(name)).clauses
    query = understood(clause, "spark")
    rows = in_order(asked_rows(spark, query, "events"), query)
    rows.mapInArrow(_counted, "n bigint").agg({"n": "sum"}).collect()


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"n": [batch.num_rows]})


# The same by hand.


def _check(spark: Any, df: Any, name: str, one_in: int) -> None:
    some = sorted(sampled(df, one_in).toArrow().to_pylist(), key=lambda row: (row["user"], row["time"]))
    wanted: Found = []
    for user, rows in groupby(some, key=lambda row: str(row["user"])):
        wanted += [(user, *found) for found in BY_HAND[name](list(rows))]
    found = [tuple(row.values()) for row in sampled(_found(spark, name), one_in).toArrow().to_pylist()]
    assert sorted(found) == sorted(wanted), f"{name}: {len(found)} matches instead of {len(wanted)}"
    assert wanted or name == "never", f"{name}: no match to compare"


def _visits(rows: list[Row]) -> Iterator[tuple[Any, ...]]:
    at = 0
    while at < len(rows):
        end = at + 1
        while end < len(rows) and rows[end]["type"] == "View":
            end += 1
        if rows[at]["type"] == "Login" and end < len(rows) and rows[end]["type"] == "Payment":
            yield rows[at]["time"], rows[end]["time"], end - at - 1
            at = end
        at += 1


def _v_shapes(rows: list[Row]) -> Iterator[tuple[Any, ...]]:
    at = 0
    while at < len(rows):
        bottom = at
        while bottom + 1 < len(rows) and rows[bottom + 1]["amount"] < rows[bottom]["amount"]:
            bottom += 1
        top = bottom
        while top + 1 < len(rows) and rows[top + 1]["amount"] > rows[top]["amount"]:
            top += 1
        if at < bottom < top:
            yield rows[at]["time"], rows[bottom]["amount"], rows[top]["time"]
            at = top
        at += 1


BY_HAND: dict[str, Callable[[list[Row]], Iterator[tuple[Any, ...]]]] = {
    "visit": _visits,
    "v_shape": _v_shapes,
    "never": lambda rows: iter(()),
}


def _seconds(action: Any) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=5_000_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
