"""Kafka for the tests here; their helpers are imported by plain name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from kafka_broker import running

    with running(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker
