"""Every scenario of `scenarios/`, as a whole and edge by edge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from graph_scenarios import GraphScenario, by_batch, by_sifter, load_graph_scenarios, wanted

SCENARIOS = list(load_graph_scenarios())
# Some are about an option that only the sifter has.
as_a_whole = pytest.mark.parametrize(
    "scenario", [s for s in SCENARIOS if "sifter" not in s.options], ids=lambda s: s.name
)
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)


def test_names_are_unique_and_there_are_enough() -> None:
    assert len({s.name for s in SCENARIOS}) == len(SCENARIOS) >= 120
    assert all(s.why for s in SCENARIOS)


@as_a_whole
def test_batch(scenario: GraphScenario) -> None:
    assert by_batch(scenario) == wanted(scenario)


@each_scenario
def test_sifter(scenario: GraphScenario) -> None:
    assert by_sifter(scenario) == wanted(scenario)


@each_scenario
def test_sifter_with_the_edges_of_each_time_in_another_order(scenario: GraphScenario) -> None:
    assert by_sifter(scenario, reverse=True) == wanted(scenario)


@each_scenario
def test_sifter_saved_and_restored_at_each_step(scenario: GraphScenario) -> None:
    assert by_sifter(scenario, restored=True) == wanted(scenario)
