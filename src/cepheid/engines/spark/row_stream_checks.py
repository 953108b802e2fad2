"""What MATCH_RECOGNIZE cannot do over a stream, said before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.spark.partition_rows import TIME, key_names, order_names
from cepheid.engines.spark.stream import watermark_of
from cepheid.errors import PatternMistake, Place
from cepheid.pattern.row_aggregates import kept_names
from cepheid.pattern.row_pattern import Anchor, walk_rows
from cepheid.sql_lang.clause import Rows
from cepheid.sql_lang.row_query import RowQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BY_TIME = "begin ORDER BY with the time of the stream"


def check_stream(rows: DataFrame, query: RowQuery) -> None:
    """Raises the first mistake there is. `rows` are what is asked of the table."""
    _check_order(rows, query)
    _check_rows(query)
    _check_end(query)
    _check_aggregates(query)
    _check_types(rows, query)


def _check_order(rows: DataFrame, query: RowQuery) -> None:
    if not query.order_by:
        raise _mistake(
            "stream_without_order",
            "over a stream rows need an order by time",
            query.place,
            f"{_BY_TIME}, on which it has a watermark",
        )
    first = query.order_by[0]
    if watermark_of(rows, TIME) is None:
        raise _mistake(
            "no_watermark",
            f"the table is a stream, and `{first.value.text}` has no watermark: it cannot be known when all rows "
            "before a row have come",
            first.value.place,
            f'{_BY_TIME}, and give it a watermark: df.withWatermark("{first.value.text}", "10 seconds"). '
            "What comes out of a MATCH_RECOGNIZE over a stream has none",
        )
    if first.descending:
        raise _mistake(
            "stream_backwards",
            "a stream cannot be matched from its end: its time must be ascending",
            first.value.place,
            "leave out DESC",
        )


def _check_rows(query: RowQuery) -> None:
    if query.rows is Rows.ALL_WITH_UNMATCHED:
        raise _mistake(
            "stream_with_unmatched",
            "over a stream unmatched rows are not told",
            None if query.place is None else query.place.find(r"(?i)\bWITH\s+UNMATCHED\s+ROWS\b"),
            "leave out WITH UNMATCHED ROWS",
        )


def _check_end(query: RowQuery) -> None:
    end = next((n for n in walk_rows(query.pattern) if isinstance(n, Anchor) and not n.start), None)
    if end is not None:
        raise _mistake(
            "stream_has_no_end",
            "a stream has no last row, so `$` never matches",
            end.place,
            "leave it out, or match a bounded table",
        )


def _check_aggregates(query: RowQuery) -> None:
    """Spark would have to see all rows of a match together, after they are found."""
    for over in query.left_calls.values():
        assert over.call is not None
        raise _mistake(
            "stream_aggregate",
            f"over a stream `{over.call.name}` cannot be computed by the database",
            over.call.place,
            f"there are {', '.join(sorted(kept_names('spark')))}",
        )


def _check_types(rows: DataFrame, query: RowQuery) -> None:
    from pyspark.sql.pandas.types import to_arrow_type

    kinds = {f.name: to_arrow_type(f.dataType, timezone="UTC") for f in rows.schema.fields}
    for name, item in zip(order_names(query), query.order_by, strict=True):
        _check_plain(kinds[name], "ordered", item.value.text, item.value.place)
    for name, text in zip(key_names(query), query.partition_by, strict=True):
        _check_plain(kinds[name], "partitioned", text, query.place)


def _check_plain(kind: pa.DataType, what: str, text: str, place: Place | None) -> None:
    if pa.types.is_nested(kind):
        raise _mistake(
            "nested_in_stream",
            f"a stream cannot be {what} by `{text}`: it holds other values",
            place,
            "take the values in it, one by one",
        )


def _mistake(code: str, message: str, place: Place | None, hint: str) -> PatternMistake:
    return PatternMistake(message, code=code, place=place, hint=hint)
