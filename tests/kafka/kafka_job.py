"""A job of a user's: from a topic to a topic. As a process of its own, so that it can be killed."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pyspark.sql import functions as F

import cepheid
from cepheid.engines.spark.setup import start_session

QUERY = """
stream Fraud = Small[amount < 5] as s -> Large[amount > 100] as l within 10m
    partition by card
    .emit(match_id: match_id(), card, small: s.amount, large: l.amount)
"""
SCHEMA = "type string, time timestamp, card string, amount double"


def main(servers: str, jars: str, checkpoint: str, die_after: int) -> None:
    spark = start_session(
        "cepheid and Kafka", cores=2, config={"spark.jars": jars, "spark.sql.shuffle.partitions": "2"}
    )
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "payments")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 100)
        .load()
    )
    events = records.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("e")).select("e.*")
    frauds = cepheid.KafkaSink(servers, "frauds")

    def write(rows: Any, batch: int) -> None:
        frauds.write(rows, batch)
        if batch == die_after:  # written, and not yet noted as done: the worst moment
            os.kill(os.getpid(), signal.SIGKILL)

    query = cepheid.write_stream(
        QUERY,
        events,
        checkpoint=checkpoint,
        matches=frauds if die_after < 0 else write,
        disorder="5m",
        end_type="End",
        buckets=4,
        trigger={"availableNow": True},
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
