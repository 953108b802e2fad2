"""Pattern tree to automaton: every step becomes a position, every way to go on an edge (a Glushkov construction)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cepheid.errors import PatternMistake
from cepheid.pattern.expr import Expr, aliases_in, conjuncts
from cepheid.pattern.model import (
    Absence,
    And,
    Arrow,
    Closure,
    Emission,
    Link,
    Loop,
    Node,
    Or,
    Pattern,
    Selection,
    Sequence,
    Step,
)
from cepheid.plan.automaton import (
    START,
    AbsenceSpec,
    Accept,
    Automaton,
    ClosureSpec,
    Component,
    Edge,
    Position,
    Scope,
)
from cepheid.plan.split_tests import split_tests

_ARROWS = {Selection.STAM: Arrow.ANY, Selection.STNM: Arrow.FIRST, Selection.STRICT: Arrow.NEXT}
_MOST_STATES = 50_000


@dataclass(frozen=True)
class _Entry:
    """A way into a fragment: the edge it will become, but for where it comes from."""

    edge: Edge
    arrow_said: bool = False


@dataclass(frozen=True)
class _Exit:
    """A state in which a fragment is done, what must hold to leave it, and the NOTs that guard the way on."""

    state: int
    leaves: tuple[int, ...] = ()
    absences: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Fragment:
    """Part of an automaton. `entries` and `exits` in the order of preference; `skipped` guards a nullable part."""

    entries: tuple[_Entry, ...]
    exits: tuple[_Exit, ...]
    edges: tuple[Edge, ...]
    states: tuple[int, ...]
    nullable: bool
    skipped: tuple[int, ...] = ()  # NOTs passed by going through without taking an event


class Builder:
    """Numbers things and puts fragments together."""

    def __init__(self, pattern: Pattern, emission: Emission) -> None:
        self.pattern = pattern
        self.emission = emission
        self.default = Arrow.FIRST if pattern.every is not None else _ARROWS[pattern.selection]
        self.positions: list[Position] = []
        self.closures: list[ClosureSpec] = []
        self.scopes: list[Scope] = []
        self.absences: list[AbsenceSpec] = []
        self.inside_closures: dict[int, frozenset[int]] = {START: frozenset()}
        self.states = 1
        self.bases = 0
        self.ands = 0

    def automaton(self) -> Automaton:
        fragment = self.fragment(self.pattern.root, (), False)
        edges = [replace(e.edge, source=START) for e in fragment.entries]
        edges += fragment.edges
        accepts = [Accept(0, x.state, x.leaves, x.absences) for x in fragment.exits]
        return self._with_tests(edges, accepts)

    # Fragments, one function a form.

    def fragment(self, node: Node, component: Component, repeated: bool) -> _Fragment:
        match node:
            case Step():
                return self._step(node, component, repeated)
            case Closure():
                return self._closure(node, component, repeated)
            case Sequence():
                return self._sequence(node, component, repeated)
            case Or():
                return self._either(node, component, repeated)
            case And():
                return self._both(node, component, repeated)
        raise AssertionError(node)

    def _step(self, step: Step, component: Component, repeated: bool) -> _Fragment:
        alpha, beta = split_tests(step, repeated)
        position = Position(len(self.positions), step, alpha, beta, repeated)
        self.positions.append(position)
        state = self._state(frozenset())
        edge = Edge(0, self._base(), START, state, position.index, self.default, component)
        return _Fragment((_Entry(edge),), (_Exit(state),), (), (state,), False)

    def _sequence(self, node: Sequence, component: Component, repeated: bool) -> _Fragment:
        whole = _Fragment((), (), (), (), True)
        for link in node.links:
            whole = self._append(whole, link, component, repeated)
        return self._scoped(whole, node.span, from_previous=False)

    def _append(self, whole: _Fragment, link: Link, component: Component, repeated: bool) -> _Fragment:
        if isinstance(link.node, Absence):
            spec = self._absence(link.node)
            exits = tuple(replace(x, absences=(*x.absences, spec)) for x in whole.exits)
            skipped = (*whole.skipped, spec) if whole.nullable else whole.skipped
            return replace(whole, exits=exits, skipped=skipped)
        part = self.fragment(link.node, component, repeated)
        if link.arrow is not None:
            part = replace(part, entries=tuple(_arrow_said(e, link.arrow) for e in part.entries))
        part = self._scoped(part, link.within, from_previous=True)
        return self._concatenated(whole, part)

    def _concatenated(self, left: _Fragment, right: _Fragment) -> _Fragment:
        joined = tuple(self._joined(x, e) for x in left.exits for e in right.entries)
        # Of several steps an event fits, the latest is preferred: so what comes later in the text comes first here.
        entries = right.entries if left.nullable else ()
        entries = tuple(_guarded(e, left.skipped) for e in entries)
        through = tuple(replace(x, absences=(*x.absences, *right.skipped)) for x in left.exits)
        exits = right.exits + (through if right.nullable else ())
        # The order of the edges of one state: those into later fragments before those that stay inside.
        return _Fragment(
            entries + left.entries,
            exits,
            right.edges + joined + left.edges,
            left.states + right.states,
            left.nullable and right.nullable,
            left.skipped + right.skipped if left.nullable and right.nullable else (),
        )

    def _joined(self, way_out: _Exit, way_in: _Entry) -> Edge:
        edge = way_in.edge
        return replace(
            edge,
            base=self._base(),
            source=way_out.state,
            leaves=(*way_out.leaves, *edge.leaves),
            absences=(*way_out.absences, *edge.absences),
        )

    def _closure(self, node: Closure, component: Component, repeated: bool) -> _Fragment:
        spec = len(self.closures)
        self.closures.append(
            ClosureSpec(spec, node.min, node.max, self._loop_mode(node), node.until),
        )
        body = self.fragment(node.body, component, repeated or not node.single)
        if body.nullable:  # empty rounds count: the minimum can always be reached
            self.closures[spec] = replace(self.closures[spec], min=0)
        for state in body.states:
            self.inside_closures[state] = self.inside_closures[state] | {spec}
        arrow = Arrow.ANY if self.emission is Emission.SUBSETS else Arrow.FIRST
        if self.default is Arrow.NEXT:
            arrow = Arrow.NEXT
        entries = tuple(self._begun(e, spec, arrow, node.gap) for e in body.entries)
        inner = tuple(replace(e, gap=_tighter(e.gap, node.gap)) for e in body.edges)
        loops = tuple(self._looped(x, e, spec, node.gap) for x in body.exits for e in body.entries)
        if node.max == 1:
            loops = ()
        exits = tuple(replace(x, leaves=(*x.leaves, spec)) for x in body.exits)
        nullable = node.min == 0 or body.nullable
        return _Fragment(
            entries, exits, inner + loops, body.states, nullable, body.skipped if nullable else ()
        )

    def _loop_mode(self, node: Closure) -> Loop:
        if node.loop is not None and node.loop is not Loop.ALL:
            return node.loop
        if self.default is Arrow.NEXT:
            return Loop.NEXT
        return Loop.ANY if self.emission is Emission.SUBSETS else Loop.ALL

    def _begun(self, entry: _Entry, spec: int, arrow: Arrow, gap: int | None) -> _Entry:
        edge = replace(entry.edge, enters=(spec, *entry.edge.enters), gap=_tighter(entry.edge.gap, gap))
        return _Entry(edge if entry.arrow_said else replace(edge, arrow=arrow), entry.arrow_said)

    def _looped(self, way_out: _Exit, way_in: _Entry, spec: int, gap: int | None) -> Edge:
        edge = self._joined(way_out, way_in)
        arrow = Arrow.NEXT if self.closures[spec].loop is Loop.NEXT else Arrow.ANY
        return replace(edge, loop=spec, arrow=arrow, gap=_tighter(edge.gap, gap))

    def _either(self, node: Or, component: Component, repeated: bool) -> _Fragment:
        parts = [self.fragment(o, component, repeated) for o in node.operands]
        return _Fragment(
            tuple(e for p in parts for e in p.entries),
            tuple(x for p in parts for x in p.exits),
            tuple(e for p in parts for e in p.edges),
            tuple(s for p in parts for s in p.states),
            any(p.nullable for p in parts),
        )

    def _both(self, node: And, component: Component, repeated: bool) -> _Fragment:
        number, self.ands = self.ands, self.ands + 1
        parts = [
            self.fragment(operand, (*component, (number, i)), repeated)
            for i, operand in enumerate(node.operands)
        ]
        return _Interleaving(self, parts, component).fragment()

    # Small parts.

    def _scoped(self, fragment: _Fragment, bound: int | None, from_previous: bool) -> _Fragment:
        if bound is None:
            return fragment
        scope = len(self.scopes)
        self.scopes.append(Scope(scope, bound, from_previous))
        entries = tuple(
            _Entry(
                replace(e.edge, opens=(*e.edge.opens, scope), inside=(*e.edge.inside, scope)), e.arrow_said
            )
            for e in fragment.entries
        )
        edges = tuple(replace(e, inside=(*e.inside, scope)) for e in fragment.edges)
        return replace(fragment, entries=entries, edges=edges)

    def _absence(self, node: Absence) -> int:
        alpha, beta = split_tests(node.step, False)
        self.absences.append(AbsenceSpec(len(self.absences), node, alpha, beta))
        return len(self.absences) - 1

    def _state(self, closures: frozenset[int]) -> int:
        self.states += 1
        if self.states > _MOST_STATES:
            raise PatternMistake(
                "this pattern has too many states",
                code="too_many_states",
                place=self.pattern.place,
                hint="an AND of many operands multiplies: split the pattern into streams that feed each other",
            )
        self.inside_closures[self.states - 1] = closures
        return self.states - 1

    def _base(self) -> int:
        self.bases += 1
        return self.bases

    # Conditions on the whole pattern go to the edge on which everything they name is settled.

    def _with_tests(self, edges: list[Edge], accepts: list[Accept]) -> Automaton:
        draft = Automaton(
            self.states,
            tuple(self.positions),
            tuple(self.closures),
            tuple(self.scopes),
            tuple(self.absences),
            tuple(edges),
            tuple(accepts),
            tuple(self.inside_closures[s] for s in range(self.states)),
        )
        open_names = [self._open_names(draft, state) for state in range(self.states)]
        parts = conjuncts(self.pattern.where)
        settled = tuple(
            replace(e, index=i, tests=tuple(_settled(parts, open_names, e))) for i, e in enumerate(edges)
        )
        complete = tuple(
            replace(a, index=i, tests=tuple(p for p in parts if aliases_in(p) & open_names[a.state]))
            for i, a in enumerate(accepts)
        )
        return replace(draft, edges=settled, accepts=complete)

    def _open_names(self, automaton: Automaton, state: int) -> frozenset[str]:
        taken = (self.positions[e.position].step.alias for e in automaton.reachable(state))
        return frozenset(alias for alias in taken if alias is not None)


class _Interleaving:
    """AND: the operands advance independently; a state is one state of each (START for one not begun)."""

    def __init__(self, builder: Builder, parts: list[_Fragment], component: Component) -> None:
        self.builder = builder
        self.parts = parts
        self.component = component
        self.numbers: dict[tuple[int, ...], int] = {}
        self.begun = (START,) * len(parts)

    def fragment(self) -> _Fragment:
        entries, edges, exits = [], [], []
        todo = [self.begun]
        self.numbers[self.begun] = START
        for combination in todo:  # grows while it is walked
            for operand, edge in self._ways(combination):
                target = (*combination[:operand], edge.target, *combination[operand + 1 :])
                if target not in self.numbers:
                    self.numbers[target] = self._new_state(target)
                    todo.append(target)
                moved = replace(edge, source=self.numbers[combination], target=self.numbers[target])
                if combination == self.begun:
                    entries.append(_Entry(replace(moved, base=self.builder._base(), clears=self.component)))
                else:
                    edges.append(moved)
            exits += self._exits(combination) if combination != self.begun else []
        states = tuple(n for n in self.numbers.values() if n != START)
        nullable = all(p.nullable for p in self.parts)
        return _Fragment(tuple(entries), tuple(exits), tuple(edges), states, nullable)

    def _ways(self, combination: tuple[int, ...]) -> Iterator[tuple[int, Edge]]:
        for operand, state in enumerate(combination):
            part = self.parts[operand]
            if state == START:
                for entry in part.entries:
                    yield operand, entry.edge
            else:
                for edge in part.edges:
                    if edge.source == state:
                        yield operand, edge

    def _new_state(self, combination: tuple[int, ...]) -> int:
        inside = frozenset(c for s in combination for c in self.builder.inside_closures[s])
        return self.builder._state(inside)

    def _exits(self, combination: tuple[int, ...]) -> list[_Exit]:
        """Done when every operand is: all combinations of their ways out."""
        exits = [_Exit(self.numbers[combination])]
        for operand, state in enumerate(combination):
            part = self.parts[operand]
            own = [x for x in part.exits if x.state == state]
            if state == START and part.nullable:
                own = [_Exit(START, (), part.skipped)]
            exits = [_Exit(x.state, x.leaves + o.leaves, x.absences + o.absences) for x in exits for o in own]
        return exits


def _arrow_said(entry: _Entry, arrow: Arrow) -> _Entry:
    return _Entry(replace(entry.edge, arrow=arrow), True)


def _guarded(entry: _Entry, absences: tuple[int, ...]) -> _Entry:
    return _Entry(replace(entry.edge, absences=(*absences, *entry.edge.absences)), entry.arrow_said)


def _tighter(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _settled(parts: tuple[Expr, ...], open_names: list[frozenset[str]], edge: Edge) -> Iterator[Expr]:
    for part in parts:
        names = aliases_in(part)
        if names & open_names[edge.target]:
            continue
        if edge.source == START or names & open_names[edge.source]:
            yield part
