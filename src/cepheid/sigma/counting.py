"""event_count, value_count, value_sum, value_avg: hits of one group in a window, and a number that they make.

A count that can only rise is watched: the match is there with the hit that reaches the threshold. Anything else
is judged when the window is over: it opens with a hit, and the next one opens with the first hit after it.
"""

from __future__ import annotations

from collections.abc import Callable

from sigma.rule import SigmaRule

from cepheid.pattern.expr import Aggregate, Binary, Call, Expr, Field, IsNull, Key, Length, Literal
from cepheid.pattern.model import (
    Closure,
    Emission,
    Every,
    Output,
    Pattern,
    Selection,
    Skip,
    SkipTo,
    Step,
    Stream,
)
from cepheid.sigma.correlation import Correlation
from cepheid.sigma.hits import VALUE, HitMaker, Hits, leads_inside
from cepheid.sigma.logic import all_of
from cepheid.sigma.naming import fresh_alias
from cepheid.sigma.refusals import unsupported

PAST_LAST = Skip(SkipTo.PAST_LAST)
_NUMBER = {"value_count": "distinct_count", "value_sum": "sum", "value_avg": "avg"}
_COUNTED = ("event_count", "value_count")


def counting_streams(correlation: Correlation, maker: HitMaker) -> list[Stream]:
    """The streams of a counting correlation; the last one gives its matches."""
    if correlation.kind not in ("event_count", *_NUMBER):
        raise unsupported(
            f"`{correlation.kind}` cannot be computed",
            correlation.document.place("correlation", "type"),
            "event_count, value_count, value_sum and value_avg can",
        )
    least = correlation.threshold.least if correlation.kind in _COUNTED else None
    helpers, hits = _hits(correlation, maker, watched=least is not None)
    alias = fresh_alias("hits", hits.fields() | set(correlation.columns))
    if least is not None:
        return [*helpers, _watched(correlation, hits, alias, least)]
    windows = _windows(correlation, hits, alias, maker.labels.fresh(f"{correlation.label} windows"))
    return [*helpers, windows, _judged(correlation, windows)]


def _hits(correlation: Correlation, maker: HitMaker, watched: bool) -> tuple[list[Stream], Hits]:
    """Steps over the events where that is possible, and otherwise a stream of hits.

    A window that is judged at its end needs one: an event that does not fit would end a closure over the events
    themselves. So does a condition on fields inside fields, which in a closure has no name for its own event.
    """
    names = correlation.columns
    field = correlation.field if correlation.kind != "event_count" else None
    asked = names if field is None else (*names, field)
    plain = all(isinstance(rule, SigmaRule) for rule in correlation.rules)
    alike = plain and correlation.same_fields(asked, maker.rules)
    if watched and alike:
        hits = _over_events(correlation, maker, asked, field)
        if not leads_inside(hits.where):
            return [], hits
    value = None if field is None else (field, _as_is if watched or correlation.kind in _COUNTED else _number)
    alternatives = [correlation.rules] if alike else [[rule] for rule in correlation.rules]
    stream, hits = maker.stream(correlation, f"{correlation.label} hits", alternatives, value)
    return [stream], hits


def _over_events(
    correlation: Correlation, maker: HitMaker, asked: tuple[str, ...], field: str | None
) -> Hits:
    hits = maker.inline(correlation, correlation.rules, asked)
    if field is None:
        return hits
    given = IsNull(Field(None, hits.paths[field]), negated=True)
    where = given if hits.where is None else all_of([hits.where, given])
    return Hits(hits.type, where, {**hits.paths, VALUE: hits.paths[field]})


def _as_is(expr: Expr) -> Expr:
    return expr


def _number(expr: Expr) -> Expr:
    return Call("float", (expr,))


def _watched(correlation: Correlation, hits: Hits, alias: str, least: int) -> Stream:
    step = Step(hits.type, hits.where, alias)
    within, keys, name = correlation.timespan, _keys(correlation, hits), correlation.label
    if correlation.kind == "event_count":  # one run a group, which holds the latest hits
        pattern = Pattern(Closure(step, least, least), within, keys, every=Every.LATEST, name=name)
    else:
        reached = Binary(">=", _number_of(correlation, hits, alias), Literal(least))
        pattern = Pattern(
            Closure(step), within, keys, reached, selection=Selection.STNM, skip=PAST_LAST, name=name
        )
    return Stream(name, pattern, _outputs(correlation, hits, alias))


def _windows(correlation: Correlation, hits: Hits, alias: str, label: str) -> Stream:
    pattern = Pattern(
        Closure(Step(hits.type, hits.where, alias)),
        within=correlation.timespan,
        partition_by=_keys(correlation, hits),
        selection=Selection.STNM,
        emission=Emission.LONGEST,
        skip=PAST_LAST,
        name=label,
    )
    return Stream(label, pattern, _outputs(correlation, hits, alias))


def _judged(correlation: Correlation, windows: Stream) -> Stream:
    threshold = correlation.threshold
    columns = windows.outputs or ()
    number = _number_column(correlation)
    where = Binary(threshold.operator, Field(None, (number,)), Literal(threshold.number))
    alias = fresh_alias("window", {column.name for column in columns})
    pattern = Pattern(Step(windows.name, where, alias), name=correlation.label)
    outputs = tuple(Output(column.name, Field(alias, (column.name,))) for column in columns)
    return Stream(correlation.label, pattern, outputs)


# Columns.


def _outputs(correlation: Correlation, hits: Hits, alias: str) -> tuple[Output, ...]:
    found = columns_of(correlation, hits, lambda name: Field(alias, hits.paths[name]))
    found[_number_column(correlation)] = _number_of(correlation, hits, alias)
    found.setdefault("hits", Aggregate("collect", alias, hits.event) if hits.event else Field(alias, ()))
    return tuple(Output(name, expr) for name, expr in found.items())


def columns_of(correlation: Correlation, hits: Hits, needed: Callable[[str], Expr]) -> dict[str, Expr]:
    """What every correlation gives: an id, the time, its groups, and what other correlations asked for."""
    found: dict[str, Expr] = {}
    for name, function in (("match_id", "match_id"), ("start", "match_start"), ("end", "match_end")):
        if name not in correlation.columns:
            found[name] = Call(function, ())
    for name in correlation.group_by:
        found[name] = Key(".".join(hits.paths[name]))
    for name in correlation.columns:
        if name not in correlation.group_by:
            found[name] = needed(name)
    return found


def _number_column(correlation: Correlation) -> str:
    name = "count" if correlation.kind in _COUNTED else correlation.kind.removeprefix("value_")
    while name in correlation.columns:
        name += "_"
    return name


def _number_of(correlation: Correlation, hits: Hits, alias: str) -> Expr:
    if correlation.kind == "event_count":
        return Length(alias)
    return Aggregate(_NUMBER[correlation.kind], alias, hits.paths[VALUE])


def _keys(correlation: Correlation, hits: Hits) -> tuple[Expr, ...]:
    return tuple(Field(None, hits.paths[name]) for name in correlation.group_by)
