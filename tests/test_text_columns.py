"""CSV, JSON lines and lists of dicts through the compiled matcher give what they give row by row."""

from __future__ import annotations

import csv
import gc
import gzip
import io
import json
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_columnar import QUIET, SCENARIOS, TESTS, typed

import cepheid
from cepheid.engines.columnar import choice, matching
from cepheid.engines.local import csv_chunks, gathering, reading, reading_dicts
from cepheid.engines.local.csv_times import csv_time, csv_times
from cepheid.engines.local.events import Columns
from cepheid.engines.local.reading_csv import CsvReader
from cepheid.engines.local.run import Job
from cepheid.engines.local.times import to_microseconds
from cepheid.engines.options import make_options
from cepheid.errors import CepheidError, CepheidWarning, InputMistake, PatternMistake
from cepheid.pattern.event import Event
from cepheid.testing.scenarios import Scenario
from cepheid.testing.strategies import events as some_events

TOOK: Counter[str] = Counter()
EMIT = "A as a -> B[v > a.v] as b .partition_by(k) .within(1h) .emit(id: match_id(), k: k, v: b.v, s: a.s)"
WHOLE = "A as a -> B[v > a.v] as b .partition_by(k) .within(1h)"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few rows are several batches, pieces and chunks."""
    for module in (reading, reading_dicts, csv_chunks):
        monkeypatch.setattr(module, "BATCH", 7)
    monkeypatch.setattr(csv_chunks, "_BLOCK", 150)
    monkeypatch.setattr(matching, "_LEAST", 4)
    monkeypatch.setattr(choice, "FEW", 0)
    monkeypatch.setattr(choice, "FEW_TO_COMPILE", 0)


def facts(query: Any, events: Any, **options: Any) -> dict[str, Any]:
    """Everything there is to say of an answer, to the order of fields, or what was wrong."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", CepheidWarning)
        try:
            results = cepheid.run(query, events, **options)
        except CepheidError as problem:
            return {"error": (type(problem).__name__, problem.code, str(problem))}
    frames = {
        "matches": results,
        "pending": results.pending,
        "timeouts": results.timeouts,
    }
    found: dict[str, Any] = {what: {n: _shown(f) for n, f in each.items()} for what, each in frames.items()}
    told_texts = [str(w.message) for w in told if issubclass(w.category, CepheidWarning)]
    return {**found, "bad": results.bad_rows, "told": told_texts}


def _shown(frame: Any) -> str:
    return f"{frame.schema} {frame.to_pylist()}" if isinstance(frame, pa.Table) else repr(frame)


def same(query: Any, events: Any, *, taken: bool = True, **options: Any) -> dict[str, Any]:
    """The same by both matchers; False: it may be that the compiled one does not take it."""
    wanted = facts(query, events, engine="reference", **options)
    for more in ({"threads": 1}, {"memory": 1}):
        found = facts(query, events, engine="compiled", **more, **options)
        if not taken and found.get("error", ("", ""))[1] == "not_compiled":
            TOOK["left"] += 1
            return wanted
        assert found == wanted
    TOOK["taken"] += 1
    return wanted


def rows(count: int = 60) -> list[dict[str, Any]]:
    return [
        {
            "type": "ABC"[i * 7 % 3],
            "time": 1_700_000_000 + (i * 37) % 50,
            "k": f"k{i * 5 % 4}" if i % 11 else None,
            "v": i * 13 % 10,
            "s": "é" * (i % 3),
            "f": i + 0.5,
        }
        for i in range(count)
    ]


def jsonl(path: Path, given: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in given))
    return path


def csv_file(path: Path, given: list[dict[str, Any]], **how: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(n for row in given for n in row)), **how)
        writer.writeheader()
        writer.writerows(given)
    return path


def sources(given: list[dict[str, Any]], folder: Path) -> Iterator[Any]:
    yield given
    yield jsonl(folder / "events.jsonl", given)
    yield csv_file(folder / "events.csv", given)
    yield csv_file(folder / "quoted.csv", given, quoting=csv.QUOTE_ALL)


# --- where events come from ---------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [EMIT, WHOLE, WHOLE + " .timeouts()"])
def test_sources(query: str, tmp_path: Path) -> None:
    for events in sources(rows(), tmp_path):
        assert "k1" in str(same(query, events)["matches"])


