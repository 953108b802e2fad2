"""The reference matcher against a brute-force oracle, and against itself with the input cut and shuffled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, note, reject, settings
from hypothesis import strategies as st

from cepheid.engines.network import Network
from cepheid.engines.program import Program, compile
from cepheid.errors import PatternMistake
from cepheid.pattern.event import Event
from cepheid.testing.brute_force import Undecided, brute_force
from cepheid.testing.scenarios import labels, read_events
from cepheid.testing.strategies import FAMILIES, SECOND, events, queries
from cepheid.time.arrival import Arrivals
from cepheid.time.lateness import Lateness

Answer = Counter[tuple[tuple[str, tuple[str, ...]], ...]]

QUIET = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def examples(count: int) -> settings:
    return settings(max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)


def planned(query: str) -> Program:
    """A query the language refuses is no example."""
    try:
        return compile(query)
    except PatternMistake as mistake:
        note(str(mistake))
        reject()


def answer(found: Iterable[dict[str, tuple[Event, ...]]], program: Program) -> Answer:
    aliases = program.last.plan.aliases
    return Counter(tuple((a, labels(binds.get(a, ()))) for a in aliases) for binds in found)


def matched(program: Program, given_events: list[Event]) -> Answer:
    network = Network(program)
    name = program.last.name
    found = [*network.on_events(given_events)[name].matches]
    found += network.on_end(given_events[-1].time)[name].matches
    return answer((m.binds for m in found), program)


def expected(program: Program, given_events: list[Event]) -> Answer:
    try:
        return answer(brute_force(program.last.stream.pattern, given_events), program)
    except Undecided as why:
        note(str(why))
        reject()


def agree(query: str, given_events: list[Event]) -> None:
    program = planned(query)
    wanted = expected(program, given_events)
    note(" ".join(f"{e.fields['id']}@{e.time / 1e6:g}{{v: {e.fields.get('v')}, k: {e.fields.get('k')}}}" for e in given_events))
    assert matched(program, given_events) == wanted


def family_test(family: str, count: int) -> Callable[[], None]:
    @examples(count)
    @given(queries(family), events())
    def run(query: str, given_events: list[Event]) -> None:
        agree(query, given_events)

    return run


@pytest.mark.parametrize("family", FAMILIES)
def test_matcher_agrees_with_the_oracle(family: str) -> None:
    family_test(family, 300)()


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_matcher_agrees_with_the_oracle_at_length(family: str) -> None:
    family_test(family, 6000)()
