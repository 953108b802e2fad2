"""One Spark session for all tests here: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from cepheid.engines.spark.setup import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    warehouse = tmp_path_factory.mktemp("warehouse")
    session = start_session(
        "cepheid tests",
        cores=2,
        config={"spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": str(warehouse)},
    )
    yield session
    session.stop()