def test_several_files_and_packed_ones(tmp_path: Path) -> None:
    given = rows()
    jsonl(tmp_path / "a.jsonl", given[:20])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(jsonl(tmp_path / "b.json", given[20:]).read_bytes()))
    (tmp_path / "b.json").unlink()
    same(WHOLE, tmp_path)
    csv_file(tmp_path / "c.csv", given[40:])
    same(EMIT, tmp_path)
    packed = tmp_path / "d.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "c.csv").read_bytes()))
    same(WHOLE, packed)
    same(WHOLE, [tmp_path / "c.csv", packed])


def test_the_default_is_as_for_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for events in sources(rows(), tmp_path):
        assert [s.name for s in Job(EMIT, events, make_options()).choice.streams] == ["matches"]
    monkeypatch.setattr(choice, "FEW", 100)
    for events in sources(rows(), tmp_path):
        assert "few events" in str(Job(EMIT, events, make_options()).choice.reason)


def test_what_can_be_read_only_once_is_read_once(tmp_path: Path) -> None:
    given = rows()
    job = Job(EMIT, iter(given), make_options())
    assert "only files" in str(job.choice.reason)
    assert facts(EMIT, iter(given)) == facts(EMIT, given, engine="reference")
    with jsonl(tmp_path / "events.jsonl", given).open() as file:
        assert facts(EMIT, file) == facts(EMIT, tmp_path / "events.jsonl", engine="reference")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_scenario(scenario: Scenario, tmp_path: Path) -> None:
    given = [dict(e.fields) | {"time": e.fields["time"].timestamp()} for e in scenario.events]
    options: dict[str, Any] = {"order": scenario.option("order")}
    for events in (given, jsonl(tmp_path / "events.jsonl", given)):
        same(scenario.query, events, taken=False, **options)


@settings(max_examples=80, suppress_health_check=QUIET)
@given(
    st.sampled_from((*TESTS, WHOLE)), some_events(14, tuple("AABBBCX")), st.permutations(range(14)), st.data()
)
def test_made_up_streams(query: str, made: list[Event], order: list[int], data: Any) -> None:
    """Events in any order, some of them without some of the fields, in any order of the fields."""
    given: list[dict[str, Any]] = []
    for at in order:
        if at < len(made):
            event = typed(made)[at]
            fields = {**event.fields, "time": event.time / 10**6}
            kept = [n for n in fields if n in ("type", "time") or (at * 7 + len(n)) % 5]
            given.append({n: fields[n] for n in (reversed(kept) if at % 3 else kept)})
    if not given:
        return
    try:
        cepheid.compile(query)
    except PatternMistake:
        return
    whole = [row | dict.fromkeys({n for r in given for n in r} - row.keys()) for row in given]
    names = sorted(whole[0])
    same(query, given, taken=False)
    same(query, [{n: row[n] for n in names} for row in whole], taken=False)


def test_most_scenarios_are_taken() -> None:
    """What may be left to the reference matcher is the smaller part."""
    TOOK.clear()
    for scenario in SCENARIOS[::20]:
        given = [dict(e.fields) | {"time": e.fields["time"].timestamp()} for e in scenario.events]
        same(scenario.query, given, taken=False, order=scenario.option("order"))
    assert TOOK["taken"] > TOOK["left"], TOOK


# --- values -------------------------------------------------------------------------------------------------


def test_fields_that_not_all_events_have(tmp_path: Path) -> None:
    given = [{n: row[n] for n in row if n != "fvs"[i % 3]} for i, row in enumerate(rows())]
    for query in (EMIT, WHOLE, "A as a -> NOT C[v > a.v] within 1s .partition_by(k)"):
        for events in (given, jsonl(tmp_path / "events.jsonl", given)):
            same(query, events)


