"""What users hand to the builder's methods, checked and read: durations, fields, keys, columns."""

from __future__ import annotations

from datetime import timedelta

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.conditions import Aliased, Path, Value, alias_of, check_name, condition, expression
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import Expr, Field
from cepheid.pattern.model import Output, SkipTo

Duration = str | timedelta


def bad_argument(message: str, hint: str) -> PatternMistake:
    return PatternMistake(message, code="bad_argument", hint=hint)


def duration_of(value: object) -> int:
    if not isinstance(value, (str, timedelta)):
        raise PatternMistake(
            f"`{value}` has no unit of time",
            code="bad_duration",
            hint=f'write "{value}s" or timedelta(seconds=...)',
        )
    microseconds = duration(value)
    if microseconds < 0:
        raise PatternMistake(f"`{value}` is negative", code="bad_duration", hint="a bound is zero or more")
    return microseconds


def field_path(name: object, what: str) -> tuple[str, ...]:
    if isinstance(name, str):
        return (check_name(name),)
    expr = name._expr if isinstance(name, Path) else None
    if isinstance(expr, Field):
        return expr.path
    raise bad_argument(f"`{what}` takes one field", f'write .{what}("price")')


def key_of(key: object) -> Expr:
    if isinstance(key, str):
        return Field(None, (check_name(key),))
    if isinstance(key, Value):
        return key._expr
    raise bad_argument(f"{key!r} is not a partition key", 'a field name, or an expression over field("name")')


def way_to_skip(word: str | None) -> SkipTo:
    ways = [SkipTo.NONE.value, SkipTo.TO_NEXT.value, SkipTo.PAST_LAST.value]
    if word in ways:
        return SkipTo(word)
    hint = nearest(str(word), ways) or "one of none, to_next, past_last, or to_first=b, to_last=b"
    raise bad_argument("there is no such way to skip", hint)


def above_zero(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise bad_argument(f"`{name}` takes a whole number above 0", f"write {name}=1000")


def column_of(value: object) -> Output:
    expr = value._expr if isinstance(value, Path) else None
    if isinstance(expr, Field):
        return Output(expr.path[-1], expr)
    raise bad_argument("this column has no name", "write name=expression")


def computed(value: object) -> Expr:
    """A column may also be a whole event, or computed by a Python function of the named steps."""
    if isinstance(value, Aliased):
        return Field(alias_of(value), ())
    is_function = callable(value) and not isinstance(value, Value)
    return condition(value) if is_function else expression(value)
