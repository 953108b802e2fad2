"""`cepheid.plot`, `Results.plot` and `matches.plot`: matches in any form, as a plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cepheid.engines.local.times import to_microseconds
from cepheid.engines.spark.inputs import is_spark
from cepheid.errors import InputMistake, nearest
from cepheid.explain.plot import TIMELINE, Plot, PlottedMatch


def plot(
    matches: Any,
    kind: str = TIMELINE,
    *,
    start: str = "start",
    end: str = "end",
    by: str | None = None,
    name: str = "matches",
) -> Plot:
    """Matches over time: `timeline` has a line for each, `counts` how many ended when.

    Args:
        matches: What `cepheid.match` or `cepheid.run` gave: dicts, pandas, polars or Arrow.
        kind: `timeline` or `counts`.
        start: The column of the time a match began.
        end: The column of the time it ended.
        by: The column that tells matches apart.
        name: What they are called, where `matches` has no names of its own.

    >>> found = [{"start": 0, "end": 5, "user": "ann"}, {"start": 3, "end": 3, "user": "bob"}]
    >>> plot(found)
    <timeline of 2 matches>
    >>> [value["label"] for value in plot(found).to_dict()["data"]["values"]]
    ['ann', 'bob']
    """
    frames: Mapping[str, Any] = matches if isinstance(matches, Mapping) else {name: matches}
    found = [m for stream, frame in frames.items() for m in _plotted(stream, frame, start, end, by)]
    return Plot(kind, tuple(found))


def _plotted(stream: str, frame: Any, start: str, end: str, by: str | None) -> Iterator[PlottedMatch]:
    rows = rows_of(frame)
    if not rows:
        return
    for column in filter(None, (start, end, by)):
        if not any(column in row for row in rows):
            raise _missing(stream, column, list(rows[0]))
    label = by if by is not None else _telling(rows[0], (start, end, "match_id"))
    for number, row in enumerate(rows, 1):
        text = str(number) if label is None else str(row.get(label))
        yield PlottedMatch(stream, text, to_microseconds(row[start]), to_microseconds(row[end]))


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any kind."""
    if is_spark(frame):
        raise InputMistake(
            "a DataFrame of Spark is not plotted as it is",
            code="bad_option",
            hint="plot what fits on a screen: plot(found.limit(200).toArrow())",
        )
    if isinstance(frame, list):
        return frame
    if hasattr(frame, "to_pylist"):
        return frame.to_pylist()  # type: ignore[no-any-return]
    if hasattr(frame, "to_dicts"):
        return frame.to_dicts()  # type: ignore[no-any-return]
    if hasattr(frame, "fetch_arrow_table"):
        return frame.fetch_arrow_table().to_pylist()  # type: ignore[no-any-return]
    return frame.to_dict("records")  # type: ignore[no-any-return]


def _telling(row: Mapping[str, Any], without: tuple[str, ...]) -> str | None:
    """The first column with a text in it."""
    return next((n for n, v in row.items() if n not in without and isinstance(v, str)), None)


def _missing(stream: str, column: str, columns: list[str]) -> InputMistake:
    return InputMistake(
        f"the matches of `{stream}` have no column `{column}`",
        code="no_column",
        hint=nearest(column, columns)
        or "leave `.emit` out, or emit start: match_start(), end: match_end(), "
        f'or name the columns: plot(start="...", end="..."); there are {", ".join(columns)}',
    )
