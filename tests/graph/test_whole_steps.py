"""A step that fails, because values of different types meet, leaves the sifter as it was before."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

import cepheid
from cepheid.errors import CepheidError, EvaluationError, PatternMistake
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.expr import Binary, Literal
from cepheid.pattern.graph_pattern import Block, Body, GraphPattern, Let, Repeat, variable

sys.path.insert(0, str(Path(__file__).parent))

from graph_scenarios import GraphScenario, load_graph_scenarios
from graph_strategies import Happens, histories, patterns
from test_snapshot import feed

# ?x may be a number or a text.
CLASHES = (
    {"where": (Binary(">", variable("x"), Literal(0)),)},
    {"where": (Binary("<", variable("x"), Literal("n")),)},
    {"lets": (Let("w", Binary("+", variable("x"), Literal(1))),)},
)


@st.composite
def clashing(draw: Any) -> GraphPattern:
    pattern = draw(patterns())
    found = replace(pattern, body=_with(pattern.body, draw(st.sampled_from(CLASHES))))
    try:
        ReadyPattern(found)
    except PatternMistake:
        reject()
    return found


def _with(body: Body, more: dict[str, Any]) -> Body:
    if isinstance(body, Block):
        return replace(body, **{name: (*getattr(body, name), *added) for name, added in more.items()})
    if isinstance(body, Repeat):
        return replace(body, part=_with(body.part, more))
    first, *rest = body.parts  # type: ignore[attr-defined]
    return replace(
        body, parts=(*rest, _with(first, more)) if len(rest) > 1 else (first, _with(rest[0], more))
    )


def tried(sifter: cepheid.Sifter, step: Happens | None) -> Any:
    try:
        return feed(sifter, step)
    except CepheidError as problem:
        return str(problem)


def test_a_step_that_fails_changes_nothing() -> None:
    failed: list[int] = []

    @given(clashing(), histories(), st.booleans())
    @settings(max_examples=120, suppress_health_check=list(HealthCheck))
    def one(pattern: GraphPattern, ticks: list[list[Happens]], leaves: bool) -> None:
        failed.append(0)
        sifter = cepheid.Sifter(pattern, completing_leaves=leaves)
        twins: list[
            cepheid.Sifter
        ] = []  # restored when a step had failed; and one that never saw such a step
        twins.append(cepheid.Sifter(pattern, completing_leaves=leaves))
        for step in [step for happens in ticks for step in (*happens, None)]:
            before = sifter.snapshot()
            told = tried(sifter, step)
            if not isinstance(told, str):
                assert [tried(twin, step) for twin in twins] == [told] * len(twins)
                continue
            note(f"{step}: {told}")
            failed[-1] += 1
            assert sifter.snapshot() == before
            twins.append(cepheid.Sifter.restore(before))
        for twin in twins:
            assert twin.snapshot() == sifter.snapshot()

    one()
    assert sum(n > 0 for n in failed) > len(failed) / 10


CLASH = """
    graph pattern p {
      stage a { .k = "a", .n -> ?n }
      stage b { .k = "b", .n -> ?m }
      where ?m > ?n
    }
"""


def test_it_goes_on_after_an_error() -> None:
    sifter = cepheid.Sifter(CLASH)
    for node, kind, number, time in (("e1", "a", 1, 1), ("e2", "b", "x", 2)):
        sifter.add(node, "k", kind, time)
        if number == 1:
            sifter.add(node, "n", number, time)
    before = sifter.snapshot()
    with pytest.raises(EvaluationError):
        sifter.add("e2", "n", "x", 2)
    assert sifter.snapshot() == before
    (told,) = sifter.add("e2", "n", 5, 3)
    assert told.binds == {"a": "e1", "n": 1, "b": "e2", "m": 5}


def test_what_fails_at_the_end_of_a_time_fails_until_the_pattern_is_disabled() -> None:
    sifter = cepheid.Sifter(
        """
        graph pattern p { stage a { .n -> ?n, not .void } where ?n > 1 }
        graph pattern q { stage a { .n -> ?n } stage b { .n -> ?m } }
        """
    )
    sifter.add("e1", "n", "text", 1)
    before = sifter.snapshot()
    for step in (
        lambda: sifter.add("e2", "n", 5, 2),
        lambda: sifter.advance(2),
        sifter.end_tick,
        sifter.finish,
    ):
        with pytest.raises(EvaluationError):
            step()
        assert sifter.snapshot() == before
    sifter.disable("p")
    assert [type(h).__name__ for h in sifter.add("e2", "n", 5, 2)] == ["Advanced", "Completed"]


def test_the_first_edge_may_be_wrong() -> None:
    sifter = cepheid.Sifter(CLASH)
    before = sifter.snapshot()
    for wrong in (("e", "k", None, 1), ("e", "k", "a", 5, 2)):
        with pytest.raises(CepheidError):
            sifter.add(*wrong)
        assert sifter.snapshot() == before
    sifter.add("e", "k", "a", "2024-05-01T00:00Z")  # dates, where a number was refused


SCENARIOS = [s for s in load_graph_scenarios() if s.steps]


@pytest.mark.parametrize("scenario", SCENARIOS[::4], ids=lambda s: s.name)
def test_every_edge_of_a_scenario_taken_back(
    scenario: GraphScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step first fails at its very end, and is then made again: all is as if it had not failed."""
    from cepheid.graph.sifter import Sifter as Core

    once, twice = (cepheid.Sifter(scenario.pattern, **scenario.options.get("sifter", {})) for _ in range(2))

    def fail(core: Core, told: list[Any]) -> list[Any]:
        raise EvaluationError("at the end of the step")

    for step in [made for one in scenario.steps for made in _steps(one)]:
        wanted = step(once)
        before = twice.snapshot()
        with monkeypatch.context() as patched:
            patched.setattr(Core, "_noted", fail)
            try:
                told = step(twice)
            except EvaluationError:
                pass
            else:
                assert told == []  # the same edge again is no step
        assert twice.snapshot() == before
        assert step(twice) == wanted
        assert twice.threads() == once.threads()


def _steps(step: Any) -> list[Any]:
    if step.time is None:
        return [lambda sifter: sifter.end_tick()]
    if step.closes:
        return [lambda sifter, edge=edge: sifter.close(*edge, step.time) for edge in step.edges]
    return [lambda sifter, edge=edge: sifter.add(*edge, step.time, step.end) for edge in step.edges]
