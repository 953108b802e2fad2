"""A plan as a Mermaid flowchart: states, the events that move a run, and what stops it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.explain.words import Names, test_text
from cepheid.pattern.duration import duration_text
from cepheid.pattern.expr import Expr
from cepheid.pattern.text import name_text
from cepheid.plan.automaton import START, AbsenceSpec, Accept, Edge
from cepheid.plan.plan import GuardSpec, Plan

_MOST_EDGES = 200  # Mermaid itself gives up at 500
_SHORT = 40
_ESCAPES = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;", "\n": " "}
)


def mermaid(plan: Plan) -> str:
    """The automaton of one plan."""
    return "\n".join(["flowchart LR", *(f"  {line}" for line in _Diagram(plan, "").lines())]) + "\n"


def program_mermaid(streams: Sequence[tuple[str, Plan, Sequence[str]]]) -> str:
    """One subgraph a stream: (name, plan, the streams it feeds on); thick arrows where one feeds another."""
    lines = ["flowchart LR"]
    numbers = {name: i for i, (name, _, _) in enumerate(streams)}
    for name, plan, _ in streams:
        number = numbers[name]
        lines.append(f"  subgraph g{number}[{_quoted(name)}]")
        lines += [f"    {line}" for line in _Diagram(plan, f"g{number}_").lines()]
        lines.append("  end")
    for name, _, feeds_on in streams:
        lines += [
            f"  g{numbers[source]} ==>|{_quoted(source)}| g{numbers[name]}"
            for source in feeds_on
            if source in numbers
        ]
    return "\n".join(lines) + "\n"


class _Diagram:
    """The lines of one plan; `prefix` keeps the ids of several plans apart."""

    def __init__(self, plan: Plan, prefix: str) -> None:
        self.plan = plan
        self.prefix = prefix
        self.names = Names(plan)
        self.automaton = plan.automaton
        self.edges = self.names.edges()[:_MOST_EDGES]
        self.drawn = dict.fromkeys([START, *(s for e in self.edges for s in (e.source, e.target))])

    def lines(self) -> Iterator[str]:
        at_once = {a.state for a in self.automaton.accepts if not a.absences}
        for state in self.drawn:
            yield self._node(state, state in at_once)
        for edge in self.edges:
            yield f"{self._id(edge.source)} -->|{_label(*self._edge(edge))}| {self._id(edge.target)}"
        for accept in self.names.accepts():
            if accept.absences and accept.state in self.drawn:
                yield from self._waiting(accept)
        for spec in self.automaton.absences:
            yield from self._absence(spec)
        for number, guard in enumerate(self.plan.guards):
            yield from self._guard(number, guard)
        left_out = len(self.names.edges()) - len(self.edges)
        if left_out:
            yield f"{self.prefix}more[{_quoted(f'... and {left_out} more transitions')}]"

    def _id(self, state: int) -> str:
        return f"{self.prefix}s{state}"

    def _node(self, state: int, accepting: bool) -> str:
        name = _quoted(self.names.states[state])
        if state == START:
            return f"{self._id(state)}(({name}))"
        return f"{self._id(state)}((({name})))" if accepting else f"{self._id(state)}({name})"

    def _edge(self, edge: Edge) -> Iterator[str]:
        position = self.automaton.positions[edge.position]
        arrow = "" if edge.source == START else f"{edge.arrow.value} "
        yield f"{arrow}{position.step.type}"
        yield from _tests((*position.alpha, *position.beta))
        yield from self.names.edge_notes(edge)
        yield from (f"if {short}" for short in _tests(edge.tests))

    def _waiting(self, accept: Accept) -> Iterator[str]:
        """A trailing NOT: complete only when its time has passed."""
        done = f"{self.prefix}done{accept.index}"
        why = [f"no {self.automaton.absences[i].node.step.type}{self._bound(i)}" for i in accept.absences]
        why += [f"if {short}" for short in _tests(accept.tests)]
        yield f'{done}((("complete")))'
        yield f"{self._id(accept.state)} -->|{_label(*why)}| {done}"

    def _bound(self, absence: int) -> str:
        node = self.automaton.absences[absence].node
        within = node.within if node.within is not None else self.plan.pattern.within
        return f" within {duration_text(within)}" if within is not None else " next"

    def _absence(self, spec: AbsenceSpec) -> Iterator[str]:
        """Dashed: where such an event stops the way on."""
        only_next = "next " if spec.node.next else ""
        bound = f" within {duration_text(spec.node.within)}" if spec.node.within is not None else ""
        sources = [e.source for e in self.edges if spec.index in e.absences]
        sources += [a.state for a in self.automaton.accepts if spec.index in a.absences]
        node = f"{self.prefix}not{spec.index}"
        yield f"{node}{{{{{_quoted(f'NOT {only_next}{spec.node.step.type}{bound}')}}}}}"
        label = _label(spec.node.step.type, *_tests((*spec.alpha, *spec.beta)))
        for source in dict.fromkeys(s for s in sources if s in self.drawn):
            yield f"{self._id(source)} -.->|{label}| {node}"

    def _guard(self, number: int, spec: GuardSpec) -> Iterator[str]:
        guard = spec.guard
        until = f" until {name_text(guard.end)}" if guard.end else ""
        node = f"{self.prefix}unless{number}"
        yield f"{node}{{{{{_quoted(f'unless {guard.step.type}{until}')}}}}}"
        label = _label(guard.step.type, *_tests((*spec.alpha, *spec.beta)))
        for state in dict.fromkeys(self._opening(guard.start)):
            yield f"{self._id(state)} -.->|{label}| {node}"

    def _opening(self, start: str | None) -> Iterator[int]:
        """The states a guard is open from."""
        for edge in self.edges:
            alias = self.automaton.positions[edge.position].step.alias
            if (edge.source == START) if start is None else (alias == start):
                yield edge.target


def _tests(tests: tuple[Expr, ...]) -> Iterator[str]:
    for test in tests:
        text = test_text(test)
        yield text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _label(*lines: str) -> str:
    return '"' + "<br/>".join(line.translate(_ESCAPES) for line in lines) + '"'


def _quoted(text: str) -> str:
    return _label(text)
