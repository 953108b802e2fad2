"""Expressions to Python closures. Every node is specialised once, at compile time; null is None."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from typing import Any, NoReturn

from cepheid.errors import EvaluationError, PatternMistake, nearest
from cepheid.pattern.event import Event
from cepheid.pattern.expr import (
    MATCH_FUNCTIONS,
    Aggregate,
    Binary,
    Call,
    Case,
    Element,
    Expr,
    Field,
    In,
    IsNull,
    Key,
    Length,
    Literal,
    Opaque,
    Unary,
    walk,
)
from cepheid.pattern.functions import (
    VERBS,
    BadArgument,
    Clash,
    Function,
    as_utc,
    check_literals,
    clash_hint,
    clean,
    equal,
    extreme,
    find_function,
    float_power,
    identity,
    kind_of,
    kind_text,
    ordered_pair,
)
from cepheid.pattern.text import expr_text


@dataclass(slots=True)  # mutable on purpose: one is reused in the hot loop
class Moment:
    """What an expression may look at."""

    event: Event | None  # the event at hand (bare fields)
    binds: Mapping[str, tuple[Event, ...]]  # alias -> its events, in order; absent or () is not bound
    previous: Event | None = None  # the event of the run taken just before (for a closure's own name)
    key: tuple[Any, ...] = ()  # partition key values, in the order of `keys`
    match: Any = None  # has .id, .start, .end and .count for the match functions


Value = Callable[[Moment], Any]
Test = Callable[[Moment], bool]


@dataclass(frozen=True)
class _Names:
    """What names mean where an expression stands."""

    own: str | None  # the closure whose condition this is
    keys: tuple[str, ...]


def compile_value(expr: Expr, *, own: str | None = None, keys: tuple[str, ...] = ()) -> Value:
    """The expression as a function of the moment."""
    return _compile(expr, _Names(own, keys))


def compile_test(exprs: Sequence[Expr], *, own: str | None = None, keys: tuple[str, ...] = ()) -> Test | None:
    """True where all conjuncts are true (not false, not unknown); None if there is nothing to test."""
    names = _Names(own, keys)
    tests = [_conjunct(expr, names) for expr in exprs]
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda moment: first(moment) and second(moment)
    return lambda moment: all(test(moment) for test in tests)


def _compile(expr: Expr, names: _Names) -> Value:
    return _COMPILERS[type(expr)](expr, names)


# Conjuncts, and a closure's own name in its own condition.


def _conjunct(expr: Expr, names: _Names) -> Test:
    condition = _condition(expr, names)

    def test(moment: Moment) -> bool:
        return condition(moment) is True

    if names.own is None:
        return test
    needed = _own_paths(expr, names.own)
    aggregated = any(isinstance(node, Aggregate) and node.alias == names.own for node in walk(expr))
    if aggregated or needed:
        return _where_own_is_known(test, names.own, needed, aggregated)
    return test


def _own_paths(expr: Expr, own: str) -> tuple[tuple[str, ...], ...]:
    """The fields of the event captured before that a conjunct looks at; () is the whole event."""
    found: dict[tuple[str, ...], None] = {}
    for node in walk(expr):
        if isinstance(node, Field) and node.alias == own:
            found[node.path] = None
        elif isinstance(node, Opaque) and own in node.aliases:
            found[()] = None
    return tuple(found)


def _where_own_is_known(test: Test, own: str, needed: tuple[tuple[str, ...], ...], aggregated: bool) -> Test:
    """Nothing captured yet and nothing to compare with: the conjunct as a whole is not tested.

    Decided before evaluation, so that it does not depend on which side of an `or` is evaluated first.
    """

    def guarded(moment: Moment) -> bool:
        if not moment.binds.get(own):
            previous = moment.previous
            if aggregated or previous is None:
                return True
            for path in needed:
                if not _has(previous.fields, path):
                    return True
        return test(moment)

    return guarded


def _has(fields: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(fields, Mapping) or name not in fields:
            return False
        fields = fields[name]
    return True


def _condition(expr: Expr, names: _Names) -> Value:
    """A value that is True, False or None, and an error otherwise."""
    value = _compile(expr, names)
    if _is_logical(expr):
        return value
    if isinstance(expr, Opaque):
        return lambda moment: None if (result := value(moment)) is None else bool(result)

    def checked(moment: Moment) -> Any:
        result = value(moment)
        if result is None or result is True or result is False:
            return result
        raise EvaluationError(
            f"`{expr_text(expr)}` is {kind_text(result)} ({_short(result)}), not a condition",
            code="not_a_condition",
            place=expr.place,
            hint="compare it with something",
        )

    return checked


def _is_logical(expr: Expr) -> bool:
    """Can only be true, false or null, whatever the values are."""
    if isinstance(expr, (In, IsNull)):
        return True
    return (isinstance(expr, Binary) and (expr.op in _TESTS or expr.op in ("and", "or"))) or (
        isinstance(expr, Unary) and expr.op == "not"
    )


# Reading values.


def _literal(expr: Literal, names: _Names) -> Value:
    return _constant(clean(expr.value))


def _constant(value: Any) -> Value:
    return lambda moment: value


def _field(expr: Field, names: _Names) -> Value:
    read = _reader(expr.path)
    alias = expr.alias
    if alias is None:
        return lambda moment: None if moment.event is None else read(moment.event)
    if alias == names.own:
        return _own_field(alias, read)

    def last(moment: Moment) -> Any:
        events = moment.binds.get(alias)
        return read(events[-1]) if events else None

    return last


def _own_field(alias: str, read: Callable[[Event], Any]) -> Value:
    def before(moment: Moment) -> Any:
        events = moment.binds.get(alias)
        if events:
            return read(events[-1])
        return None if moment.previous is None else read(moment.previous)

    return before


def _reader(path: tuple[str, ...]) -> Callable[[Event], Any]:
    """A field of an event; the whole of it if the path is empty."""
    if not path:
        return lambda event: {name: clean(value) for name, value in event.fields.items()}
    name, rest = path[0], path[1:]
    if rest:
        return lambda event: _nested(event.fields.get(name), rest)

    def read(event: Event) -> Any:
        value = event.fields.get(name)
        kind = value.__class__
        return value if kind is int or kind is str else clean(value)

    return read


def _nested(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return clean(value)


def _element(expr: Element, names: _Names) -> Value:
    alias, read = expr.alias, _reader(expr.path)
    if expr.from_end:
        return lambda moment: read(events[-1]) if (events := moment.binds.get(alias)) else None
    index = _compile(expr.index, names)

    def element(moment: Moment) -> Any:
        at = index(moment)
        if at is None:
            return None
        if at.__class__ is not int:
            raise EvaluationError(
                f"`{expr_text(expr.index)}` is {kind_text(at)} ({_short(at)}), not a position",
                code="type_clash",
                place=expr.place,
                hint=f"positions are whole numbers from 0: {alias}[0], {alias}[{alias}.LEN - 1]",
            )
        events = moment.binds.get(alias, ())
        return read(events[at]) if 0 <= at < len(events) else None

    return element


def _length(expr: Length, names: _Names) -> Value:
    alias = expr.alias
    return lambda moment: len(moment.binds.get(alias, ()))


def _key(expr: Key, names: _Names) -> Value:
    if expr.name not in names.keys:
        raise PatternMistake(
            f"`{expr.name}` is not a partition column",
            code="unknown_key",
            place=expr.place,
            hint=nearest(expr.name, names.keys),
        )
    at = names.keys.index(expr.name)
    return lambda moment: clean(moment.key[at])


# Aggregates over what a closure captured.


def _aggregate(expr: Aggregate, names: _Names) -> Value:
    alias, read, combine = expr.alias, _reader(expr.path), _COMBINE[expr.name]

    def aggregate(moment: Moment) -> Any:
        found = [read(event) for event in moment.binds.get(alias, ())]
        values = [value for value in found if value is not None]
        try:
            return clean(combine(values))
        except Clash as clash:
            _raise_clash(expr, clash, f"cannot be put into one {expr.name}", "+")
        except ArithmeticError:
            _raise_overflow(expr)

    return aggregate


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    kinds = {kind_of(value) for value in values}
    if kinds <= {"int", "float"}:
        return sum(values) if kinds == {"int"} else _float_sum(values)
    total = values[0]
    if kind_of(total) not in ("decimal", "duration", "int", "float"):
        raise Clash(total, values[-1])
    for value in values[1:]:
        total = _operation(_ADD, total, value)(total, value)
    return total


def _float_sum(values: list[Any]) -> float | None:
    # Exactly rounded, so the order of the events and the version of Python do not matter.
    try:
        return math.fsum(values)
    except ValueError:  # inf and -inf
        return None


def _average(values: list[Any]) -> Any:
    total = _sum(values)
    if total is None:
        return None
    if isinstance(total, timedelta):
        raise Clash(values[0], values[-1])
    return _divide_decimal(total, len(values)) if isinstance(total, Decimal) else total / len(values)


def _deviation(values: list[Any]) -> float | None:
    """Of a sample, in two passes."""
    if any(kind_of(value) not in ("int", "float", "decimal") for value in values):
        raise Clash(values[0], values[-1])
    if len(values) < 2:
        return None
    numbers = [float(value) for value in values]
    if any(math.isinf(number) for number in numbers):
        return None
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1))


def _distinct(values: list[Any]) -> int:
    return len({identity(value) for value in values})


_COMBINE: dict[str, Callable[[list[Any]], Any]] = {
    "sum": _sum,
    "avg": _average,
    "min": lambda values: extreme(values, largest=False),
    "max": lambda values: extreme(values, largest=True),
    "stddev": _deviation,
    "distinct_count": _distinct,
    "collect": lambda values: values,
}


# Logic: None is unknown.


def _unary(expr: Unary, names: _Names) -> Value:
    return _negation(expr, names) if expr.op == "not" else _negative(expr, names)


def _negation(expr: Unary, names: _Names) -> Value:
    operand = _condition(expr.operand, names)
    return lambda moment: None if (value := operand(moment)) is None else not value


def _both(expr: Binary, names: _Names) -> Value:
    left, right = _condition(expr.left, names), _condition(expr.right, names)

    def both(moment: Moment) -> bool | None:
        first = left(moment)
        if first is False:
            return False
        second = right(moment)
        if second is False:
            return False
        return None if first is None or second is None else True

    return both


def _either(expr: Binary, names: _Names) -> Value:
    left, right = _condition(expr.left, names), _condition(expr.right, names)

    def either(moment: Moment) -> bool | None:
        first = left(moment)
        if first is True:
            return True
        second = right(moment)
        if second is True:
            return True
        return None if first is None or second is None else False

    return either


def _is_null(expr: IsNull, names: _Names) -> Value:
    operand = _compile(expr.operand, names)
    if expr.negated:
        return lambda moment: operand(moment) is not None
    return lambda moment: operand(moment) is None


def _case(expr: Case, names: _Names) -> Value:
    branches = [(_condition(c, names), _compile(v, names)) for c, v in expr.branches]
    default = _compile(expr.default, names)

    def case(moment: Moment) -> Any:
        for condition, value in branches:
            if condition(moment) is True:
                return value(moment)
        return default(moment)

    return case


# Comparisons.

# Of one class, these compare as Python compares them. (Of datetimes the time zones may differ.)
_PLAIN = frozenset({int, str, bool, float, timedelta, bytes, Decimal})
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _comparison(expr: Binary, names: _Names) -> Value:
    left, right, test = _compile(expr.left, names), _compile(expr.right, names), _TESTS[expr.op]
    if isinstance(expr.right, Literal):
        return _comparison_with(expr, left, clean(expr.right.value), test)

    def compare(moment: Moment) -> bool | None:
        a = left(moment)
        if a is None:
            return None
        b = right(moment)
        if b is None:
            return None
        kind = a.__class__
        if kind is b.__class__ and kind in _PLAIN:
            return test(a, b)
        return _compare_mixed(expr, a, b, test)

    return compare


def _comparison_with(expr: Binary, left: Value, constant: Any, test: Callable[[Any, Any], bool]) -> Value:
    """The commonest test: a field against a literal, and `price > 100` where the price is a float."""
    if constant is None:
        return lambda moment: None
    plain = constant.__class__ if constant.__class__ in _PLAIN else None
    widened = float(constant) if plain is int and abs(constant) < 2**53 else None

    def compare(moment: Moment) -> bool | None:
        a = left(moment)
        if a is None:
            return None
        if a.__class__ is plain:
            return test(a, constant)
        if widened is not None and a.__class__ is float:
            return test(a, widened)
        return _compare_mixed(expr, a, constant, test)

    return compare


def _compare_mixed(expr: Binary, a: Any, b: Any, test: Callable[[Any, Any], bool]) -> bool | None:
    try:
        if expr.op in ("==", "!="):
            same = equal(a, b)
            return same if same is None or expr.op == "==" else not same
        return test(*ordered_pair(a, b))
    except Clash as clash:
        _raise_clash(expr, clash, VERBS[expr.op], expr.op)


def _in(expr: In, names: _Names) -> Value:
    members = _literal_members(expr)
    return _in_any(expr, names) if members is None else _in_literals(expr, names, members)


def _literal_members(expr: In) -> frozenset[Any] | None:
    """The items as a set if they are literals of one class that compares by hash."""
    values = [clean(item.value) for item in expr.items if isinstance(item, Literal)]
    if not values or len(values) < len(expr.items) or None in values:
        return None
    kinds = {value.__class__ for value in values}
    return frozenset(values) if len(kinds) == 1 and kinds <= {int, str} else None


def _in_literals(expr: In, names: _Names, members: frozenset[Any]) -> Value:
    operand, negated = _compile(expr.operand, names), expr.negated
    kind = next(iter(members)).__class__
    slow = _among(expr, [_constant(value) for value in members])

    def among(moment: Moment) -> bool | None:
        value = operand(moment)
        if value is None:
            return None
        if value.__class__ is kind:
            return (value in members) is not negated
        return slow(moment, value)

    return among


def _in_any(expr: In, names: _Names) -> Value:
    operand = _compile(expr.operand, names)
    among = _among(expr, [_compile(item, names) for item in expr.items])
    empty = expr.negated if not expr.items else None
    return lambda moment: empty if (value := operand(moment)) is None else among(moment, value)


def _among(expr: In, items: list[Value]) -> Callable[[Moment, Any], bool | None]:
    def among(moment: Moment, value: Any) -> bool | None:
        unknown = False
        for item in items:
            other = item(moment)
            same = None if other is None else _same(expr, value, other)
            if same:
                return not expr.negated
            unknown = unknown or same is None
        return None if unknown else expr.negated

    return among


def _same(expr: In, value: Any, other: Any) -> bool | None:
    try:
        return equal(value, other)
    except Clash as clash:
        _raise_clash(expr, clash, VERBS["=="], "==")


# Arithmetic: a table of operations by the kinds of both sides.

_Operation = Callable[[Any, Any], Any]
_Table = dict[tuple[str, str], _Operation]

_EXACT = Context(prec=400)  # sums and products of decimals lose nothing
_QUOTIENT = Context(prec=38)  # what a decimal column holds
_MOST_BITS = 100_000  # of an integer power: beyond it a pattern could stop the machine


def _numbers(plain: _Operation, decimal: _Operation) -> _Table:
    """int and float widen to float, int and Decimal to Decimal, Decimal and float to float."""

    def floats(a: Any, b: Any) -> Any:
        return plain(float(a), float(b))

    table: _Table = {(a, b): plain for a in ("int", "float") for b in ("int", "float")}
    table.update({("decimal", "decimal"): decimal, ("decimal", "int"): decimal, ("int", "decimal"): decimal})
    table.update({("decimal", "float"): floats, ("float", "decimal"): floats})
    return table


def _divide(a: Any, b: Any) -> Any:
    return a / b if b else None


def _divide_decimal(a: Any, b: Any) -> Any:
    return _QUOTIENT.divide(a, b) if b else None


def _remainder(a: Any, b: Any) -> Any:
    """With the sign of the dividend, as SQL has it."""
    if not b:
        return None
    if isinstance(a, int) and isinstance(b, int):
        rest = abs(a) % abs(b)
        return -rest if a < 0 else rest
    return None if math.isinf(a) else math.fmod(a, b)


def _remainder_decimal(a: Any, b: Any) -> Any:
    return _EXACT.remainder(a, b) if b else None


def _shift(a: Any, b: Any) -> Any:
    return as_utc(a) + b


def _shift_back(a: Any, b: Any) -> Any:
    return as_utc(a) - b


def _elapsed(a: Any, b: Any) -> Any:
    return as_utc(a) - as_utc(b)


def _scale(a: Any, b: Any) -> Any:
    return a * (float(b) if isinstance(b, Decimal) else b)


def _share(a: Any, b: Any) -> Any:
    return a / (float(b) if isinstance(b, Decimal) else b) if b else None


def _int_power(a: Any, b: Any) -> Any:
    if abs(a) > 1 and abs(a).bit_length() * b > _MOST_BITS:
        raise OverflowError
    return a**b


_DATES = ("timestamp", "date")
_SCALARS = ("int", "float", "decimal")

_ADD: _Table = {
    **_numbers(operator.add, _EXACT.add),
    **{(d, "duration"): _shift for d in _DATES},
    **{("duration", d): lambda a, b: _shift(b, a) for d in _DATES},
    ("duration", "duration"): operator.add,
}
_SUBTRACT: _Table = {
    **_numbers(operator.sub, _EXACT.subtract),
    **{(d, "duration"): _shift_back for d in _DATES},
    **{(d, e): _elapsed for d in _DATES for e in _DATES},
    ("duration", "duration"): operator.sub,
}
_MULTIPLY: _Table = {
    **_numbers(operator.mul, _EXACT.multiply),
    **{("duration", n): _scale for n in _SCALARS},
    **{(n, "duration"): lambda a, b: _scale(b, a) for n in _SCALARS},
}
_DIVIDE: _Table = {
    **_numbers(_divide, _divide_decimal),
    **{("duration", n): _share for n in _SCALARS},
    ("duration", "duration"): _divide,
}
_POWER: _Table = {(a, b): float_power for a in _SCALARS for b in _SCALARS}
# `x ** 2` keeps the type of x; with an exponent that is not written out the result is a float.
_POWER_OF_LITERAL: _Table = {**_POWER, ("int", "int"): _int_power, ("decimal", "int"): _EXACT.power}

_TABLES: dict[str, _Table] = {
    "+": _ADD,
    "-": _SUBTRACT,
    "*": _MULTIPLY,
    "/": _DIVIDE,
    "%": _numbers(_remainder, _remainder_decimal),
    "**": _POWER,
}


def _operation(table: _Table, a: Any, b: Any) -> _Operation:
    found = table.get((kind_of(a), kind_of(b)))
    if found is None:
        raise Clash(a, b)
    return found


def _arithmetic(expr: Binary, names: _Names) -> Value:
    left, right = _compile(expr.left, names), _compile(expr.right, names)
    table = _POWER_OF_LITERAL if expr.op == "**" and _whole_literal(expr.right) else _TABLES[expr.op]
    by_class: dict[tuple[type, type], _Operation] = {}  # kinds follow from classes: found once for each pair

    def calculate(moment: Moment) -> Any:
        a = left(moment)
        if a is None:
            return None
        b = right(moment)
        if b is None:
            return None
        classes = (a.__class__, b.__class__)
        operation = by_class.get(classes)
        try:
            if operation is None:
                operation = by_class[classes] = _operation(table, a, b)
            result = operation(a, b)
        except Clash as clash:
            _raise_clash(expr, clash, VERBS[expr.op], expr.op)
        except InvalidOperation:  # of decimals: 0 ** 0, infinity minus infinity
            return None
        except ArithmeticError:
            _raise_overflow(expr)
        return result if result == result else None  # NaN is null

    return calculate


def _whole_literal(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value.__class__ is int and expr.value >= 0


def _negative(expr: Unary, names: _Names) -> Value:
    operand = _compile(expr.operand, names)

    def negative(moment: Moment) -> Any:
        value = operand(moment)
        if value is None:
            return None
        kind = kind_of(value)
        if kind == "decimal":
            return value.copy_negate()  # plain minus would round to the context
        if kind in ("int", "float", "duration"):
            return -value
        raise EvaluationError(
            f"`-{expr_text(expr.operand, 7)}`: {_short(value)} is {kind_text(value)}, it has no negative",
            code="type_clash",
            place=expr.place,
            hint="only numbers and durations have one",
        )

    return negative


_BINARY: dict[str, Callable[[Binary, _Names], Value]] = {
    "and": _both,
    "or": _either,
    **dict.fromkeys(_TESTS, _comparison),
    **dict.fromkeys(_TABLES, _arithmetic),
}


def _binary(expr: Binary, names: _Names) -> Value:
    return _BINARY[expr.op](expr, names)


# Functions.


def _call(expr: Call, names: _Names) -> Value:
    if expr.name in MATCH_FUNCTIONS:
        return _match_function(expr)
    function = find_function(expr)
    check_literals(expr)
    args = [_compile(arg, names) for arg in expr.args]
    return _strict_call(expr, function, args) if not function.takes_null else _null_call(expr, function, args)


def _strict_call(expr: Call, function: Function, args: list[Value]) -> Value:
    """A null argument makes the result null."""
    if len(args) == 1:
        return _call_of_one(expr, function, args[0])

    def call(moment: Moment) -> Any:
        values = [arg(moment) for arg in args]
        return None if None in values else _apply(expr, function, values)

    return call


def _call_of_one(expr: Call, function: Function, arg: Value) -> Value:
    def call(moment: Moment) -> Any:
        value = arg(moment)
        return None if value is None else _apply(expr, function, [value])

    return call


def _null_call(expr: Call, function: Function, args: list[Value]) -> Value:
    return lambda moment: _apply(expr, function, [arg(moment) for arg in args])


def _apply(expr: Call, function: Function, values: list[Any]) -> Any:
    try:
        return clean(function.call(values))
    except Clash as clash:
        _raise_bad_argument(expr, function, clash)
    except BadArgument as bad:
        raise EvaluationError(bad.message, code=bad.code, place=expr.place, hint=bad.hint) from None
    except ArithmeticError:
        _raise_overflow(expr)


def _match_function(expr: Call) -> Value:
    attribute = {"match_id": "id", "match_start": "start", "match_end": "end", "count_matches": "count"}[
        expr.name
    ]
    if expr.args:
        raise PatternMistake(
            f"`{expr.name}` takes no arguments",
            code="wrong_arguments",
            place=expr.place,
            hint=f"{expr.name}()",
        )

    def read(moment: Moment) -> Any:
        if moment.match is None:
            raise EvaluationError(
                f"`{expr.name}()` has a value only where a match is complete",
                code="no_match",
                place=expr.place,
                hint="use it in .emit(...)",
            )
        return getattr(moment.match, attribute)

    return read


# Python functions.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class EventView:
    """An event as a Python function sees it: `view.price`, `view["price"]`; a missing field is None."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    def __getattr__(self, name: str) -> Any:
        # Python's own protocols (copy, pickle) must not take a missing field for an answer.
        if name == "_event" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return clean(self._event.fields.get(name))

    def __contains__(self, name: object) -> bool:
        return name in self._event.fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._event.fields)

    def __repr__(self) -> str:
        return f"{self.type}({', '.join(f'{n}={v!r}' for n, v in self._event.fields.items())})"

    @property
    def type(self) -> str:
        return self._event.type

    @property
    def time(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self._event.time)


