"""The text of a cell, run: SQL over frames or a Spark session, or a pattern over events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cepheid.engines.entrance import match
from cepheid.engines.spark.inputs import is_spark
from cepheid.engines.sql.entrance import sql
from cepheid.errors import InputMistake, nearest
from cepheid.notebook.options import CellOptions
from cepheid.sql_lang.comments import blank_comments
from cepheid.sql_lang.from_pattern import is_from_pattern

_FRAMES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch", "Dataset", "FileSystemDataset", "InMemoryDataset"),
}
_SQL = re.compile(r"[\s(]*(select|with|values|from|table)\b", re.IGNORECASE)


def run_cell(options: CellOptions, text: str, namespace: Mapping[str, Any]) -> Any:
    """A table, a DataFrame of Spark, or matches in the kind the events have."""
    if not text.strip():
        raise InputMistake("the cell is empty", code="empty_cell", hint="write SQL or a pattern in it")
    if is_sql(text):
        if options.events or options.more:
            raise InputMistake(
                "--events and what belongs to it is for patterns, and this cell is SQL",
                code="bad_option",
                hint="SQL names its tables itself",
            )
        return _run_sql(options, text, namespace)
    return _run_pattern(options, text, namespace)


def is_sql(text: str) -> bool:
    """
    >>> is_sql("-- all\\nselect 1"), is_sql("from pattern (A -> B)"), is_sql("A -> B"), is_sql("From -> B")
    (True, False, False, False)
    """
    beginning = _SQL.match(blank_comments(text))
    if beginning is None or is_from_pattern(text):
        return False
    # A type of events may be called so.
    return not re.match(
        r"\s*(->|\[|as\b\s+\w+\s*(->|$))", blank_comments(text)[beginning.end() :], re.IGNORECASE
    )


def _run_sql(options: CellOptions, text: str, namespace: Mapping[str, Any]) -> Any:
    frames = _frames_in(text, namespace)
    name = options.spark
    if name is None and not options.local and not frames and _is_session(namespace.get("spark")):
        name = "spark"
    if name is not None:
        return sql(text, spark=_session(name, namespace))
    return sql(text, **frames)


def _session(name: str, namespace: Mapping[str, Any]) -> Any:
    session = namespace.get(name)
    if not _is_session(session):
        raise InputMistake(
            f"`{name}` is no Spark session here",
            code="no_session",
            hint="make one: spark = SparkSession.builder.getOrCreate()",
        )
    return session


def _is_session(value: Any) -> bool:
    kind = type(value)
    return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "SparkSession"


def _frames_in(text: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Those variables that are frames and whose names stand in the text, in any case as SQL has it."""
    words = {word.lower() for word in re.findall(r"[^\W\d]\w*", text)}
    found = {
        n: v for n, v in namespace.items() if n.lower() in words and not n.startswith("_") and _is_frame(v)
    }
    return {name: _collected(value) for name, value in found.items()}


def _is_frame(value: Any) -> bool:
    return any(
        kind.__name__ in _FRAMES.get(kind.__module__.split(".")[0], ()) for kind in type(value).__mro__
    )


def _collected(frame: Any) -> Any:
    return frame.collect() if type(frame).__name__ == "LazyFrame" else frame


def _run_pattern(options: CellOptions, text: str, namespace: Mapping[str, Any]) -> Any:
    if options.events is None:
        raise InputMistake(
            "a pattern needs events",
            code="no_events",
            hint="name them: %%cepheid --events frame",
        )
    if options.events not in namespace:
        frames = [n for n, v in namespace.items() if not n.startswith("_") and (_is_frame(v) or is_spark(v))]
        raise InputMistake(
            f"there is no `{options.events}` here",
            code="unknown_frame",
            hint=nearest(options.events, frames) or (f"there are {', '.join(frames)}" if frames else None),
        )
    return match(text, _collected(namespace[options.events]), **options.more)
