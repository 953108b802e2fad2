"""What why_not may be asked about: tables, files, many events, one key, the events one expected."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import cepheid
from cepheid.cli import main
from cepheid.engines import slices
from cepheid.errors import CepheidError

QUERY = "A as a -> B[v > 5] as b within 10s partition by u"
ROWS = [
    {"id": "a1", "type": "A", "time": 0, "u": "ann", "v": None},
    {"id": "a2", "type": "A", "time": 1, "u": "bob", "v": None},
    {"id": "b1", "type": "B", "time": 2, "u": "ann", "v": 3},
    {"id": "b2", "type": "B", "time": 3, "u": "bob", "v": 9},
]


def names(events: Any) -> list[str]:
    return [e.fields["id"] for e in events]


@pytest.mark.parametrize("kind", ["dicts", "generator", "arrow", "pandas", "polars", "file"])
def test_every_kind_of_events(kind: str, tmp_path: Path) -> None:
    found = cepheid.why_not(QUERY, as_kind(kind, tmp_path), key="ann")
    assert (found.cause.kind, names([found.cause.event])) == ("condition", ["b1"])
    assert found.events == 2
    assert [m.text for m in found.near_misses] == ["would match with `b.v >= 3`"]


def as_kind(kind: str, folder: Path) -> Any:
    if kind == "dicts":
        return ROWS
    if kind == "generator":
        return iter(ROWS)
    table = pa.Table.from_pylist(ROWS)
    if kind == "arrow":
        return table
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    return path


def test_without_a_key_a_match_is_a_match() -> None:
    found = cepheid.why_not(QUERY, ROWS)
    assert found.matched
    assert [names(m) for m in found.matches] == [["a2", "b2"]]
    assert "it did match: (a2, b2)" in str(found)


def test_a_key_may_be_a_mapping() -> None:
    assert cepheid.why_not(QUERY, ROWS, key={"u": "bob"}).matched
    assert cepheid.why_not(QUERY, ROWS, key={"u": "carl"}).cause.kind == "no_events"


def test_numbers_where_there_is_no_id() -> None:
    rows = [{k: v for k, v in r.items() if k != "id"} for r in ROWS]
    found = cepheid.why_not(QUERY, rows, expected=[1, 3])
    assert found.cause.kind == "condition"
    assert [e.seq for e in found.expected] == [0, 2]
    assert "B #3" in found.cause.text


def test_a_column_of_another_name() -> None:
    rows = [{**r, "nr": i * 10} for i, r in enumerate(ROWS)]
    found = cepheid.why_not(QUERY, rows, expected=[0, 20], id="nr")
    assert found.cause.text.startswith("20 is not b")


@pytest.mark.parametrize(
    ("asked", "code", "contains"),
    [
        ({"expected": ["a1", "b9"]}, "unknown_event", "`id` = b9"),
        ({"expected": ["a11"]}, "unknown_event", "did you mean `a1`"),
        ({"key": {"uu": "ann"}}, "bad_key", "did you mean `u`"),
        ({"stream": "Nowhere"}, "unknown_stream", "Nowhere"),
    ],
)
def test_mistakes(asked: dict[str, Any], code: str, contains: str) -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.why_not(QUERY, ROWS, **asked)
    assert caught.value.code == code
    assert contains in str(caught.value)


def test_one_value_for_a_key_of_two_columns() -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.why_not("A as a -> B as b partition by u, v", ROWS, key="ann")
    assert caught.value.code == "bad_key"
    assert "u, v" in str(caught.value)


def many(partitions: int) -> Iterator[dict[str, Any]]:
    """Every key has an A, one in ten a B as well, and that of key 70 is 2 s too late for the window."""
    for k in range(partitions):
        yield {"id": f"a{k}", "type": "A", "time": k, "u": k, "v": 0}
    for k in range(0, partitions, 10):
        yield {"id": f"b{k}", "type": "B", "time": k + (12 if k == 70 else 20), "u": k, "v": 6}


def test_of_many_events_the_likeliest_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "MOST_EVENTS", 60)
    found = cepheid.why_not(QUERY, list(many(400)))
    assert found.cause.kind == "window"
    assert found.near_misses[0].text == "would match with `within 12s`"
    assert found.events <= 60
    assert found.notes[0] == "of 440 events in 400 partitions, the likeliest 30 were looked at"
    assert found.notes[1] == "in all events there are 0 matches"


def test_of_many_events_those_that_were_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "MOST_EVENTS", 60)
    found = cepheid.why_not(QUERY, list(many(400)), expected=["a100", "b100"])
    assert (found.cause.kind, found.cause.over) == ("window", 10 * 10**6)
    assert found.events == 2


def test_too_many_events_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "MOST_EVENTS", 60)
    with pytest.raises(CepheidError) as caught:
        cepheid.why_not("A as a -> B as b", list(many(400)))
    assert caught.value.code == "too_many_events"
    assert "has no partition key" in str(caught.value)


def test_many_events_that_cannot_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an open file nothing would be left: that must not look like no events."""
    monkeypatch.setattr(slices, "MOST_EVENTS", 60)
    lines = io.StringIO("".join(json.dumps(row) + "\n" for row in many(400)))
    with pytest.raises(CepheidError, match="cannot be read twice"):
        cepheid.why_not(QUERY, lines)


