"""Streams that feed on others, through the compiled matcher: matches are events among the rest, as in the reference."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from feeding_programs import programs
from hypothesis import given, note, reject, settings
from test_columnar import QUIET, compared, facts, forms_of, table_of

import cepheid
from cepheid.engines.columnar import choice, matching, scan
from cepheid.engines.local.run import Job, collect
from cepheid.engines.options import Options, make_options
from cepheid.errors import PatternMistake
from cepheid.pattern.event import Event
from cepheid.testing.strategies import FAMILIES
from cepheid.testing.strategies import events as some_events


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few events are several pieces, batches and chunks."""
    monkeypatch.setattr(scan, "BATCH", 4)
    monkeypatch.setattr(matching, "_LEAST", 2)
    monkeypatch.setattr(choice, "FEW", 0)
    monkeypatch.setattr(choice, "FEW_TO_COMPILE", 0)


# --- made-up programs ---------------------------------------------------------------------------------------


def _are_some(events: list[Event]) -> bool:
    return len(events) > 5


def check_programs(family: str, count: int) -> Counter[str]:
    seen: Counter[str] = Counter()

    @settings(max_examples=count, suppress_health_check=QUIET)
    @given(programs(family), some_events(14, ("A", "A", "A", "B", "B", "C", "X", "Z")).filter(_are_some))
    def run(query: str, events: list[Event]) -> None:
        note(query)
        table = table_of(events)
        try:
            cepheid.compile(query)
            took = compared(query, table, forms_of(table))
        except PatternMistake as mistake:
            note(str(mistake))
            reject()
        seen["taken" if took else "left"] += 1
        seen["found"] += took and bool(facts(query, table).get("matches", {}).get("Last"))

    run()
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_made_up_programs(family: str) -> None:
    check_programs(family, 8)


def test_most_programs_are_taken_and_find_something() -> None:
    seen = check_programs("simple", 60)
    assert seen["taken"] > 2 * seen["left"]
    assert seen["found"] * 3 > seen["taken"]


@pytest.mark.soak
@pytest.mark.parametrize("family", [*FAMILIES, "simple"])
def test_many_made_up_programs(family: str) -> None:
    check_programs(family, 500)


# --- by hand ------------------------------------------------------------------------------------------------


def table(*events: tuple[Any, ...]) -> pa.Table:
    """Type, second, key, value."""
    columns = zip(*events, strict=True)
    return pa.table(dict(zip(("type", "time", "k", "v"), map(list, columns), strict=True)))


BOTH = ("reference", "compiled")
PAIRS = """
stream Rise = A as a -> A[v > a.v] as b .partition_by(k) .within(10s) .emit(k, by: b.v - a.v)
stream Fall = Rise as r -> B[v < r.by] as b .partition_by(k) .within(10s) .emit(k, v: b.v, by: r.by)
"""


@pytest.mark.parametrize("engine", BOTH)
def test_a_match_comes_after_the_events_of_its_time(engine: str) -> None:
    events = table(("A", 1, 1, 1), ("A", 2, 1, 5), ("B", 2, 1, 0), ("B", 3, 1, 1), ("B", 4, 1, 7))
    found = cepheid.run(PAIRS, events, engine=engine)
    assert found["Rise"].to_pylist() == [{"k": 1, "by": 4}]
    assert found["Fall"].to_pylist() == [{"k": 1, "v": 1, "by": 4}]  # not the B of second 2


@pytest.mark.parametrize("size", [1, 2, 3])
def test_events_of_one_time_are_not_parted(size: int) -> None:
    """However many events the reference matcher is given at once."""
    events = table(("A", 1, 1, 1), ("B", 1, 1, 0), ("B", 2, 1, 0))
    query = "stream S = A as a .emit(v: a.v)\nstream T = S as s -> B as b .emit(at: b.time)"
    found = collect(Job(query, events, Options(batch_size=size), engine="reference"))
    assert [row["at"].second for row in found["T"].to_pylist()] == [2]


@pytest.mark.parametrize("engine", BOTH)
def test_a_match_by_a_deadline_has_its_time(engine: str) -> None:
    query = """
    stream Quiet = A as a -> NOT X within 3s .partition_by(k) .emit(k, v: a.v)
    stream After = Quiet as q -> B as b .partition_by(k) .within(2s) .emit(k, at: b.time)
    """
    events = table(("A", 1, 1, 0), ("B", 3, 1, 0), ("B", 6, 1, 0), ("B", 7, 1, 0), ("Z", 9, 1, 0))
    found = cepheid.run(query, events, engine=engine)
    assert [row["at"].second for row in found["After"].to_pylist()] == [6]  # certain at 4, until 6


