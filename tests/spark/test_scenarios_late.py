"""Golden scenarios of streams, with late and too late events, on Spark: each arrival is a micro-batch of its own.

A stream has one watermark, so scenarios cannot share their time: one comes after the other, each ended by a marker.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bundle import END, Bundle, bundles, outcome
from golden import FOLDER, Rows, wanted_streams
from streaming import read_stream, run_to_end, write_batches

from cepheid.engines.entrance import run
from cepheid.engines.options import make_options
from cepheid.engines.spark.evidence import evidence_payload, found_by
from cepheid.engines.spark.output import Answer
from cepheid.engines.spark.run import plan_job
from cepheid.pattern.times import from_microseconds
from cepheid.testing.scenarios import Scenario, load_scenarios, problems

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")]

THE_END = "the end"
DAY = 86_400_000_000
Settings = tuple[str, str | None, str]


def grouped() -> dict[Settings, list[Scenario]]:
    groups: dict[Settings, list[Scenario]] = defaultdict(list)
    for scenario in load_scenarios(FOLDER):
        if scenario.streaming and "error" not in scenario.options:
            disorder, lateness = scenario.option("disorder", "0s"), scenario.option("lateness")
            groups[disorder, lateness, scenario.option("too_late", "drop")].append(scenario)
    return dict(groups)


GROUPS = grouped()


def one_after_the_other(scenarios: list[Scenario]) -> list[Bundle]:
    """Bundles whose scenarios end a day apart."""
    found = bundles(scenarios)
    for bundle in found:
        placed, bundle.placed = bundle.placed, []
        for i, one in enumerate(placed):
            bundle.add(one.scenario, one.number, END + i * DAY)
    return found


def by_stream(spark: Any, bundle: Bundle, settings: Settings, folder: Path) -> Rows:
    from pyspark.sql import functions as F

    schema = bundle.table(bundle.events()).schema
    batches: list[pa.Table] = []
    for i, placed in enumerate(bundle.placed):
        batches += [pa.Table.from_pylist(bundle.table([e]).to_pylist(), schema) for e in placed.events]
        end = {"type": THE_END, "time": from_microseconds(END + i * DAY)}
        batches.append(pa.Table.from_pylist([end], schema))
    write_batches(folder / "in", batches)
    disorder, lateness, policy = settings
    options = make_options(
        order=(*bundle.order, "number_"),
        disorder=disorder,
        lateness=lateness,
        too_late=policy,
        buckets=1,
        end_type=THE_END,
    )
    job = plan_job(bundle.declarations(), read_stream(spark, folder / "in"), options)
    streams = wanted_streams(bundle)
    dead = job.answer([], ["dead_letter"]).payloads
    answer = Answer((*(evidence_payload(name, whole=True) for name in streams), *dead))
    _, texts = answer.arrays(answer.payloads[0])  # all streams have the same columns
    names = [name for name, _ in dead[0].columns]
    letters = [answer.arrays(dead[0])[names.index(n)].alias(n) for n in ("id", "scenario")]
    letter = F.transform(F.arrays_zip(*letters), lambda letter: F.to_json(letter))
    text = F.when(F.col("kind") == "dead_letter", letter).otherwise(texts)
    table = job.table(answer).select("kind", "stream", F.explode(text).alias("text"))
    return _read(run_to_end(table, folder))


def ids_of_the_local_engine(bundle: Bundle, settings: Settings) -> set[str]:
    """All scenarios in one go. Time goes on behind each of them, so that more becomes certain than before its end."""
    disorder, lateness, policy = settings
    results = run(
        bundle.declarations(),
        bundle.table(bundle.events()),
        order=(*bundle.order, "number_"),
        disorder=disorder,
        lateness=lateness,
        too_late=policy,
    )
    return {row["match_id"] for p in bundle.placed for row in results[p.watched].to_pylist()}


def _read(table: pa.Table) -> Rows:
    rows: Rows = defaultdict(list)
    for row in table.to_pylist():
        if row["kind"] == "dead_letter":
            rows["dead_letter", ""].append(json.loads(row["text"]))
        else:
            found = found_by(row["stream"], row["text"])
            rows[found.kind, found.stream].append(found.row)
    return rows


@pytest.mark.parametrize("settings", GROUPS, ids=lambda s: "_".join(map(str, s)))
def test_scenarios(spark: Any, settings: Settings, tmp_path: Path) -> None:
    found: list[str] = []
    for i, bundle in enumerate(one_after_the_other(GROUPS[settings])):
        rows = by_stream(spark, bundle, settings, tmp_path / str(i))
        program, known = bundle.program(), ids_of_the_local_engine(bundle, settings)
        for placed in bundle.placed:
            mine = outcome(placed, program, rows)
            found += [f"{placed.scenario.name}: {p}" for p in problems(placed.scenario, mine)]
            assert len(set(mine.ids)) == len(mine.ids)
            assert set(mine.ids) <= known
    assert found == []
