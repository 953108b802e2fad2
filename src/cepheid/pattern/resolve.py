"""Names to what they mean: `a.x` a field of step `a`, `x` one of the event at hand or a partition column."""

from __future__ import annotations

from dataclasses import replace

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.expr import Aggregate, Element, Expr, Field, Key, Length, Opaque, rewrite
from cepheid.pattern.forecast_values import FORECAST_VALUES
from cepheid.pattern.model import (
    Absence,
    Closure,
    Forecast,
    Guard,
    Node,
    Output,
    Pattern,
    Step,
    Stream,
    list_aliases,
    walk_nodes,
)
from cepheid.pattern.text import column_name
from cepheid.pattern.tree import map_nodes


def resolve_stream(stream: Stream) -> Stream:
    """The stream with every path resolved."""
    pattern = stream.pattern
    names = set(list_aliases(pattern.root))
    produced = _produced(stream)
    keys = (*(column_name(e) for e in pattern.partition_by), *produced)
    outputs = stream.outputs
    if outputs is not None:
        absent = _absent_names(pattern)
        outputs = tuple(Output(o.name, _column(o.expr, names, keys, absent)) for o in outputs)
    resolved = replace(stream, pattern=resolve_pattern(pattern, produced), outputs=outputs)
    return replace(resolved, forecast=_forecast(stream.forecast, pattern))


def _forecast(forecast: Forecast | None, pattern: Pattern) -> Forecast | None:
    """Its condition and its columns see the run so far, the partition columns and what is foretold."""
    if forecast is None:
        return None
    names, absent = set(list_aliases(pattern.root)), _absent_names(pattern)
    keys = (*(column_name(e) for e in pattern.partition_by), *FORECAST_VALUES)
    outputs = forecast.outputs
    if outputs is not None:
        outputs = tuple(Output(o.name, _column(o.expr, names, keys, absent)) for o in outputs)
    where = forecast.where
    if where is not None:
        where = _over_match(where, names, keys, absent)
    return replace(forecast, where=where, outputs=outputs)


def _produced(stream: Stream) -> tuple[str, ...]:
    """Names that `.trend_aggregate(n: ...)` brings with it."""
    return () if stream.pattern.trends is None else tuple(c.name for c in stream.pattern.trends.columns)


def _column(expr: Expr, names: set[str], keys: tuple[str, ...], absent: set[str]) -> Expr:
    """A column may also be a whole event: `.emit(login: l)`."""
    if isinstance(expr, Field) and expr.alias is None and len(expr.path) == 1 and expr.path[0] in names:
        return Field(expr.path[0], (), place=expr.place)
    return _over_match(expr, names, keys, absent)


def resolve_pattern(pattern: Pattern, produced: tuple[str, ...] = ()) -> Pattern:
    """The pattern with every path resolved; `produced` are names that later operators bring."""
    names = set(list_aliases(pattern.root))
    trends = () if pattern.trends is None else tuple(c.name for c in pattern.trends.columns)
    keys = (*(column_name(e) for e in pattern.partition_by), *produced, *trends)
    absent = _absent_names(pattern)
    scope = names | absent
    return replace(
        pattern,
        root=_node(pattern.root, scope),
        where=None if pattern.where is None else _over_match(pattern.where, names, keys, absent),
        guards=tuple(_guard(g, names) for g in pattern.guards),
        partition_by=tuple(_over_event(e, set()) for e in pattern.partition_by),
    )


def _absent_names(pattern: Pattern) -> set[str]:
    """Names of steps under a NOT: inside its own condition such a step may name itself."""
    return {n.step.alias for n in walk_nodes(pattern.root) if isinstance(n, Absence) and n.step.alias}


def _node(node: Node, names: set[str]) -> Node:
    def change(inner: Node) -> Node:
        if isinstance(inner, Step):
            return _step(inner, names)
        if isinstance(inner, Closure) and inner.until is not None:
            return replace(inner, until=_over_event(inner.until, names))
        return inner

    return map_nodes(node, change)


