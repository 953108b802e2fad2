"""What a rule may not say, with its place. Everything here is seen before a single fact or event is."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.expr import Call, Expr, Field, Literal, walk
from cepheid.pattern.rule_model import (
    THIS,
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
from cepheid.pattern.time_of import TIME, is_time_of, timed_variable
from cepheid.pattern.time_test import TimeTest
from cepheid.pattern.types import NULL, UNKNOWN, Type, common, struct_of
from cepheid.plan.rule_types import Known, Sight, check_assigned, check_test, value_type
from cepheid.rules.changed_fact import OLD


def check_rules(rules: RuleSet, others: tuple[ObjectType, ...] = (), time: Type = UNKNOWN) -> None:
    """Every rule, in order; the first mistake is raised. `others`: types that are known, but not all that there are.

    `time`: the type of the times of events, if it is known beforehand.
    """
    types = DeclaredTypes(rules, others, time)
    names: set[str] = set()
    for rule in rules.rules:
        if rule.name in names:
            raise PatternMistake(
                f"there are two rules called `{rule.name}`",
                code="duplicate_name",
                place=rule.place,
                hint="rename one of them",
            )
        names.add(rule.name)
        _RuleCheck(rule, types).check()


def made_types(
    rules: RuleSet, others: tuple[ObjectType, ...] = (), time: Type = UNKNOWN
) -> dict[tuple[str, str], dict[str, Type]]:
    """What rules make, ("emit", stream), ("fact", type) or ("event", type), with the types of the fields they give."""
    types = DeclaredTypes(rules, others, time)
    found: dict[tuple[str, str], dict[str, Type]] = {}
    for rule in rules.rules:
        check = _RuleCheck(rule, types)
        check.check()
        for action in rule.actions:
            match action:
                case Emit(stream=name, fields=fields):
                    check.add_types(found.setdefault(("emit", name), {}), fields)
                case AssertFact(type=name, fields=fields):
                    check.add_types(found.setdefault(("fact", name), {}), fields)
                case AssertEvent(type=name, fields=fields):
                    check.add_types(found.setdefault(("event", name), {}), fields)
    return found


class DeclaredTypes:
    """What is known of types: declared ones, and those that rules themselves make."""

    def __init__(self, rules: RuleSet, others: tuple[ObjectType, ...] = (), time: Type = UNKNOWN) -> None:
        self.time = time
        self._declared = {(t.name, t.event) for t in rules.types}
        self._types = {(t.name, t.event): t for t in (*others, *rules.types)}
        for kind in rules.types:
            self._check_key(kind)
        made = [a for r in rules.rules for a in r.actions if isinstance(a, (AssertFact, AssertEvent))]
        self._made = {(a.type, isinstance(a, AssertEvent)) for a in made}
        self._with_time = {a.type for a in made if TIME in [f.name for f in a.fields]}

    def _check_key(self, kind: ObjectType) -> None:
        names = [name for name, _ in kind.fields]
        if kind.key is not None and kind.key not in names:
            raise PatternMistake(
                f"`{kind.name}` has no field `{kind.key}` that could be its key",
                code="unknown_field",
                place=kind.place,
                hint=nearest(kind.key, names),
            )

    def find(self, name: str, event: bool) -> ObjectType | None:
        return self._types.get((name, event))

    def known(self, name: str, event: bool, place: Place | None) -> Known:
        """What an object of a type is; a type that nobody can mean is a mistake."""
        found = self.find(name, event)
        if found is not None:
            fields = dict(found.fields)
            identity = UNKNOWN if found.key is None else fields.get(found.key, UNKNOWN)
            if event:
                fields.setdefault(TIME, self.time)
            return Known(struct_of(fields), identity, event, self.time, type_name=name)
        self._check_meant(name, event, place)
        only_made = (name, event) in self._made and name not in self._with_time
        return Known(event=event, time=self.time, own_time=not only_made, type_name=name)

    def _check_meant(self, name: str, event: bool, place: Place | None) -> None:
        if (name, event) in self._made:
            return
        if (name, not event) in self._types or (name, not event) in self._made:
            is_, write = ("a fact", f"{name}(...)") if event else ("an event", f"event {name}(...)")
            raise PatternMistake(
                f"`{name}` is {is_}", code="wrong_kind", place=place, hint=f"write {write} in the condition"
            )
        if any(e == event for _, e in self._declared):
            declared = [n for n, e in self._types if e == event]
            what = "event" if event else "fact"
            raise PatternMistake(
                f"there is no {what} type `{name}`",
                code="unknown_object_type",
                place=place,
                hint=nearest(name, declared) or f"declare it: {what} {name}(...)",
            )


class _RuleCheck:
    """One rule: variables are gathered line by line."""

    def __init__(self, rule: Rule, types: DeclaredTypes) -> None:
        self.rule, self.types = rule, types
        self.variables: dict[str, Known] = {}

    def check(self) -> None:
        positive = [c for c in self.rule.conditions if not isinstance(c, (NoFact, NoEvent))]
        if not positive:
            raise PatternMistake(
                f"the rule `{self.rule.name}` waits for nothing",
                code="no_condition",
                place=self.rule.place,
                hint="`when` needs a condition that is not negated: ?e: Type(...)",
            )
        for condition in self.rule.conditions:
            self._condition(condition)
        for action in self.rule.actions:
            self._action(action)

    def add_types(self, known: dict[str, Type], fields: tuple[Assignment, ...]) -> None:
        """Of fields that actions give values, after all conditions were checked; two rules may give two types."""
        for one in fields:
            given = value_type(one.value, Sight(self.variables))
            known[one.name] = common(known.get(one.name, NULL), given) or UNKNOWN

    # Conditions.

    def _condition(self, condition: Condition) -> None:
        match condition:
            case FactCondition(shape=shape, variable=variable):
                known = self.types.known(shape.type, False, shape.place)
                self._shape(shape, known, variable)
                self._bind(variable, known, condition.place)
            case EventCondition(shape=shape, variable=variable):
                known = self.types.known(shape.type, True, shape.place)
                self._shape(shape, known, variable)
                self._bind(variable, known, condition.place)
            case ChangeCondition():
                self._change(condition)
            case NoFact(shape=shape):
                self._absent(shape, self.types.known(shape.type, False, shape.place))
            case NoEvent(shape=shape):
                self._absent(shape, self.types.known(shape.type, True, shape.place))
                self._check_window(condition)
            case _:
                raise AssertionError(condition)

    def _change(self, condition: ChangeCondition) -> None:
        before, after = condition.before, condition.after
        fact = self.types.known(before.type, False, before.place)
        if after.type != before.type:
            raise PatternMistake(
                f"a `{before.type}` cannot become a `{after.type}`",
                code="type_changed",
                place=after.place,
                hint="both halves of a change are of one type",
            )
        happened = _changed(fact, self.types.time)
        self._shape(before, fact, condition.variable)
        self._shape(after, happened, condition.variable)
        self._bind(condition.variable, happened, condition.place)
        self._bind(condition.fact, fact, condition.place)

    def _absent(self, shape: Shape, known: Known) -> None:
        """What is bound in it is its own."""
        outside = dict(self.variables)
        self._shape(shape, known, None)
        self.variables = outside

    def _shape(self, shape: Shape, at_hand: Known, own: str | None) -> None:
        for bound in shape.values:
            sight = Sight(self.variables, at_hand, own)
            self._check_times(bound.value, sight)
            kind = value_type(bound.value, sight)
            self._bind(bound.variable, Known(identity=kind, value=True), bound.place)
        for test in shape.tests:
            sight = Sight(self.variables, at_hand, own)
            self._check_times(test, sight)
            check_test(test, sight)
            _check_varies(test)

    def _bind(self, variable: str | None, known: Known, place: Place | None) -> None:
        if variable is None:
            return
        if variable == THIS:
            raise PatternMistake(
                "?this is the object at hand, and no name to give",
                code="reserved_name",
                place=place,
                hint="give it another name",
            )
        if variable in self.variables:
            raise PatternMistake(
                f"there are two ?{variable} in the rule `{self.rule.name}`",
                code="duplicate_variable",
                place=place,
                hint=f"rename one; that they are equal is a test: ... == ?{variable}",
            )
        self.variables[variable] = known

    def _check_times(self, test: Expr, sight: Sight) -> None:
        """Only events have a time: tests of time are between two of them."""
        for node in walk(test):
            if isinstance(node, Call) and is_time_of(node):
                _check_event(timed_variable(node), sight, node, "name an event")
            if not isinstance(node, TimeTest):
                continue
            for name in (node.left, node.right):
                _check_event(name, sight, node, "compare two events")
            if node.left == node.right:
                raise PatternMistake(
                    f"?{node.left} is compared with itself",
                    code="same_event",
                    place=node.place,
                    hint="name two events",
                )

    def _check_window(self, condition: NoEvent) -> None:
        times = [n for test in condition.shape.tests for n in walk(test) if isinstance(n, TimeTest)]
        if not any(THIS in (n.left, n.right) for n in times):
            raise PatternMistake(
                f"no `{condition.shape.type}`, but when?",
                code="no_window",
                place=condition.place,
                hint="bound it by an event of the rule: ?this after[0, 5] ?a",
            )

    # Actions.

    def _action(self, action: Action) -> None:
        match action:
            case AssertFact(type=name, fields=fields):
                self._made(name, fields, False, action.place)
            case AssertEvent(type=name, fields=fields):
                self._made(name, fields, True, action.place)
            case Emit(stream=name, fields=fields):
                self._fields(fields, self.types.find(name, True), name)
            case Modify(variable=variable, fields=fields):
                self._modify(action, variable, fields)
            case Retract(variable=variable):
                self._retract(action, variable)
            case _:
                raise AssertionError(action)

    def _made(self, name: str, fields: tuple[Assignment, ...], event: bool, place: Place | None) -> None:
        declared = self.types.find(name, event)
        self._fields(fields, declared, name)
        if declared is None or declared.key is None:
            return
        if declared.key not in [f.name for f in fields]:
            raise PatternMistake(
                f"`{name}` is made without its key `{declared.key}`",
                code="missing_key",
                place=place,
                hint=f"write {declared.key} = ...",
            )

    def _fields(self, fields: tuple[Assignment, ...], declared: ObjectType | None, owner: str) -> None:
        known = None if declared is None else dict(declared.fields)
        for one in fields:
            sight = Sight(self.variables)
            self._check_times(one.value, sight)
            if known is None:
                value_type(one.value, sight)
                continue
            if one.name not in known:
                raise PatternMistake(
                    f"`{owner}` has no field `{one.name}`",
                    code="unknown_field",
                    place=one.place,
                    hint=nearest(one.name, list(known)) or f"its fields are {', '.join(known)}",
                )
            check_assigned(owner, one.name, known[one.name], one.value, sight)

    def _modify(self, action: Action, variable: str, fields: tuple[Assignment, ...]) -> None:
        known = Sight(self.variables).find(variable, action.place)
        if known.event or known.value:
            hint = "events stay as they are: assert a new one, or retract it"
            if known.change:
                hint = f"name the fact of the change: event change ?f: {known.type_name}(...), and modify ?f"
            if known.value:
                hint = "name the fact whose field it is"
            raise PatternMistake(
                f"?{variable} is {'a value' if known.value else 'an event'}, and only facts can be modified",
                code="modify_event",
                place=action.place,
                hint=hint,
            )
        if not fields:
            raise PatternMistake(
                "nothing is modified", code="empty_modify", place=action.place, hint="write field = value;"
            )
        declared = self.types.find(known.type_name, False)
        self._fields(fields, declared, known.type_name)
        for one in fields:
            if declared is not None and one.name == declared.key:
                raise PatternMistake(
                    f"`{one.name}` is the identity of `{declared.name}`, which stays",
                    code="modify_key",
                    place=one.place,
                    hint="retract the fact and assert a new one",
                )

    def _retract(self, action: Action, variable: str) -> None:
        known = Sight(self.variables).find(variable, action.place)
        if known.value or known.change:
            what, hint = "a value", "name the object whose field it is"
            if known.change:
                what, hint = "a change", "what has changed stays so; the fact itself can be retracted"
            raise PatternMistake(
                f"?{variable} is {what}, and cannot be retracted",
                code="retract_value",
                place=action.place,
                hint=hint,
            )


def _check_event(name: str, sight: Sight, node: Expr, wanted: str) -> None:
    known = sight.find(name, node.place)
    if not known.event:
        raise PatternMistake(
            f"?{name} is {'a value' if known.value else 'a fact'}: only events have a time",
            code="not_an_event",
            place=node.place,
            hint=f"{wanted}; a fact that changes is one: event change ?f: T(p) to (q)",
        )


def _changed(fact: Known, time: Type) -> Known:
    """The event of a change: the fact's new fields, the old ones under `old`, and a time."""
    fields = fact.fields
    if fields != UNKNOWN:
        fields = struct_of({TIME: time, **dict(fields.fields), OLD: fields})
    return Known(fields, UNKNOWN, True, time, change=True, type_name=fact.type_name)


def _check_varies(test: Expr) -> None:
    """A test without any field says the same of every object, and was hardly meant."""
    nodes = list(walk(test))
    if any(isinstance(node, (Field, TimeTest)) for node in nodes):
        return
    names = list(_capitals(nodes))
    hint = "compare a field, or leave the test out"
    if names:
        hint = f"names in capitals are texts; the field is `{names[0]}` in back quotes, or is to be declared"
    raise PatternMistake(
        "this test is the same for every object", code="constant_test", place=test.place, hint=hint
    )


def _capitals(nodes: Iterable[Expr]) -> Iterable[str]:
    for node in nodes:
        if isinstance(node, Literal) and isinstance(node.value, str) and node.value.isupper():
            yield node.value


__all__ = ["DeclaredTypes", "check_rules", "made_types"]
