"""Micro-batches from files: each file is one, in the order they were written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def write_batches(folder: Path, batches: Sequence[pa.Table]) -> None:
    """After those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, table in enumerate(batches, len(list(folder.glob("*.parquet")))):
        path = folder / f"{i:05}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000 + i, 1_000_000 + i))  # the file source goes by this


def read_stream(spark: Any, folder: Path) -> Any:
    """A streaming DataFrame with one file a micro-batch."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run_to_end(table: Any, folder: Path, progress: list[Any] | None = None) -> pa.Table:
    """Runs a streaming DataFrame over all there is; the answer is what it wrote. `progress` gets what Spark tells."""
    query = (
        table.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    if progress is not None:
        progress += query.recentProgress
    out = folder / "out"
    found = table.sparkSession.read.schema(table.schema).parquet(str(out))
    return found.toArrow()
