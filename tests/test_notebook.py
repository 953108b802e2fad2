"""`%%cepheid` cells in a real IPython shell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cepheid.engines.shown_table import ShownTable
from cepheid.errors import CepheidError

pytest.importorskip("IPython", reason="the cell magic needs IPython (pip install ipython)")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

DIPS = """SELECT * FROM ticks MATCH_RECOGNIZE (
    ORDER BY day MEASURES FIRST(DOWN.price) AS top, LAST(DOWN.price) AS bottom
    PATTERN (DOWN+ UP) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""
TICKS = {"day": [1, 2, 3, 4], "price": [10, 8, 7, 9]}


@pytest.fixture
def shell() -> Iterator[Any]:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "cepheid")
    yield shell
    InteractiveShell.clear_instance()


def run(shell: Any, line: str, cell: str) -> tuple[list[Any], Any]:
    """What is shown, and what was said."""
    with capture_output() as caught:
        result = shell.run_cell(f"%%cepheid {line}\n{cell}")
    return [output.data for output in caught.outputs], (result, caught.stdout + caught.stderr)


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_sql_over_a_frame(shell: Any, frame: Any) -> None:
    shell.user_ns["ticks"] = frame(TICKS)
    (shown,), (result, _) = run(shell, "", DIPS)
    assert result.success
    assert "<th>top</th><th>bottom</th>" in shown["text/html"]
    assert "<td>8</td><td>7</td>" in shown["text/html"]
    assert shown["text/plain"] == "top  bottom\n8    7\n1 row"


def test_the_answer_as_a_variable(shell: Any) -> None:
    shell.user_ns["ticks"] = pa.table(TICKS)
    run(shell, "-o found", DIPS)
    assert shell.user_ns["found"].to_pylist() == [{"top": 8, "bottom": 7}]


def test_only_some_rows_are_shown(shell: Any) -> None:
    shell.user_ns["many"] = pa.table({"n": list(range(100))})
    (shown,), _ = run(shell, "--limit 3 -o all_of_them", "SELECT n FROM many ORDER BY n")
    assert shown["text/plain"] == "n\n0\n1\n2\nthe first 3 rows of 100"
    assert shell.user_ns["all_of_them"].num_rows == 100


def test_what_is_shown_is_no_html_of_the_data(shell: Any) -> None:
    shell.user_ns["t"] = pa.table({"x": ["<b>", None]})
    (shown,), _ = run(shell, "", "SELECT x FROM t")
    assert "<td>&lt;b&gt;</td>" in shown["text/html"]
    assert "<td>null</td>" in shown["text/html"]


EVENTS = [
    {"type": "Login", "time": 0, "user": "ann"},
    {"type": "Transfer", "time": 60, "user": "ann", "amount": 9000},
]
PATTERN = "Login as l -> Transfer[user == l.user and amount > 5000] as t .within(5m) .emit(user: t.user)"


def test_a_pattern(shell: Any) -> None:
    shell.user_ns["logins"] = EVENTS
    (shown,), (result, _) = run(shell, "--events logins -o found", PATTERN)
    assert result.success
    assert shown["text/plain"] == "user\nann\n1 row"
    assert shell.user_ns["found"] == [{"user": "ann"}]


def test_a_pattern_over_a_frame_with_options(shell: Any) -> None:
    shell.user_ns["logins"] = pd.DataFrame({"what": ["A", "B"], "at": [1, 2], "v": [5, 7]})
    (shown,), _ = run(shell, "--events logins --time at --type what", "A as a -> B as b .emit(v: b.v)")
    assert shown["text/plain"] == "v\n7\n1 row"


def test_from_pattern(shell: Any) -> None:
    shell.user_ns["logins"] = EVENTS
    query = "FROM PATTERN (l=Login -> t=Transfer) SELECT t.amount INSERT INTO Found"
    (shown,), _ = run(shell, "--events logins", query)
    assert shown["text/plain"] == "amount\n9000\n1 row"


UNKNOWN = "SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A B) DEFINE C AS day > 1)"


@pytest.mark.parametrize(
    ("line", "cell", "code", "said"),
    [
        ("", UNKNOWN, "unknown_variable", "hint: the pattern has A, B"),
        ("--events ticks", "A as a -> -> B", "missing_step", "query, line 1"),
        ("", "A as a -> B", "no_events", "--events"),
        ("--events tick", "A -> B", "unknown_frame", "did you mean `ticks`?"),
        ("--spark nothing", DIPS, "no_session", "`nothing` is no Spark session"),
        ("--sprak s", DIPS, "bad_option", "--sprak"),
        ("--spark s --local", DIPS, "bad_option", "not allowed"),
        ("--events ticks", DIPS, "bad_option", "this cell is SQL"),
        ("--limit -1", DIPS, "bad_option", "negative"),
        ("-o 1x", DIPS, "bad_option", "--output"),
        ("", "SELECT * FROM nowhere", "database", "nowhere"),
        ("", " ", "empty_cell", "empty"),
    ],
)  # fmt: skip
def test_mistakes_are_shown_without_a_stack(shell: Any, line: str, cell: str, code: str, said: str) -> None:
    shell.user_ns["ticks"] = pa.table(TICKS)
    shown, (result, text) = run(shell, line, cell)
    assert shown == []
    assert isinstance(result.error_in_exec, CepheidError)
    assert result.error_in_exec.code == code
    assert said in text
    assert "Traceback" not in text
    assert ".py" not in text


def test_an_error_of_ours_shows_its_place(shell: Any) -> None:
    shell.user_ns["ticks"] = pa.table(TICKS)
    query = "SELECT * FROM ticks\nMATCH_RECOGNIZE (ORDER BY day MEASURES percentil(price) AS p PATTERN (A+))"
    _, (_, text) = run(shell, "", query)
    assert "query, line 2, column 40: there is no function `percentil`" in text
    assert "\n    |                                        ^^^^^^^^^" in text


def test_a_long_value_is_cut() -> None:
    shown = ShownTable.of([{"x": "a" * 1000}], 5)
    assert shown is not None
    assert len(shown._repr_html_()) < 400
