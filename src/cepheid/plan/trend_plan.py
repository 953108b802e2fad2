"""`.trend_aggregate`: what is aggregated, what tells rows apart, and what cannot be decided without listing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.expr import (
    Aggregate,
    Call,
    Element,
    Expr,
    Field,
    Key,
    Length,
    Opaque,
    aliases_in,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)
from cepheid.pattern.model import (
    Absence,
    Closure,
    Emission,
    Node,
    OnLimit,
    Or,
    Output,
    Pattern,
    Selection,
    SkipTo,
    Step,
    Stream,
    TrendColumn,
    TrendRows,
    list_aliases,
)
from cepheid.pattern.text import column_name, expr_text
from cepheid.pattern.trends import COUNT_EVENTS, COUNT_TRENDS
from cepheid.pattern.types import FLOAT, INT, NULL, NUMBERS, UNKNOWN, Type
from cepheid.plan.check_types import AliasType, Scope, check_condition, infer
from cepheid.plan.plan import Plan, TrendPlan
from cepheid.plan.trend_uses import WHOLE, repeated_names, uses_of

_ASKED = ("match_id", "match_end")  # what a row of an aggregate has of a match


def split_having(pattern: Pattern) -> tuple[Pattern, tuple[Expr, ...]]:
    """The pattern of the trends, and the conditions on their aggregate."""
    if pattern.trends is None:
        return pattern, ()
    _check_form(pattern)
    names = {c.name for c in pattern.trends.columns}
    parts = conjuncts(pattern.where)
    having = tuple(p for p in parts if any(isinstance(n, Key) and n.name in names for n in walk(p)))
    kept = [p for p in parts if p not in having]
    return replace(pattern, where=conjunction(kept), emission=Emission.SUBSETS), having


def _check_form(pattern: Pattern) -> None:
    reason = _reason(pattern)
    if reason is not None:
        raise PatternMistake(
            f"trends cannot be aggregated here: {reason}",
            code="no_trends",
            place=None if pattern.trends is None else pattern.trends.place,
            hint="a trend is one match under subsets, with .stam() or .strict(): leave the other operator out",
        )
    assert pattern.trends is not None
    keys = [column_name(e) for e in pattern.partition_by]
    for column in pattern.trends.columns:
        if column.name in (*keys, *list_aliases(pattern.root)):
            raise PatternMistake(
                f"`{column.name}` is the name of a step or a partition column already",
                code="duplicate_name",
                place=column.place,
                hint="give the aggregate another name",
            )


def _reason(pattern: Pattern) -> str | None:
    if pattern.every is not None:
        return "`every` keeps one run"
    if pattern.selection is Selection.STNM:
        return "under stnm a match uses its events up"
    if pattern.emission not in (None, Emission.SUBSETS):
        return f"`{pattern.emission.value}` gives out only some of the combinations"
    if pattern.skip.to is not SkipTo.NONE:
        return "what `skip` drops depends on which matches there are"
    if pattern.timeouts:
        return "trends are not followed one by one, so none of them times out"
    if pattern.limits.on_limit is OnLimit.EVICT_OLDEST:
        return "an evicted trend would be missing from the aggregate"
    return None


def with_key_columns(stream: Stream) -> Stream:
    """`symbol: first.symbol` where every event of the partition has that symbol: it is the partition's."""
    pattern = stream.pattern
    if pattern.trends is None or stream.outputs is None:
        return stream
    keys = {e.path: column_name(e) for e in pattern.partition_by if isinstance(e, Field)}
    bound = _always_bound(pattern.root)

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and node.alias in bound and node.path in keys:
            return Key(keys[node.path], place=node.place)
        return None

    return replace(stream, outputs=tuple(Output(o.name, rewrite(o.expr, change)) for o in stream.outputs))


def _always_bound(node: Node) -> frozenset[str | None]:
    if isinstance(node, Step):
        return frozenset([node.alias])
    if isinstance(node, Closure) and node.min == 0:
        return frozenset()
    parts = [_always_bound(child) for child in node.children() if not isinstance(child, Absence)]
    if isinstance(node, Or):
        return frozenset.intersection(*parts)
    return frozenset().union(*parts)


