"""`run_rules` over Spark DataFrames, bounded or streaming."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from cepheid.engines.local.arrow_types import type_from_arrow
from cepheid.engines.options import Duration
from cepheid.engines.program import compile
from cepheid.engines.rules.feeding import read_by
from cepheid.engines.rules.given import gathered
from cepheid.engines.rules.keys import keys_of
from cepheid.engines.rules.prepared import Prepared, prepare, tick_of
from cepheid.engines.rules.reading import RuleColumns
from cepheid.engines.spark.arrow_tasks import arrow_kinds
from cepheid.engines.spark.rule_batch import told_in
from cepheid.engines.spark.rule_outputs import SparkRuleResults
from cepheid.engines.spark.rule_rows import Encoding, Source, encoded
from cepheid.engines.spark.rule_times import Kinds, time_type
from cepheid.engines.spark.setup import check_worker_python
from cepheid.errors import InputMistake
from cepheid.pattern.rule_model import AssertEvent, AssertFact, ObjectType, RuleSet
from cepheid.pattern.types import INT, UNKNOWN, Type
from cepheid.rules.checking import made_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Table = tuple[Source, "DataFrame"]


def is_spark(given: Any) -> bool:
    """Is it a DataFrame of Spark, or several of them by type?"""
    if isinstance(given, Mapping):
        return any(is_spark(one) for one in given.values())
    return type(given).__module__.startswith("pyspark.")


def run_on_spark(
    rules: Any,
    *,
    facts: Any,
    events: Any,
    patterns: Any,
    key: str | Mapping[str, str] | None,
    time_unit: str,
    max_firings: int,
    until: int | None,
    source: str,
    columns: RuleColumns,
    disorder: Duration | None = None,
    buckets: int | None = None,
) -> SparkRuleResults:
    tables = list(_tables(facts, events))
    check_worker_python(tables[0][1])
    read = gathered(rules, source)
    kinds = [(one, _kinds(df)) for one, df in tables]
    of_tables = [(one.events, own) for one, own in kinds]
    program = None if patterns is None else compile(patterns)
    time = time_type(of_tables, columns, read, program, tick_of(time_unit))
    known = tuple(_types(kinds, read, columns, time))
    prepared = replace(
        prepare(rules, program, source, time_unit, max_firings, known, time), time_column=columns.time
    )
    keys = keys_of(prepared.rules, prepared.program, key, columns.id)
    encoding = Encoding(prepared.rules, keys, columns, time_unit)
    if any(df.isStreaming for _, df in tables):
        from cepheid.engines.spark.rule_stream import told_in_stream

        if until is not None:
            raise InputMistake(
                "`until` is for tables: a stream goes on", code="bad_option", hint="leave `until` out"
            )
        told = told_in_stream(tables, encoding, prepared, disorder, buckets)
    else:
        rows = [encoded(df, one, encoding) for one, df in tables]
        told = told_in(reduce(lambda a, b: a.union(b), rows), prepared, until)
    return SparkRuleResults(told, _made(prepared), _ids(prepared.rules, columns))


def _tables(facts: Any, events: Any) -> Iterator[Table]:
    number = 0
    for given, are_events in ((facts, False), (events, True)):
        for name, df in given.items() if isinstance(given, Mapping) else ((None, given),):
            if df is None:
                continue
            if not is_spark(df):
                raise InputMistake(
                    f"a {type(df).__name__} among DataFrames of Spark",
                    code="bad_input",
                    hint="make it one: spark.createDataFrame(...)",
                )
            yield Source(number, name, are_events), df
            number += 1


def _kinds(df: DataFrame) -> Kinds:
    return {name: type_from_arrow(kind) for name, kind in arrow_kinds(df).items()}


def _types(
    tables: list[tuple[Source, Kinds]], rules: RuleSet, columns: RuleColumns, time: Type
) -> Iterator[ObjectType]:
    """What the columns of tables say of objects. A table of several types has the columns of all of them.

    The time of an event is read: whatever its column is, `time` is what comes of it.
    """
    for one, kinds in tables:
        left_out = (columns.type,) if one.events else columns.of_facts()
        own = {name: kind for name, kind in kinds.items() if name not in left_out}
        if one.events and own.get(columns.time, INT) != INT:
            own[columns.time] = time
        for name in (one.type,) if one.type is not None else _only_read(rules, one.events):
            yield ObjectType(name, tuple(own.items()), event=one.events)


def _only_read(rules: RuleSet, events: bool) -> list[str]:
    """The types of facts or events that rules read and do not make: those come from tables."""
    kind = "event" if events else "fact"
    read = {name for rule in rules.rules for k, name in read_by(rule) if k == kind}
    kinds = AssertEvent if events else AssertFact
    return sorted(read - {a.type for rule in rules.rules for a in rule.actions if isinstance(a, kinds)})


def _made(prepared: Prepared) -> dict[tuple[str, str], dict[str, Type]]:
    """With what is known of facts that rules may modify."""
    found = made_types(replace(prepared.rules, types=()), prepared.rules.types, prepared.time)
    for kind in prepared.rules.types:
        name = ("event" if kind.event else "fact", kind.name)
        found[name] = {**found.get(name, {}), **dict(kind.fields)}
    return found


def _ids(rules: RuleSet, columns: RuleColumns) -> dict[tuple[str, str], Type]:
    """The types of identities: of the key, or of the column of identities."""
    return {
        ("event" if t.event else "fact", t.name): dict(t.fields).get(t.key or columns.id, UNKNOWN)
        for t in rules.types
    }
