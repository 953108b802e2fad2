"""`%%cepheid` cells over a Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cepheid.errors import CepheidError

pytest.importorskip("IPython", reason="the cell magic needs IPython (pip install ipython)")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

DIPS = """SELECT * FROM cell_ticks MATCH_RECOGNIZE (
    ORDER BY day MEASURES FIRST(DOWN.price) AS top, LAST(DOWN.price) AS bottom AFTER MATCH SKIP TO {}
    PATTERN (DOWN+ UP) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""


@pytest.fixture
def shell(spark: SparkSession) -> Iterator[Any]:
    rows = [(1, 10), (2, 8), (3, 7), (4, 9)]
    spark.createDataFrame(rows, "day int, price int").createOrReplaceTempView("cell_ticks")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "cepheid")
    shell.user_ns["spark"] = shell.user_ns["mine"] = spark
    yield shell
    InteractiveShell.clear_instance()


def run(shell: Any, line: str, cell: str) -> tuple[list[str], Any, str]:
    with capture_output() as caught:
        result = shell.run_cell(f"%%cepheid {line}\n{cell}")
    plain = [output.data["text/plain"] for output in caught.outputs]
    return plain, result.error_in_exec, caught.stdout + caught.stderr


@pytest.mark.parametrize("line", ["", "--spark mine"])
def test_tables_of_the_session(shell: Any, line: str) -> None:
    shown, error, _ = run(shell, f"{line} -o found", DIPS.format("NEXT ROW"))
    assert error is None
    assert sorted(shown[0].split("\n")[1:3]) == ["7    7", "8    7"]
    assert shell.user_ns["found"].columns == ["top", "bottom"]


def test_only_as_many_rows_as_are_shown(shell: Any) -> None:
    shown, _, _ = run(shell, "--limit 1", "SELECT day FROM cell_ticks ORDER BY day")
    assert shown == ["day\n1\nthe first 1 row"]


def test_what_fails_in_a_task_is_said_in_our_words(shell: Any) -> None:
    shown, error, text = run(shell, "", DIPS.format("FIRST DOWN"))
    assert shown == []
    assert isinstance(error, CepheidError)
    assert "query, line 2" in text
    assert "Traceback" not in text


def test_what_the_session_does_not_know_is_said_without_a_stack(shell: Any) -> None:
    _, error, text = run(shell, "", "SELECT * FROM nowhere_at_all")
    assert error is not None
    assert "nowhere_at_all" in text
    assert "Traceback" not in text
    assert "JVM stacktrace" not in text
