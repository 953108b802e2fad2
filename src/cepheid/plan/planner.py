"""The pipeline: validate, rewrite, split, build."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.pattern.model import Emission, Forecast, Output, Pattern, Step, list_aliases, walk_nodes
from cepheid.pattern.text import column_name, pattern_text
from cepheid.pattern.types import NO_SCHEMA, Schema
from cepheid.plan.build import Builder
from cepheid.plan.check_absences import check_absences
from cepheid.plan.check_forecast import check_forecast, read_by
from cepheid.plan.countable import check_countable, counts_matches
from cepheid.plan.desugar_monotonic import desugar_monotonic
from cepheid.plan.infer_key import infer_key
from cepheid.plan.needed_fields import needed_fields
from cepheid.plan.plan import GuardSpec, Plan
from cepheid.plan.push_where import push_where
from cepheid.plan.split_tests import split_tests
from cepheid.plan.trend_plan import check_trends, split_having, trend_plan
from cepheid.plan.validate import alias_types, key_types, validate

REWRITES: tuple[Callable[[Pattern], Pattern], ...] = (desugar_monotonic, push_where)


def plan_pattern(
    pattern: Pattern,
    schema: Schema = NO_SCHEMA,
    name: str | None = None,
    outputs: tuple[Output, ...] | None = None,
    forecast: Forecast | None = None,
) -> Plan:
    """A pattern that can be run, or the mistake in it."""
    written = pattern
    pattern, having = split_having(pattern)
    validate(pattern, schema)
    rewritten = pattern
    for rewrite in REWRITES:
        rewritten = rewrite(rewritten)
    emission = rewritten.emission or (Emission.EACH if rewritten.every is None else Emission.LONGEST)
    # Trends are aggregated over the partitions that the user named: the planner must not make smaller ones.
    inferred = infer_key(rewritten) if rewritten.trends is None else ()
    named = name or pattern.name
    automaton = Builder(rewritten, emission).automaton()
    check_absences(rewritten, automaton)
    plan = Plan(
        name=named or "matches",
        pattern=rewritten,
        automaton=automaton,
        guards=tuple(GuardSpec(g, *split_tests(g.step, False)) for g in rewritten.guards),
        emission=emission,
        key=rewritten.partition_by or inferred,
        key_names=tuple(column_name(e) for e in rewritten.partition_by),
        inferred_key=bool(inferred),
        aliases=list_aliases(pattern.root),
        event_types=tuple(dict.fromkeys(_types(rewritten))),
        identity=named if named is not None and named != "matches" else pattern_text(written),
        needed=None
        if pattern.timeouts
        else needed_fields(rewritten, outputs, [*having, *read_by(forecast)]),  # a timeout shows whole events
        output_exprs=tuple(o.expr for o in outputs or ()),
        counting=counts_matches(outputs) and pattern.trends is None,
        trends=trend_plan(pattern, having, outputs),
        forecast=forecast,
    )
    if plan.trends is not None:
        check_trends(plan, alias_types(pattern, schema), key_types(pattern, schema))
    if forecast is not None:
        check_forecast(plan, schema)
    if plan.counting:
        check_countable(plan)
    return plan


def _types(pattern: Pattern) -> list[str]:
    steps = [n.type for n in walk_nodes(pattern.root) if isinstance(n, Step)]
    return steps + [g.step.type for g in pattern.guards]
