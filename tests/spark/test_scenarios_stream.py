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
from golden import Rows, by_reference, compared, golden_bundles, wanted_streams
from streaming import read_stream, run_to_end, write_batches

from cepheid.engines.options import make_options
from cepheid.engines.spark.evidence import evidence_payload, found_by
from cepheid.engines.spark.output import Answer, each_finding
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


def cut_and_shuffled(bundle: Bundle, cuts: int = 1) -> list[list[Event]]:
    """Every event up to five seconds late, and then cut anywhere."""
    chance = random.Random(len(bundle.placed))
    arriving = sorted(bundle.events(), key=lambda e: e.time + chance.uniform(0, 5 * SECOND))
    places = sorted({0, len(arriving), *(chance.randrange(len(arriving)) for _ in range(cuts))})
    return [arriving[a:b] for a, b in pairwise(places)]


def by_stream(spark: Any, bundle: Bundle, cut: Cut, disorder: str, folder: Path) -> Rows:
    batches = [bundle.table(events) for events in cut(bundle)]
    schema = bundle.table(bundle.events()).schema
    end = pa.Table.from_pylist([{"type": THE_END, "time": from_microseconds(END)}], schema)
    batches = [pa.Table.from_pylist(b.to_pylist(), schema) for b in batches]
    write_batches(folder / "in", [*batches, end])
    options = make_options(order=(*bundle.order, "number_"), disorder=disorder, buckets=3, end_type=THE_END)
    job = plan_job(bundle.declarations(), read_stream(spark, folder / "in"), options)
    return read_texts(run_to_end(texts(job, wanted_streams(bundle)), folder))


def texts(job: SparkJob, streams: list[str]) -> Any:
    """Findings as text, in one column for all streams: hundreds of streams have thousands of columns."""

    answer = Answer(tuple(evidence_payload(name, whole=True) for name in streams))
    arrays = answer.arrays(answer.payloads[0])  # all streams have the same columns
    return each_finding(job.table(answer), arrays, ["at", "text"], beside=["stream"]).drop("at")


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
    "cut_often": (lambda bundle: cut_and_shuffled(bundle, 4), "5s"),
}


def check(spark: Any, cut: str, which: list[Bundle], folder: Path) -> None:
    how, disorder = CUTS[cut]
    found: list[str] = []
    for i, bundle in enumerate(which):
        rows = by_stream(spark, bundle, how, disorder, folder / str(i))
        found += compared(bundle, rows, by_reference(bundle))
    assert found == []


def test_scenarios_cut_and_shuffled(spark: Any, tmp_path: Path) -> None:
    check(spark, "cut_and_shuffled", [b for b in golden_bundles() if not b.all_rows], tmp_path)


def test_scenarios_event_by_event(spark: Any, tmp_path: Path) -> None:
    """Here those where every event counts; all of them, in all ways, in `make soak`."""
    check(spark, "one_by_one", [b for b in golden_bundles() if b.all_rows], tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("cut", ["one_by_one", "all_in_one", "cut_often"])
def test_all_scenarios(spark: Any, cut: str, tmp_path: Path) -> None:
    check(spark, cut, golden_bundles(), tmp_path)
