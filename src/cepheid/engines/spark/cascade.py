"""Patterns without a key that joins can match: chains of single events, each tied to an earlier one by an equality.

Every match of such a pattern is a tuple of events that satisfies its conditions, and every such tuple is a match.
So joins find the tuples, and the matcher looks at each of them by itself (`cascade_joins.py`, `cascade_verify.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cepheid.engines.program import PlannedStream
from cepheid.engines.spark.cascade_columns import Carried, Place, order_columns, schema_of, side_by_side
from cepheid.engines.spark.catalyst import to_test, to_value
from cepheid.engines.spark.catalyst_failures import may_fail
from cepheid.engines.spark.inputs import Input
from cepheid.engines.spark.prepare import Split, split
from cepheid.engines.spark.units import Unit
from cepheid.pattern.expr import Binary, Expr, Field, Literal, Unary, aliases_in, walk
from cepheid.pattern.model import Arrow, Limits, Selection, SkipTo
from cepheid.plan.automaton import START, Edge
from cepheid.plan.event_tests import EventTest
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class Bound:
    """One event of a tuple at most so long after another, by their numbers."""

    first: int
    last: int
    most: int


@dataclass(frozen=True)
class Absent:
    """No event like this may lie between two events of a tuple: a NOT, or a guard."""

    test: EventTest
    place: Place
    after: int | None  # later than this event; None: a NOT before the first one
    until: int  # and not later than this one, which may not be such an event itself
    most: int | None  # looks no further than so long after (before, for a NOT before the first) its event
    ties: tuple[Expr, ...]
    more: tuple[Expr, ...]


@dataclass(frozen=True)
class Joined:
    """A step: the rows that fit it alone, what ties them to the events before, what is certain with them."""

    test: EventTest
    place: Place
    ties: tuple[Expr, ...]  # equalities that a join can use
    more: tuple[Expr, ...]  # further conditions that Spark can test; the rest is the matcher's
    bounds: tuple[Bound, ...]
    absent: tuple[Absent, ...]


@dataclass(frozen=True)
class Cascade:
    """A unit of one stream whose matches are found by joins, from left to right."""

    work: Split
    carried: Carried
    steps: tuple[Joined, ...]


class _Refused(Exception):
    """Why a pattern cannot run as joins."""


def cascade_of(unit: Unit, given: Input) -> Cascade | None:
    """The joins that find a unit's matches; None if it must run as one partition."""
    try:
        return _cascade(unit, given)
    except _Refused:
        return None


def why_not(unit: Unit, given: Input) -> str:
    """What stands in the way of joins, for each stream of a unit; nothing if nothing does."""
    reasons = [_reason(unit, stream, given) for stream in unit.program]
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def _reason(unit: Unit, stream: PlannedStream, given: Input) -> str:
    try:
        _require(not _fed(unit, stream.name), "streams feed each other")
        _cascade(_alone(unit, stream), given)
    except _Refused as refused:
        return str(refused)
    return ""


def apart(unit: Unit, given: Input) -> list[Unit]:
    """Streams that joins can match are units of their own; what is left goes on together."""
    if unit.key or given.streaming:
        return [unit]
    joined = [s for s in unit.program if not _reason(unit, s, given)]
    rest = [s for s in unit.program if s not in joined]
    return [_alone(unit, s) for s in joined] + ([_alone(unit, *rest)] if rest else [])


def _alone(unit: Unit, *streams: PlannedStream) -> Unit:
    return replace(unit, program=replace(unit.program, streams=streams))


def _fed(unit: Unit, name: str) -> bool:
    """Does another stream of the unit read this one's matches?"""
    return any(name in s.feeds_on for s in unit.program)


def _cascade(unit: Unit, given: Input) -> Cascade:
    _require(not given.streaming, "a stream cannot be joined with what has not come yet")
    _require(not unit.key, "it has a key")
    _require(len(unit.program.streams) == 1 and not unit.feeding, "streams feed each other")
    plan = unit.program.streams[0].plan
    _check_meaning(plan)
    chain = _chain(plan)
    work = split(unit, given)
    _require(not any(work.answered.left), "a condition on a single event is left to Python")
    carried = Carried(work.layout, given)
    kinds = carried.order_kinds()
    _require(len(order_columns(kinds)) == len(kinds), "Spark orders values of an `order` column otherwise")
    return Cascade(work, carried, _Reading(plan, chain, carried).steps())


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Refused(otherwise)


