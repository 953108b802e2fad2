"""A plan as one array of whole numbers: what the kernel walks instead of objects."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from cepheid.matching.compiled.chains import is_chain
from cepheid.matching.compiled.equalities import NOTHING, equal_in
from cepheid.matching.compiled.kernel import machine as m
from cepheid.matching.compiled.kernel.float_sums import WIDTH as FLOAT_SUM_WIDTH
from cepheid.matching.compiled.kernel.words import (
    ABSENCES,
    ACCEPTS,
    AGGREGATES,
    ALIASES,
    AT_ABSENCE,
    AT_ACCEPT,
    AT_ACCEPTING,
    AT_ACCEPTING_LIST,
    AT_AGGREGATE,
    AT_BEYOND,
    AT_CLOSURE,
    AT_CODE,
    AT_EDGE,
    AT_EQUAL,
    AT_FEARS,
    AT_GUARD,
    AT_INSIDE,
    AT_INSIDE_LIST,
    AT_KEEP,
    AT_LISTS,
    AT_OUT,
    AT_OUT_EDGES,
    AT_PARENT,
    AT_POSITION,
    AT_PREFIX,
    AT_SCOPE,
    AT_TESTS,
    AT_WANTS,
    BLOCK_WORDS,
    BY_START,
    BY_STATE,
    CHAIN,
    CLOSURES,
    COMPONENTS,
    COUNTED,
    COUNTING,
    DEADLINES_MOVE,
    EAGER,
    EDGES,
    ENDED,
    EVICT,
    FILTERS,
    FIRST_POSITIONS,
    GUARDS,
    HEADER,
    HEAPS,
    KEEP_FIRST,
    KIND,
    KIND_ALL,
    KIND_EVERY,
    KIND_STNM,
    LONGEST,
    LOOKS_NEXT,
    MARKS_MATTER,
    MASK,
    MAX_MATCHES,
    MAX_RUNS,
    MIXED_START,
    MOST_OF_FIRST,
    NONE,
    ONE_WAY,
    ONLY_WINDOW,
    ORDER_MATTERS,
    POSITIONS,
    R_AGGREGATES,
    R_BLOCKED,
    R_COUNTS,
    R_FIRST,
    R_LAST,
    R_MARKS,
    R_NUMBER,
    R_SCOPES,
    R_WEIGHT,
    R_WIDTH,
    RUN_FIXED,
    SCOPES,
    SKIP,
    SKIP_ALIAS,
    STATES,
    TIMEOUTS,
    WANTED_LATER,
    WITHIN,
)
from cepheid.matching.compiled.passed_values import NOTHING as NOTHING_PASSED
from cepheid.matching.compiled.passed_values import passed_in
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.counting import counted_closures, marks_matter
from cepheid.pattern.model import Arrow, Emission, Every, Loop, OnLimit, Selection, SkipTo
from cepheid.plan.automaton import START, Automaton, Component, Edge
from cepheid.plan.plan import Plan

Table = npt.NDArray[np.int64]

_SKIPS = {
    SkipTo.NONE: 0,
    SkipTo.TO_NEXT: 1,
    SkipTo.PAST_LAST: 2,
    SkipTo.TO_FIRST: 3,
    SkipTo.TO_LAST: 4,
}
_ARROWS = {Arrow.ANY: 0, Arrow.FIRST: 1, Arrow.NEXT: 2}
_LOOPS = {Loop.ALL: 0, Loop.NEXT: 1, Loop.ANY: 2, Loop.GREEDY: 3}


def encode(plan: Plan, types: dict[str, int], tests: dict[tuple[str, int], list[list[int]]]) -> Table:
    """The plan's tables. `types` numbers event types; `tests` are instructions, by what they test and which of it."""
    return _Encoder(plan, types, tests).array()


