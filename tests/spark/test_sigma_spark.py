"""Sigma rules on Spark: ordinary patterns, so the same matches as locally. One chain of streams stands for all."""

from __future__ import annotations

import random
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cepheid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="needs the extra spark")
pytest.importorskip("sigma.collection", reason="needs the extra sigma")

sys.path.insert(0, str(Path(__file__).parent.parent / "sigma"))

from sigma_cases import correlation_text, numbers, program_text

pytestmark = pytest.mark.spark

START = datetime(2024, 5, 1, tzinfo=UTC)
RULES = {
    "fail": {"s": {"outcome": "fail*"}, "local": {"ip|cidr": "10.0.0.0/8"}, "condition": "s and not local"},
    "good": {"s": {"outcome": "Ok"}, "condition": "s"},
}
CORRELATIONS: dict[str, dict[str, Any]] = {
    "many": {"type": "event_count", "rules": ["fail"], "condition": {"gte": 3}},
    "broken in": {"type": "temporal", "rules": ["many", "good"]},
}


def test_the_matches_of_the_local_engine(spark: SparkSession) -> None:
    chance = random.Random(3)
    rows = [
        {
            "n": n,
            "time": START + timedelta(seconds=7 * n),
            "outcome": chance.choice(["FAILED", "failure", "ok", "other"]),
            "user": chance.choice(["ann", "bob", "eve"]),
            "ip": chance.choice(["10.0.0.1", "1.2.3.4", "5.6.7.8"]),
        }
        for n in range(120)
    ]
    common = {"group-by": ["user"], "timespan": "1m"}
    texts = [
        program_text(RULES),
        *(correlation_text({**common, **c}, name) for name, c in CORRELATIONS.items()),
    ]
    program = cepheid.sigma_patterns("---\n".join(texts))
    locally = cepheid.run(program, rows)
    on_spark = cepheid.run(program, spark.createDataFrame(rows))
    found = [_plain(row.asDict(recursive=True)) for row in on_spark["broken in"].collect()]
    assert Counter(found) == Counter(map(_plain, locally["broken in"]))
    assert found


def _plain(match: dict[str, Any]) -> tuple[Any, ...]:
    """The events of a match; of a match among them, its own."""
    events = {k: v for k, v in match.items() if not (isinstance(v, dict) and "hits" in v)}
    inner = [v for v in match.values() if isinstance(v, dict) and "hits" in v]
    return (match["user"], *numbers(events), *(n for m in inner for n in numbers({"hits": m["hits"]})))