def _step(step: Step, names: set[str]) -> Step:
    return step if step.where is None else replace(step, where=_over_event(step.where, names))


def _guard(guard: Guard, names: set[str]) -> Guard:
    own = {guard.step.alias} if guard.step.alias else set()
    return replace(guard, step=_step(guard.step, names | own))


def _over_event(expr: Expr, names: set[str]) -> Expr:
    """Bare names are fields of the event at hand."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and node.alias is None and len(node.path) > 1 and node.path[0] in names:
            return Field(node.path[0], node.path[1:], place=node.place)
        if isinstance(node, Field) and node.alias is None and node.path[0] in names:
            raise _whole_event(node.path[0], node.place)
        if isinstance(node, Opaque) and len(node.aliases) == 1 and node.aliases[0] not in names:
            return Opaque(node.function, (), node.name, place=node.place)  # it takes the event itself
        _known_alias(node, names)
        return None

    return rewrite(expr, change)


def _over_match(expr: Expr, names: set[str], keys: tuple[str, ...], absent: set[str]) -> Expr:
    """Bare names are partition columns; everything else says which step it means."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and node.alias is None:
            _not_absent(node, absent - names)
            return _match_field(node, names, keys)
        _known_alias(node, names)
        return None

    return rewrite(expr, change)


def _match_field(node: Field, names: set[str], keys: tuple[str, ...]) -> Expr:
    head, rest = node.path[0], node.path[1:]
    if head in names and rest:
        return Field(head, rest, place=node.place)
    if head in names:
        raise _whole_event(head, node.place)
    if ".".join(node.path) in keys:
        return Key(".".join(node.path), place=node.place)
    if rest:
        raise _unknown_alias(head, names, node.place)
    if head.startswith("forecast_"):
        raise _not_foretold(head, node.place)
    raise PatternMistake(
        f"`{head}`: of which event?",
        code="which_event",
        place=node.place,
        hint=_which_event_hint(head, names, keys),
    )


def _which_event_hint(name: str, names: set[str], keys: tuple[str, ...]) -> str:
    hint = f"write {min(names)}.{name}" if names else f"name the steps: `A as a`, then a.{name}"
    near = nearest(name, keys)  # a partition column, or a column of another operator
    return f"{hint}; or {near}" if near else hint


def _not_foretold(name: str, place: Place | None) -> PatternMistake:
    known = name in FORECAST_VALUES
    return PatternMistake(
        f"`{name}` is known only after `.forecast(...)`" if known else f"a forecast has no `{name}`",
        code="which_event",
        place=place,
        hint="put `.forecast(...)` before it"
        if known
        else nearest(name, list(FORECAST_VALUES)) or "it has " + ", ".join(FORECAST_VALUES),
    )


def _not_absent(node: Field, absent: set[str]) -> None:
    if node.path[0] in absent:
        raise PatternMistake(
            f"`{node.path[0]}` stands under a NOT: there is no such event to look at",
            code="unknown_alias",
            place=node.place,
            hint="only the condition of that NOT itself can name it",
        )


def _known_alias(node: Expr, names: set[str]) -> None:
    used: tuple[str | None, ...] = node.aliases if isinstance(node, Opaque) else ()
    if isinstance(node, (Field, Length, Element, Aggregate)):
        used = (node.alias,)
    for name in used:
        if name is not None and name not in names:
            raise _unknown_alias(name, names, node.place)


def _unknown_alias(name: str, names: set[str], place: Place | None) -> PatternMistake:
    hint = nearest(name, names) or (
        "the names here are " + ", ".join(sorted(names))
        if names
        else "no step has a name yet: write `A as a`"
    )
    return PatternMistake(f"no step is called `{name}`", code="unknown_alias", place=place, hint=hint)


def _whole_event(name: str, place: Place | None) -> PatternMistake:
    return PatternMistake(
        f"`{name}` is a whole event, not a value",
        code="whole_event",
        place=place,
        hint=f"name a field of it, for example {name}.user",
    )