class _Encoder:
    def __init__(
        self, plan: Plan, types: dict[str, int], tests: dict[tuple[str, int], list[list[int]]]
    ) -> None:
        self.plan, self.automaton = plan, plan.automaton
        self.types = types
        self.instructions = tests
        self.code = list(tests.values())
        self.aggregates = aggregates_in(self.code)
        self.tests = {test: at for at, test in enumerate(tests)}
        self.lists: list[int] = []
        self.heaps = 0
        self.aliases = {alias: i for i, alias in enumerate(aliases_of(plan))}
        self.components = components_of(plan.automaton)
        self.bases = 1 + max((e.base for e in plan.automaton.edges), default=0)
        self._check()

    def _check(self) -> None:
        limits = {
            "closures": len(self.automaton.closures),
            "ways to be complete": len(self.automaton.accepts),
            "tests of single events": len(self.automaton.positions)
            + len(self.automaton.absences)
            + len(self.plan.guards),
        }
        for what, count in limits.items():
            if count > MASK:
                raise Unsupported(f"it has {count} {what}, the kernel holds {MASK}")
        closures = self.automaton.closures
        if len(closures) > MASK - ENDED and any(
            c.loop is Loop.GREEDY and c.until is not None for c in closures
        ):
            raise Unsupported(
                f"it has {len(closures)} closures, greedy ones with `until` among them: the kernel holds {MASK - ENDED}"
            )

    def array(self) -> Table:
        header = np.full(HEADER, NONE, np.int64)
        body: list[Table] = []
        at = HEADER
        for place, rows in self._tables():
            header[place] = at
            flat = np.array(rows, np.int64).reshape(-1)
            body.append(flat)
            at += len(flat)
        header[AT_LISTS] = at
        self._sizes(header)
        self._options(header)
        self._record(header)
        return np.concatenate([header, *body, np.array(self.lists, np.int64)])

    def _tables(self) -> Iterable[tuple[int, list[list[int]] | list[int]]]:
        automaton = self.automaton
        yield AT_EDGE, [self._edge(e) for e in automaton.edges]
        yield from self._by_state([[e.index for e in out] for out in automaton.out], AT_OUT, AT_OUT_EDGES)
        yield (
            AT_ACCEPT,
            [[self._test("accept", a.index), *self._listed(a.leaves, a.absences)] for a in automaton.accepts],
        )
        accepting = [[a.index for a in accepts] for accepts in automaton.accepting]
        yield from self._by_state(accepting, AT_ACCEPTING, AT_ACCEPTING_LIST)
        yield (
            AT_POSITION,
            [
                [
                    NONE if p.step.alias is None else self.aliases[p.step.alias],
                    self.types[p.step.type],
                    int(p.repeated),
                    self._test("position", p.index),
                ]
                for p in automaton.positions
            ],
        )
        yield (
            AT_CLOSURE,
            [
                [c.min, NONE if c.max is None else c.max, _LOOPS[c.loop], self._test("until", c.index)]
                for c in automaton.closures
            ],
        )
        yield AT_SCOPE, [[s.bound, int(s.from_previous)] for s in automaton.scopes]
        yield (
            AT_ABSENCE,
            [
                [_or_none(a.node.within), int(a.node.next), self._test("absence", a.index)]
                for a in automaton.absences
            ],
        )
        yield (
            AT_GUARD,
            [
                [self._alias(g.guard.start), self._alias(g.guard.end), self._test("guard", i)]
                for i, g in enumerate(self.plan.guards)
            ],
        )
        yield AT_PARENT, [self.components[c[:-1]] if c else NONE for c in self.components]
        yield AT_PREFIX, [[int(b[: len(a)] == a) for b in self.components] for a in self.components]
        inside = [sorted(closures) for closures in automaton.closures_of]
        yield from self._by_state(inside, AT_INSIDE, AT_INSIDE_LIST)
        yield AT_KEEP, [self._kept_blocks(e) for e in automaton.edges]
        yield AT_WANTS, [sum(1 << p for p in {e.position for e in out}) for out in automaton.out]
        yield AT_FEARS, [self._feared(state) for state in range(automaton.states)]
        equal = [self._equal(state) for state in range(automaton.states)]
        yield AT_EQUAL, [list(row) for row in equal]
        yield AT_BEYOND, [list(self._beyond(state, row)) for state, row in enumerate(equal)]
        yield AT_AGGREGATE, self.aggregates
        yield AT_TESTS, [0, *accumulate(len(code) for code in self.code)]
        yield AT_CODE, [instruction for code in self.code for instruction in code]

    def _feared(self, state: int) -> int:
        feared = {a for edge in self.automaton.out[state] for a in edge.absences}
        feared |= {a for accept in self.automaton.accepting[state] for a in accept.absences}
        return sum(1 << absence for absence in feared)

    def _equal(self, state: int) -> tuple[int, ...]:
        """A run that is held may be closed by an event it has nothing in common with."""
        if self.plan.emission is Emission.LONGEST and self.automaton.accepting[state]:
            return NOTHING
        return equal_in(self.automaton, self.instructions, state)

    def _beyond(self, state: int, equal: tuple[int, ...]) -> tuple[int, ...]:
        """Where runs cannot be found by a value they have in common with an event."""
        if equal != NOTHING or (self.plan.emission is Emission.LONGEST and self.automaton.accepting[state]):
            return NOTHING_PASSED
        row = passed_in(self.automaton, self.instructions, state, self.heaps)
        self.heaps += row != NOTHING_PASSED
        return row

    def _by_state(
        self, lists: list[list[int]], at_offsets: int, at_items: int
    ) -> Iterable[tuple[int, list[int]]]:
        offsets = [0]
        for items in lists:
            offsets.append(offsets[-1] + len(items))
        yield at_offsets, offsets
        yield at_items, [i for items in lists for i in items]

    def _edge(self, e: Edge) -> list[int]:
        part = e.component if e.clears is None else e.clears
        inside = self.automaton.closures_of
        in_round = e.loop is not None or bool(inside[e.source] & inside[e.target] - {*e.leaves})
        return [
            e.base,
            e.target,
            e.position,
            _ARROWS[e.arrow],
            self.components[e.component],
            self.components[part],
            _or_none(e.loop),
            _or_none(e.gap),
            self._test("edge", e.index),
            int(in_round),
            int(e.arrow is Arrow.FIRST and not in_round),
            int(part == ()),
            *self._listed(e.enters, e.leaves, e.opens, e.inside, e.absences),
        ]

    def _listed(self, *lists: tuple[int, ...]) -> list[int]:
        """Lists one after the other: where each begins, and where the last one ends."""
        places = []
        for items in lists:
            places.append(len(self.lists))
            self.lists += items
        return [*places, len(self.lists)]

    def _kept_blocks(self, edge: Edge) -> list[int]:
        """Of the blocked ways, those that stay blocked when the edge is taken, as words of bits."""
        part = edge.component if edge.clears is None else edge.clears
        components = {e.base: e.component for e in self.automaton.edges}
        words = [0] * self._words
        for base in range(self.bases):
            if components.get(base, ())[: len(part)] != part:
                words[base // MASK] |= 1 << (base % MASK)
        return words

    @property
    def _words(self) -> int:
        return -(-self.bases // MASK)

    def _alias(self, name: str | None) -> int:
        return NONE if name is None else self.aliases[name]

    def _test(self, what: str, which: int) -> int:
        return self.tests.get((what, which), NONE)

    # The header.

    def _sizes(self, header: Table) -> None:
        automaton = self.automaton
        header[STATES] = automaton.states
        header[EDGES] = len(automaton.edges)
        header[POSITIONS] = len(automaton.positions)
        header[CLOSURES] = len(automaton.closures)
        header[SCOPES] = len(automaton.scopes)
        header[ABSENCES] = len(automaton.absences)
        header[GUARDS] = len(self.plan.guards)
        header[ACCEPTS] = len(automaton.accepts)
        header[COMPONENTS] = len(self.components)
        header[ALIASES] = len(self.aliases)
        header[BLOCK_WORDS] = self._words
        header[AGGREGATES] = len(self.aggregates)

    def _options(self, header: Table) -> None:
        pattern, automaton = self.plan.pattern, self.automaton
        header[WITHIN] = _or_none(pattern.within)
        header[LONGEST] = int(self.plan.emission is Emission.LONGEST)
        header[KIND] = KIND_EVERY if pattern.every else KIND_ALL
        if pattern.every is None and pattern.selection is Selection.STNM:
            header[KIND] = KIND_STNM
        header[CHAIN] = int(is_chain(self.plan))
        header[COUNTING] = int(self.plan.counting)
        header[COUNTED] = sum(1 << closure for closure in counted_closures(automaton))
        header[MARKS_MATTER] = int(marks_matter(automaton))
        header[ONE_WAY] = int(header[KIND] != KIND_ALL)
        header[SKIP] = _SKIPS[pattern.skip.to]
        header[SKIP_ALIAS] = self._alias(pattern.skip.alias)
        header[EAGER] = int(pattern.eager)
        header[TIMEOUTS] = int(pattern.timeouts)
        header[MAX_RUNS] = pattern.limits.max_runs
        header[MAX_MATCHES] = pattern.limits.max_matches
        header[EVICT] = int(pattern.limits.on_limit is OnLimit.EVICT_OLDEST)
        looks_next = any(e.arrow is Arrow.NEXT for e in automaton.edges)
        header[LOOKS_NEXT] = int(looks_next)
        header[WANTED_LATER] = sum(1 << p for p in {e.position for e in automaton.edges if e.source != START})
        bounded = automaton.scopes or automaton.absences or any(e.gap is not None for e in automaton.edges)
        next_absences = any(a.node.next for a in automaton.absences)
        untils = any(c.until is not None for c in automaton.closures)
        header[FILTERS] = int(next_absences or untils)
        header[DEADLINES_MOVE] = int(looks_next and bool(bounded or pattern.within is not None))
        # Among copies of one start: which of them a timeout tells of, which a limit drops, which stands for the others,
        # which gives out its provisional row first.
        ordered = (ONE_WAY, TIMEOUTS, EVICT, COUNTING, EAGER)
        header[ORDER_MATTERS] = int(any(header[option] for option in ordered))
        in_order = header[ORDER_MATTERS] or header[SKIP]
        header[BY_STATE] = int(not (in_order or looks_next or header[FILTERS]))
        header[HEAPS] = self.heaps if header[BY_STATE] else 0
        header[ONLY_WINDOW] = int(not bounded and not looks_next)
        by_window = pattern.within is not None and header[ONLY_WINDOW]
        header[BY_START] = int(by_window and not header[BY_STATE])
        header[MOST_OF_FIRST] = self._most_of_first_step()
        header[FIRST_POSITIONS] = sum(1 << p for p in automaton.first_positions)
        header[MIXED_START] = int(automaton.mixed_start)
        header[KEEP_FIRST] = int(pattern.every is Every.FIRST)

    def _most_of_first_step(self) -> int:
        entered = {c for e in self.automaton.out[0] for c in e.enters}
        limits = [self.automaton.closures[c].max for c in entered]
        if not limits:
            return 1
        return NONE if None in limits else max(m for m in limits if m is not None)

    def _record(self, header: Table) -> None:
        header[R_BLOCKED] = RUN_FIXED
        header[R_COUNTS] = header[R_BLOCKED] + header[BLOCK_WORDS]
        header[R_MARKS] = header[R_COUNTS] + header[CLOSURES]
        header[R_SCOPES] = header[R_MARKS] + header[COMPONENTS]
        header[R_LAST] = header[R_SCOPES] + header[SCOPES]
        header[R_FIRST] = header[R_LAST] + header[ALIASES]
        header[R_NUMBER] = header[R_FIRST] + header[ALIASES]
        header[R_AGGREGATES] = header[R_NUMBER] + header[ALIASES]
        header[R_WEIGHT] = header[R_AGGREGATES] + sum(_aggregate_words(row[0]) for row in self.aggregates)
        header[R_WIDTH] = header[R_WEIGHT] + header[COUNTING]


def aliases_of(plan: Plan) -> tuple[str, ...]:
    """Every name a run binds, in the order of the steps."""
    names = (p.step.alias for p in plan.automaton.positions)
    return tuple(dict.fromkeys(n for n in names if n is not None))


def components_of(automaton: Automaton) -> dict[Component, int]:
    """Every part of an AND and every part around it, outermost first."""
    found: dict[Component, None] = {(): None}
    for edge in automaton.edges:
        for part in (edge.component, edge.clears or ()):
            for depth in range(len(part) + 1):
                found[part[:depth]] = None
    ordered = sorted(found, key=len)
    return {component: i for i, component in enumerate(ordered)}


def aggregates_in(code: list[list[list[int]]]) -> list[list[int]]:
    """Those that a run keeps up to date, and where: one after the other."""
    found = sorted({tuple(i) for test in code for i in test if m.SUM_INT <= i[0] <= m.COUNT_KNOWN})
    places = [0, *accumulate(_aggregate_words(i[0]) for i in found)]
    return [[*i, place] for i, place in zip(found, places[:-1], strict=True)]


def _aggregate_words(operation: int) -> int:
    return FLOAT_SUM_WIDTH if operation == m.SUM_FLOAT else 2


def _or_none(value: int | None) -> int:
    return NONE if value is None else value
