"""`.trend_aggregate(...)`: its functions, and the reading of its arguments. Both front ends use it."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.expr import Call, Expr, Field
from cepheid.pattern.model import TrendColumn, TrendRows, Trends

COUNT_TRENDS, COUNT_EVENTS = "count_trends", "count_events"
OF_A_FIELD = ("sum_trends", "avg_trends", "min_trends", "max_trends")
TREND_FUNCTIONS = (COUNT_TRENDS, COUNT_EVENTS, *OF_A_FIELD)
_EXAMPLE = "write .trend_aggregate(n: count_trends(), total: sum_trends(b.price))"
ROWS = "rows"

Argument = tuple[str | None, Expr]


def read_trends(arguments: Sequence[Argument], place: Place | None = None) -> Trends:
    """The arguments of `.trend_aggregate`: a named function each, and `rows` where it is a word."""
    rows, columns = TrendRows.CHANGE, []
    for name, expr in arguments:
        if name == ROWS and not isinstance(expr, Call):
            rows = _rows(expr)
        else:
            columns.append(_column(name, expr, place))
    names = [c.name for c in columns]
    if not columns:
        raise _mistake("`.trend_aggregate` without an aggregate", _EXAMPLE, place)
    twice = next((c for c in columns if names.count(c.name) > 1), None)
    if twice is not None:
        raise _mistake(f"two aggregates are called `{twice.name}`", "give each its own name", twice.place)
    return Trends(tuple(columns), rows, place)


def _rows(expr: Expr) -> TrendRows:
    words = [r.value for r in TrendRows]
    word = expr.path[0] if isinstance(expr, Field) and len(expr.path) == 1 else getattr(expr, "value", None)
    if word in words:
        return TrendRows(word)
    hint = nearest(str(word), words) or "one of " + ", ".join(words)
    raise _mistake("there is no such way to give rows", hint, expr.place)


def _column(name: str | None, expr: Expr, place: Place | None) -> TrendColumn:
    if not isinstance(expr, Call) or expr.name not in TREND_FUNCTIONS:
        hint = nearest(expr.name, TREND_FUNCTIONS) if isinstance(expr, Call) else None
        raise _mistake(
            "this is not an aggregate over trends",
            hint or "the functions are " + ", ".join(TREND_FUNCTIONS),
            expr.place or place,
        )
    if name is None:
        raise _mistake("this aggregate has no name", f"write n: {expr.name}(...)", expr.place or place)
    alias, path = _argument(expr, place)
    return TrendColumn(name, expr.name, alias, path, expr.place)


def _argument(call: Call, place: Place | None) -> tuple[str | None, tuple[str, ...]]:
    """What a function is of: nothing, a step, a field of a step."""
    argument = call.args[0] if len(call.args) == 1 else None
    if call.name == COUNT_TRENDS and not call.args:
        return None, ()
    if isinstance(argument, Field):
        path = argument.path if argument.alias is None else (argument.alias, *argument.path)
        if call.name == COUNT_EVENTS and len(path) == 1:
            return path[0], ()
        if call.name in OF_A_FIELD and len(path) > 1:
            return path[0], path[1:]
    forms = {COUNT_TRENDS: "count_trends()", COUNT_EVENTS: "count_events(b)"}
    form = forms.get(call.name, f"{call.name}(b.price)")
    raise PatternMistake(
        f"`{call.name}` got other arguments than it takes",
        code="wrong_arguments",
        place=call.place or place,
        hint=f"write {form}",
    )


def _mistake(message: str, hint: str, place: Place | None) -> PatternMistake:
    return PatternMistake(message, code="bad_argument", place=place, hint=hint)
