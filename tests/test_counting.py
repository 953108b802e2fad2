"""`count_matches()` counts what is listed without it; and the compiled matcher counts as the reference does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, note, reject
from hypothesis import strategies as st
from test_compiled import agree, compared, made_up

import cepheid
from cepheid.engines.program import compile
from cepheid.errors import PatternMistake
from cepheid.matching.compiled.counted import why_not_counted
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.testing.scenarios import read_events
from cepheid.testing.strategies import FAMILIES, Shape, cases

COUNTED = {
    name: replace(shape, skips=False, emissions=("", ".each()", ".subsets()", ".subsets()"), untils=True)
    for name, shape in FAMILIES.items()
    if name not in ("stnm", "every")
}
COUNTED["logical"] = replace(COUNTED["logical"], selections=("", ".strict()"))
COUNT = " .emit(n: count_matches())"


def by_moment(query: str, events: list[Event]) -> Counter[int]:
    """How many matches became certain when."""
    plan = compile(query).last.plan
    matcher = ReferenceMatcher(plan)
    found = matcher.on_batch(events) + matcher.on_end(events[-1].time)
    counts: Counter[int] = Counter()
    for match in found.matches:
        counts[match.detected] += match.count
    return counts


def check_listing(shape: Shape, count: int) -> None:
    @made_up(count)
    @given(cases(shape), st.sampled_from(("n: count_matches()", "v: {}.v, n: count_matches()")))
    def run(case: tuple[str, list[Event]], outputs: str) -> None:
        query, events = case
        note(query)
        try:
            names = list(compile(query).last.plan.aliases)
            counted = by_moment(f"{query} .emit({outputs.format(names[-1])})", events)
        except PatternMistake as mistake:
            note(str(mistake))
            reject()
        assert counted == by_moment(query, events)

    run()


def check_kernel(shape: Shape, count: int) -> None:
    """Of patterns whose tests look at no other events; of the others some."""

    @made_up(count)
    @given(cases(shape), st.integers(0, 2**32))
    def run(case: tuple[str, list[Event]], seed: int) -> None:
        query, events = case
        try:
            reason = why_not_counted(compile(query + COUNT).last.plan)
        except PatternMistake as mistake:
            note(str(mistake))
            reject()
        if reason is not None:
            note(reason)
            reject()
        compared(query + COUNT, events, seed)

    run()


@pytest.mark.parametrize("family", COUNTED)
def test_as_many_as_are_listed(family: str) -> None:
    check_listing(COUNTED[family], 60)


@pytest.mark.parametrize("family", COUNTED)
def test_compiled(family: str) -> None:
    check_kernel(COUNTED[family], 60)


@pytest.mark.soak
@pytest.mark.parametrize("family", COUNTED)
def test_many_more(family: str) -> None:
    check_listing(COUNTED[family], 2_000)
    check_kernel(COUNTED[family], 2_000)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("A -> all B -> C .subsets()", None),
        ("A -> all B[v > 1]{2,} until v == 9 -> C .each() .within(5s)", None),
        ("A -> all B -> NOT X within 2s .subsets() unless Y", None),
        ("A as a -> all B as b until b.LEN > 2 -> C .subsets()", "a test looks at other events"),
        ("A as a -> all B[v > a.v] -> C .subsets()", "a test looks at other events"),
        ("A as a -> all B -> C .subsets() unless X after a", "a guard begins or ends with a step"),
        ("A -> all B -> C .subsets() .within(1s) .timeouts()", "timeouts tell how far each got"),
    ],
)
def test_what_is_counted_by_the_kernel(query: str, reason: str | None) -> None:
    assert why_not_counted(compile(query + COUNT).last.plan) == reason


def test_more_than_a_word_holds() -> None:
    """The key goes on in whole numbers of any size, from where its state was kept."""
    events = read_events(" ".join(["A1@0", *(f"B{i}@{i}" for i in range(1, 71)), "C1@80", "B71@81", "C2@82"]))
    plan = compile("A -> all B -> C .subsets()" + COUNT).last.plan
    matcher = ReferenceMatcher(plan)
    assert [m.count for m in matcher.on_batch(events).matches] == [2**70 - 1, 2**71 - 1]
    rows: list[dict[str, Any]] = [{**e.fields, "k": k, "x": 1} for e in events for k in (1, 2)]
    query = "A -> all B -> C .subsets() .partition_by(k) .emit(k, n: count_matches())"
    found = cepheid.match(query, rows, engine="compiled")
    assert found == cepheid.match(query, rows, engine="reference")
    assert [row["n"] for row in found] == [2**70 - 1] * 2 + [2**71 - 1] * 2


def test_weights_are_kept() -> None:
    events = read_events("A1@0 B1@1 B2@2 A2@3 B3@4 C1@5 B4@6 C2@7")
    agree(compile("A -> all B -> C .subsets()" + COUNT).last.plan, events, 7_000_000, Random(1))
