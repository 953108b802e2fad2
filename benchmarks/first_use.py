"""What the kernel costs at its first use in a fresh process: compiled before, it comes from the cache on disk.

The overhead is the time of a first match less that of a second one. Then a fresh Spark worker is asked whether its
kernel came from the cache.

    python benchmarks/first_use.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from cepheid.engines.spark.setup import start_session
from cepheid.engines.warm import warm

FOLDER = Path("build/bench")
QUERIES = {"all": "A -> B", "stnm": "A -> B .stnm()", "every": "every (A -> B)"}
_FRESH = """
import json, sys, time
import numpy as np, pyarrow as pa  # what every job loads
import cepheid
rows = 40_000
table = pa.table({"type": ["A", "B"] * (rows // 2), "time": np.arange(rows), "k": np.arange(rows) // 8})
query = sys.argv[1] + " .partition_by(k) .emit(id: match_id())"
seconds = []
for _ in range(2):
    begin = time.perf_counter()
    found = cepheid.match(query, table)
    seconds.append(time.perf_counter() - begin)
from cepheid.matching.compiled.kernel.entrance import match_keys
hits, misses = (sum(c.values()) for c in (match_keys.stats.cache_hits, match_keys.stats.cache_misses))
print(json.dumps({"first": seconds[0], "second": seconds[1], "matches": len(found), "hits": hits, "misses": misses}))
"""


def main() -> None:
    warm()
    rows = {name: _fresh(query) for name, query in QUERIES.items()}
    print(f"{'selection':10} {'first use':>10} {'second':>8} {'overhead':>9}  compiled again")
    for name, row in rows.items():
        assert row["matches"], "nothing was matched"
        overhead = row["first"] - row["second"]
        print(
            f"{name:10} {row['first']:>9.2f}s {row['second']:>7.2f}s {overhead:>8.2f}s  {row['misses'] > 0}"
        )
    hits, misses = _in_a_worker()
    print(f"in a Spark worker: {hits} from the cache, {misses} compiled again")
    FOLDER.mkdir(parents=True, exist_ok=True)
    result = {"fresh process": rows, "spark worker": {"hits": hits, "misses": misses}}
    (FOLDER / "first_use.json").write_text(json.dumps(result, indent=1))


def _fresh(query: str) -> dict[str, float]:
    """The best of three: the first one also brings the files into memory."""
    command = [sys.executable, "-W", "ignore", "-c", _FRESH, query]
    outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(3)]
    return min((json.loads(text.splitlines()[-1]) for text in outputs), key=lambda row: row["first"])


def _in_a_worker() -> tuple[int, int]:
    spark = start_session("cepheid first use", cores=1)

    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        list(batches)
        warm()
        from cepheid.matching.compiled.kernel.entrance import match_keys

        stats = match_keys.stats
        counts = [sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]
        yield pa.RecordBatch.from_pydict({"hits": counts[:1], "misses": counts[1:]})

    row = spark.range(1).mapInArrow(ask, "hits bigint, misses bigint").collect()[0]
    spark.stop()
    return row.hits, row.misses


if __name__ == "__main__":
    main()
