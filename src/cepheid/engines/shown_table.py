"""What a notebook shows of an answer: its first rows, as HTML and as text."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.engines.spark.failures import in_our_words
from cepheid.engines.spark.inputs import is_spark

_LONGEST = 200  # characters of a value


@dataclass(frozen=True)
class ShownTable:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: int | None  # None: there are more than are shown, nobody knows how many

    @classmethod
    def of(cls, answer: Any, limit: int) -> ShownTable | None:
        """None of a stream, which has no first rows."""
        if is_spark(answer):
            return None if answer.isStreaming else _of_spark(answer, limit)
        if isinstance(answer, list):
            columns = tuple(dict.fromkeys(name for row in answer[:limit] for name in row))
            rows = tuple(tuple(row.get(name) for name in columns) for row in answer[:limit])
            return cls(columns, rows, len(answer))
        return _of_frame(answer, limit)

    @property
    def note(self) -> str:
        count = len(self.rows)
        rows = f"{count:,} row{'' if count == 1 else 's'}"
        if self.total == count:
            return rows
        return f"the first {rows}" + ("" if self.total is None else f" of {self.total:,}")

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_text(value))}</td>" for value in row) + "</tr>"
            for row in self.rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{self.note}</p>"

    def __repr__(self) -> str:
        cells = [self.columns, *([_text(value) for value in row] for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in cells
        ]
        return "\n".join([*(line.rstrip() for line in lines), self.note])


def results_html(results: Mapping[str, Any], limit: int = 20) -> str:
    """A table for each stream. What Spark has not computed yet is not computed for it."""
    parts = []
    for name, frame in results.items():
        parts.append(f"<p><b>{html.escape(name)}</b></p>")
        if is_spark(frame):
            parts.append(f"<p>a DataFrame of Spark: {html.escape(', '.join(frame.columns))}</p>")
        elif (shown := ShownTable.of(frame, limit)) is not None:
            parts.append(shown._repr_html_())
    return "".join(parts)


def _of_spark(answer: Any, limit: int) -> ShownTable:
    with in_our_words():
        rows = answer.limit(limit + 1).collect()
    shown = tuple(tuple(row) for row in rows[:limit])
    return ShownTable(tuple(answer.columns), shown, len(rows) if len(rows) <= limit else None)


def _of_frame(answer: Any, limit: int) -> ShownTable:
    """Arrow, pandas or polars."""
    columns: Sequence[str] = getattr(answer, "column_names", None) or [str(c) for c in answer.columns]
    total = len(answer)
    if hasattr(answer, "to_pylist"):
        rows = [tuple(row.values()) for row in answer.slice(0, limit).to_pylist()]
    elif hasattr(answer, "iter_rows"):
        rows = list(answer.head(limit).iter_rows())
    else:
        rows = list(answer.head(limit).itertuples(index=False, name=None))
    return ShownTable(tuple(columns), tuple(rows), total)


def _text(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