def test_a_field_that_no_event_has(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "events.jsonl", rows())
    query = "A as a -> B[speed > a.v] as b .emit(v: b.v)"
    job = Job(query, path, make_options())
    assert job.choice.why_not("matches") == "no event has the field `speed`"
    assert facts(query, path) == facts(query, path, engine="reference")
    assert facts(query, path)["told"]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5],
        [1, "x"],
        [True, 1],
        [2**70, 1],
        ["\ud800", "x"],
        [[1], [2]],
        [{"x": 1}, None],
        [1.0, float("nan"), float("inf")],
        [-0.0, 0.0],
        [None],
    ],
    ids=str,
)
def test_values_of_a_column(values: list[Any], tmp_path: Path) -> None:
    """What is no column is left to the reference matcher; who does not ask for it does not care."""
    given = [{**row, "x": values[i % len(values)]} for i, row in enumerate(rows())]
    read = "A as a -> B[v > a.v] as b .partition_by(k) .emit(id: match_id(), x: a.x, y: b.x)"
    for events in (given, jsonl(tmp_path / "events.jsonl", given)):
        for query in (read, WHOLE):
            same(query, events, taken=False)
            assert facts(query, events) == facts(query, events, engine="reference")
        same(EMIT, events)


def test_values_of_other_classes() -> None:
    """Lists of dicts may hold anything."""
    zone = timezone(timedelta(hours=2))
    at = datetime(2024, 5, 1, tzinfo=UTC)
    values: list[list[Any]] = [
        [at, at.replace(tzinfo=None), at.astimezone(zone)],
        [date(2024, 1, 1), date(2024, 1, 2)],
        [timedelta(seconds=1)],
        [b"x", b""],
        [Decimal("1.50"), Decimal(2)],
        [np.int64(3), np.int32(4)],
        [np.float32(1.5), np.nan],
        [np.str_("x")],
        [(1, 2), [3]],
    ]
    read = "A as a -> B[v > a.v] as b .partition_by(k) .emit(id: match_id(), x: a.x, y: b.x)"
    for some in values:
        given = [{**row, "x": some[i % len(some)]} for i, row in enumerate(rows())]
        for query in (read, WHOLE):
            same(query, given, taken=False)
    timed = [{**row, "time": at + timedelta(seconds=i * 7 % 40)} for i, row in enumerate(rows())]
    same(WHOLE, timed)
    same(WHOLE, [{str(n) if n != "v" else np.str_("v"): x for n, x in row.items()} for row in rows()])
    same("A -> B .emit(x: match_id())", [{1: 2, **row} for row in rows()])


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_times(unit: str, tmp_path: Path) -> None:
    base = 1_700_000_000
    written: list[list[Any]] = [
        [base, base + 7],
        [base + 0.25, base + 1.7500001],
        [base, base + 0.5],
        ["2024-05-01T10:00:00Z", "2024-05-01 10:00:07.25Z"],
        ["2024-05-01T10:00:00", "2024-05-01"],
        ["2024-05-01T10:00:00Z", "2024-05-01T10:00:00"],
        ["2024-05-01T10:00:00+02:00", base],
    ]
    for some in written:
        given = [{**row, "time": some[i % len(some)]} for i, row in enumerate(rows())]
        for events in sources(given, tmp_path):
            same(WHOLE, events, time_unit=unit)


TEXTS = st.one_of(
    st.from_regex(r"\A ?[+-]?\d{1,4}(\.\d{0,3})?(e\d)? ?\Z"),
    st.from_regex(r"\A\d{4}-[01]\d-[0-3]\d([T ][0-2]\d:[0-6]\d(:[0-6]\d(\.\d{1,8})?)?)?(Z|\+01:00)?\Z"),
    st.sampled_from(["", " ", "x", "0000-01-01T00:00:00Z", "9" * 30, "1e99", "٣"]),
)


@settings(max_examples=150)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from(["s", "ms", "ns"]))
def test_times_in_csv(texts: list[str], unit: str) -> None:
    found, wrong = csv_times(pa.array(texts), unit)
    for at, text in enumerate(texts):
        try:
            micros = to_microseconds(csv_time(text), unit)
            cepheid.engines.local.times.from_microseconds(micros)
        except InputMistake:
            assert wrong[at], text
        else:
            assert not wrong[at], text
            assert found[at] == micros


# --- bad rows -----------------------------------------------------------------------------------------------