def trend_plan(
    pattern: Pattern, having: tuple[Expr, ...], outputs: tuple[Output, ...] | None
) -> TrendPlan | None:
    """What is to be aggregated; None if nothing is."""
    if pattern.trends is None:
        return None
    columns, rows = pattern.trends.columns, pattern.trends.rows
    groups = _step_terms([*having, *(o.expr for o in outputs or ())])
    if groups and rows is TrendRows.EACH:
        raise PatternMistake(
            f"`{expr_text(groups[0])}` tells trends apart, and `rows: each` gives one row an event",
            code="no_trends",
            place=groups[0].place,
            hint="leave out `rows: each`, or name only aggregates and partition columns",
        )
    return TrendPlan(columns, rows, having, groups)


def _step_terms(exprs: Iterable[Expr]) -> tuple[Expr, ...]:
    found: dict[Expr, None] = {}
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, (Field, Element, Length, Aggregate, Opaque)) and aliases_in(node):
                found[node] = None
            elif (
                isinstance(node, Call)
                and node.name.startswith(("match_", "count_m"))
                and node.name not in _ASKED
            ):
                raise PatternMistake(
                    f"`{node.name}()` is of one match, and a row here is of many",
                    code="no_trends",
                    place=node.place,
                    hint="match_end() is when the aggregate became so; count_trends() counts",
                )
    return tuple(found)


def check_trends(plan: Plan, aliases: dict[str, AliasType], keys: dict[str, Type]) -> None:
    """Every name is known, every type fits, and nothing needs the list of all trends."""
    trends = plan.trends
    assert trends is not None
    for column in trends.columns:
        column_type(column, aliases)
    scope = Scope(None, None, aliases, {**keys, **trend_types(trends, aliases)})
    for test in trends.having:
        check_condition(test, scope)
    _decidable(plan)


def _decidable(plan: Plan) -> None:
    assert plan.trends is not None
    assert plan.pattern.trends is not None
    automaton = plan.automaton
    tests = [t for p in automaton.positions for t in p.beta]
    tests += [t for e in automaton.edges for t in e.tests] + [t for a in automaton.accepts for t in a.tests]
    tests += [t for a in automaton.absences for t in a.beta] + [t for g in plan.guards for t in g.beta]
    tests += [c.until for c in automaton.closures if c.until is not None]
    repeated = repeated_names(automaton)
    for expr in [*tests, *plan.trends.groups]:
        for name, sides in uses_of([expr], repeated).items():
            if WHOLE in sides:
                raise PatternMistake(
                    f"`{expr_text(expr)}` needs all events of `{name}` at once: "
                    "trends cannot be aggregated without listing",
                    code="not_decidable",
                    place=expr.place or plan.pattern.trends.place,
                    hint=f"use the event before ({name}.f), first({name}), last({name}) or count({name}), "
                    "or list the matches by .subsets()",
                )
    for group in plan.trends.groups:
        if isinstance(group, Field) and not group.path:
            raise PatternMistake(
                f"`{group.alias}` is a whole event, and a row here is of many trends",
                code="no_trends",
                place=group.place,
                hint=f"name a field of it, for example {group.alias}.user",
            )


def trend_types(trends: TrendPlan, aliases: dict[str, AliasType]) -> dict[str, Type]:
    return {c.name: column_type(c, aliases) for c in trends.columns}


def column_type(column: TrendColumn, aliases: dict[str, AliasType]) -> Type:
    """The type of an aggregate, or the mistake in it."""
    if column.function == COUNT_TRENDS:
        return INT
    if column.alias not in aliases:
        raise _unknown(column, list(aliases))
    if column.function == COUNT_EVENTS:
        return INT
    kind = infer(Field(column.alias, column.path, place=column.place), Scope(None, None, aliases, {}))
    if column.function in ("min_trends", "max_trends"):
        return kind
    if kind not in (*NUMBERS, NULL, UNKNOWN):
        raise PatternMistake(
            f"`{column.function}` adds numbers, and `{column.alias}.{'.'.join(column.path)}` is {kind}",
            code="type_clash",
            place=column.place,
            hint="count_trends(), count_events(x), min_trends and max_trends take any field",
        )
    return FLOAT if column.function == "avg_trends" and kind == INT else kind


def _unknown(column: TrendColumn, names: list[str]) -> PatternMistake:
    known = "the names here are " + ", ".join(names) if names else "no step has a name yet: write `A as a`"
    return PatternMistake(
        f"no step is called `{column.alias}`",
        code="unknown_alias",
        place=column.place,
        hint=nearest(column.alias or "", names) or known,
    )


__all__ = ["check_trends", "column_type", "split_having", "trend_plan", "trend_types", "with_key_columns"]