def _check_meaning(plan: Plan) -> None:
    """Is a match nothing but a tuple of events that satisfies the conditions?"""
    pattern = plan.pattern
    _require(pattern.every is None, "`every` keeps one run at a time")
    _require(pattern.selection is Selection.STAM, f"{pattern.selection.value} chooses among matches")
    _require(pattern.skip.to is SkipTo.NONE, "`skip` chooses among matches")
    _require(pattern.limits == Limits(), "its limits count open runs")
    _require(not pattern.timeouts, "timeouts are about open runs")
    _require(plan.forecast is None, "forecasts are about open runs")
    _require(not plan.counting, "matches are counted, not listed")
    _require(plan.trends is None, "trends are aggregated, not listed")
    _require(not plan.automaton.closures, "it has a closure")


def _chain(plan: Plan) -> list[Edge]:
    """The one way through the pattern."""
    automaton = plan.automaton
    chain: list[Edge] = []
    state = START
    while ways := automaton.out[state]:
        _require(len(ways) == 1, "AND and OR have several ways through")
        chain.append(ways[0])
        state = ways[0].target
    _require(all(edge.arrow is Arrow.ANY for edge in chain[1:]), "an arrow is not `any`")
    _require(not any(a.node.next for a in automaton.absences), "`NOT next` looks at neighbours")
    _require(not any(a.absences or a.tests for a in automaton.accepts), "a NOT at the end waits for time")
    return chain


class _Reading:
    """Reads a chain step by step."""

    def __init__(self, plan: Plan, chain: list[Edge], carried: Carried) -> None:
        self.plan = plan
        self.chain = chain
        self.carried = carried
        self.places = [Place(f"_{i}", carried) for i in range(len(chain))]
        self.numbers = self._numbers()
        self.absent_count = 0

    def _numbers(self) -> dict[str, int]:
        """Which event of the tuple a name stands for."""
        steps = [self.plan.automaton.positions[edge.position].step for edge in self.chain]
        return {step.alias: i for i, step in enumerate(steps) if step.alias is not None}

    def steps(self) -> tuple[Joined, ...]:
        absent = [*self._absences(), *self._guards()]
        bounds = list(self._bounds())
        return tuple(
            self._step(i, [b for b in bounds if b.last == i], [a for a in absent if a.until == i])
            for i in range(len(self.chain))
        )

    def _step(self, number: int, bounds: Iterable[Bound], absent: Iterable[Absent]) -> Joined:
        edge = self.chain[number]
        position = self.plan.automaton.positions[edge.position]
        place = self.places[number]
        known = {name: self.places[i] for name, i in self.numbers.items() if i < number}
        ties, more, fails = _usable(position.beta, place, known)
        _require(number == 0 or bool(ties), f"`{position.step.type}` is tied to no step before it by `==`")
        # An error must come wherever the matcher would have come: of tuples that go no further none is seen.
        if number < len(self.chain) - 1:
            fails = fails or any(_fails(t, place, known) for t in edge.tests)
            _require(not fails, f"a condition of `{position.step.type}` may fail")
        test = EventTest(position.step.type, position.alpha)
        return Joined(test, place, ties, more, tuple(bounds), tuple(absent))

    # Bounds: of the whole, and of steps and groups.

    def _bounds(self) -> Iterator[Bound]:
        begun: dict[int, int] = {}
        for number, edge in enumerate(self.chain):
            if self.plan.pattern.within is not None and number:
                yield Bound(0, number, self.plan.pattern.within)
            for scope in edge.opens:
                from_previous = self.plan.automaton.scopes[scope].from_previous
                begun[scope] = number - 1 if from_previous and number else number
            for scope in edge.inside:
                if begun[scope] < number:
                    yield Bound(begun[scope], number, self.plan.automaton.scopes[scope].bound)

    # What must not be there.

    def _absences(self) -> Iterator[Absent]:
        for number, edge in enumerate(self.chain):
            for index in edge.absences:
                spec = self.plan.automaton.absences[index]
                test = EventTest(spec.node.step.type, spec.alpha)
                # One before the first step may name the step after it.
                bound = [i for i in self.numbers.values() if i < max(number, 1)]
                after = number - 1 if number else None
                most = spec.node.within if number else spec.node.within or 0
                yield self._absent(test, spec.beta, bound, after, number, most)

    def _guards(self) -> Iterator[Absent]:
        for spec in self.plan.guards:
            start = 0 if spec.guard.start is None else self.numbers[spec.guard.start]
            end = len(self.chain) - 1 if spec.guard.end is None else self.numbers[spec.guard.end]
            if end > start:  # otherwise it is over before it begins
                test = EventTest(spec.guard.step.type, spec.alpha)
                bound = [i for i in self.numbers.values() if i <= start]
                yield self._absent(test, spec.beta, bound, start, end, None)

    def _absent(
        self,
        test: EventTest,
        beta: Sequence[Expr],
        bound: Iterable[int],
        after: int | None,
        until: int,
        most: int | None,
    ) -> Absent:
        """It must be translated as a whole: no one looks at what a join has dropped."""
        # Only what is bound while the matcher looks: a later name is null there, and here a later event.
        names = {i: name for name, i in self.numbers.items()}
        known = {names[i]: self.places[i] for i in bound}
        place = Place(f"_x{self.absent_count}", self.carried)
        self.absent_count += 1
        ties, more, fails = _usable(beta, place, known, alone=True)
        whole = len(ties) + len(more) == len(beta) and not fails
        _require(whole, f"Spark cannot test the condition under which `{test.type}` must not come")
        _require(bool(ties), f"`{test.type}`, which must not come, is tied to no step by `==`")
        return Absent(test, place, after, until, most, ties, more)


