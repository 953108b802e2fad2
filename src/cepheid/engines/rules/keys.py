"""The key by which working memories may be split: every rule's conditions are joined on it.

A key is a field of each type. It is named by the user, one name for all or one for each type, or found: a field such
that in every rule all conditions are equal on it, by tests such as `account == ?a` or `eqpt == ?a.eqpt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cepheid.engines.program import Program
from cepheid.errors import PatternMistake
from cepheid.pattern.expr import Binary, Expr, Field, conjuncts
from cepheid.pattern.rule_fields import variable_name
from cepheid.pattern.rule_model import (
    THIS,
    AssertEvent,
    AssertFact,
    ChangeCondition,
    Condition,
    Emit,
    EventCondition,
    FactCondition,
    NoEvent,
    NoFact,
    Rule,
    RuleSet,
    Shape,
)

TypeName = tuple[str, bool]  # a type, and whether it is one of events
Keys = dict[TypeName, str]
_Allowed = dict[TypeName, frozenset[str]]
_Term = tuple[int | str, str]  # a condition and a field of it, or a bound value and nothing


def keys_of(
    rules: RuleSet, program: Program | None, key: str | Mapping[str, str] | None, identity: str
) -> Keys:
    """The keys of all that is read: named by the user, or found. `identity`: the column of identities."""
    if key is not None:
        return named_keys(rules, key, () if program is None else program.event_types)
    if program is not None:
        raise PatternMistake(
            "there are patterns beside the rules: by which key may both be split?",
            code="no_key",
            hint="name it: key='account', or key={'Account': 'id', 'Payment': 'account'}",
        )
    return inferred_keys(rules, identity)


def named_keys(rules: RuleSet, key: str | Mapping[str, str], matched: Iterable[str] = ()) -> Keys:
    """The user's word for it: one column of all types, or one for each. `matched`: events that patterns read."""
    made = {(a.type, isinstance(a, AssertEvent)) for a in _asserts(rules)}
    emitted = {a.stream for rule in rules.rules for a in rule.actions if isinstance(a, Emit)}
    read = [kind for kind in types_read(rules) if kind not in made]
    read += [(name, True) for name in matched if (name, True) not in {*read, *made} and name not in emitted]
    if isinstance(key, str):
        return dict.fromkeys([*read, *made], key)
    for name, _ in read:
        if name not in key:
            raise PatternMistake(
                f"there is no key for `{name}`",
                code="no_key",
                hint=f"name the column of each type: key={{'{name}': ...}}",
            )
    return {kind: key[kind[0]] for kind in [*read, *made] if kind[0] in key}


def _asserts(rules: RuleSet) -> Iterator[AssertFact | AssertEvent]:
    for rule in rules.rules:
        yield from (a for a in rule.actions if isinstance(a, (AssertFact, AssertEvent)))


def types_read(rules: RuleSet) -> list[TypeName]:
    """The types of facts and events that rules have conditions for."""
    return list(dict.fromkeys(_type(c) for rule in rules.rules for c in rule.conditions))


def inferred_keys(rules: RuleSet, identity: str = "id") -> Keys:
    """A key that every rule's conditions are joined on, or a mistake that says what to do.

    >>> from cepheid.lang.rules import parse_rules
    >>> inferred_keys(parse_rules("rule R { when { ?e: E(); event A(eqpt == ?e) } then { } }"))
    {('E', False): 'id', ('A', True): 'eqpt'}
    """
    identities = {(t.name, t.event): t.key or identity for t in rules.types}
    found = _consistent([_Joins(rule, identities, identity) for rule in rules.rules], {})
    if found is None:
        raise PatternMistake(
            "no field was found on which the conditions of every rule are joined",
            code="no_key",
            hint="if they may be split, name it: key='account', or key={'Account': 'id', 'Payment': 'account'}",
        )
    return {kind: min(found[kind]) for kind in types_read(rules)}


def _consistent(left: list[_Joins], allowed: _Allowed) -> _Allowed | None:
    """Fields for each type that serve all rules: one choice for a rule after the other."""
    if not left:
        return allowed
    rule, *others = left
    for choice in rule.choices():
        both = {kind: allowed.get(kind, fields) & fields for kind, fields in choice.items()}
        if all(both.values()) and (found := _consistent(others, {**allowed, **both})) is not None:
            return found
    return None


