"""The golden scenarios in bundles, and how a bundle is run and judged; shared by the tests of all Spark engines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from bundle import Bundle, bundles, outcome, runnable

from cepheid.engines.entrance import run
from cepheid.engines.local.run import Results
from cepheid.engines.options import make_options
from cepheid.engines.spark.run import plan_job
from cepheid.testing.scenarios import Outcome, Scenario, load_scenarios, problems

FOLDER = Path(__file__).parents[1] / "scenarios"
Rows = dict[tuple[str, str], list[dict[str, Any]]]  # by kind and stream


@cache
def golden_bundles() -> list[Bundle]:
    """Every scenario of bounded input that is not an error."""
    return bundles(
        [s for s in load_scenarios(FOLDER) if "error" not in s.options and not s.streaming and runnable(s)]
    )


def wanted_streams(bundle: Bundle) -> list[str]:
    return [n for p in bundle.placed for n in (p.watched, p.emitting) if n is not None]


def by_reference(bundle: Bundle) -> Rows:
    """The same program over the same table, by the reference matcher."""
    results: Results = run(
        bundle.declarations(), bundle.table(bundle.events()), order=(*bundle.order, "number_")
    )
    rows: Rows = {}
    for kind, frames in (("match", results), ("pending", results.pending), ("timeout", results.timeouts)):
        for name, frame in frames.items():
            rows[kind, name] = frame.to_pylist()
    return rows


def by_spark(spark: Any, bundle: Bundle) -> Rows:
    df = spark.createDataFrame(bundle.table(bundle.events()))
    job = plan_job(bundle.declarations(), df, make_options(order=(*bundle.order, "number_")))
    answer = job.answer(wanted_streams(bundle), ["match", "pending", "timeout"])
    return collected(answer, job.table(answer).toArrow())


def collected(answer: Any, table: Any) -> Rows:
    rows: Rows = defaultdict(list)
    for kind, stream, row in answer.findings(table):
        rows[kind, stream].append(row)
    return rows


def compared(bundle: Bundle, rows: Rows, expected: Rows) -> list[str]:
    """What differs from the scenarios' own expectations, and from the reference."""
    program = bundle.program()
    found = []
    for placed in bundle.placed:
        mine = outcome(placed, program, rows)
        found += [f"{placed.scenario.name}: {p}" for p in problems(_unordered(placed.scenario), mine)]
        found += differences(placed.scenario.name, mine, outcome(placed, program, expected))
    return found


def _unordered(scenario: Scenario) -> Scenario:
    """Rows of a DataFrame have no order."""
    return replace(scenario, options={k: v for k, v in scenario.options.items() if k != "ordered"})


def differences(name: str, mine: Outcome, other: Outcome) -> list[str]:
    found = []
    for what in ("ids", "matches", "timeouts", "pending"):
        one, two = sorted(getattr(mine, what)), sorted(getattr(other, what))
        if one != two:
            found.append(f"{name}: {what} {one} instead of {two}")
    return found
