"""Every golden scenario on Spark batch, many in one job."""

from __future__ import annotations

from typing import Any

import pytest
from golden import by_reference, by_spark, compared, golden_bundles

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")]


def test_scenarios(spark: Any) -> None:
    found: list[str] = []
    for bundle in golden_bundles():
        found += compared(bundle, by_spark(spark, bundle), by_reference(bundle))
    assert found == []
    assert sum(len(b.placed) for b in golden_bundles()) >= 750
