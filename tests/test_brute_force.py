"""The reference matcher against a brute-force oracle, and against itself with the input cut and shuffled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from cepheid.engines.network import Network
from cepheid.engines.program import Program, compile
from cepheid.errors import EvaluationError, PatternMistake
from cepheid.matching.found import Match
from cepheid.pattern.event import Event
from cepheid.testing.brute_force import Undecided, brute_force
from cepheid.testing.scenarios import labels, read_events
from cepheid.testing.strategies import FAMILIES, SECOND, cases
from cepheid.time.arrival import Arrivals
from cepheid.time.lateness import Lateness

Answer = Counter[tuple[tuple[str, tuple[str, ...]], ...]]

QUIET = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def examples(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=QUIET)


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


def told(query: str, given_events: list[Event]) -> str:
    """A failing case in the short spelling of `read_events`."""
    tokens = [
        f"{e.fields['id']}@{e.time / SECOND:g}{{v: {e.fields['v']}, k: {e.fields['k']}}}"
        for e in given_events
    ]
    return f"{query} | {' '.join(tokens)}".replace("None", "null")


def agree(query: str, given_events: list[Event]) -> None:
    program = planned(query)
    wanted = expected(program, given_events)
    note(told(query, given_events))
    assert matched(program, given_events) == wanted


def check_family(family: str, count: int) -> None:
    @examples(count)
    @given(cases(family))
    def run(case: tuple[str, list[Event]]) -> None:
        agree(*case)

    run()


@pytest.mark.parametrize("family", FAMILIES)
def test_matcher_agrees_with_the_oracle(family: str) -> None:
    check_family(family, 400)


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_matcher_agrees_with_the_oracle_at_length(family: str) -> None:
    check_family(family, 8000)


FOUND = {  # what the oracle found, with the answer by the definitions
    "an absence after a counted first step of every": (
        "every (A{1,2} as a -> NOT X -> B as b)",
        "A1 X1 B1 A2 B2",
        ["A1 A2 B2"],
    ),
    "next absence after a counted first step of every": (
        "every (A{1,2} as a -> NOT next B -> B as b)",
        "A1 B1",
        [],
    ),
    "two runs of stnm with one deadline": (
        "A as a -> B as b -> NOT X within 5s .stnm()",
        "A1@0 A2@0 B1@0 B2@1 Z1@9",
        ["A1 B1", "A2 B2"],
    ),
    "a match that stnm does not give out skips nothing": (
        "A* as a -> B as b -> A+ as c .stnm() .longest() .skip(to_first(b))",
        "A1 B1 A2 A3",
        ["A1 B1 A2 A3"],
    ),
    "copies of a closure are tested one by one in stam": (
        "A as a -> A+ as b -> A* as c within 1s -> A as d",
        "A1@0 A2@0 A3@2",
        ["A1 A2 A3"],
    ),
    "no combination of stnm waits for the next time": (
        "A as a -> B+ as b -> C as c .stnm() .subsets()",
        "A1 B1 C1 B2 C2",
        ["A1 B1 C1"],
    ),
    "only a full greedy closure is left on an event of its type": (
        "A as a -> all greedy B{1,2} as b -> B as c",
        "A1 B1 B2 B3 B4",
        ["A1 B1 B2 B3", "A1 B1 B2 B4"],
    ),
    "a greedy closure before an optional one of its type": (
        "A as a -> all greedy B as b -> B* as c -> C as d",
        "A1 B1 B2 C1",
        ["A1 B1 B2 C1", "A1 B1 C1"],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_the_oracle_found(name: str) -> None:
    query, tokens, matches = FOUND[name]
    program, given_events = compile(query), list(read_events(tokens))
    found = matched(program, given_events)
    assert found == expected(program, given_events)
    assert sorted(" ".join(e for _, bound in m for e in bound) for m in found.elements()) == matches


# --- cuts and arrival ---------------------------------------------------------------------------------------


def in_batches(program: Program, batches: list[list[Event]], watermarks: bool) -> Answer:
    """With watermarks, time goes on to the next batch's first event; without, it is known at the end only."""
    network, name = Network(program), program.last.name
    found: list[Match] = []
    for i, batch in enumerate(batches):
        later = [e.time for b in batches[i + 1 :] for e in b]
        watermark = later[0] if watermarks and later else None
        found += network.on_events(batch, watermark)[name].matches
    found += network.on_end(batches[-1][-1].time)[name].matches
    return answer((m.binds for m in found), program)


def arriving(program: Program, order: list[Event], disorder: int) -> Answer:
    network, name = Network(program), program.last.name
    arrivals = Arrivals(Lateness(disorder))
    found: list[Match] = []
    for event in order:
        arrival = arrivals.feed(event)
        assert arrival.late is None
        assert arrival.dead is None
        found += network.on_events(arrival.released, arrivals.watermark)[name].matches
    found += network.on_events(arrivals.end())[name].matches
    found += network.on_end(max(e.time for e in order))[name].matches
    return answer((m.binds for m in found), program)


any_case = st.sampled_from(sorted(FAMILIES)).flatmap(cases)


def check_cuts(count: int) -> None:
    @examples(count)
    @given(any_case, st.data())
    def run(case: tuple[str, list[Event]], data: st.DataObject) -> None:
        query, given_events = case
        program = planned(query)
        cuts = sorted(data.draw(st.sets(st.integers(1, len(given_events)))) | {len(given_events)})
        batches = [given_events[a:b] for a, b in zip([0, *cuts[:-1]], cuts, strict=True)]
        note(told(query, given_events))
        whole = matched_or_refused(program, given_events)
        assert in_batches(program, batches, watermarks=data.draw(st.booleans())) == whole

    run()


def check_arrival(count: int) -> None:
    @examples(count)
    @given(any_case, st.integers(0, 4), st.data())
    def run(case: tuple[str, list[Event]], seconds: int, data: st.DataObject) -> None:
        query, given_events = case
        program = planned(query)
        delays = data.draw(st.lists(st.integers(0, seconds), min_size=7, max_size=7))
        delayed = sorted(zip(given_events, delays, strict=False), key=lambda p: p[0].time + p[1] * SECOND)
        note(told(query, given_events))
        whole = matched_or_refused(program, given_events)
        assert arriving(program, [e for e, _ in delayed], seconds * SECOND) == whole

    run()


def matched_or_refused(program: Program, given_events: list[Event]) -> Answer:
    try:
        return matched(program, given_events)
    except EvaluationError:  # a skip to the match's own first event
        reject()


def test_any_cut_gives_the_same_matches() -> None:
    check_cuts(400)


def test_any_arrival_within_the_disorder_gives_the_same_matches() -> None:
    check_arrival(400)


@pytest.mark.soak
def test_any_cut_gives_the_same_matches_at_length() -> None:
    check_cuts(8000)


@pytest.mark.soak
def test_any_arrival_within_the_disorder_gives_the_same_matches_at_length() -> None:
    check_arrival(8000)
