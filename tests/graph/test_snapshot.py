"""A sifter that was saved in the middle, and one that was copied, go on exactly as the one they were made of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import cepheid
from cepheid.pattern.graph_pattern import GraphPattern

sys.path.insert(0, str(Path(__file__).parent))

from graph_strategies import Happens, histories, patterns


def feed(sifter: cepheid.Sifter, what: Happens | None) -> Any:
    if what is None:
        return sifter.end_tick()
    source, label, target, start = what.edge
    if what.closes:
        return sifter.close(source, label, target, what.end, start=start)
    return sifter.add(source, label, target, start, what.end)


def rest_of(sifter: cepheid.Sifter, steps: list[Happens | None]) -> list[Any]:
    """All that can be seen of a sifter while it is fed."""
    seen: list[Any] = [sifter.threads(), sifter.active, sifter.tick]
    for step in steps:
        seen += [feed(sifter, step), sifter.threads(), sifter.active]
    return [*seen, sifter.finish_all(), sifter.threads(), sifter.drain_completed().rows()]


@given(patterns(), histories(), st.integers(0, 12), st.booleans())
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
def test_the_rest_is_the_same(
    pattern: GraphPattern, ticks: list[list[Happens]], cut: int, leaves: bool
) -> None:
    steps = [step for happens in ticks for step in (*happens, None)]
    sifter = cepheid.Sifter(pattern, completing_leaves=leaves)
    for step in steps[:cut]:
        feed(sifter, step)
    snapshot, clone = sifter.snapshot(), sifter.clone()
    note(snapshot.decode())
    wanted = rest_of(sifter, steps[cut:])
    assert clone.snapshot() == snapshot
    assert rest_of(clone, steps[cut:]) == wanted
    restored = cepheid.Sifter.restore(snapshot)
    assert restored.snapshot() == snapshot
    assert rest_of(restored, steps[cut:]) == wanted
