"""Every scenario of `scenarios/`, as a whole and edge by edge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from graph_scenarios import GraphScenario, by_batch, by_sifter, load_graph_scenarios, wanted

SCENARIOS = list(load_graph_scenarios())
each_scenario = pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(
            s, id=s.name, marks=[pytest.mark.xfail(reason=s.options["fails"])] if "fails" in s.options else []
        )
        for s in SCENARIOS
    ],
)


def test_names_are_unique_and_there_are_enough() -> None:
    assert len({s.name for s in SCENARIOS}) == len(SCENARIOS) >= 120
    assert all(s.why for s in SCENARIOS)


@each_scenario
def test_batch(scenario: GraphScenario) -> None:
    if "sifter" in scenario.options:
        pytest.skip("it is about an option that only the sifter has")
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
