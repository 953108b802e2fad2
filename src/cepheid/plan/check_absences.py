"""A NOT at the start or at the end needs a bound. Looked for in the automaton: a step before it may be optional."""

from __future__ import annotations

from cepheid.errors import PatternMistake
from cepheid.pattern.model import Absence, Pattern
from cepheid.pattern.text import node_text
from cepheid.plan.automaton import START, Automaton


def check_absences(pattern: Pattern, automaton: Automaton) -> None:
    for edge in automaton.out[START]:
        for absence in edge.absences:
            node = automaton.absences[absence].node
            if node.within is None or node.next:
                raise _mistake(
                    "NOT at the start needs a bound: how long before the next step?",
                    node,
                    f"write {node_text(node)} within 5m -> ...",
                )
    for accept in automaton.accepts:
        for absence in accept.absences:
            node = automaton.absences[absence].node
            if node.within is None and pattern.within is None and not node.next:
                raise _mistake(
                    "NOT at the end needs a bound: until when must it not come?",
                    node,
                    f"write -> {node_text(node)} within 5m",
                )


def _mistake(message: str, node: Absence, hint: str) -> PatternMistake:
    return PatternMistake(message, code="absence_without_bound", place=node.place, hint=hint)
