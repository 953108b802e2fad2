"""Rules over tables and files that are all there: one call, tables in, tables out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cepheid.engines.graph.clock import Clock
from cepheid.engines.rules.keyed import by_key
from cepheid.engines.rules.keys import keys_of
from cepheid.engines.rules.operations import Operation, in_order, without_intervals
from cepheid.engines.rules.prepared import Prepared, prepare
from cepheid.engines.rules.reading import OperationMaker, read_events, read_facts, rule_columns
from cepheid.engines.rules.session import with_times
from cepheid.engines.rules.tables import RuleResults
from cepheid.engines.rules.told import Told


def run_rules(
    rules: Any,
    *,
    facts: Any = None,
    events: Any = None,
    patterns: Any = None,
    key: str | Mapping[str, str] | None = None,
    split: bool = False,
    time_unit: str = "s",
    max_firings: int = 10_000,
    until: Any = None,
    disorder: Any = None,
    buckets: int | None = None,
    source: str = "rules",
    **columns: str,
) -> Any:
    """Replays facts and events in the order of time, and tells all that happened.

    `facts` and `events` are pandas, polars or Arrow tables, lists of dicts or files: one with a column `type`, or
    several by type, {"Alarm": table}. A fact is a row with the interval in which it is so, `valid_from` and `valid_to`
    (either may be missing), or, in a table with `time`, what is done to it: `op` is assert, update or retract, assert
    if there is none. `key` splits the working memory by a column, `split` by one that is found: then rules see only
    what has one value of it. `until`: time goes on that far after the last event; without it, all that waits for a date
    fires with that date. Columns may have other names: `time="at"`, `type=`, `id=`, `valid_from=`, `valid_to=`, `op=`.

    Over DataFrames of Spark the answer is one of DataFrames. There the working memory is always split, by `key` or what
    is found. Streams take `disorder`, how far rows may be out of order, and `buckets`, of keys that are kept together.

    Args:
        rules: A text, or rules built in Python.
        facts: Tables, lists of dicts or files: one with a column `type`, or several by type, {"Account": table}.
        events: The same of events.
        patterns: Streams whose matches are events for the rules, as text or built in Python.
        key: The column that splits the working memory, or one for each type.
        split: Whether it is split by a column that is found.
        time_unit: What a number as a time counts: `s`, `ms`, `us` or `ns`.
        max_firings: How many rules may fire because of one operation, before it is called a circle.
        until: Time goes on that far after the last event.
        disorder: Of Spark's streams: how far rows may be out of order.
        buckets: Of Spark's streams: how many buckets the keys are spread over.
        source: What the text is called in messages.
        columns: Other names of columns, `time="at"`.

    >>> rule = "rule Late { when { ?o: Order(paid == false); ?d: event Due(order == ?o) } then { emit Late(?o); } }"
    >>> facts, events = [{"id": 7, "paid": False}], [{"time": 3, "order": 7}]
    >>> run_rules(rule, facts={"Order": facts}, events={"Due": events}).emitted["Late"].to_pylist()
    [{'time': 3, 'rule': 'Late', 'o': 7}]
    """
    if _on_spark(facts) or _on_spark(events):
        from cepheid.engines.spark.rule_run import run_on_spark

        return run_on_spark(
            rules,
            facts=facts,
            events=events,
            patterns=patterns,
            key=key,
            time_unit=time_unit,
            max_firings=max_firings,
            until=None if until is None else Clock(time_unit).microseconds(until),
            source=source,
            columns=rule_columns(columns),
            disorder=disorder,
            buckets=buckets,
        )
    prepared = prepare(rules, patterns, source, time_unit, max_firings)
    clock = prepared.clock
    named = rule_columns(columns)
    maker = OperationMaker(prepared.rules, named, clock)
    operations = in_order([*read_facts(facts, maker), *read_events(events, maker)])
    end = None if until is None else clock.microseconds(until)
    if key is None and not split:
        told = replay(prepared, operations, end)
    else:
        keys = keys_of(prepared.rules, prepared.program, key, named.id)
        for _ in without_intervals(operations, set(), clock.time):
            pass  # a fact that is there twice is a mistake, also in two keys
        told = []
        for value, own in by_key(operations, keys).items():
            told += [replace(one, key=value) for one in replay(prepared, own, end)]
        told.sort(key=lambda one: one.time)
    return RuleResults([with_times(one, clock) for one in told], prepared.rules)


def _on_spark(given: Any) -> bool:
    tables = given.values() if isinstance(given, Mapping) else (given,)
    return any(type(table).__module__.startswith("pyspark.") for table in tables)


def replay(prepared: Prepared, operations: Iterable[Operation], until: int | None) -> list[Told]:
    """One working memory, from the beginning to the end."""
    driver = prepared.driver()
    ready = without_intervals(operations, driver.inside, prepared.clock.time)
    told = [one for operation in ready for one in driver.apply(operation)]
    return told + (driver.finish() if until is None else driver.advance(until))
