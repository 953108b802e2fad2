"""The lines of `then`."""

from __future__ import annotations

from typing import Any

from cepheid.errors import PatternMistake
from cepheid.lang.expressions import read_expression, read_name
from cepheid.lang.rules.known_types import KnownTypes, with_texts
from cepheid.lang.rules.variables import read_variable
from cepheid.lang.source import Source
from cepheid.pattern.expr import Expr
from cepheid.pattern.rule_fields import of_object, variable_name
from cepheid.pattern.rule_model import (
    Action,
    AssertEvent,
    AssertFact,
    Assignment,
    Emit,
    Modify,
    ObjectType,
    Retract,
    object_field,
)


class ActionReader:
    """Reads actions. `types`: of which type the object of each variable is, and whether that is an event."""

    def __init__(self, source: Source, known: KnownTypes, types: dict[str, tuple[str, bool]]) -> None:
        self.source, self.known, self.types = source, known, types

    def action(self, tree: Any) -> Action:
        place = self.source.place(tree)
        if tree.data == "retract":
            return Retract(read_variable(tree.children[1]), place=place)
        if tree.data == "modify":
            return self._modify(tree)
        name_tree, arguments = tree.children[-2:]
        name = read_name(name_tree)
        declared = self.known.find(name, event=tree.data != "assert_fact")
        fields = self._arguments(name, arguments, declared)
        made = {"assert_fact": AssertFact, "assert_event": AssertEvent, "emit": Emit}[tree.data]
        return made(name, fields, place=place)

    def _modify(self, tree: Any) -> Modify:
        _, token, *assignments = tree.children
        variable = read_variable(token)
        fields = self.known.fields(*self.types.get(variable, ("", False)))
        read = [self._assignment(t, fields, variable) for t in assignments if t is not None]
        _no_field_twice(read)
        return Modify(variable, tuple(read), place=self.source.place(tree))

    def _assignment(self, tree: Any, fields: frozenset[str], at_hand: str | None = None) -> Assignment:
        name, value = tree.children[0], tree.children[-1]
        expr = self._value(value, fields, at_hand)
        return Assignment(read_name(name), expr, place=self.source.place(tree))

    def _value(self, tree: Any, fields: frozenset[str] = frozenset(), at_hand: str | None = None) -> Expr:
        expr = read_expression(with_texts(tree, fields), self.source)
        return expr if at_hand is None else of_object(expr, at_hand)

    def _arguments(self, name: str, tree: Any, declared: ObjectType | None) -> tuple[Assignment, ...]:
        found: list[Assignment] = []
        named = False
        for position, argument in enumerate(t for t in tree.children if t is not None):
            if argument.data == "assignment":
                named = True
                found.append(self._assignment(argument, frozenset()))
                continue
            place = self.source.place(argument)
            if named:
                raise PatternMistake(
                    "after a named value every one is named",
                    code="unnamed_argument",
                    place=place,
                    hint="write field = ... before it",
                )
            value = self._value(argument)
            found.append(Assignment(self._name(name, position, value, declared), value, place=place))
        _no_field_twice(found)
        return tuple(found)

    def _name(self, of: str, position: int, value: Expr, declared: ObjectType | None) -> str:
        """The field that a value without a name is for."""
        if declared is not None:
            if position < len(declared.fields):
                return declared.fields[position][0]
            raise PatternMistake(
                f"`{of}` has {len(declared.fields)} fields, and this is one more",
                code="too_many_arguments",
                place=value.place,
                hint=f"its fields are {', '.join(name for name, _ in declared.fields)}",
            )
        variable = variable_name(value)
        if variable is not None and value == object_field(variable):
            return variable
        raise PatternMistake(
            f"which field of `{of}` is this?",
            code="unnamed_argument",
            place=value.place,
            hint=f"write field = ..., or declare its fields: fact {of}(...); only ?x alone is called x",
        )


def _no_field_twice(fields: list[Assignment]) -> None:
    seen: list[str] = []
    for one in fields:
        if one.name in seen:
            raise PatternMistake(
                f"`{one.name}` is given twice", code="duplicate_field", place=one.place, hint="keep one"
            )
        seen.append(one.name)
