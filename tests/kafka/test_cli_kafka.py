"""`cepheid run --engine spark --format kafka`: a topic of JSON records, bounded and as a stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kafka_broker import Kafka

from cepheid.cli import main
from cepheid.engines.spark.setup import start_session

pytest.importorskip("pyspark", reason="needs the extra spark")

from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

QUERY = """\
event Small { card: string, amount: float }
event Large { card: string, amount: float }
stream Fraud = Small as s -> Large[amount > 100] as l within 10m partition by card .emit(card, amount: l.amount)
"""
# Times as text and as numbers: a record may have either.
EVENTS: list[dict[str, Any] | None] = [
    {"type": "Small", "time": "1970-01-01T00:00:10Z", "card": "c1", "amount": 1.0},
    {"type": "Large", "time": 20, "card": "c1", "amount": 250},
    None,  # Kafka's mark of what was deleted
    {"type": "Large", "time": 30.5, "card": "c2", "amount": 900.0},
    {"type": "Small", "time": 600, "card": "c3", "amount": 2.0},
]
FOUND = [{"card": "c1", "amount": 250.0}]


@pytest.fixture(scope="module")
def spark(kafka: Kafka) -> SparkSession:
    return start_session("kafka tests", cores=2, config={"spark.jars": kafka.jars})


@pytest.fixture
def query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("q.cep").write_text(QUERY)
    return "q.cep"


def produce(spark: SparkSession, kafka: Kafka, topic: str, values: list[str | None]) -> None:
    rows = spark.createDataFrame([("k", v) for v in values], "key string, value string").coalesce(1)
    rows.write.format("kafka").option("kafka.bootstrap.servers", kafka.servers).option("topic", topic).save()


def read(kafka: Kafka, *args: str) -> Any:
    source = ("--engine", "spark", "--source-format", "kafka", "--format", "json")
    servers = ("--option", f"kafka.bootstrap.servers={kafka.servers}", "--option", "startingOffsets=earliest")
    return CliRunner().invoke(main, ["run", *args, *source, *servers])


def test_a_topic(kafka: Kafka, spark: SparkSession, query: str) -> None:
    produce(spark, kafka, "events", [None if e is None else json.dumps(e) for e in EVENTS])
    bounded = read(kafka, query, "events")
    assert bounded.exit_code == 0, bounded.output
    assert [json.loads(line) for line in bounded.stdout.splitlines()] == FOUND
    stream = ("--streaming", "--checkpoint", "state", "--disorder", "1m", "--trigger", "available-now")
    streamed = read(kafka, query, "--option", "subscribePattern=ev.*", *stream)
    assert streamed.exit_code == 0, streamed.output
    assert [json.loads(line) for line in streamed.stdout.splitlines()] == FOUND


def test_a_record_that_is_no_event(kafka: Kafka, spark: SparkSession, query: str) -> None:
    produce(spark, kafka, "odd", [json.dumps(EVENTS[0]), "{", json.dumps(EVENTS[1])])
    refused = read(kafka, query, "odd")
    assert (refused.exit_code, "Malformed" in refused.stderr) == (1, True)
    skipped = read(kafka, query, "odd", "--bad-rows", "skip")
    assert [json.loads(line) for line in skipped.stdout.splitlines()] == FOUND
