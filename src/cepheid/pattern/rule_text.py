"""Rules as text: what `print(rule)` shows is read back to the same model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cepheid.pattern.expr import Expr, Field, rewrite
from cepheid.pattern.rule_model import (
    Action,
    AssertEvent,
    AssertFact,
    Assignment,
    ChangeCondition,
    Condition,
    Emit,
    EventCondition,
    FactCondition,
    Modify,
    NoEvent,
    NoFact,
    ObjectType,
    Retract,
    Rule,
    RuleSet,
    Shape,
)
from cepheid.pattern.text import Verbatim, expr_text, name_text
from cepheid.pattern.types import Type

_PLAIN = re.compile(r"[^\W\d]\w*\Z")
_SUM = 5  # how tightly the value of a variable binds


def rule_set_text(rules: RuleSet) -> str:
    """Types and rules, as a file holds them."""
    types = "".join(f"{type_text(t)};\n" for t in rules.types)
    return "\n".join([*([types] if types else []), *(f"{rule_text(r)}\n" for r in rules.rules)])


def type_text(kind: ObjectType) -> str:
    """
    >>> from cepheid.pattern.types import INT, STRING
    >>> type_text(ObjectType("Equipment", (("id", INT), ("state", STRING)), key="id"))
    'fact Equipment(id int key, state string)'
    """
    fields = (f"{name_text(n)} {_type(t)}{' key' if n == kind.key else ''}" for n, t in kind.fields)
    return f"{'event' if kind.event else 'fact'} {name_text(kind.name)}({', '.join(fields)})"


def _type(kind: Type) -> str:
    return f"[{_type(kind.item)}]" if kind.item is not None else kind.name


def rule_text(rule: Rule) -> str:
    """
    >>> from cepheid.pattern.rule_model import object_field
    >>> shape = Shape("Alarm", (), ())
    >>> print(rule_text(Rule("R", (EventCondition(shape, "a"),), (Retract("a"),), priority=2)))
    rule R priority 2 {
      when {
        ?a: event Alarm();
      } then {
        retract ?a;
      }
    }
    """
    priority = f" priority {rule.priority}" if rule.priority else ""
    lines = [f"rule {name_text(rule.name)}{priority} {{", "  when {"]
    lines += [f"    {condition_text(c)};" for c in rule.conditions]
    lines += ["  } then {", *(f"    {action_text(a)}" for a in rule.actions), "  }", "}"]
    return "\n".join(lines)


# Conditions.


def condition_text(condition: Condition) -> str:
    match condition:
        case FactCondition(shape=shape, variable=variable):
            return f"{_bound(variable)}{shape_text(shape)}"
        case EventCondition(shape=shape, variable=variable):
            return f"{_bound(variable)}event {shape_text(shape)}"
        case ChangeCondition(before=before, after=after, variable=variable, fact=fact):
            change = f"event change {_bound(fact)}{shape_text(before)} to {_tests(after)}"
            return f"{_bound(variable)}{change}"
        case NoFact(shape=shape):
            return f"not {shape_text(shape)}"
        case NoEvent(shape=shape):
            return f"not event {shape_text(shape)}"
    raise AssertionError(condition)


def _bound(variable: str | None) -> str:
    return "" if variable is None else f"{_variable(variable)}: "


def shape_text(shape: Shape) -> str:
    return f"{name_text(shape.type)}{_tests(shape)}"


def _tests(shape: Shape) -> str:
    return f"({'; '.join(_each_test(shape))})"


def _each_test(shape: Shape) -> Iterator[str]:
    for bound in shape.values:
        yield f"{_variable(bound.variable)}: {rule_expr_text(bound.value, _SUM)}"
    yield from map(rule_expr_text, shape.tests)


# Actions.


def action_text(action: Action) -> str:
    match action:
        case AssertFact(type=name, fields=fields):
            return f"assert new {name_text(name)}({_assigned(fields)});"
        case AssertEvent(type=name, fields=fields):
            return f"assert event {name_text(name)}({_assigned(fields)});"
        case Emit(stream=name, fields=fields):
            return f"emit {name_text(name)}({_assigned(fields)});"
        case Modify(variable=variable, fields=fields):
            return f"modify {_variable(variable)} {{ {_assigned(fields, '; ')}; }}"
        case Retract(variable=variable):
            return f"retract {_variable(variable)};"
    raise AssertionError(action)


def _assigned(fields: Iterable[Assignment], between: str = ", ") -> str:
    return between.join(f"{name_text(f.name)} = {rule_expr_text(f.value)}" for f in fields)


# Expressions.


def rule_expr_text(expr: Expr, outer: int = 0) -> str:
    """An expression of a rule: `?e.state`, and fields in capitals in back quotes, since bare they are texts.

    >>> rule_expr_text(Field(None, ("?e", "state"))), rule_expr_text(Field(None, ("STATE",)))
    ('?e.state', '`STATE`')
    """

    def change(node: Expr) -> Expr | None:
        return Verbatim(_field(node.path)) if isinstance(node, Field) else None

    return expr_text(rewrite(expr, change), outer)


def _field(path: tuple[str, ...]) -> str:
    first, *rest = path
    if first.startswith("?"):
        return ".".join([_variable(first[1:]), *map(name_text, rest)])
    if not rest and (first.isupper() or first == "None"):
        return f"`{first}`"
    return ".".join(map(name_text, path))


def _variable(name: str) -> str:
    return f"?{name}" if _PLAIN.match(name) else f"?`{name}`"


__all__ = ["action_text", "condition_text", "rule_expr_text", "rule_set_text", "rule_text", "type_text"]
