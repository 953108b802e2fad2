"""Every golden scenario on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from engines import ENGINES

from cepheid.errors import CepheidError
from cepheid.testing.scenarios import Scenario, load_scenarios, problems

SCENARIOS = list(load_scenarios(Path(__file__).parent / "scenarios"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_scenario(scenario: Scenario, engine: str) -> None:
    wanted = scenario.option("error")
    if wanted is None:
        assert problems(scenario, ENGINES[engine](scenario)) == []
        return
    with pytest.raises(CepheidError) as caught:
        ENGINES[engine](scenario)
    assert wanted.get("code") in (None, caught.value.code)
    assert str(wanted.get("contains", "")).lower() in str(caught.value).lower()


def test_engines_give_the_same_ids() -> None:
    for scenario in SCENARIOS:
        if "error" not in scenario.options:
            ids = [sorted(engine(scenario).ids) for engine in ENGINES.values()]
            assert all(i == ids[0] for i in ids), scenario.name
            assert len(set(ids[0])) == len(ids[0]), f"{scenario.name}: two matches share an id"


def test_there_are_enough_of_them_with_unique_names() -> None:
    names = [s.name for s in SCENARIOS]
    assert len(names) == len(set(names)) >= 250
