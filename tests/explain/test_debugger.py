"""The debugger in the terminal, driven by keys from a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cepheid.cli import main
from cepheid.engines.program import compile
from cepheid.explain.recorder import trace
from cepheid.explain.stepping import Cursor
from cepheid.testing.scenarios import read_events

QUERY = "A as a -> B[v > a.v] as b unless X within 10s partition by u"
ROWS = [
    {"id": "A1", "type": "A", "time": 0, "u": "ann", "v": 3},
    {"id": "A2", "type": "A", "time": 1, "u": "bob", "v": 3},
    {"id": "B1", "type": "B", "time": 2, "u": "ann", "v": 2},
    {"id": "X1", "type": "X", "time": 3, "u": "bob", "v": None},
    {"id": "B2", "type": "B", "time": 4, "u": "ann", "v": 9},
    {"id": "Z1", "type": "Z", "time": 30, "u": "ann", "v": None},
]


@pytest.fixture
def debug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS))

    def run(*args: str, keys: str = "") -> str:
        given = ["debug", "-e", QUERY, str(tmp_path / "events.jsonl"), *args]
        result = CliRunner().invoke(main, given, input=keys)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def titles(text: str) -> list[str]:
    """The numbers of the steps that were shown."""
    return [line.split("step ")[1].split(" of")[0] for line in text.splitlines() if "step " in line]


def test_forward_and_back(debug) -> None:  # type: ignore[no-untyped-def]
    assert titles(debug(keys="nnpq")) == ["1", "2", "3", "2"]
    assert titles(debug(keys="p")) == ["1", "1"]


def test_jump_to_the_next_change(debug) -> None:  # type: ignore[no-untyped-def]
    """B1 is only passed over (3), so from A2 (2) the next change is X1 (4)."""
    shown = debug(keys="n j j j j q")
    assert titles(shown) == ["1", "2", "4", "5", "6", "6"]
    assert "run 1: killed by `unless X` (by X1)" in shown
    assert "run 2: took B2 as b, coming from run 0, which waits on" in shown
    assert "run 2: matched: a = A1, b = B2" in shown
    assert "run 0: expired: within 10s was over at 1970-01-01 00:00:10" in shown


def test_to_a_number_and_beyond(debug) -> None:  # type: ignore[no-untyped-def]
    assert titles(debug(keys="3 99 q")) == ["1", "3", "7"]


def test_filter_by_partition(debug) -> None:  # type: ignore[no-untyped-def]
    """Once f: ann only. Her steps are A1, B1, B2, the end of the window, Z1."""
    shown = debug(keys="f n n n n q")
    assert titles(shown) == ["1", "1", "3", "5", "6", "7"]
    assert shown.count("(this partition only)") == 5
    assert titles(debug(keys="ff q")) == ["1", "1", "2"]


def test_one_step(debug) -> None:  # type: ignore[no-untyped-def]
    shown = debug("--to", "3")
    assert titles(shown) == ["3"]
    assert 'B1  u="ann" v=2' in shown
    assert "run 0: passed over B1: B1 is not b: `b.v > a.v`: 2 > 3 is false" in shown
    assert "a: 2  b: 0" in shown


def test_one_key_only(debug) -> None:  # type: ignore[no-untyped-def]
    assert "of 2" in debug("--key", "u=bob", "--to", "1")


def test_no_events(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    result = CliRunner().invoke(main, ["debug", "-e", "A -> B", str(tmp_path / "empty.jsonl")])
    assert result.stdout == "there are no events to step through\n"


def test_the_filter_goes_to_a_step_that_is_shown() -> None:
    """From the last step, which is 2's, to partition 1: its steps are all before."""
    plan = compile("A as a -> B as b .partition_by(u)").last.plan
    cursor = Cursor(trace(plan, read_events("A1{u: 1} A2{u: 2}"))).to(2)
    assert (cursor.filtered().key, cursor.filtered().at) == ((1,), 0)
