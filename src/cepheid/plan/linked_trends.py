"""Trends whose tests compare an event with the one taken before it, or with that of one named step.

Then what tells trends of one state apart is the last event, the event of that step, and (with a window) the first
event's time: few enough numbers for the compiled aggregates.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expr import Binary, Expr, Field
from cepheid.plan.automaton import START, Automaton, Edge
from cepheid.plan.linear_trends import Way, why_not_stateless
from cepheid.plan.plan import Plan

OPERATORS = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}  # and with its sides exchanged
LAST, NAMED = 0, 1  # which event a test compares with


@dataclass(frozen=True)
class LinkTest:
    """`field op other`: of the event at hand, and of an earlier one."""

    op: str
    field: str
    other: str
    of: int
    lenient: bool = False  # an earlier event without the field is as good as none: not tested


@dataclass(frozen=True)
class LinkedWay(Way):
    tests: tuple[LinkTest, ...] = ()


@dataclass(frozen=True)
class LinkedTrends:
    states: int
    ways: tuple[LinkedWay, ...]
    within: int | None
    named: int | None  # the position of the step that tests name
    keeps_last: tuple[bool, ...]  # of each state: does a way on look at the last event?
    keeps_named: tuple[bool, ...]  # or, sooner or later, at that of the named step?


def is_indexed(linked: LinkedTrends) -> bool:
    """One test a way, against the event before, and no window: an index finds the trends that an event can follow."""
    tests = [test for way in linked.ways for test in way.tests]
    one_each = all(len(way.tests) < 2 for way in linked.ways)
    return linked.within is None and one_each and all(test.of == LAST for test in tests)


class _Other(Exception):
    """A test of another form."""


def linked_trends(plan: Plan) -> LinkedTrends | None:
    """None: tests are of other forms."""
    automaton = plan.automaton
    if (
        plan.trends is None
        or why_not_stateless(plan) is not None
        or any(e.component for e in automaton.edges)
    ):
        return None
    if any(e.tests for e in automaton.edges) or any(a.tests for a in automaton.accepts):
        return None
    try:
        return _Linking(plan).trends()
    except _Other:
        return None


class _Linking:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.automaton = plan, plan.automaton
        going = [START, *sorted({e.source for e in self.automaton.edges} - {START})]
        self.numbers = {state: i for i, state in enumerate(going)}
        self.alias_of = {
            e.target: self.automaton.positions[e.position].step.alias for e in self.automaton.edges
        }
        self.named: int | None = None

    def trends(self) -> LinkedTrends:
        accepting = {a.state for a in self.automaton.accepts}
        ways: dict[LinkedWay, None] = {}
        for edge in self.automaton.edges:
            tests = self._tests(edge)
            if tests is not None:
                source, target = self.numbers[edge.source], self.numbers.get(edge.target)
                ways[LinkedWay(edge.position, source, target, edge.target in accepting, tests)] = None
        found = tuple(ways)
        states = range(len(self.numbers))
        last = tuple(any(t.of == LAST for w in found if w.source == s for t in w.tests) for s in states)
        return LinkedTrends(
            len(self.numbers),
            found,
            self.plan.pattern.within,
            self.named,
            last,
            _keeping_named(found, len(states)),
        )

    def _tests(self, edge: Edge) -> tuple[LinkTest, ...] | None:
        """None: no trend can go this way."""
        found: list[LinkTest] = []
        for test in self.automaton.positions[edge.position].beta:
            link = self._test(test, edge)
            if link is False:
                return None
            found += [link] if isinstance(link, LinkTest) else []
        return tuple(found)

    def _test(self, test: Expr, edge: Edge) -> LinkTest | bool:
        """True: it is not tested on this way; False: it never holds."""
        op, field, alias, other = _sides(test)
        position = self.automaton.positions[edge.position]
        own = position.repeated and alias == position.step.alias
        if edge.source == START:
            return own
        if self.alias_of[edge.source] == alias:
            return LinkTest(op, field, other, LAST)
        if own:
            if _may_come_before(self.automaton, alias, edge.source):
                raise _Other
            return LinkTest(op, field, other, LAST, lenient=True)
        self._name(alias)
        return LinkTest(op, field, other, NAMED)

    def _name(self, alias: str) -> None:
        places = [p for p in self.automaton.positions if p.step.alias == alias]
        if len(places) != 1 or places[0].repeated or self.named not in (None, places[0].index):
            raise _Other
        self.named = places[0].index


def _sides(test: Expr) -> tuple[str, str, str, str]:
    """Operator, field of the event, name of the other and its field."""
    if isinstance(test, Binary) and test.op in OPERATORS:
        for one, other, op in ((test.left, test.right, test.op), (test.right, test.left, OPERATORS[test.op])):
            if (
                isinstance(one, Field)
                and isinstance(other, Field)
                and one.alias is None
                and other.alias is not None
                and len(one.path) == len(other.path) == 1
            ):
                return op, one.path[0], other.alias, other.path[0]
    raise _Other


def _may_come_before(automaton: Automaton, alias: str, state: int) -> bool:
    """Can a trend in this state hold an event of that name?"""
    targets = {e.target for e in automaton.edges if automaton.positions[e.position].step.alias == alias}
    return any(state == t or any(e.target == state for e in automaton.reachable(t)) for t in targets)


def _keeping_named(ways: tuple[LinkedWay, ...], states: int) -> tuple[bool, ...]:
    keeping = [any(t.of == NAMED for w in ways if w.source == s for t in w.tests) for s in range(states)]
    for _ in range(states):
        for way in ways:
            if way.target is not None and keeping[way.target]:
                keeping[way.source] = True
    return tuple(keeping)
