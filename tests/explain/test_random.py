"""Random patterns and inputs: watching changes nothing, what matched is not argued with, what is told was tried."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st
from test_trace import Checked

from cepheid.engines.program import compile
from cepheid.errors import EvaluationError, LimitReached, PatternMistake
from cepheid.explain.causes import KINDS
from cepheid.explain.examining import Placed, examine
from cepheid.explain.failing import Rules
from cepheid.explain.happenings import Matched
from cepheid.explain.why_not import why_not
from cepheid.matching.found import Findings, merged
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.run import Taken
from cepheid.pattern.event import Event
from cepheid.pattern.model import Pattern
from cepheid.plan.plan import Plan
from cepheid.plan.planner import plan_pattern
from cepheid.testing.strategies import FAMILIES, cases

QUIET = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
EXAMPLES = settings(max_examples=15, suppress_health_check=QUIET)


def planned(query: str | Pattern) -> Plan:
    """A query the language refuses is no example."""
    try:
        return plan_pattern(compile(query).last.stream.pattern if isinstance(query, str) else query)
    except PatternMistake as mistake:
        note(str(mistake))
        reject()


def answers(
    plan: Plan, events: list[Event], now: int | None = None, observer: Checked | None = None
) -> Findings:
    matcher = ReferenceMatcher(plan, observer=observer)
    last = events[-1].time if events else 0
    try:
        return merged([matcher.on_batch(events), matcher.on_end(max(last, now or 0))])
    except (EvaluationError, LimitReached):
        reject()


@pytest.mark.parametrize("family", FAMILIES)
def test_watching_changes_nothing(family: str) -> None:
    @EXAMPLES
    @given(cases(family))
    def check(case: tuple[str, list[Event]]) -> None:
        query, events = case
        plan = planned(query)
        recorder = Checked(Rules.of(plan))
        watched = answers(plan, events, observer=recorder)
        assert watched == answers(plan, events)
        told = [h.match_id for f in recorder.frames for h in f.happened if isinstance(h, Matched)]
        assert sorted(told) == sorted(m.id for m in watched.matches if not m.provisional)

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_stands_against_a_match(family: str) -> None:
    """What the examiner says of the events of a match: nothing. So what it says of others is no invention."""

    @EXAMPLES
    @given(cases(family))
    def check(case: tuple[str, list[Event]]) -> None:
        query, events = case
        plan = planned(query)
        rules = Rules.of(plan)
        recorder = Checked(rules)
        answers(plan, events, observer=recorder)
        timeline = [Taken(-1, e, i + 1, -1) for i, e in enumerate(events)]
        if plan.key:  # the events of a match are of one partition; the tests of the families name no key
            reject()
        for frame in recorder.frames:
            for happened in frame.happened:
                if isinstance(happened, Matched):
                    run = recorder.threads[happened.run].run
                    placed = [Placed(t.position, t.event) for t in run.taken]
                    assert examine(rules, placed, timeline, [()] * len(placed)) == []

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_told_was_tried(family: str) -> None:
    @EXAMPLES
    @given(cases(family), st.data())
    def check(case: tuple[str, list[Event]], data: st.DataObject) -> None:
        query, events = case
        plan = planned(query)
        given_out = answers(plan, events)
        expected = data.draw(st.lists(st.sampled_from(events), unique_by=id, max_size=2)) if events else []
        found = why_not(plan, events, expected=expected)
        wanted = {id(e) for e in expected}
        holding = [m for m in given_out.matches if wanted <= {id(e) for e in m.events}]
        assert found.matched == bool([m for m in holding if not m.provisional])
        assert found.cause.kind in KINDS
        assert str(found)
        assert found._repr_html_()
        for miss in found.near_misses:
            again = answers(planned(miss.pattern), events, miss.now)
            got = [frozenset(map(id, m.events)) for m in again.matches]
            assert frozenset(map(id, miss.events)) in got, miss.text
            assert wanted <= set(map(id, miss.events))

    check()
