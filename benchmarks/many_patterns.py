"""One, 10, 100 and 200 patterns over the same events: what each further pattern costs.

Patterns are drawn from a few shapes with thresholds of their own, so that some share tests, as rules of a team do.
The matches of some users are compared with the reference, pattern by pattern, before a time is printed.

    python benchmarks/many_patterns.py [--events 2000000] [--engine local|spark]
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from pathlib import Path
from typing import Any

from _spark_data import EVENTS_A_KEY, events, sampled

import cepheid
from cepheid.engines.spark.setup import start_session
from cepheid.engines.warm import warm

FOLDER = Path("build/bench")
COUNTS = (10, 100, 200)
SHAPES = 5


def main() -> None:
    warnings.simplefilter("ignore")
    arguments = _arguments()
    warm()
    spark = start_session("cepheid many patterns", cores=2, config={"spark.sql.shuffle.partitions": "8"})
    df = events(spark, arguments.events, 16, FOLDER)
    run = {"local": _local, "spark": _spark}[arguments.engine]
    print(f"{arguments.events:,} events, {arguments.events // EVENTS_A_KEY:,} keys, {arguments.engine}")
    print(f"{'patterns':>8} {'matches':>10} {'seconds':>9} {'x one':>7}")
    rows: list[dict[str, float]] = []
    run(df, "\n".join(_patterns(SHAPES)))  # files and workers are warm for all that follows
    one = sum(run(df, pattern)[0] for pattern in _patterns(SHAPES)) / SHAPES
    print(f"{'one':>8} {'':>10} {one:>9.2f} {'1.0x':>7}  the mean of {SHAPES} shapes, each alone", flush=True)
    for count in COUNTS:
        program = "\n".join(_patterns(count))
        seconds, found = run(df, program)
        _check(df, program, found, max(arguments.events // EVENTS_A_KEY // 100, 1))
        matches = sum(len(ids) for ids in found.values())
        rows.append({"patterns": count, "matches": matches, "seconds": seconds})
        print(f"{count:>8} {matches:>10,} {seconds:>9.2f} {seconds / one:>6.1f}x", flush=True)
    rows.append({"patterns": 1, "seconds": one})
    (FOLDER / f"many_patterns_{arguments.engine}.json").write_text(json.dumps(rows, indent=1))


def _patterns(count: int) -> list[str]:
    """The first patterns of a list that is always the same."""
    chance = random.Random(7)
    return [_pattern(i, chance) for i in range(count)]


def _pattern(number: int, chance: random.Random) -> str:
    low, hours = chance.choice(range(900, 1000, 5)), chance.choice(range(1, 9))
    shape = (
        f"Login as a -> Payment[amount > {low}] as b -> Payment[amount > b.amount] as c .within({hours}h)",
        f"LoginFailed{{3,}} as f -> Login as a .within({hours}h) .stnm() .longest()",
        f"Order as a -> Payment[amount > {low}] as b -> Confirm[order == a.order] as c .within({hours}h)",
        f"Payment[amount > {low}] as a -> Order as b -> NOT Confirm[order == b.order] within {hours}h",
        f"LoginFailed as a -> Payment[amount > {low}] as b .within({hours}h) .stnm()",
    )[number % SHAPES]
    return f"stream P{number} = {shape} .partition_by(user) .emit(id: match_id(), user: user)"


def _local(df: Any, program: str) -> tuple[float, dict[str, list[tuple[str, str]]]]:
    paths = [f.removeprefix("file:").removeprefix("//") for f in df.inputFiles()]
    begin = time.perf_counter()
    found = cepheid.run(program, sorted(paths))
    seconds = time.perf_counter() - begin
    return seconds, {name: _pairs(_arrow(table)) for name, table in found.items()}


def _spark(df: Any, program: str) -> tuple[float, dict[str, list[tuple[str, str]]]]:
    begin = time.perf_counter()
    tables = {name: table.toArrow() for name, table in cepheid.run(program, df).items()}
    return time.perf_counter() - begin, {name: _pairs(table) for name, table in tables.items()}


def _arrow(table: Any) -> Any:
    return table.to_arrow() if hasattr(table, "to_arrow") else table


def _pairs(table: Any) -> list[tuple[str, str]]:
    return list(zip(table["id"].to_pylist(), table["user"].to_pylist(), strict=True))


def _check(df: Any, program: str, found: dict[str, list[tuple[str, str]]], one_in: int) -> None:
    """Some users by the reference matcher: the same ids of every pattern, or there is no figure."""
    some = sampled(df, one_in).toArrow()
    users = set(some["user"].to_pylist())
    expected = cepheid.run(program, some.to_pylist(), now=_end(df), engine="reference")
    for name, rows in expected.items():
        wanted = sorted(row["id"] for row in rows)
        own = sorted(id for id, user in found[name] if user in users)
        assert own == wanted, f"{name}: {len(own)} matches instead of {len(wanted)}"


def _end(df: Any) -> Any:
    return df.agg({"time": "max"}).toArrow()["max(time)"][0].as_py()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--engine", choices=["local", "spark"], default="local")
    return parser.parse_args()


if __name__ == "__main__":
    main()
