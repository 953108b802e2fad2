"""What the local engine reads in columns: every kind of frame and file, times, keys, bad rows, errors, options."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from test_columnar import facts

import cepheid
from cepheid.cli.app import main
from cepheid.cli.running import size_of
from cepheid.engines.columnar import choice, matching, results, scan
from cepheid.engines.local.arrow_types import struct_of_arrow
from cepheid.engines.local.run import Job
from cepheid.engines.options import make_options
from cepheid.engines.program import compile
from cepheid.errors import EvaluationError, InputMistake
from cepheid.matching.compiled.compiled_plan import CompiledPlan

AT = datetime(2024, 5, 1, tzinfo=UTC)
EMIT = "A as a -> B[v > a.v] as b .partition_by(k) .within(1h) .emit(id: match_id(), k: k, v: b.v, s: a.s)"
WHOLE = "A as a -> B[v > a.v] as b .partition_by(k) .within(1h)"
QUERIES = (EMIT, WHOLE)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BATCH", 16)
    monkeypatch.setattr(matching, "_LEAST", 8)
    monkeypatch.setattr(choice, "FEW", 0)
    monkeypatch.setattr(choice, "FEW_TO_COMPILE", 0)


def rows(count: int = 60) -> list[dict[str, Any]]:
    return [
        {
            "type": "ABC"[i * 7 % 3],
            "time": AT + timedelta(seconds=(i * 37) % 50),
            "k": f"k{i * 5 % 4}" if i % 11 else None,
            "v": i * 13 % 10,
            "s": "é" * (i % 3),
            "f": float(i),
        }
        for i in range(count)
    ]


def same(query: str, by_rows: Any, in_columns: Any, **options: Any) -> None:
    wanted = facts(query, by_rows, engine="reference", **options)
    for more in ({"threads": 1}, {"memory": 1}):
        assert facts(query, in_columns, engine="compiled", **more, **options) == wanted
    assert wanted.get("error") or any(wanted["matches"].values()), "nothing was found: that shows nothing"


# --- where events come from ---------------------------------------------------------------------------------

TABLE = pa.Table.from_pylist(rows())


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "make",
    [
        lambda table: table,
        lambda table: table.combine_chunks().to_batches()[0],
        lambda table: pa.concat_tables([table.slice(0, 7), table.slice(7)]),
        lambda table: table.set_column(0, "type", table["type"].dictionary_encode()),
        lambda table: table.set_column(2, "k", table["k"].dictionary_encode()),
    ],
    ids=["table", "batch", "chunks", "dictionary of types", "dictionary of keys"],
)
def test_arrow(query: str, make: Callable[[pa.Table], Any]) -> None:
    same(query, make(TABLE), make(TABLE))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_come_back_as_what_they_were(query: str, make: Any) -> None:
    frame = make(rows())
    wanted = cepheid.match(query, frame, engine="reference")
    found = cepheid.match(query, frame, engine="compiled")
    assert type(found) is type(wanted)
    assert len(found)
    assert found.equals(wanted)
    if make is pd.DataFrame:
        pd.testing.assert_frame_equal(found, wanted)


def files(folder: Path) -> list[Path]:
    for number, first in enumerate(range(0, 60, 20)):
        pq.write_table(TABLE.slice(first, 20), folder / f"{number}.parquet", row_group_size=6)
    return sorted(folder.glob("*.parquet"))


def test_files_folders_and_lists(tmp_path: Path) -> None:
    paths = files(tmp_path)
    for events in (str(tmp_path), tmp_path, str(tmp_path / "*.parquet"), paths, [str(p) for p in paths]):
        same(EMIT, events, events)
        assert facts(EMIT, events, engine="compiled") == facts(EMIT, TABLE, engine="reference")


def test_files_with_other_columns_are_read_by_rows(tmp_path: Path) -> None:
    files(tmp_path)
    pq.write_table(TABLE.slice(0, 5).drop_columns(["f"]), tmp_path / "3.parquet")
    job = Job(EMIT, tmp_path, make_options())
    assert "of one kind" in str(job.choice.reason)
    assert facts(EMIT, tmp_path) == facts(EMIT, tmp_path, engine="reference")


def test_a_column_with_a_dot_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "dotted.parquet"
    pq.write_table(TABLE.rename_columns(["type", "time", "k", "v", "s", "a.b"]), path)
    same(WHOLE, path, path)


# --- times --------------------------------------------------------------------------------------------------

SECONDS = [int(r["time"].timestamp()) for r in rows()]


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        (pa.array(SECONDS), "s"),
        (pa.array(SECONDS, pa.int32()), "s"),
        (pa.array([float(s) + 0.1234567 for s in SECONDS]), "s"),
        (pa.array([s * 1000 + 7 for s in SECONDS]), "ms"),
        (pa.array([s * 10**9 - 999 for s in SECONDS]), "ns"),
        (pa.array([datetime.fromtimestamp(s, UTC).isoformat() for s in SECONDS]), "s"),
        (pa.array([s * 10**9 + 1999 for s in SECONDS], pa.timestamp("ns")), "s"),
        (pa.array(SECONDS, pa.timestamp("s", "Europe/Berlin")), "s"),
        (pa.array([-s * 10**9 - 1999 for s in SECONDS], pa.timestamp("ns", "UTC")), "s"),
        (pa.array([date(2024, 5, 1 + i // 7 % 3) for i in range(60)]), "s"),
    ],
    ids=["s", "int32", "floats", "ms", "ns", "texts", "nanoseconds", "zone", "before 1970", "dates"],
)
@pytest.mark.parametrize("query", QUERIES)
def test_times(times: pa.Array, unit: str, query: str) -> None:
    table = TABLE.set_column(1, "time", times)
    same(query, table, table, time_unit=unit)
    shown = "A as a -> B[time > a.time] as b .partition_by(k) .emit(at: a.time, hour: hour(b.time))"
    same(shown, table, table, time_unit=unit)


@pytest.mark.parametrize("order", ["v", "f", "s", ["s", "v"], "k", "time"])
def test_order_columns(order: Any) -> None:
    coarse = TABLE.set_column(1, "time", pa.array([s // 10 for s in SECONDS]))
    table = coarse.set_column(5, "f", pa.array([[0.0, -0.0, math.nan, 2.0, None][i % 5] for i in range(60)]))
    for query in (
        *QUERIES,
        "A as a -> NOT C[v > a.v] within 1s .partition_by(k)",
        "A as a -> C as c .longest() .stnm()",
    ):
        same(query, table, table, order=order)


def test_a_table_without_types() -> None:
    table = TABLE.drop_columns(["type"])
    query = "E[v > 5] as a -> E[v < a.v] as b .within(3s) .partition_by(k) .emit(a: a.v, b: b.v)"
    same(query, table, table)


# --- keys ---------------------------------------------------------------------------------------------------

KEYS: dict[str, pa.Array] = {
    "ints": pa.array([i % 5 if i % 7 else None for i in range(60)]),
    "big ints": pa.array([2**53 + i % 3 for i in range(60)]),
    "unsigned": pa.array([2**64 - 1 - i % 3 for i in range(60)], pa.uint64()),
    "floats": pa.array([(0.0, -0.0, math.nan, 1.5, None, 2.0)[i % 6] for i in range(60)]),
    "bools": pa.array([(True, False, None)[i % 3] for i in range(60)]),
    "instants": pa.array([AT + timedelta(days=i % 3) for i in range(60)]),
    "dates": pa.array([date(2024, 1, 1 + i % 3) for i in range(60)]),
    "decimals": pa.array([Decimal(i % 3) / 2 for i in range(60)]),
    "structs": pa.array([{"x": i % 3} for i in range(60)]),
    "bytes": pa.array([b"ab"[: i % 3] for i in range(60)]),
    "nulls": pa.nulls(60),
}


@pytest.mark.parametrize("key", KEYS)
def test_keys(key: str) -> None:
    table = TABLE.set_column(2, "k", KEYS[key])
    for query in (
        WHOLE,
        "A as a -> B as b .partition_by(k) .within(9s) .emit(id: match_id(), k: k)",
        "A as a -> B as b .partition_by(k, s) .within(9s) .emit(id: match_id(), k: k, s: s)",
        "A as a -> B[k == a.k] as b -> C[k == a.k] as c .within(9s) .emit(id: match_id(), v: c.v)",
        "A as a -> B as b .within(2s) .emit(id: match_id())",
    ):
        wanted = facts(query, table, engine="reference")
        for more in ({"threads": 1}, {"memory": 1}, {}):
            found = facts(query, table, engine="compiled", **more)
            if found.get("error", ("", ""))[1] != "not_compiled":
                assert found == wanted, query


def test_a_key_that_is_worked_out() -> None:
    query = "A as a -> B as b .partition_by(lower(concat(k, s)), v % 2) .within(20s) .emit(id: match_id())"
    same(query, TABLE, TABLE)


# --- several streams ----------------------------------------------------------------------------------------

SEVERAL = """
stream One = A as a -> B[v > a.v] as b .partition_by(k) .emit(id: match_id(), v: b.v)
stream Two = A[v > 2] as a -> NOT C within 5s .partition_by(k)
stream Three = B as b -> next C as c .partition_by(s) .emit(id: match_id())
stream Four = B as b -> C[f > b.f] as c .within(3s) .emit(f: c.f)
"""
FEEDING = """
stream Fed = One as o -> C as c .within(4s) .emit(v: o.v, c: c.v)
stream Counted = A -> all B as b -> C .partition_by(k) .subsets() .within(5s) .emit(v: b.v, n: count_matches())
"""


def test_several_streams() -> None:
    same(SEVERAL, TABLE, TABLE)


@pytest.mark.parametrize("rest", ["", ".timeouts()"])
def test_who_asks_only_for_matches_reads_only_what_they_need(rest: str) -> None:
    query = f"stream S = A as a -> NOT B[v > a.v] .partition_by(k) .within(6s) .emit(v: a.v) {rest}"
    whole = cepheid.run(query, TABLE, engine="compiled")
    assert whole["S"].num_rows
    assert whole.pending["S"].num_rows
    for engine in ("compiled", "reference"):
        only = cepheid.run(query, TABLE, engine=engine, only_matches=True)
        assert only["S"].equals(whole["S"])
        assert not only.pending
        assert not only.timeouts
    assert cepheid.match(query, TABLE, engine="compiled").equals(whole["S"])
    chosen = {only: Job(query, TABLE, make_options(), only_matches=only).choice for only in (True, False)}
    # The plan of a stream with timeouts names no fields: it is made for whole events.
    assert [s.fields for s in chosen[True].streams] == [None if rest else {"k", "v"}]
    assert [s.fields for s in chosen[False].streams] == [None]


def test_what_the_kernel_cannot_take_is_the_reference_matchers() -> None:
    job = Job(SEVERAL + FEEDING, TABLE, make_options())
    assert [s.name for s in job.choice.streams] == ["One", "Two", "Three", "Four", "Fed"]
    assert facts(SEVERAL + FEEDING, TABLE) == facts(SEVERAL + FEEDING, TABLE, engine="reference")
    with pytest.raises(InputMistake, match="cannot take `Counted`"):
        cepheid.run(SEVERAL + FEEDING, TABLE, engine="compiled")


# --- bad rows, errors, warnings, counters -------------------------------------------------------------------


def with_bad_rows() -> pa.Table:
    times = [None if i in (17, 40) else s for i, s in enumerate(SECONDS)]
    times[23] = 10**17
    types = [None if i == 5 else "" if i == 50 else t for i, t in enumerate(TABLE["type"].to_pylist())]
    return TABLE.set_column(1, "time", pa.array(times)).set_column(0, "type", pa.array(types))


@pytest.mark.parametrize("policy", ["fail", "skip", "dead_letter"])
def test_bad_rows(policy: str, tmp_path: Path) -> None:
    table = with_bad_rows()
    path = tmp_path / "bad.parquet"
    pq.write_table(table, path, row_group_size=9)
    for events in (table, path):
        same(EMIT, events, events, bad_rows=policy)
        same(SEVERAL, events, events, bad_rows=policy)
        both = SEVERAL + FEEDING
        assert facts(both, events, bad_rows=policy) == facts(
            both, events, bad_rows=policy, engine="reference"
        )


def test_bad_rows_are_told_once() -> None:
    told: list[Any] = []
    job = Job(EMIT, with_bad_rows(), make_options(bad_rows="dead_letter"), on_bad=told.append)
    assert sum(len(found) for found in job.steps())
    assert (job.bad.count, len(told)) == (5, 5)


def test_a_test_that_fails_says_what_it_says() -> None:
    table = TABLE.set_column(3, "v", pa.array([float(i % 10) for i in range(60)]))
    for query in (
        "A[exp(f * 100) > 1] as a -> B as b .emit(v: b.v)",
        "A as a -> B[exp(f * 100 + a.v) > 1] as b .emit(v: b.v)",
        "A as a -> B as b .emit(v: exp(b.f * 100))",
    ):
        with pytest.raises(EvaluationError) as wanted:
            cepheid.run(query, table, engine="reference")
        with pytest.raises(EvaluationError) as found:
            cepheid.run(query, table)
        assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("limits", ["max_runs: 2", "max_runs: 2, on_limit: evict_oldest", "max_matches: 1"])
def test_limits(limits: str) -> None:
    for steps in ("A as a -> all B as b -> C as c .subsets()", "A as a -> B as b -> C[v > 8] as c"):
        query = f"{steps} .partition_by(k) .within(30s) .limit({limits})"
        wanted = facts(query, TABLE, engine="reference")
        assert facts(query, TABLE) == wanted


def test_a_limit_and_another_mistake_at_one_event() -> None:
    """The second A makes a match whose skip goes nowhere, and one run too many: the match is told first."""
    query = "A? as a -> A as b -> A as c .partition_by(k) .skip(to_last(b)) .limit(max_runs: 3)"
    wanted = facts(query, TABLE, engine="reference")
    assert wanted["error"][0] == "EvaluationError"
    assert facts(query, TABLE, engine="compiled") == wanted


@pytest.mark.parametrize(
    "rest",
    [
        ".within(20s) .emit(id: match_id(), v: b.v)",
        ".within(20s)",
        ".within(8s) .timeouts()",
        "-> NOT C[v < 2] within 9s",
        "-> all C as c .longest() .within(9s)",
    ],
)
def test_keys_that_the_kernel_gives_up_on(rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of more than 64 bits, in some keys: the reference matcher takes those, in their place."""
    taken: list[int] = []
    by_reference = results.match_left

    def noted(*given: Any) -> Any:
        taken.append(given[2])
        return by_reference(*given)

    monkeypatch.setattr(results, "match_left", noted)
    huge = [
        v + (2**62 if k == "k1" else 0) for v, k in zip(*(TABLE[n].to_pylist() for n in "vk"), strict=True)
    ]
    table = TABLE.set_column(3, "v", pa.array(huge))
    query = f"A as a -> B[v * a.v != 4] as b {rest} .partition_by(k)"
    wanted = facts(query, table, engine="reference")
    assert any(wanted["matches"].values())
    for more in ({"threads": 1}, {"memory": 1}):
        assert facts(query, table, engine="compiled", **more) == wanted
    assert len(taken) == 2


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal128(12, 2),
        pa.decimal128(38, 18),
        pa.decimal256(50, 4),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "query",
    [
        "A as a -> B[d > a.d * 1.1] as b .partition_by(k) .within(1h) .emit(id: match_id(), d: b.d)",
        "A as a -> B[d - a.d >= 2 or d == a.d] as b .partition_by(k) .within(1h)",
        "A as a -> B[d / a.d > 3] as b .partition_by(k) .within(1h)",
        "A as a -> all B as b -> C[d < avg(b.d) or sum(b.d) > 200] as c .partition_by(k) .within(9s)",
    ],
)
def test_decimals_across_events(query: str, kind: pa.DataType) -> None:
    """Of any type a column may have; in one key there are some that take more room than the kernel has."""
    large = Decimal(10**9) + Decimal("0.000000000000000001") if kind.scale == 18 else 0
    values = [
        None if i % 17 == 3 else Decimal(i * 37 % 1000).scaleb(-2) + (large if row["k"] == "k1" else 0)
        for i, row in enumerate(rows())
    ]
    table = TABLE.append_column("d", pa.array(values, kind))
    same(query, table, table)
    CompiledPlan.of(compile(query).last.plan, struct_of_arrow(table.schema))  # it is not left as a whole


