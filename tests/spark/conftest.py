"""One Spark session for all tests of a process: starting one takes longer than most of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cepheid.engines.spark.setup import start_session
from cepheid.engines.warm import warm

sys.path.insert(0, str(Path(__file__).parent))  # for what the tests here share

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Few rows and many plans: to compile each plan takes longer than to interpret it. What Spark compiles is tested where
# its expressions are (test_catalyst.py), and by all that starts a Spark of its own: the demonstration, Connect.
INTERPRETING = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    warm()  # a few rows go to the reference matcher unless the kernel is there
    warehouse = tmp_path_factory.mktemp("warehouse")
    session = start_session(
        "cepheid tests",
        cores=2,
        config={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(warehouse),
            **INTERPRETING,
        },
    )
    yield session
    session.stop()