@pytest.mark.parametrize("engine", BOTH)
def test_matches_are_shown_whole_with_their_own_fields(engine: str) -> None:
    events = table(("A", 1, 1, 1), ("A", 2, 1, 5), ("C", 3, 2, 9))
    query = PAIRS + "stream Shown = Rise as r -> C as c\n"
    (row,) = cepheid.run(query, events.to_pylist(), engine=engine)["Shown"]
    assert list(row["r"]) == ["k", "by", "time", "type"]
    assert row["r"]["type"] == "Rise"
    assert list(row["c"]) == ["type", "time", "k", "v"]


def test_what_only_feeds_on_matches_does_not_read_the_events_again(tmp_path: Path) -> None:
    events = table(*(("A", i, i % 3, i % 7) for i in range(60)))
    path = tmp_path / "events.parquet"
    pq.write_table(events, path, row_group_size=10)
    query = (
        PAIRS.split("stream Fall")[0] + "stream Twice = Rise as r -> Rise[by > r.by] as s .partition_by(k)"
    )
    job = Job(query, str(path), make_options(), engine="compiled")
    read: list[Any] = []
    assert job.choice.scan is not None
    for piece in job.choice.scan.pieces:
        object.__setattr__(piece, "read", lambda names, own=piece.read: read.append(names) or own(names))
    found = collect(job)
    assert found["Twice"].equals(cepheid.run(query, events, engine="reference")["Twice"])
    assert len(found["Twice"])
    assert len(read) == 6


@pytest.mark.parametrize("policy", ["fail", "skip", "dead_letter"])
def test_bad_rows_are_told_once(policy: str) -> None:
    events = table(("A", 1, 1, 1), ("A", None, 1, 3), (None, 2, 1, 1), ("A", 2, 1, 5), ("B", 3, 1, 1))
    wanted = facts(PAIRS, events, engine="reference", bad_rows=policy)
    assert facts(PAIRS, events, engine="compiled", bad_rows=policy) == wanted


# --- what stays with the reference matcher ------------------------------------------------------------------

UP = "stream U = A as a -> B as b .emit(v: b.v)\n"
DOWN = "stream D = U as u -> C as c .emit(v: u.v)"
LEFT = {
    "a column that is a time": (
        "stream U = A as a .emit(v: a.v, time: a.time)\n" + DOWN,
        {},
        [
            "U: `D` feeds on it, which the reference matcher takes",
            "D: it feeds on `U`, which has a column `time` of its own",
        ],
    ),
    "a whole event": (
        "stream U = A as a -> B as b .emit(v: b)\nstream D = U as u -> C as c .emit(v: u.v.v)",
        {},
        ["U: `D` feeds on it, which the reference matcher takes", "D: `v` of `U` is of no plain type"],
    ),
    "another type": (
        "stream U = A as a .emit(v: a.v * 0.5)\n" + DOWN,
        {},
        [
            "U: `D` feeds on it, which the reference matcher takes",
            "D: `v` of `U` has another type than that of other events",
        ],
    ),
    "an order": (
        UP + DOWN,
        {"order": "k"},
        [
            "U: `D` feeds on it, which the reference matcher takes",
            "D: it feeds on another stream, and events have an order besides their time",
        ],
    ),
    "matches that may be provisional": (
        "stream U = A as a -> all B as b -> C as c .each(eager: true) .emit(v: count(b))\n" + DOWN,
        {},
        [
            "U: its matches may be provisional, and another stream feeds on it",
            "D: it feeds on `U`, which the reference matcher takes",
        ],
    ),
    "aggregates of trends": (
        "stream U = A+ as a .subsets() .trend_aggregate(v: count_trends())\n" + DOWN,
        {},
        [
            "U: its trends are aggregated, and another stream feeds on it",
            "D: it feeds on `U`, which has a column `time` of its own",
        ],
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_why_not(name: str) -> None:
    query, options, reasons = LEFT[name]
    events = table(("A", 1, 1, 1), ("B", 2, 1, 5), ("C", 3, 2, 9))
    job = Job(query, events, make_options(**options))
    assert [f"{s.name}: {job.choice.why_not(s.name)}" for s in job.program] == reasons
    assert facts(query, events, **options) == facts(query, events, engine="reference", **options)


def test_others_are_taken_beside_them() -> None:
    query = UP + DOWN + "\nstream Alone = A as a -> C as c .emit(v: a.v)"
    events = table(("A", 1, 1, 1), ("B", 2, 1, 5), ("C", 3, 2, 9))
    job = Job(query, events, make_options(order="k"))
    assert [s.name for s in job.choice.streams] == ["Alone"]
    assert facts(query, events, order="k") == facts(query, events, engine="reference", order="k")
