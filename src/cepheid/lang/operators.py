"""The chained operators `.within(5m) .stnm() .emit(...)`: each one changes the stream being read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.lang.expressions import read_expression, read_name
from cepheid.lang.forecast_operator import read_forecast
from cepheid.lang.source import Source
from cepheid.pattern.duration import duration, duration_text
from cepheid.pattern.expr import Binary, Call, Expr, Field, Literal, conjunction, conjuncts
from cepheid.pattern.model import Emission, OnLimit, Output, Pattern, Selection, Skip, SkipTo, Stream
from cepheid.pattern.text import expr_text
from cepheid.pattern.trends import read_trends


@dataclass(frozen=True)
class Argument:
    name: str | None
    expr: Expr | None  # None: the three dots
    place: Place | None


@dataclass(frozen=True)
class Operator:
    name: str
    arguments: tuple[Argument, ...]
    place: Place | None

    def mistake(self, message: str, hint: str, place: Place | None = None) -> PatternMistake:
        return PatternMistake(message, code="bad_argument", place=place or self.place, hint=hint)

    def expressions(self, least: int, example: str) -> tuple[Expr, ...]:
        found = tuple(a.expr for a in self.arguments if a.expr is not None and a.name is None)
        if not self.arguments:
            raise self.mistake(f"the parentheses of `.{self.name}` are empty", f"write {example}")
        if len(found) < least or len(found) != len(self.arguments):
            raise self.mistake(f"`.{self.name}` got other arguments than it takes", f"write {example}")
        return found

    def named(self, allowed: tuple[str, ...]) -> dict[str, Expr]:
        found: dict[str, Expr] = {}
        for argument in self.arguments:
            if argument.name not in allowed or argument.expr is None:
                listed = "it takes " + ", ".join(f"{a}: ..." for a in allowed)
                hint = nearest(argument.name or "", allowed) or _with_colon(argument.expr) or listed
                raise self.mistake(f"`.{self.name}` does not take this", hint, argument.place)
            found[argument.name] = argument.expr
        return found

    def nothing(self) -> None:
        if self.arguments:
            raise self.mistake(
                f"`.{self.name}()` takes nothing", f"write .{self.name}()", self.arguments[0].place
            )


def _with_colon(expr: Expr | None) -> str | None:
    """`x = a.x` among arguments is a comparison; a column was meant."""
    if (
        isinstance(expr, Binary)
        and expr.op == "=="
        and isinstance(expr.left, Field)
        and len(expr.left.path) == 1
    ):
        return f"a name is followed by a colon: write {expr.left.path[0]}: {expr_text(expr.right)}"
    return None


def read_operator(tree: Any, source: Source) -> Operator:
    token, *arguments = tree.children
    read = tuple(_argument(a, source) for a in arguments if a is not None)
    return Operator(str(token)[1:-1].strip(), read, source.place(tree))


def _argument(tree: Any, source: Source) -> Argument:
    place = source.place(tree)
    if tree.data == "named_argument":
        return Argument(read_name(tree.children[0]), read_expression(tree.children[1], source), place)
    if tree.data == "plain_argument":
        return Argument(None, read_expression(tree.children[0], source), place)
    return Argument(None, None, place)


def apply_operator(stream: Stream, operator: Operator) -> Stream:
    """The stream with one operator more."""
    apply = _OPERATORS.get(operator.name)
    if apply is None:
        raise PatternMistake(
            f"there is no operator `.{operator.name}`",
            code="unknown_operator",
            place=operator.place and operator.place.find(rf"^\.\s*{operator.name}"),
            hint=nearest(operator.name, list(_OPERATORS))
            or "the operators are " + ", ".join(sorted(_OPERATORS)),
        )
    return apply(stream, operator)


def _on_pattern(change: Callable[[Pattern, Operator], Pattern]) -> Callable[[Stream, Operator], Stream]:
    return lambda stream, operator: replace(stream, pattern=change(stream.pattern, operator))


def _within(pattern: Pattern, operator: Operator) -> Pattern:
    if pattern.within is not None:
        raise PatternMistake(
            f"the whole pattern already has the bound {duration_text(pattern.within)}",
            code="two_bounds",
            place=operator.place,
            hint="keep one; a step's own bound stands before an arrow: `A -> B within 5s -> C`",
        )
    (value,) = operator.expressions(1, ".within(5m)")[:1]
    if isinstance(value, Literal) and isinstance(value.value, (str, timedelta)):
        return replace(pattern, within=duration(value.value, value.place))
    if isinstance(value, Literal) and isinstance(value.value, (int, float)):
        raise operator.mistake(
            f"`{value.value}` has no unit of time", f"write .within({value.value}s)", value.place
        )
    raise operator.mistake("`.within` takes a duration", "write .within(5m)", value.place)


def _partition_by(pattern: Pattern, operator: Operator) -> Pattern:
    return replace(
        pattern, partition_by=pattern.partition_by + operator.expressions(1, ".partition_by(user)")
    )


def _where(stream: Stream, operator: Operator) -> Stream:
    """After `.forecast` it is about what is foretold."""
    added = operator.expressions(1, ".where(a.x > b.x)")
    part = stream.pattern if stream.forecast is None else stream.forecast
    changed: Any = replace(part, where=conjunction([*conjuncts(part.where), *added]))
    return replace(stream, **{"pattern" if stream.forecast is None else "forecast": changed})


def _selection(selection: Selection) -> Callable[[Pattern, Operator], Pattern]:
    def change(pattern: Pattern, operator: Operator) -> Pattern:
        operator.nothing()
        return replace(pattern, selection=selection)

    return change


def _emission(emission: Emission) -> Callable[[Pattern, Operator], Pattern]:
    def change(pattern: Pattern, operator: Operator) -> Pattern:
        if emission is not Emission.EACH:
            operator.nothing()
            return replace(pattern, emission=emission, eager=False)
        eager = operator.named(("eager",)).get("eager", Literal(False))
        if not isinstance(eager, Literal) or not isinstance(eager.value, bool):
            raise operator.mistake("`eager` is true or false", "write .each(eager: true)", eager.place)
        return replace(pattern, emission=emission, eager=eager.value)

    return change


def _skip(pattern: Pattern, operator: Operator) -> Pattern:
    (value,) = operator.expressions(1, ".skip(past_last)")[:1]
    names = [s.value for s in SkipTo]
    if (
        isinstance(value, Field)
        and len(value.path) == 1
        and value.path[0] in ("none", "to_next", "past_last")
    ):
        return replace(pattern, skip=Skip(SkipTo(value.path[0])))
    if isinstance(value, Call) and value.name in ("to_first", "to_last"):
        target = value.args[0] if len(value.args) == 1 else None
        if isinstance(target, Field) and len(target.path) == 1:
            return replace(pattern, skip=Skip(SkipTo(value.name), target.path[0]))
        raise operator.mistake(
            f"`{value.name}` takes the name of a step", f"write .skip({value.name}(b))", value.place
        )
    word = value.path[0] if isinstance(value, Field) else value.name if isinstance(value, Call) else ""
    hint = nearest(word, names) or "one of none, to_next, past_last, to_first(x), to_last(x)"
    raise operator.mistake("there is no such way to skip", hint, value.place)


def _timeouts(pattern: Pattern, operator: Operator) -> Pattern:
    operator.nothing()
    return replace(pattern, timeouts=True)


def _limit(pattern: Pattern, operator: Operator) -> Pattern:
    limits = pattern.limits
    for name, value in operator.named(("max_runs", "max_matches", "max_buffer", "on_limit")).items():
        if name == "on_limit":
            word = value.path[0] if isinstance(value, Field) else getattr(value, "value", None)
            if word not in [o.value for o in OnLimit]:
                raise operator.mistake(
                    "`on_limit` is `error` or `evict_oldest`", "write on_limit: evict_oldest", value.place
                )
            limits = replace(limits, on_limit=OnLimit(word))
        elif isinstance(value, Literal) and isinstance(value.value, int) and value.value > 0:
            limits = replace(limits, **{name: value.value})  # type: ignore[arg-type]
        else:
            raise operator.mistake(
                f"`{name}` takes a whole number above 0", f"write {name}: 1000", value.place
            )
    return replace(pattern, limits=limits)


def _emit(stream: Stream, operator: Operator) -> Stream:
    before = stream.outputs if stream.forecast is None else stream.forecast.outputs
    if before is not None:
        raise operator.mistake("the stream has two `.emit`", "put all columns into one")
    if any(a.expr is None for a in operator.arguments):
        return stream
    outputs = tuple(_output(operator, a) for a in operator.arguments)
    taken: set[str] = set()
    for output, argument in zip(outputs, operator.arguments, strict=True):
        if output.name in taken:
            hint = f"give each its own name, for example {output.name}_2: {expr_text(output.expr)}"
            raise operator.mistake(f"two columns are called `{output.name}`", hint, argument.place)
        taken.add(output.name)
    if not outputs:
        raise operator.mistake("`.emit()` without columns", "write .emit(user: a.user), or leave it out")
    if stream.forecast is not None:
        return replace(stream, forecast=replace(stream.forecast, outputs=outputs))
    return replace(stream, outputs=outputs)


def _output(operator: Operator, argument: Argument) -> Output:
    assert argument.expr is not None
    if argument.name is not None:
        return Output(argument.name, argument.expr)
    if isinstance(argument.expr, Field):
        return Output(argument.expr.path[-1], argument.expr)
    hint = _with_colon(argument.expr) or f"write name: {expr_text(argument.expr)}"
    raise operator.mistake("this column has no name", hint, argument.place)


def _trend_aggregate(pattern: Pattern, operator: Operator) -> Pattern:
    if pattern.trends is not None:
        raise operator.mistake("the stream has two `.trend_aggregate`", "put all aggregates into one")
    arguments = [(a.name, a.expr) for a in operator.arguments if a.expr is not None]
    return replace(pattern, trends=read_trends(arguments, operator.place))


def _misplaced_monotonic(stream: Stream, operator: Operator) -> Stream:
    raise PatternMistake(
        f"`.{operator.name}` belongs to a closure",
        code="not_a_closure",
        place=operator.place,
        hint=f"write it on the step: `all T.{operator.name}(f) as x`",
    )


_OPERATORS: dict[str, Callable[[Stream, Operator], Stream]] = {
    "within": _on_pattern(_within),
    "partition_by": _on_pattern(_partition_by),
    "where": _where,
    "stam": _on_pattern(_selection(Selection.STAM)),
    "stnm": _on_pattern(_selection(Selection.STNM)),
    "strict": _on_pattern(_selection(Selection.STRICT)),
    "each": _on_pattern(_emission(Emission.EACH)),
    "longest": _on_pattern(_emission(Emission.LONGEST)),
    "subsets": _on_pattern(_emission(Emission.SUBSETS)),
    "skip": _on_pattern(_skip),
    "timeouts": _on_pattern(_timeouts),
    "limit": _on_pattern(_limit),
    "emit": _emit,
    "trend_aggregate": _on_pattern(_trend_aggregate),
    "forecast": read_forecast,
    "increasing": _misplaced_monotonic,
    "decreasing": _misplaced_monotonic,
}

OPERATOR_NAMES = tuple(_OPERATORS)
