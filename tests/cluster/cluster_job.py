"""The job that is submitted: where cepheid comes from, a batch, and a stream over the same events."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import cepheid
from cepheid.engines.spark.setup import start_session

QUERY = """
stream Pair = A as a -> B[v > a.v] as b within 10m partition by key .emit(id: match_id(), key)
stream Quiet = A as a -> NOT C within 5m partition by key .emit(id: match_id(), key)
"""
SCHEMA = "type string, time timestamp, key string, v bigint"
WHERE = "cepheid string, python string, version string, path string, folder string"


def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a Python worker sees."""
    import cepheid

    for _ in batches:
        time.sleep(0.3)  # so that no executor does all of it
    row = {
        "cepheid": cepheid.__file__,
        "python": sys.executable,
        "version": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "path": os.pathsep.join(sys.path),
        "folder": os.getcwd(),
    }
    yield pa.RecordBatch.from_pylist([row])


def main(root: Path) -> None:
    spark = start_session("cepheid on a cluster", config={"spark.sql.shuffle.partitions": "4"})
    places = spark.range(0, 8, numPartitions=8).mapInArrow(where, WHERE).collect()
    found = cepheid.run(QUERY, spark.read.schema(SCHEMA).parquet(str(root / "in")))
    batch = {name: [row.id for row in found[name].collect()] for name in ("Pair", "Quiet")}
    _stream(spark, root)
    told = {
        "driver": {"cepheid": cepheid.__file__, "version": f"{sys.version_info[0]}.{sys.version_info[1]}"},
        "workers": [row.asDict() for row in places],
        "batch": batch,
        "master": spark.conf.get("spark.master"),
    }
    (root / "told.json").write_text(json.dumps(told))
    spark.stop()


def _stream(spark: Any, root: Path) -> None:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    query = cepheid.write_stream(
        QUERY,
        reader.parquet(str(root / "in")),
        checkpoint=root / "checkpoint",
        matches=root / "matches",
        disorder="60s",
        end_type="End",
        buckets=8,
        trigger={"availableNow": True},
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
