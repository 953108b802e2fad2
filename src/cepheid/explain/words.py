"""Names and phrases that the text and the diagram share. Hidden names (`$1`) never get out of here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cepheid.pattern.duration import duration_text
from cepheid.pattern.expr import Aggregate, Element, Expr, Field, Length, rewrite
from cepheid.pattern.model import Arrow, Closure, Loop, Node, Pattern, Step, steps_of
from cepheid.pattern.text import expr_text
from cepheid.pattern.tree import map_nodes
from cepheid.plan.automaton import START, Accept, Component, Edge
from cepheid.plan.plan import Plan

LOOPS = {
    Loop.ALL: "takes every event that fits",
    Loop.NEXT: "only with the very next event",
    Loop.ANY: "takes an event or passes over it",
    Loop.GREEDY: "takes every event that fits, before any way out",
}


def test_text(expr: Expr) -> str:
    return expr_text(shown(expr))


def shown(expr: Expr) -> Expr:
    """A hidden name is a closure's own: it stands for the event captured before."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, (Field, Element, Length, Aggregate)) and _hidden(node.alias):
            return replace(node, alias="previous")
        return None

    return rewrite(expr, change)


def shown_pattern(pattern: Pattern) -> Pattern:
    return replace(pattern, root=map_nodes(pattern.root, _shown_node))


def _shown_node(node: Node) -> Node:
    if isinstance(node, Step):
        where = None if node.where is None else shown(node.where)
        return replace(node, where=where, alias=None if _hidden(node.alias) else node.alias)
    if isinstance(node, Closure) and node.until is not None:
        return replace(node, until=shown(node.until))
    return node


def _hidden(alias: str | None) -> bool:
    return alias is not None and alias.startswith("$")


class Names:
    """What the positions, states and closures of a plan are called."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.automaton = plan.automaton
        self.positions = _unique([_step_name(p.step) for p in self.automaton.positions])
        self.states = _unique(self._state_names())
        self.closures = self._closure_names()

    def _state_names(self) -> list[str]:
        """A state is called by the step taken last; inside an AND by the last of each operand."""
        last: dict[int, dict[Component, int]] = {START: {}}
        todo = [START]
        for state in todo:  # grows while it is walked
            for edge in self.automaton.out[state]:
                if edge.target not in last:
                    last[edge.target] = _after(last[state], edge)
                    todo.append(edge.target)
        names = [
            " & ".join(self.positions[p] for p in sorted(last.get(s, {}).values()))
            for s in range(self.automaton.states)
        ]
        return ["START", *names[1:]]

    def _closure_names(self) -> list[str]:
        """A closure is called by the steps of a round: `b`, `(b, c)`."""
        names = [_round(node) for node in _closures(self.plan.pattern.root)]
        return (
            names
            if len(names) == len(self.automaton.closures)
            else ["closure"] * len(self.automaton.closures)
        )

    def reached(self) -> list[int]:
        """States a run can be in, in the order of the steps (operands of an AND leave some unused)."""
        found = [START, *dict.fromkeys(e.target for e in sorted(self.edges(), key=_order))]
        return list(dict.fromkeys(found))

    def edges(self) -> list[Edge]:
        """The edges that can be taken, from the start on."""
        return sorted(dict.fromkeys(self.automaton.reachable(START)), key=_order)

    def accepts(self) -> list[Accept]:
        return sorted(self.automaton.accepts, key=lambda a: a.state)

    def arrow(self, edge: Edge) -> str:
        """`a --any--> b`."""
        way = "-->" if edge.source == START else f"--{edge.arrow.value}-->"
        return f"{self.states[edge.source]} {way} {self.states[edge.target]}"

    def edge_notes(self, edge: Edge) -> Iterator[str]:
        """What holds on this edge beyond the step's own tests."""
        if edge.loop is not None:
            spec = self.automaton.closures[edge.loop]
            most = "" if spec.max is None else f", {spec.max} at most"
            mode = "only with the very next event" if edge.arrow is Arrow.NEXT else LOOPS[spec.loop]
            yield f"loop of {self.closures[edge.loop]}: {mode}{most}"
            if spec.until is not None:
                yield f"until {test_text(spec.until)}"
        yield from self.leaving(edge.leaves)
        if edge.gap is not None:
            yield f"at most {duration_text(edge.gap)} after the event before"
        yield from self._bounds(edge)

    def leaving(self, closures: Iterable[int]) -> Iterator[str]:
        for number in closures:
            spec = self.automaton.closures[number]
            if spec.min > 1:
                yield f"after {spec.min} or more of {self.closures[number]}"
            if spec.loop is Loop.GREEDY:
                yield f"not on an event {self.closures[number]} could take"

    def _bounds(self, edge: Edge) -> Iterator[str]:
        for number in edge.inside:
            scope = self.automaton.scopes[number]
            bound = duration_text(scope.bound)
            if number in edge.opens:
                if scope.from_previous and edge.source != START:
                    yield f"at most {bound} after the event before"
            elif scope.from_previous:
                yield f"at most {bound} after the event before the group"
            else:
                yield f"at most {bound} after the group began"


def _order(edge: Edge) -> tuple[int, int, int]:
    return edge.source, edge.target, edge.index


def _step_name(step: Step) -> str:
    return step.type if step.alias is None or _hidden(step.alias) else step.alias


def _unique(names: list[str]) -> list[str]:
    """`A`, `A #2`: a reader must be able to tell them apart."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found


def _after(last: dict[Component, int], edge: Edge) -> dict[Component, int]:
    """The last step of every operand still at hand after an edge."""
    kept = {c: p for c, p in last.items() if _beside(c, edge.component)}
    if edge.clears is not None:
        kept = {c: p for c, p in kept.items() if c[: len(edge.clears)] != edge.clears}
    return {**kept, edge.component: edge.position}


def _beside(one: Component, other: Component) -> bool:
    """Parts of different operands of one AND."""
    for (group, operand), (group_too, operand_too) in zip(one, other, strict=False):
        if group != group_too:
            return False
        if operand != operand_too:
            return True
    return False


def _closures(node: Node) -> Iterator[Closure]:
    if isinstance(node, Closure):
        yield node
    for child in node.children():
        yield from _closures(child)


def _round(node: Closure) -> str:
    names = [_step_name(s) for s in steps_of(node.body)]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