def _opaque(expr: Opaque, names: _Names) -> Value:
    function = expr.function
    views = [_viewer(alias, names) for alias in expr.aliases] or [_view_at_hand]

    def call(moment: Moment) -> Any:
        arguments = [view(moment) for view in views]
        try:
            return clean(function(*arguments))
        except Exception as problem:
            raise EvaluationError(
                f"the Python function `{expr.name}` failed: {type(problem).__name__}: {problem}",
                code="python_error",
                place=expr.place,
                hint="a missing field and a step that took no part are None",
            ) from problem

    return call


def _view_at_hand(moment: Moment) -> EventView | None:
    return None if moment.event is None else EventView(moment.event)


def _viewer(alias: str, names: _Names) -> Value:
    def view(moment: Moment) -> Any:
        events = moment.binds.get(alias, ())
        if len(events) == 1:
            return EventView(events[0])
        if events:
            return tuple(EventView(event) for event in events)
        # A closure's own name, before it captured anything, is the event taken before.
        before = moment.previous if alias == names.own else None
        return None if before is None else EventView(before)

    return view


# Errors.


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, datetime) else value.isoformat(" ")
    return text if len(text) <= 40 else text[:37] + "..."


def _raise_clash(expr: Expr, clash: Clash, what: str, op: str) -> NoReturn:
    a, b = clash.left, clash.right
    raise EvaluationError(
        f"`{expr_text(expr)}`: {_short(a)} is {kind_text(a)}, {_short(b)} is {kind_text(b)}: they {what}",
        code="type_clash",
        place=expr.place,
        hint=clash_hint(op, kind_of(a), kind_of(b)),
    ) from None


def _raise_bad_argument(expr: Call, function: Function, clash: Clash) -> NoReturn:
    values = clash.values
    shown = ", ".join(f"{_short(v)} ({kind_of(v)})" for v in values)
    raise EvaluationError(
        f"`{expr_text(expr)}`: `{function.name}` cannot work on {shown}",
        code="type_clash",
        place=expr.place,
        hint=f"it takes {function.signature()}",
    ) from None


def _raise_overflow(expr: Expr) -> NoReturn:
    raise EvaluationError(
        f"the result of `{expr_text(expr)}` is too large", code="overflow", place=expr.place
    ) from None


_COMPILERS: dict[type[Expr], Callable[[Any, _Names], Value]] = {
    Literal: _literal,
    Field: _field,
    Element: _element,
    Length: _length,
    Aggregate: _aggregate,
    Key: _key,
    Unary: _unary,
    Binary: _binary,
    In: _in,
    IsNull: _is_null,
    Case: _case,
    Call: _call,
    Opaque: _opaque,
}

__all__ = ["EventView", "Moment", "Test", "Value", "compile_test", "compile_value"]
