"""The lines of `when`."""

from __future__ import annotations

from typing import Any

from cepheid.errors import PatternMistake
from cepheid.lang.expressions import read_expression, read_name
from cepheid.lang.rules.known_types import KnownTypes, with_texts
from cepheid.lang.rules.variables import read_variable
from cepheid.lang.source import Source
from cepheid.pattern.expr import Expr
from cepheid.pattern.rule_model import (
    BoundValue,
    ChangeCondition,
    Condition,
    EventCondition,
    FactCondition,
    NoEvent,
    NoFact,
    Shape,
)


class ConditionReader:
    """Reads conditions and remembers of which type each variable's object is."""

    def __init__(self, source: Source, known: KnownTypes) -> None:
        self.source, self.known = source, known
        self.types: dict[str, tuple[str, bool]] = {}

    def condition(self, tree: Any) -> Condition:
        read = {
            "fact": self._fact,
            "event": self._event,
            "change": self._change,
            "no_fact": self._no_fact,
            "no_event": self._no_event,
        }[tree.data]
        return read(tree)

    def _fact(self, tree: Any) -> Condition:
        bound, name, tests = tree.children
        variable = self._variable(bound, name, False)
        return FactCondition(self._shape(name, tests, False), variable, place=self.source.place(tree))

    def _event(self, tree: Any) -> Condition:
        bound, _, name, tests = tree.children
        variable = self._variable(bound, name, True)
        return EventCondition(self._shape(name, tests, True), variable, place=self.source.place(tree))

    def _change(self, tree: Any) -> Condition:
        bound, _, _, fact, name, before, _, after = tree.children
        return ChangeCondition(
            self._shape(name, before, False),
            self._shape(name, after, False),
            self._variable(bound, name, False),
            self._variable(fact, name, False),
            place=self.source.place(tree),
        )

    def _no_fact(self, tree: Any) -> Condition:
        _, bound, name, tests = tree.children
        self._no_variable(bound)
        return NoFact(self._shape(name, tests, False), place=self.source.place(tree))

    def _no_event(self, tree: Any) -> Condition:
        _, bound, _, name, tests = tree.children
        self._no_variable(bound)
        return NoEvent(self._shape(name, tests, True), place=self.source.place(tree))

    def _variable(self, bound: Any, name: Any, event: bool) -> str | None:
        if bound is None:
            return None
        variable = read_variable(bound.children[0])
        self.types[variable] = read_name(name), event
        return variable

    def _no_variable(self, bound: Any) -> None:
        if bound is None:
            return
        raise PatternMistake(
            "what is not there cannot have a name",
            code="name_of_nothing",
            place=self.source.place(bound),
            hint="leave the variable out; in its own tests it is ?this",
        )

    def _shape(self, name_tree: Any, tests: Any, event: bool) -> Shape:
        name = read_name(name_tree)
        fields = self.known.fields(name, event)
        found: list[Expr] = []
        values: list[BoundValue] = []
        for tree in tests.children:
            if tree is None:
                continue
            if tree.data == "bound_value":
                variable, value = tree.children
                expr = read_expression(with_texts(value, fields), self.source)
                values.append(BoundValue(read_variable(variable), expr, place=self.source.place(tree)))
            else:
                found.append(read_expression(with_texts(tree, fields), self.source))
        return Shape(name, tuple(found), tuple(values), place=self.source.place(name_tree))
