"""SQL by hand on Spark, and the session that Cepheid on Spark is measured in too."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import pyarrow as pa

from cepheid.engines.spark.setup import start_session
from peers.asking import Answer, NotHere, Peer, Runs, best_of
from peers.data import Dataset
from peers.queries import Query
from peers.sql import TEXTS


@cache
def session() -> Any:
    """One session for all that runs on Spark; with two cores and as many shuffle partitions as the other benchmarks."""
    warnings.simplefilter("ignore")
    try:
        return start_session("cepheid and its peers", cores=2, config={"spark.sql.shuffle.partitions": "16"})
    except Exception as error:
        raise NotHere(f"no Spark session: {error}") from error


def frame(data: Dataset) -> Any:
    return session().read.parquet(str(data.parquet))


def ask(query: Query, data: Dataset, runs: Runs) -> Answer:
    return best_of(lambda d: _selected(TEXTS[query.name], d), data, runs)


def _selected(text: str, data: Dataset) -> pa.Table:
    frame(data).createOrReplaceTempView("events")
    table: pa.Table = session().sql(text).toArrow()
    return table


PEER = Peer("spark-sql", "SQL by hand, from Parquet, 2 cores", ask)
