"""From Kafka to Kafka: a known fraud is found, and a job that is killed and started again loses nothing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import Kafka

import cepheid
from cepheid.engines.spark.setup import start_session

pytest.importorskip("pyspark", reason="needs the extra spark")

from kafka_job import QUERY
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

START = datetime(2024, 6, 3, 8, tzinfo=UTC)


def payments(count: int = 500) -> list[dict[str, Any]]:
    """Half an hour of payments of many cards; the first of them, `stolen`, is the fraud we know of."""
    random.seed(7)
    events = [
        {"type": "Small", "card": "stolen", "amount": 1.0, "at": 1},
        {"type": "Large", "card": "stolen", "amount": 950.0, "at": 40},
    ]
    for number in range(count):
        large = random.random() < 0.3
        amount = round(random.uniform(50, 400) if large else random.uniform(1, 20), 2)
        card = f"c{random.randrange(60)}"
        events.append(
            {"type": "Large" if large else "Small", "card": card, "amount": amount, "at": number * 3.6}
        )
    return [{**e, "time": _instant(e["at"])} for e in sorted(events, key=lambda e: e["at"])]


def _instant(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


@pytest.fixture(scope="session")
def spark(kafka: Kafka) -> SparkSession:
    return start_session("kafka tests", cores=2, config={"spark.jars": kafka.jars})


def produce(spark: SparkSession, kafka: Kafka, topic: str, events: list[dict[str, Any]]) -> None:
    records = [(e["card"], json.dumps(e)) for e in events]
    rows = spark.createDataFrame(records, "key string, value string").coalesce(1)  # in their order
    rows.write.format("kafka").option("kafka.bootstrap.servers", kafka.servers).option("topic", topic).save()


def consume(spark: SparkSession, kafka: Kafka, topic: str) -> list[tuple[str, dict[str, Any]]]:
    records = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.servers)
    rows = (
        records.option("subscribe", topic).load().selectExpr("cast(key as string)", "cast(value as string)")
    )
    return [(row.key, json.loads(row.value)) for row in rows.collect()]


def run_job(kafka: Kafka, checkpoint: Path, die_after: int = -1) -> int:
    job = [sys.executable, str(Path(__file__).parent / "kafka_job.py")]
    done = subprocess.run(
        [*job, kafka.servers, kafka.jars, str(checkpoint), str(die_after)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-4000:]
    return done.returncode


def test_from_kafka_to_kafka_with_a_job_that_is_killed(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    events = payments()
    produce(spark, kafka, "payments", events)
    assert run_job(kafka, tmp_path / "checkpoint", die_after=3) == -signal.SIGKILL
    assert run_job(kafka, tmp_path / "checkpoint") == 0
    end = {"type": "End", "time": _instant(3600), "card": None, "amount": None}
    produce(spark, kafka, "payments", [end])
    assert run_job(kafka, tmp_path / "checkpoint") == 0

    wanted = {row["match_id"]: row for row in cepheid.match(QUERY, events)}
    found = consume(spark, kafka, "frauds")
    assert "stolen" in {row["card"] for row in wanted.values()}
    assert len(wanted) > 20
    # The batch in which the job was killed is there twice, and the ids tell.
    times = Counter(key for key, _ in found)
    assert set(times.values()) == {1, 2}
    assert dict(found) == wanted
