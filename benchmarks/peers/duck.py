"""SQL by hand on DuckDB, from the Parquet file."""

from __future__ import annotations

import pyarrow as pa

from peers.asking import Answer, Peer, Runs, best_of
from peers.data import Dataset
from peers.getting import python_module
from peers.queries import Query
from peers.sql import TEXTS


def ask(query: Query, data: Dataset, runs: Runs) -> Answer:
    return best_of(lambda d: _selected(TEXTS[query.name], d, runs), data, runs)


def _selected(text: str, data: Dataset, runs: Runs) -> pa.Table:
    duckdb = python_module("duckdb", "duckdb", runs.build)
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute(f"CREATE VIEW events AS SELECT * FROM read_parquet('{data.parquet}')")
        table: pa.Table = connection.sql(text).to_arrow_table()
    return table


PEER = Peer("duckdb", "SQL by hand, from Parquet, 2 threads", ask)
