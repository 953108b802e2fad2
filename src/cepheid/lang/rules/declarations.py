"""Declarations of types, and rules: `fact T(...)`, `event T(...)`, `rule N { ... }`."""

from __future__ import annotations

from typing import Any

from cepheid.errors import PatternMistake, nearest
from cepheid.lang.expressions import read_name
from cepheid.lang.rules.actions import ActionReader
from cepheid.lang.rules.conditions import ConditionReader
from cepheid.lang.rules.known_types import KnownTypes
from cepheid.lang.source import Source
from cepheid.pattern.rule_model import ObjectType, Rule, RuleSet
from cepheid.pattern.types import BY_NAME, Type, list_of


def read_rule_set(tree: Any, source: Source, others: tuple[ObjectType, ...]) -> RuleSet:
    """Types first, wherever they stand: rules are read with what is known of them."""
    declared = [t for t in tree.children if t.data == "declaration"]
    types = tuple(_object_type(t, source) for t in declared)
    for number, (kind, t) in enumerate(zip(types, declared, strict=True)):
        if any((o.name, o.event) == (kind.name, kind.event) for o in types[:number]):
            what = "event" if kind.event else "fact"
            raise _twice(f"there are two {what} types called `{kind.name}`", t.children[1], source)
    known = KnownTypes((*others, *types))
    rules: list[Rule] = []
    for rule_tree in (t for t in tree.children if t.data == "rule"):
        rule = _rule(rule_tree, source, known)
        if any(rule.name == other.name for other in rules):
            raise _twice(f"there are two rules called `{rule.name}`", rule_tree.children[1], source)
        rules.append(rule)
    return RuleSet(tuple(rules), types, place=source.place(tree))


def _twice(message: str, name: Any, source: Source) -> PatternMistake:
    return PatternMistake(message, code="duplicate_name", place=source.place(name), hint="rename one of them")


def _rule(tree: Any, source: Source, known: KnownTypes) -> Rule:
    _, name, priority, when, then = tree.children
    conditions = ConditionReader(source, known)
    read = tuple(conditions.condition(t) for t in when.children[1:] if t is not None)
    actions = ActionReader(source, known, conditions.types)
    return Rule(
        read_name(name),
        read,
        tuple(actions.action(t) for t in then.children[1:] if t is not None),
        0 if priority is None else _priority(priority),
        place=source.place(name),
    )


def _priority(tree: Any) -> int:
    *_, sign, digits = tree.children
    return int(digits) if sign is None else -int(digits)


# Types.


def _object_type(tree: Any, source: Source) -> ObjectType:
    word, name_tree, *trees = tree.children
    trees = [t for t in trees if t is not None]
    name = read_name(name_tree)
    fields: list[tuple[str, Type]] = []
    key: str | None = None
    for t in trees:
        field_tree, type_tree, key_word = t.children
        field = read_name(field_tree)
        if field in dict(fields):
            raise PatternMistake(
                f"`{name}` has two fields called `{field}`",
                code="duplicate_field",
                place=source.place(field_tree),
                hint="leave one of them out",
            )
        if key_word is not None and key is not None:
            raise PatternMistake(
                f"`{name}` has two keys",
                code="two_keys",
                place=source.place(key_word),
                hint=f"one field is the identity: leave this out, or the one of `{key}`",
            )
        key = field if key_word is not None else key
        fields.append((field, _type(type_tree, source)))
    event = str(word).lower() == "event"
    return ObjectType(name, tuple(fields), key, event, place=source.place(name_tree))


def _type(tree: Any, source: Source) -> Type:
    if tree.data == "list_type":
        return list_of(_type(tree.children[0], source))
    name = read_name(tree.children[0])
    found = BY_NAME.get(name.lower())
    if found is None:
        raise PatternMistake(
            f"there is no type `{name}`",
            code="unknown_type",
            place=source.place(tree),
            hint=nearest(name, list(BY_NAME))
            or "the types are int, float, string, bool, timestamp, decimal, [type]",
        )
    return found