# Conditions over several events.


def _usable(
    tests: Sequence[Expr], own: Place, known: Mapping[str, Place], alone: bool = False
) -> tuple[tuple[Expr, ...], tuple[Expr, ...], bool]:
    """Equalities to join by, further conditions for Spark, and whether one that is left may raise an error.

    After one that may, all are left: for the tuples they refuse the error must come all the same. `alone`: also
    conditions that name one event only. (In a step Spark would test them before all else, on one side alone,
    and then the sides would no longer be read as one.)
    """
    ties: list[Expr] = []
    more: list[Expr] = []
    for test in tests:
        column = _translated(test, own, known, alone)
        if column is None:
            if _fails(test, own, known):
                return tuple(ties), tuple(more), True
        elif _is_tie(test):
            ties.append(column)
        else:
            more.append(column)
    return tuple(ties), tuple(more), False


def _translated(test: Expr, own: Place, known: Mapping[str, Place], alone: bool) -> Expr | None:
    """The condition over the columns of a tuple, if Spark can test it."""
    if not aliases_in(test) <= set(known):
        return None
    if not alone and len(aliases_in(test)) + _reads_own(test) < 2:
        return None
    schema = schema_of([own, *known.values()])
    written = side_by_side(test, own, known)
    if _is_tie(test):
        return None if to_value(written, schema) is None else written
    return None if to_test([written], schema).left else written


def _fails(test: Expr, own: Place, known: Mapping[str, Place]) -> bool:
    return may_fail(side_by_side(test, own, known), schema_of([own, *known.values()]))


def _reads_own(test: Expr) -> bool:
    return any(isinstance(node, Field) and node.alias is None for node in walk(test))


def _is_tie(test: Expr) -> bool:
    """An equality with the event at hand on one side and earlier events on the other."""
    if not isinstance(test, Binary) or test.op != "==":
        return False
    # Functions may become more than one comparison.
    plain = all(isinstance(n, (Field, Binary, Unary, Literal)) for n in walk(test))
    sides = [(aliases_in(side), _reads_own(side)) for side in (test.left, test.right)]
    return plain and any(
        reads and not names and others and not both
        for (names, reads), (others, both) in (sides, reversed(sides))
    )


__all__ = ["Absent", "Bound", "Cascade", "Joined", "apart", "cascade_of", "why_not"]