def test_python_functions_see_events() -> None:
    seen = cepheid.event("A").where(lambda a: a["v"] > 3).as_("a") >> cepheid.event("B").as_("b")
    wanted = facts(seen, TABLE, engine="reference")
    assert facts(seen, TABLE) == wanted
    assert wanted["matches"]


def test_counters_and_progress(tmp_path: Path) -> None:
    files(tmp_path)
    jobs = [Job(EMIT, tmp_path, make_options(), engine=engine) for engine in ("reference", "compiled")]
    found = [sum(len(step) for step in job.steps()) for job in jobs]
    assert found[0] == found[1] == sum(jobs[0].counters.matches.values())
    assert jobs[0].counters == jobs[1].counters
    assert jobs[0].last_time == jobs[1].last_time
    assert [job.progress.fraction for job in jobs] == [1.0, 1.0]


def test_nothing_is_left_in_the_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made: list[str] = []
    make = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **how: made.append(make(**how)) or made[-1])
    assert len(cepheid.match(EMIT, TABLE, engine="compiled", memory=1))
    with pytest.raises(InputMistake):
        cepheid.match(EMIT, with_bad_rows().slice(24), engine="compiled", memory=1)
    assert len(made) == 2
    assert not list(tmp_path.iterdir())


def test_a_misspelt_type_is_told() -> None:
    table = pa.Table.from_pylist([{"type": "Login", "time": 1}, {"type": "Other", "time": 2}])
    wanted = facts("Logim as a -> Other as b", table, engine="reference")
    assert wanted["told"]
    assert facts("Logim as a -> Other as b", table, engine="compiled") == wanted


