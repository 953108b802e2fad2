"""The job that `test_crash.py` kills: a folder of Parquet files, one a micro-batch, into folders of findings.

As a process of its own. It says how far it is in the file `mark`, so that the test knows what a kill has hit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cepheid
from cepheid.engines.spark.setup import start_session

QUERY = """
stream Pair = A as a -> B[v > a.v + 40] as b within 10m partition by key .emit(id: match_id(), key)
stream Quiet = A[v > 20] as a -> NOT C within 5m partition by key .emit(id: match_id(), key)
stream Many = A[v > 50] as a -> all B as b -> C[v > 50] as c within 15m partition by key
    .emit(id: match_id(), key, bs: count(b))
"""
STREAMS = ("Pair", "Quiet", "Many")
SCHEMA = "type string, time timestamp, key string, v bigint, n bigint"
DISORDER = "60s"
END = "End"
SETTINGS: dict[str, Any] = {"disorder": DISORDER, "end_type": END, "buckets": 8}
NOW = {"availableNow": True}


def sinks(root: Path, events: Any) -> Any:
    """One query, each kind of finding to a sink of ours."""
    return cepheid.write_stream(
        QUERY,
        events,
        checkpoint=root / "checkpoint",
        matches=cepheid.ParquetSink(root / "matches"),
        dead_letters=cepheid.ParquetSink(root / "dead"),
        trigger=NOW,
        **SETTINGS,
    )


def plain(root: Path, events: Any) -> Any:
    """Spark's own file sink, with the list of files that it keeps."""
    found = events.transform(cepheid.detect(QUERY, stream="Many", too_late="drop", **SETTINGS))
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(root / "checkpoint"))
    return writer.option("path", str(root / "matches")).trigger(**NOW).start()


def main(root: Path, how: str) -> None:
    spark = start_session("cepheid crash", cores=2, config={"spark.sql.shuffle.partitions": "2"})
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    query = {"sinks": sinks, "plain": plain}[how](root, reader.parquet(str(root / "in")))
    (root / "mark").write_text("active")
    query.awaitTermination()
    (root / "mark").write_text("ended")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
