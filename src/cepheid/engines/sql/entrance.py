"""`cepheid.sql`: a statement with MATCH_RECOGNIZE over data frames, or over the tables of a Spark session."""

from __future__ import annotations

from typing import Any


def sql(text: str, *, spark: Any = None, **frames: Any) -> Any:
    """Run a SQL statement in which tables may have MATCH_RECOGNIZE clauses, and windows row patterns.

    With `spark` its tables and views are read, and the answer is a DataFrame. Without it tables are given by name, as
    pandas, polars or Arrow, and the answer is an Arrow table.

    Args:
        text: The statement.
        spark: A Spark session whose tables and views are read.
        frames: The tables by name, as pandas, polars or Arrow.

    >>> import pyarrow as pa
    >>> ticks = pa.table({"day": [1, 2, 3, 4], "price": [10, 8, 7, 9]})
    >>> query = '''
    ...     SELECT * FROM ticks MATCH_RECOGNIZE (
    ...         ORDER BY day
    ...         MEASURES FIRST(DOWN.price) AS top, LAST(DOWN.price) AS bottom
    ...         PATTERN (DOWN+ UP)
    ...         DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))
    ... '''
    >>> sql(query, ticks=ticks).to_pylist()
    [{'top': 8, 'bottom': 7}]
    """
    if spark is not None:
        from cepheid.engines.spark.row_patterns import run_on_spark

        return run_on_spark(text, spark)
    from cepheid.engines.sql.on_duckdb import run_locally

    return run_locally(text, frames)
