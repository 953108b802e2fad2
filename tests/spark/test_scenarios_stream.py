"""Every golden scenario on Spark streaming, many in one query: event by event, all in one, cut and shuffled."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bundle import END, Bundle
from streaming import read_stream, run_to_end, write_batches
from test_scenarios_batch import BUNDLES, Rows, by_reference, compared, wanted_streams

from cepheid.engines.options import make_options
from cepheid.engines.spark.evidence import evidence_payload, found_by
from cepheid.engines.spark.output import Answer
from cepheid.engines.spark.run import SparkJob, plan_job
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")]

THE_END = "the end"
SECOND = 1_000_000
Cut = Callable[[Bundle], list[list[Event]]]


def one_by_one(bundle: Bundle) -> list[list[Event]]:
    """In time order, and of each scenario one event a micro-batch."""
    batches: dict[tuple[int, int], list[Event]] = {}
    for placed in bundle.placed:
        seen: Counter[int] = Counter()
        for event in sorted(placed.events, key=Event.place_in_order):
            batches.setdefault((event.time, seen[event.time]), []).append(event)
            seen[event.time] += 1
    return [batches[at] for at in sorted(batches)]


def all_in_one(bundle: Bundle) -> list[list[Event]]:
    return [bundle.events()]


def cut_and_shuffled(bundle: Bundle) -> list[list[Event]]:
    """Every event up to five seconds late, and then cut anywhere."""
    chance = random.Random(len(bundle.placed))
    arriving = sorted(bundle.events(), key=lambda e: e.time + chance.uniform(0, 5 * SECOND))
    cuts = sorted({0, len(arriving), *(chance.randrange(len(arriving)) for _ in range(5))})
    return [arriving[a:b] for a, b in pairwise(cuts)]


def by_stream(spark: Any, bundle: Bundle, cut: Cut, disorder: str, folder: Path) -> Rows:
    batches = [bundle.table(events) for events in cut(bundle)]
    schema = bundle.table(bundle.events()).schema
    end = pa.Table.from_pylist([{"type": THE_END, "time": from_microseconds(END)}], schema)
    batches = [pa.Table.from_pylist(b.to_pylist(), schema) for b in batches]
    write_batches(folder / "in", [*batches, end])
    options = make_options(order=(*bundle.order, "n"), disorder=disorder, buckets=3, end_type=THE_END)
    job = plan_job(bundle.declarations(), read_stream(spark, folder / "in"), options)
    return read_texts(run_to_end(texts(job, wanted_streams(bundle)), folder))


def texts(job: SparkJob, streams: list[str]) -> Any:
    """Findings as text, in one column for all streams: hundreds of streams have thousands of columns."""
    from pyspark.sql import functions as F

    answer = Answer(tuple(evidence_payload(name, whole=True) for name in streams))
    bodies = [F.col(f"_p{i}").getField("text") for i in range(len(streams))]
    return job.table(answer).select("stream", F.coalesce(*bodies).alias("text"))


def read_texts(table: pa.Table) -> Rows:
    rows: Rows = defaultdict(list)
    for row in table.to_pylist():
        found = found_by(row["stream"], row["text"])
        rows[found.kind, found.stream].append(found.row)
    return rows


CUTS: dict[str, tuple[Cut, str]] = {
    "one_by_one": (one_by_one, "0s"),
    "all_in_one": (all_in_one, "0s"),
    "cut_and_shuffled": (cut_and_shuffled, "5s"),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda b: f"{len(b.placed)}_scenarios")
def test_scenarios(spark: Any, bundle: Bundle, cut: str, tmp_path: Path) -> None:
    how, disorder = CUTS[cut]
    assert compared(bundle, by_stream(spark, bundle, how, disorder, tmp_path), by_reference(bundle)) == []