class _Joins:
    """Which fields of a rule's conditions are equal."""

    def __init__(self, rule: Rule, identities: Mapping[TypeName, str], identity: str) -> None:
        self.rule, self.identities, self.identity = rule, identities, identity
        self.parent: dict[_Term, _Term] = {}
        self.variables: dict[str, int] = {}
        self.values: set[str] = set()
        for number, condition in enumerate(rule.conditions):
            for shape in _shapes(condition):
                self._read(number, shape)
            for name in _own_names(condition):
                self.variables[name] = number

    def choices(self) -> Iterator[_Allowed]:
        """For each value that all conditions share: the fields it is, by type."""
        groups: dict[_Term, set[_Term]] = {}
        for term in list(self.parent):
            groups.setdefault(self._root(term), set()).add(term)
        conditions = range(len(self.rule.conditions))
        if (
            len(conditions) == 1
        ):  # joined with nothing: any field would do, and its identity is the best guess
            groups = {(0, "alone"): {(0, self._identity(0)), *self.parent}}
        for group in groups.values():
            fields: _Allowed = {}
            for number in conditions:
                kind = _type(self.rule.conditions[number])
                own = frozenset(name for at, name in group if at == number)
                fields[kind] = fields.get(kind, own) & own
            fields |= self._made(group, fields)
            if all(fields.values()):
                yield fields

    def _made(self, group: set[_Term], fields: _Allowed) -> _Allowed:
        """What a rule asserts belongs to the same key if a field of it has the shared value."""
        made: _Allowed = {}
        for action in self.rule.actions:
            if not isinstance(action, (AssertFact, AssertEvent)):
                continue
            kind = (action.type, isinstance(action, AssertEvent))
            own = frozenset(f.name for f in action.fields if self._term(None, f.value) in group)
            made[kind] = made.get(kind, fields.get(kind, own)) & own
        return made

    def _read(self, number: int, shape: Shape) -> None:
        for bound in shape.values:
            term = self._term(number, bound.value)
            self.values.add(bound.variable)
            if term is not None:
                self._join(term, (f"?{bound.variable}", ""))
        for test in shape.tests:
            for part in conjuncts(test):
                if isinstance(part, Binary) and part.op == "==":
                    left, right = self._term(number, part.left), self._term(number, part.right)
                    if left is not None and right is not None:
                        self._join(left, right)

    def _term(self, number: int | None, expr: Expr) -> _Term | None:
        if not isinstance(expr, Field) or len(expr.path) > 2:
            return None
        name = variable_name(expr)
        if name is None:
            return None if number is None or len(expr.path) > 1 else (number, expr.path[0])
        if name in self.values:
            return (f"?{name}", "") if len(expr.path) == 1 else None
        at = number if name == THIS else self.variables.get(name)
        if at is None:
            return None
        return (at, expr.path[1]) if len(expr.path) == 2 else (at, self._identity(at))

    def _identity(self, number: int) -> str:
        """A change is of the fact that changed."""
        return self.identities.get(_type(self.rule.conditions[number]), self.identity)

    def _root(self, term: _Term) -> _Term:
        while self.parent.setdefault(term, term) != term:
            term = self.parent[term]
        return term

    def _join(self, one: _Term, other: _Term) -> None:
        self.parent[self._root(one)] = self._root(other)


def _type(condition: Condition) -> TypeName:
    match condition:
        case FactCondition(shape=shape) | NoFact(shape=shape):
            return shape.type, False
        case EventCondition(shape=shape) | NoEvent(shape=shape):
            return shape.type, True
        case ChangeCondition(before=before):
            return before.type, False
    raise AssertionError(condition)


def _shapes(condition: Condition) -> tuple[Shape, ...]:
    if isinstance(condition, ChangeCondition):
        return condition.before, condition.after
    shape = getattr(condition, "shape", None)
    return () if shape is None else (shape,)


def _own_names(condition: Condition) -> Iterator[str]:
    for name in (getattr(condition, "variable", None), getattr(condition, "fact", None)):
        if name is not None:
            yield name
