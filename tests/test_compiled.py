"""The compiled matcher finds what the reference finds: every golden scenario, and made-up patterns and streams."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from cepheid.engines.program import compile
from cepheid.errors import CepheidError, PatternMistake
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.counted import why_not_counted
from cepheid.matching.compiled.matcher import CompiledMatcher
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.found import Findings
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.pattern.types import NULL, UNKNOWN, Type, common, struct_of, type_of
from cepheid.plan.plan import Plan
from cepheid.testing.scenarios import Scenario, load_scenarios, read_events
from cepheid.testing.schema import schema_of
from cepheid.testing.strategies import FAMILIES, cases
from cepheid.testing.strategies import events as some_events

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
    assert not matcher.fallback.partitions, "the kernel gave up on a key"
    return facts(found, matcher.counts.tolist())


def facts(found: Findings, life: list[int]) -> dict[str, Any]:
    """Everything there is to say of an answer, in its order."""
    return {
        "matches": [
            (
                m.id,
                m.start,
                m.end,
                m.detected,
                m.provisional,
                m.count,
                m.key,
                _labels(m.events),
                _bound(m.binds),
            )
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
        if len(list(program)) == 1 and program.last.plan.trends is None:  # trends have functions of their own
            found.append((scenario, program.last.plan))
    return found


def ending(scenario: Scenario) -> int:
    from cepheid.pattern.duration import duration

    last = max((e.time for e in scenario.events), default=0)
    return max(last, duration(scenario.options["now"])) if "now" in scenario.options else last


# --- golden scenarios ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scenario", "plan"), plans(), ids=lambda x: getattr(x, "name", ""))
def test_scenario(scenario: Scenario, plan: Plan) -> None:
    events = sorted(scenario.events, key=Event.place_in_order)
    if plan.counting and (reason := why_not_counted(plan)) is not None:
        with pytest.raises(Unsupported, match=reason):
            CompiledPlan.of(plan, fields_of(events))
        return
    agree(plan, events, ending(scenario), Random(len(scenario.name)))


def agree(plan: Plan, events: list[Event], end: int, random: Random) -> None:
    """All at once, one by one, and cut anywhere; what the reference refuses, is refused."""
    try:
        wanted = by_reference(plan, events, end)
    except CepheidError as problem:
        with pytest.raises(type(problem)):
            by_kernel(plan, events, end, [])
        return
    anywhere = sorted(random.sample(range(len(events)), len(events) // 3))
    for cuts in ([], list(range(1, len(events))), anywhere):
        assert by_kernel(plan, events, end, cuts) == wanted, cuts


# --- made-up patterns and streams ----------------------------------------------------------------------------

QUIET = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
# What tests say across events, of every type of value the kernel knows; and keys.
TESTS = (
    "A as a -> B[v > a.v] as b -> C[v != a.v or v is null] as c .partition_by(k) .within(3s)",
    "A as a -> B[f >= b.f]+ as b -> C[f * 2 < sum(b.f) + a.v] as c",
    "A as a -> all B[v - a.v in (0, 1, 2)] as b -> C[v == b[0].v or v == last(b).v] as c .stnm()",
    'A as a -> B[name > a.name] as b -> C[name == concat(lower(b.name), "x") or name < a.name] as c',
    "A as a -> B[time - a.time <= 2s and not (f > a.f)] as b .timeouts() .within(4s)",
    "A as a -> all B as b -> C[avg(b.v) > v or max(b.f) < f or b.LEN == 2] as c .subsets()",
    "A as a -> NOT X[v > a.v] -> B[if(v > 1, f, a.f) > 0.5] as b .partition_by(k)",
    "A as a -> B[-v < abs(a.v - 2) % 2] as b -> NOT X[k == a.k] within 2s",
    "A as a -> all B[f > a.f / v] until v == 0 as b -> C as c .longest()",
    "A as a -> all B as b .where(sum(b.v) < 5 and min(b.f) >= 0) .within(3s) .longest() .partition_by(k)",
    "every (A as a -> B[v > a.v] as b -> C as c) .partition_by(k) .timeouts() .within(4s)",
    "every first (A{2} as a -> B[v >= a[0].v] as b) .within(5s)",
)


def made_up(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=QUIET)


def compared(query: str, events: list[Event], seed: int) -> None:
    note(query)
    try:
        plan = compile(query, schema_of(events)).last.plan
    except PatternMistake as mistake:  # a query the language refuses is no example
        note(str(mistake))
        reject()
    agree(plan, events, events[-1].time, Random(seed))


# What may be said of any pattern; most often nothing is.
OPTIONS = (
    "",
    "",
    " .timeouts()",
    " .partition_by(k)",
    " .partition_by(k) .timeouts()",
    " .limit(max_runs: 3)",
    " .limit(max_matches: 2)",
    " .limit(max_runs: 2, on_limit: evict_oldest)",
    " .limit(max_runs: 1, on_limit: evict_oldest) .timeouts()",
)


def check_family(family: str, count: int) -> None:
    @made_up(count)
    @given(cases(family), st.sampled_from(OPTIONS), st.booleans(), st.integers(0, 2**32))
    def run(case: tuple[str, list[Event]], options: str, eager: bool, seed: int) -> None:
        query, events = case
        if eager:
            query = query.replace(".each()", ".each(eager: true)")
        if ".timeouts" in options and "within" not in query:
            options = ""
        compared(query + options, events, seed)

    run()


def typed(events: list[Event]) -> list[Event]:
    """Fields of every type, now and then null."""
    names = ("a", "b", "ab", "bx", "", None)
    for i, e in enumerate(events):
        v, k = e.fields["v"], e.fields["k"]
        e.fields["f"] = None if (i + k) % 5 == 4 else (0.5 * (v or 0) - 0.25 * (i % 4))
        e.fields["name"] = names[(i * 7 + (v or 0)) % len(names)]
    return events


def check_tests(count: int) -> None:
    kinds = ("A", "A", "B", "B", "B", "C", "X")

    @made_up(count)
    @given(st.sampled_from(TESTS), some_events(9, kinds), st.integers(0, 2**32))
    def run(query: str, given_events: list[Event], seed: int) -> None:
        compared(query, typed(given_events), seed)

    run()


def test_not_a_number_is_null_also_before_a_closure() -> None:
    """Nothing to compare with: the first event of the closure is taken whatever its value."""
    values = [("A", float("nan")), ("B", 1.0), ("B", 2.0), ("C", 3.0)]
    events = [
        Event(kind, i, {"type": kind, "id": f"{kind}{i}", "f": f}) for i, (kind, f) in enumerate(values)
    ]
    plan = compile("A as a -> all B[f > b.f] as b -> C as c", schema_of(events)).last.plan
    agree(plan, events, 3, Random(1))
    assert by_reference(plan, events, 3)["matches"]


def test_paths_are_told_apart_after_a_restart() -> None:
    """Their numbers are small then, and those of the next steps must not meet: they say which copy got furthest."""
    query = "A as a -> A? as b -> AND(A as c -> D as d, A as e) -> D as f .within(1s) .timeouts()"
    events = read_events("A1@0 A2@0 A3@0 A4@0 A5@0 A6@2")
    for text in (query, query + " .stnm()"):
        plan = compile(text, schema_of(events)).last.plan
        agree(plan, events, 2_000_000, Random(1))
        assert by_reference(plan, events, 2_000_000)["timeouts"]


def test_provisional_rows_of_copies_that_came_the_same_way_are_together() -> None:
    events = read_events("A1 A2 A3 A4 A5")
    plan = compile("(A as a -> A as b)+ -> A as c -> (A as d -> A as e)+ .each(eager: true)").last.plan
    agree(plan, events, 4_000_000, Random(1))
    assert len(by_reference(plan, events, 4_000_000)["matches"]) > 20


def test_a_run_that_waits_no_longer_has_the_deadline_of_its_window() -> None:
    """B2 is the next event and no X, so the match of A1 is certain; more A are possible until 3, not until 5."""
    plan = compile("A as a -> A* as b within 3s -> NOT next X within 5s").last.plan
    events = read_events("A1@0 B2@1")
    assert by_reference(plan, events, 3_000_000)["life"]["Expired"] == 0
    assert by_reference(plan, events, 4_000_000)["life"]["Expired"] == 1
    agree(plan, events, 4_000_000, Random(1))


def test_what_until_ends_in_the_past_ends_with_its_moment() -> None:
    """A4 closes the closure of A2, whose next step was to come by 2: after that of A1, which was over at 3."""
    query = "A+ as a until v == 0 -> A as b within 1s -> B as c -> A as d .within(3s) .timeouts()"
    events = read_events("A1@0{v: 1} A2@1{v: 1} B3@2{v: 1} A4@4{v: 0} A5@4{v: 1}")
    plan = compile(query).last.plan
    found = by_reference(plan, events, 6_000_000)["timeouts"]
    assert [(t[1], t[-1]) for t in found] == [(3_000_000, ("A1", "A2", "B3")), (4_000_000, ("A2",))]
    agree(plan, events, 6_000_000, Random(1))


def test_a_younger_match_at_the_end_may_come_before_an_older_one() -> None:
    """A1 took A4 for a step to come; A4's own match uses it, so A1 is put back to where it is complete."""
    query = (
        "(A as a -> A as b)+ -> A as c -> (A as d -> A[v > d.v] as e)? .partition_by(k) .stnm() .longest()"
    )
    events = read_events([f"A{i}@0{{v: 0, k: {k}}}" for i, k in enumerate((1, 2, 1, 1, 1, 2, 1, 2, 1), 1)])
    plan = compile(query).last.plan
    found = by_reference(plan, events, 0)["matches"]
    assert [m[-2] for m in found] == [("A5", "A7", "A9"), ("A1", "A3", "A4"), ("A2", "A6", "A8")]
    agree(plan, events, 0, Random(1))


@pytest.mark.parametrize("family", FAMILIES)
def test_made_up_patterns(family: str) -> None:
    check_family(family, 50)


def test_cross_event_tests() -> None:
    check_tests(300)


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_many_made_up_patterns(family: str) -> None:
    check_family(family, 2_500)


@pytest.mark.soak
def test_many_cross_event_tests() -> None:
    check_tests(5_000)