BAD_LINES: list[bytes] = [
    b"\n",
    b"  \t \r\n",
    b"{not json}\n",
    b"[1, 2]\n",
    b'"text"\n',
    b'{"type": "A", "time": 1} {"type": "B", "time": 2}\n',
    b'{"type": "A", "time": 1\n',
    b'"v": 2}\n',
    b'{"type": "\xff", "time": 1}\n',
    b'{"type": "A"}\n',
    b'{"type": "A", "time": null, "v": 1}\n',
    b'{"type": "A", "time": true}\n',
    b'{"type": "A", "time": "yesterday"}\n',
    b'{"type": "A", "time": 1e300}\n',
    b'{"type": null, "time": 3}\n',
    b'{"type": "", "time": 3}\n',
    b'{"time": 3}\n',
    b'\xef\xbb\xbf{"type": "A", "time": 5, "k": "k1", "v": 1}\n',
    b"[" * 100_000 + b"\n",
]


@pytest.fixture
def no_collection() -> Iterator[None]:
    """A line nested too deeply fills the stack. What other tests left is not to be collected just then: the finalizer
    of a generator has no room there, and its error would be told of here."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("policy", ["fail", "skip", "dead_letter"])
@pytest.mark.parametrize("query", [EMIT, WHOLE])
def test_bad_lines(query: str, policy: str, tmp_path: Path) -> None:
    good = [json.dumps(row).encode() + b"\n" for row in rows()]
    path = tmp_path / "events.jsonl"
    path.write_bytes(
        b"".join(line for pair in zip(good, BAD_LINES, strict=False) for line in pair) + b"".join(good)
    )
    found = same(query, path, bad_rows=policy)
    if policy == "fail":
        assert "line 6" in found["error"][2]
    else:
        assert len(found["bad"]) == len(BAD_LINES) - 2
    for line in BAD_LINES:
        path.write_bytes(line + b"".join(good) + line.rstrip(b"\n"))
        same(query, path, taken=False, bad_rows=policy)


BAD_RECORDS: list[bytes] = [
    b"\n",
    b"A\n",
    b"A,1,k1,1,x,1.5,more\n",
    b"A,yesterday,k1,1,x,1.5\n",
    b",1,k1,1,x,1.5\n",
    b"A,,k1,1,x,1.5\n",
    b"A,1,\xff,1,x,1.5\n",
    b"A,1,k\r1,1,x,1.5\n",
    b'A,1,"k\n1",1,x,1.5\n',
    b'A,1,"k1,1,x,1.5\n',
    b'A,1,k"1,1,x,1.5\r\n',
    b"\xef\xbb\xbfA,1,k1,1,x,1.5\n",
    b"A,1700000003,k1,1,x,1.5\r\n",
    b"A,1700000003,k1,1,x\x00y,1.5\n",
    b"A,1," + b"x" * 140_000 + b",1,x,1.5\n",
]


@pytest.mark.parametrize("policy", ["fail", "skip", "dead_letter"])
@pytest.mark.parametrize("query", [EMIT, WHOLE])
def test_bad_records(query: str, policy: str, tmp_path: Path) -> None:
    path = csv_file(tmp_path / "events.csv", rows(), lineterminator="\n")
    header, *good = path.read_bytes().splitlines(keepends=True)
    for bad in (*BAD_RECORDS, b"".join(BAD_RECORDS[:9])):
        path.write_bytes(header + b"".join(good[:20]) + bad + b"".join(good[20:]))
        same(query, path, taken=False, bad_rows=policy)


@pytest.mark.parametrize("policy", ["fail", "skip", "dead_letter"])
def test_bad_dicts(policy: str) -> None:
    given: list[Any] = rows()
    for at, row in enumerate(
        [7, None, {}, {"type": "A"}, {"type": None, "time": 1}, {"type": "A", "time": "?"}, {"time": 2}]
    ):
        given.insert(9 * at, row)
    same(WHOLE, given, bad_rows=policy)
    same(
        WHOLE,
        [*given, {"type": "A", "time": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=3)))}],
        bad_rows=policy,
    )


def test_the_first_row_with_a_time_says_whether_there_are_types() -> None:
    query = "E[v > 5] as a -> E[v < a.v] as b .within(3s) .emit(a: a.v, b: b.v)"
    plain = [{n: row[n] for n in row if n != "type"} for row in rows()]
    for events in (plain, [{"type": "E"}, *plain], [*plain, {"type": "E", "time": 1}]):
        for policy in ("fail", "skip"):
            same(query, events, taken=False, bad_rows=policy)


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl.gz"
    text = "".join(json.dumps(row) + "\n" for row in rows()).encode()
    path.write_bytes(gzip.compress(text)[:-20])
    assert "cannot be read" in same(EMIT, path)["error"][2]
    path.write_bytes(gzip.compress(text[:200] + b"no\n" + text[200:])[:-20])
    assert "line 3" in str(same(EMIT, path)["error"])


# --- CSV ----------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["a", "1", ",", ",", "\n", "\n", "\r\n", '"', "\r", " ", "é", "\ufeff", "\x00", "1,2\n", "a,b\r\n"]
)


@settings(max_examples=300)
@given(
    st.lists(PIECES, max_size=60),
    st.integers(1, 60),
    st.sampled_from(["x,y\n", "x\n", '"x",y\r\n', "\nx,y\n"]),
)
def test_csv_is_what_the_csv_module_says(pieces: list[str], block: int, header: str) -> None:
    text = (header + "".join(pieces)).encode()
    columns = header.count(",") + 1
    wanted = list(_flat(csv_chunks._by_python(io.BytesIO(text), 0, columns, header=True)))
    before, csv_chunks._BLOCK = csv_chunks._BLOCK, block
    try:
        assert list(_flat(csv_chunks.chunks(io.BytesIO(text), columns))) == wanted
    finally:
        csv_chunks._BLOCK = before


def _flat(chunks: Iterator[csv_chunks.Chunk]) -> Iterator[tuple[Any, ...]]:
    for chunk in chunks:
        good = zip(chunk.lines, zip(*(t.to_pylist() for t in chunk.texts), strict=True), strict=True)
        broken = dict(chunk.broken)
        for at in range(len(chunk.lines) + len(broken)):
            if at in broken:
                yield broken[at].line, broken[at].values, str(broken[at].mistake)
            else:
                yield next(good)


@settings(max_examples=60, suppress_health_check=QUIET)
@given(
    st.lists(
        st.sampled_from(["1", "-2", "2.5", "true", "NA", "", "x", "2024-01-01", "9" * 17, "1e5"]), min_size=1
    ),
    st.booleans(),
)
def test_columns_of_csv_hold_what_its_rows_do(values: list[str], quoted: bool) -> None:
    import tempfile

    given = [{"type": "A", "time": str(i), "x": value} for i, value in enumerate(values)]
    with tempfile.TemporaryDirectory() as folder:
        how = {"quoting": csv.QUOTE_ALL} if quoted else {}
        path = csv_file(Path(folder) / "events.csv", given, **how)
        same("A as a .emit(x: a.x, id: match_id())", path, taken=False)
        assert len(list(CsvReader(path, Columns(plain_type="A")).rows())) == len(values)


# --- what is told -------------------------------------------------------------------------------------------


def test_it_says_why_a_list_is_left_to_the_reference_matcher() -> None:
    given = [{**row, "v": row["v"] if i % 2 else float(row["v"])} for i, row in enumerate(rows())]
    job = Job(WHOLE, given, make_options())
    assert "`v` holds values of several kinds" in str(job.choice.why_not("matches"))
    two = f"stream One = {WHOLE}\nstream Two = A as a -> B as b .partition_by(k) .emit(s: b.s)"
    job = Job(two, given, make_options())
    assert [s.name for s in job.choice.streams] == ["Two"]
    assert "several kinds" in str(job.choice.why_not("One"))
    assert facts(two, given) == facts(two, given, engine="reference")


def test_progress_comes_to_its_end(tmp_path: Path) -> None:
    for events in sources(rows(), tmp_path):
        for engine in ("reference", "compiled"):
            job = Job(EMIT, events, make_options(), engine=engine)
            list(job.steps())
            assert job.progress.done == job.progress.total
            assert job.counters.events == 60


def test_gathered_rows_lie_in_a_file_not_in_memory() -> None:
    gatherer = gathering.Gatherer(reading_maker(), [None])
    gatherer.add(reading.DictRows(rows(), lambda at: reading.Row(reading.Place("", at), {})))
    scan = gatherer.scan(60)
    assert scan.rows == 60
    (batch,) = scan.pieces[0].read(["v"])
    assert batch.columns["v"].to_pylist() == [row["v"] for row in rows()]


def reading_maker() -> Any:
    from cepheid.engines.local.events import EventMaker

    return EventMaker(Columns())
