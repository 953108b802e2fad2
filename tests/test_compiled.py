"""The compiled matcher finds what the reference finds: every golden scenario, and made-up patterns and streams."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cepheid.engines.program import compile
from cepheid.errors import CepheidError
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.matcher import CompiledMatcher
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.found import Findings
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.pattern.types import NULL, UNKNOWN, Type, common, struct_of, type_of
from cepheid.plan.plan import Plan
from cepheid.testing.scenarios import Scenario, load_scenarios
from cepheid.testing.schema import schema_of

LIFE = ("Started", "Advanced", "Completed", "Negated", "Expired", "Evicted", "Dropped")
SCENARIOS = list(load_scenarios(Path(__file__).parent / "scenarios"))


def by_reference(plan: Plan, events: list[Event], end: int) -> dict[str, Any]:
    told: Counter[str] = Counter()
    matcher = ReferenceMatcher(plan, lambda happened: told.update([type(happened).__name__]))
    found = matcher.on_batch(events) + matcher.on_end(end)
    return facts(found, [told[name] for name in LIFE])


def by_kernel(plan: Plan, events: list[Event], end: int, cuts: list[int]) -> dict[str, Any]:
    matcher = CompiledMatcher(CompiledPlan.of(plan, fields_of(events)))
    found = Findings()
    for a, b in zip([0, *cuts], [*cuts, len(events)], strict=True):
        found += matcher.on_batch(events[a:b])
    found += matcher.on_end(end)
    return facts(found, matcher.counts.tolist())


def facts(found: Findings, life: list[int]) -> dict[str, Any]:
    """Everything there is to say of an answer, in its order."""
    return {
        "matches": [
            (m.id, m.start, m.end, m.detected, m.provisional, m.key, _labels(m.events), _bound(m.binds))
            for m in found.matches
        ],
        "timeouts": [
            (t.start, t.deadline, t.reached, t.waiting_for, t.key, _labels(t.events)) for t in found.timeouts
        ],
        "pending": sorted(
            (p.start, -1 if p.deadline is None else p.deadline, repr(p.key), _labels(p.events))
            for p in found.pending
        ),
        "life": dict(zip(LIFE, life, strict=True)),
    }


def _labels(events: Any) -> tuple[str, ...]:
    return tuple(str(e.fields.get("id")) for e in events)


def _bound(binds: Any) -> dict[str, tuple[str, ...]]:
    return {alias: _labels(events) for alias, events in binds.items()}


def fields_of(events: list[Event]) -> Type:
    """A table has every column for every type of event."""
    found: dict[str, Type] = {}
    for event in events:
        for name, value in event.fields.items():
            found[name] = common(found.get(name, NULL), type_of(value)) or UNKNOWN
    return struct_of(found)


def plans() -> list[tuple[Scenario, Plan]]:
    """Every scenario of bounded input, as the plan of its one stream."""
    found = []
    for scenario in SCENARIOS:
        if scenario.streaming or scenario.option("error"):
            continue
        program = compile(scenario.query, schema_of(scenario.events))
        if len(list(program)) == 1:
            found.append((scenario, program.last.plan))
    return found


def ending(scenario: Scenario) -> int:
    from cepheid.pattern.duration import duration

    last = max((e.time for e in scenario.events), default=0)
    return max(last, duration(scenario.options["now"])) if "now" in scenario.options else last


@pytest.mark.parametrize(("scenario", "plan"), plans(), ids=lambda x: getattr(x, "name", ""))
def test_scenario(scenario: Scenario, plan: Plan) -> None:
    events = sorted(scenario.events, key=Event.place_in_order)
    random = Random(len(scenario.name))
    try:
        wanted = by_reference(plan, events, ending(scenario))
    except CepheidError:
        return
    for cuts in ([], list(range(1, len(events))), sorted(random.sample(range(len(events)), len(events) // 3))):
        try:
            found = by_kernel(plan, events, ending(scenario), cuts)
        except Unsupported as reason:
            pytest.skip(str(reason))
        assert found == wanted, cuts
