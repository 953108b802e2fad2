"""Cepheid itself: in this process, from the Parquet file and from memory; and on Spark from a DataFrame."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import parquet

import cepheid
from peers.asking import Answer, Peer, Runs, best_of
from peers.data import Dataset
from peers.queries import Query
from peers.spark import frame


def ask_local(query: Query, data: Dataset, runs: Runs) -> Answer:
    return best_of(lambda d: _match(query, d), data, runs)


def _match(query: Query, data: Dataset) -> pa.Table:
    # By name, so that the untimed run over a few events loads the same matcher.
    table: pa.Table = cepheid.match(query.text, str(data.parquet), engine="compiled")
    return table


def ask_memory(query: Query, data: Dataset, runs: Runs) -> Answer:
    """As the engines in Java have their events: in memory, types as numbers. Of all types, though."""
    paths = (runs.warm.parquet, data.parquet)
    tables = {path: parquet.read_table(path, read_dictionary=["type"]) for path in paths}

    def match(d: Dataset) -> pa.Table:
        table: pa.Table = cepheid.match(query.text, tables[d.parquet], engine="compiled")
        return table

    return best_of(match, data, runs)


def ask_spark(query: Query, data: Dataset, runs: Runs) -> Answer:
    return best_of(lambda d: _detected(query, d), data, runs)


def _detected(query: Query, data: Dataset) -> pa.Table:
    table: pa.Table = cepheid.match(query.text, frame(data)).toArrow()
    return table


LOCAL = Peer("cepheid", "from Parquet, in one process", ask_local)
MEMORY = Peer("cepheid-memory", "from an Arrow table, in one process", ask_memory)
SPARK = Peer("cepheid-spark", "from Parquet, Spark batch, 2 cores", ask_spark)