# --- which matcher ------------------------------------------------------------------------------------------


def test_few_events_are_the_reference_matchers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "FEW", 61)
    assert "few events" in str(Job(EMIT, TABLE, make_options()).choice.reason)
    monkeypatch.setattr(choice, "FEW", 60)
    assert Job(EMIT, TABLE, make_options()).choice.reason is None
    monkeypatch.setattr(choice, "FEW_TO_COMPILE", 61)
    monkeypatch.setattr(choice, "is_ready", lambda: False)
    assert "not compiled" in str(Job(EMIT, TABLE, make_options()).choice.reason)


def test_what_needs_the_reference_matcher() -> None:
    assert "have an end" in str(Job(EMIT, TABLE, make_options(end="f")).choice.reason)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cepheid.cli import running

    files(tmp_path)
    monkeypatch.setattr(running, "SORTED_UP_TO", 10)

    def out(*args: str) -> str:
        result = CliRunner().invoke(main, ["run", "-e", EMIT, str(tmp_path), "--format", "json", *args])
        assert result.exit_code == 0, result.output
        return result.stdout

    wanted = out("--engine", "reference", "--sort")
    assert wanted
    assert out() == out("--memory", "1B") == out("--engine", "compiled") == wanted
    for engine in ("reference", "compiled"):
        target = tmp_path.parent / f"{tmp_path.name}-{engine}.parquet"
        out("--format", "parquet", "--out", str(target), "--engine", engine, "--sort", "--limit", "5")
    written = [pq.read_table(p) for p in sorted(tmp_path.parent.glob(f"{tmp_path.name}-*.parquet"))]
    assert written[0].num_rows == 5
    assert written[0].equals(written[1])
    query = tmp_path / "q.cep"
    query.write_text(f"stream S = {EMIT}", encoding="utf-8")
    shown = CliRunner().invoke(main, ["explain", str(query), "--schema", str(tmp_path / "0.parquet")])
    assert "  the compiled matcher" in shown.output


def test_sizes() -> None:
    assert [size_of(text) for text in ("10", "1KB", "2 MiB", "1.5g")] == [10, 1024, 2**21, 3 * 2**29]
