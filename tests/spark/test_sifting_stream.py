"""Graph patterns over streams on Spark: the golden scenarios as partitions of one stream, shuffled, cut and restarted.

Most of it is tested without Spark, in `test_sifting_bucket.py`.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from graph_bundle import TARGETS, bundle, cut, edge, found_shapes, shuffled, table
from pyspark.sql import SparkSession
from streaming import read_stream, run_to_end, write_batches

import cepheid
from cepheid.engines.spark.metrics import observed_in
from cepheid.engines.spark.sifting_work import HAPPENINGS
from cepheid.errors import InputMistake

pytestmark = pytest.mark.spark

PAIR = 'graph pattern pair { stage a { .kind = "a" } stage b { .kind = "b" } within 5s }'


def sifted(stream: Any, patterns: Any, **options: Any) -> Any:
    given: dict[str, Any] = {
        "partition_by": "graph",
        "target": TARGETS,
        "tick": "tick",
        "time": "time",
        "disorder": "3 seconds",
        **options,
    }
    return cepheid.sift(patterns, stream, **given)


def test_the_scenarios_as_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Out of order, in several micro-batches, with a restart between them; and one edge comes too late."""
    golden, chance = bundle(), random.Random(4)
    batches = cut(shuffled(golden.rows, chance, 3), chance, 4)
    late = edge("late", ("e1", "then_sharing.k", "a"), -100)
    batches[3] = pa.concat_tables([table([late]), batches[3]])
    progress: list[Any] = []
    for some in (batches[:2], batches[2:]):
        write_batches(tmp_path / "in", some)
        stream = read_stream(spark, tmp_path / "in")
        told = sifted(stream, golden.patterns, too_late="dead_letter", happenings=HAPPENINGS)
        found = run_to_end(told, tmp_path, progress)
    assert told.isStreaming
    assert told.columns[:4] == ["graph", "kind", "id", "pattern"]
    assert found_shapes(found) == golden.expected
    assert set(found["kind"].to_pylist()) == {"match", "too_late", *HAPPENINGS}
    (letter,) = [row for row in found.to_pylist() if row["kind"] == "too_late"]
    assert (letter["graph"], dict(letter["bindings"])["source"]) == ("late", "e1")
    sums = [observed_in(p) or {} for p in progress]
    assert sum(s.get("too_late", 0) for s in sums) == 1
    assert sum(s.get("matches", 0) for s in sums) == len(golden.expected)


@pytest.mark.soak
def test_the_scenarios_in_many_cuts(spark: SparkSession, tmp_path: Path) -> None:
    golden, chance = bundle(), random.Random(5)
    batches = cut(shuffled(golden.rows, chance, 3), chance, 12)
    for some in (batches[:1], batches[1:5], batches[5:6], batches[6:]):
        write_batches(tmp_path / "in", some)
        stream = read_stream(spark, tmp_path / "in")
        found = run_to_end(sifted(stream, golden.patterns, buckets=3), tmp_path)
    assert found_shapes(found) == golden.expected


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("no_column", {"partition_by": "graf"}),
    ("no_column", {"end": "until"}),
    ("bad_time_column", {"start": "tick", "time": None}),
    ("no_watermark", {"disorder": None}),
    ("duplicate_name", {"partition_by": "first"}),
    ("nested_in_stream", {"partition_by": ["graph", "places"]}),
    ("bad_option", {"happenings": ["expird"]}),
    ("bad_option", {"too_late": "forget"}),
]


def test_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [table([edge("g", ("e1", "kind", "a"), 1)])])
    stream = read_stream(spark, tmp_path / "in").selectExpr("*", "1 AS first", "array(1) AS places")
    for code, options in REFUSED:
        with pytest.raises(InputMistake) as caught:
            sifted(stream, PAIR, **options)
        assert caught.value.code == code, options
        assert caught.value.hint
    for bounded in (spark.read.parquet(str(tmp_path / "in")), pa.table({})):
        with pytest.raises(InputMistake) as caught:
            sifted(bounded, PAIR)
        assert caught.value.code == "not_streaming"
