"""CSV, JSON lines and a list of dicts on one machine: the compiled matcher beside the reference matcher.

    .venv/bin/python benchmarks/text_files.py [--events 300000] [--keys 2000]

Both answers are compared, row by row and in their order, before a time is told. Seconds are those of the processor, of
all threads: others may use the machine too. The kernel is loaded before.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from pathlib import Path
from typing import Any

import cepheid

QUERY = """A as a -> B[v > a.v] as b -> C[price > b.price + 40] as c
    .partition_by(k) .within(20m) .emit(id: match_id(), k: k, v: b.v, price: c.price)"""
WHOLE = "A as a -> B[v > a.v + 95] as b .partition_by(k) .within(20m)"
NAMES = ("type", "time", "k", "v", "price", "note")


def make_rows(count: int, keys: int) -> list[dict[str, Any]]:
    rng = random.Random(1)
    return [
        {
            "type": rng.choice("ABC"),
            "time": 1_700_000_000 + i // 5,
            "k": f"k{rng.randrange(keys)}",
            "v": rng.randrange(100),
            "price": round(rng.random() * 100, 2) + 0.001,
            "note": "x" * (i % 5),
        }
        for i in range(count)
    ]


def make_files(rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    lines = folder / "events.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {"JSON lines": lines}
    for name, quoted in (("CSV", False), ("CSV, quoted", True)):
        path = folder / f"{name.replace(', ', '_')}.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, NAMES, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
            writer.writeheader()
            writer.writerows(rows)
        files[name] = path
    return {**files, "list of dicts": rows}


def timed(query: str, events: Any, engine: str) -> tuple[float, Any]:
    began = time.process_time()
    found = cepheid.match(query, events, engine=engine)
    return time.process_time() - began, found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--keys", type=int, default=2_000)
    given = parser.parse_args()
    files = make_files(make_rows(given.events, given.keys), Path("build/bench/text_files"))
    print(f"{given.events:,} events of {given.keys:,} keys; seconds of the processor")
    print(f"{'':32} {'reference':>10} {'compiled':>10} {'times':>6} {'events/s':>10}")
    for what, query in (("columns", QUERY), ("whole events", WHOLE)):
        for name, events in files.items():
            timed(query, events, "compiled")
            compiled, found = timed(query, events, "compiled")
            reference, wanted = timed(query, events, "reference")
            if found != wanted or not len(found):
                raise SystemExit(f"{name}: the compiled matcher and the reference matcher do not agree")
            rate = given.events / compiled
            label = f"{name}, {what}"
            print(
                f"{label:32} {reference:10.2f} {compiled:10.2f} {reference / compiled:6.1f} {rate:10,.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