def test_what_would_take_too_long_is_said() -> None:
    """Under subsets without its condition every combination is a run."""
    rows = [{"type": "A", "time": 0, "v": 0}, *({"type": "B", "time": i, "v": 0} for i in range(1, 40))]
    found = cepheid.why_not("A as a -> all B[v > 5] as b -> C as c .subsets()", rows)
    assert found.cause.kind == "no_event_of_type"
    found = cepheid.why_not(
        "A as a -> all B[v > 5] as b -> C as c .subsets()", [*rows, {"type": "C", "time": 99, "v": 0}]
    )
    assert found.untried == ("without `v > 5`",)
    assert "not tried, because it would take too long: without `v > 5`" in str(found)


def test_as_plain_data() -> None:
    data = cepheid.why_not(QUERY, ROWS, expected=["a1", "b1"]).as_dict()
    (cause,) = data["causes"]
    assert (cause["kind"], cause["event"], cause["left"], cause["op"], cause["right"]) == (
        "condition",
        "b1",
        3,
        ">",
        5,
    )
    assert data["near_misses"] == [
        {"text": "would match with `b.v >= 3`", "kinds": ["condition"], "events": ["a1", "b1"]}
    ]
    assert data["furthest"][0]["held"] == [{"step": "a", "event": "a1"}]
    assert json.dumps(data)


# The command.


def command(folder: Path, *args: str, query: str = QUERY) -> Result:
    (folder / "q.cep").write_text(f"stream S = {query}")
    as_kind("file", folder)
    result = CliRunner().invoke(main, ["why-not", str(folder / "q.cep"), str(folder / "events.jsonl"), *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_command(tmp_path: Path) -> None:
    lines = command(tmp_path, "--key", "u=ann").stdout.splitlines()
    assert lines[:2] == [
        "S: no match: a condition is false",
        "  b1 is not b: `b.v > 5`: 3 > 5 is false",
    ]
    assert "  would match with `b.v >= 3`: (a1, b1)" in lines


def test_command_with_expected_events_as_json(tmp_path: Path) -> None:
    result = command(tmp_path, "--expect", "a1, b1", "--format", "json", "--pattern", "S")
    assert json.loads(result.stdout)["causes"][0]["kind"] == "condition"


def test_command_with_a_mistake(tmp_path: Path) -> None:
    assert command(tmp_path, "--key", "ann").exit_code == 2
    result = command(tmp_path, "--expect", "zz")
    assert (result.exit_code, "there is no event with `id` = zz" in result.stderr) == (1, True)
