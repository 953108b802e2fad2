"""Hypothesis-made patterns and streams on Spark batch against the reference: hundreds of cases in a few jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bundle import Bundle, bundles
from golden import by_reference, by_spark, compared
from hypothesis import HealthCheck, Phase, given, settings

from cepheid.engines.network import Network
from cepheid.engines.program import compile
from cepheid.errors import CepheidError
from cepheid.pattern.event import Event
from cepheid.testing.scenarios import Scenario
from cepheid.testing.strategies import FAMILIES, cases

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")]

OF_EACH_FAMILY = 30


def made(family: str, count: int) -> Iterator[Scenario]:
    """Cases as hypothesis makes them; it only makes, the job below checks."""
    collected: list[tuple[str, list[Event]]] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(family))
    def collect(case: tuple[str, list[Event]]) -> None:
        collected.append(case)

    collect()
    for i, (query, events) in enumerate(collected):
        if _runs(query, events):
            yield Scenario(f"{family}_{i}: {query}", query, tuple(events))


def _runs(query: str, events: list[Event]) -> bool:
    """Not one that the planner refuses, or that ends in an error such as a skip to the match's own start."""
    try:
        network = Network(compile(query))
        network.on_events(events)
        network.on_end(events[-1].time)
    except CepheidError:
        return False
    return True


def random_bundles() -> list[Bundle]:
    return bundles([s for family in FAMILIES for s in made(family, OF_EACH_FAMILY)])


def test_random_cases(spark: Any) -> None:
    found: list[str] = []
    count = 0
    for bundle in random_bundles():
        count += len(bundle.placed)
        found += compared(bundle, by_spark(spark, bundle), by_reference(bundle))
    assert found == []
    assert count >= 200
