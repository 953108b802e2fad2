"""The part of a query that Spark's own engine does: tests of single events, filter, pruning, the key.

What comes out are rows a matcher wants, with the columns it reads, under names of our own (`layout.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.spark import python_columns
from cepheid.engines.spark.catalyst import Translated, to_test, to_value
from cepheid.engines.spark.inputs import Input
from cepheid.engines.spark.layout import BITS_A_COLUMN, END, LETTER, NOW, SEQUENCE, TIME, TYPE, Layout
from cepheid.engines.spark.units import Unit
from cepheid.pattern.expr import Expr, Field, walk
from cepheid.plan.event_tests import Answered, EventTest, distinct_tests
from cepheid.plan.plan import Plan
from cepheid.plan.seen_rows import SeenRows, seen_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Split:
    """A unit's work told apart: what Catalyst does, what is shuffled, what is left to the matcher."""

    unit: Unit
    given: Input
    answered: Answered
    translated: tuple[Translated, ...]  # one for each test
    layout: Layout
    keeps_all_rows: bool  # neighbours count: rows that pass no test travel as positions
    whole_rows: bool  # every column travels along, and no row as a mere position
    earlier: tuple[EventTest, ...] = ()  # what other units want: a dead letter is written once

    @property
    def whole_types(self) -> list[str]:
        """Of which every row travels, whatever it passes."""
        return sorted({kind for seen in _seen(self.plans, self.given) for kind in seen.types})

    @property
    def plans(self) -> list[Plan]:
        return [s.plan for s in self.unit.program]


def split(unit: Unit, given: Input, *, whole_rows: bool = False, earlier: Sequence[Unit] = ()) -> Split:
    """`whole_rows`: every column travels along, for rows that show events as they came. `earlier`: units that
    see to the dead letters of the rows they want."""
    plans = [s.plan for s in unit.program]
    tests = distinct_tests(plans)
    schema = _as_events_have_them(given)
    translated = tuple(to_test(test.alpha, schema) for test in tests)
    answered = Answered(tests, tuple(t.left for t in translated))
    names = _fields(plans, given, whole_rows)
    fields = tuple(n for n in names if n not in given.columns.times())
    layout = Layout(
        given.columns,
        len(unit.key),
        -(-len(tests) // BITS_A_COLUMN),
        fields,
        given.columns.time in names,
        has_now=not given.streaming and _needs_now(unit),
        has_letter=given.streaming and whole_rows and bool(earlier),
        exact_key=not _python_keys(unit, given),
        key_fields=tuple(_key_field(e, given, fields) for e in unit.key),
    )
    others = distinct_tests(s.plan for other in earlier for s in other.program)
    all_rows = any(seen.all for seen in _seen(plans, given))
    return Split(unit, given, answered, translated, layout, all_rows, whole_rows, others)


def _seen(plans: Sequence[Plan], given: Input) -> list[SeenRows]:
    return [seen_rows(plan, given.columns.type) for plan in plans]


def prepared(df: DataFrame, work: Split, now: int | None = None, end_type: str | None = None) -> DataFrame:
    """The rows the matcher wants, and those of `end_type`.

    Rows without a time or a type come along: the reader refuses them aloud.
    """
    from pyspark.sql import functions as F

    df = _with_now(df, work, now)
    df = python_columns.added(df, work.given, _python_keys(work.unit, work.given))
    bits = bit_columns(work)
    columns = [column.alias(name) for name, column in zip(work.layout.bit_names(), bits, strict=True)]
    columns += [
        _key_column(df, work, i).alias(name)
        for i, name in enumerate(work.layout.key_names())
        if work.layout.key_fields[i] is None
    ]
    columns += [_instant(work.given, work.given.columns.time).alias(TIME)]
    if work.given.typed:
        columns.append(_named(work.given.columns.type).cast("string").alias(TYPE))
    if work.given.columns.end is not None:
        columns.append(_instant(work.given, work.given.columns.end).alias(END))
    columns += [
        _sortable(n, work.given).alias(o)
        for n, o in zip(work.given.columns.order, work.layout.order_names(), strict=True)
    ]
    columns += [
        _named(n).alias(f) for n, f in zip(work.layout.fields, work.layout.field_names(), strict=True)
    ]
    if work.layout.has_now:
        columns.append(F.col(NOW))
    if work.layout.has_letter:
        columns.append((~_wanted_by(work.earlier, work.given)).alias(LETTER))
    rows = df.select(*columns)
    if not work.given.streaming:
        rows = rows.withColumn(SEQUENCE, F.monotonically_increasing_id())
    if work.keeps_all_rows:
        return _positions_only(rows, work)
    wanted = _wanted(work)
    return rows.where(wanted if end_type is None else wanted | (F.col(TYPE) == end_type))


def bit_columns(work: Split) -> list[Column]:
    """One bit for every test of a single event, in as few columns as hold them."""
    from pyspark.sql import functions as F

    bits = [
        F.when(
            _passes(test, translated, work.given), F.lit(1 << (i % BITS_A_COLUMN)).cast("bigint")
        ).otherwise(F.lit(0).cast("bigint"))
        for i, (test, translated) in enumerate(zip(work.answered.tests, work.translated, strict=True))
    ]
    groups = [bits[i : i + BITS_A_COLUMN] for i in range(0, len(bits), BITS_A_COLUMN)]
    return [balanced(group, lambda one, other: one.bitwiseOR(other)) for group in groups]


def balanced(columns: Sequence[Column], join: Callable[[Column, Column], Column]) -> Column:
    """Many columns joined in a tree of little depth: Connect refuses expressions that are nested too deep."""
    if len(columns) == 1:
        return columns[0]
    half = len(columns) // 2
    return join(balanced(columns[:half], join), balanced(columns[half:], join))


def _passes(test: EventTest, translated: Translated, given: Input) -> Column:
    from pyspark.sql import functions as F

    column = F.lit(test.type == given.columns.plain_type)
    if given.typed:
        column = _named(given.columns.type).cast("string").eqNullSafe(F.lit(test.type))
    return column if translated.column is None else column & translated.column


def _wanted_by(tests: Sequence[EventTest], given: Input) -> Column:
    fields = _as_events_have_them(given)
    passes = [_passes(test, to_test(test.alpha, fields), given) for test in tests]
    return balanced(passes, lambda one, other: one | other)


def _wanted(work: Split) -> Column:
    from pyspark.sql import functions as F

    conditions = [F.col(name) != 0 for name in work.layout.bit_names()] + [F.col(TIME).isNull()]
    # Never true, and not to be seen through: a filter that does not look at the time is moved below the watermark
    # by Spark's optimizer, and then rows that nobody wants would not move the watermark.
    conditions += [F.col(TIME) < F.lit(-(2**62)).cast("bigint")]
    if work.given.typed:
        conditions += [F.col(TYPE).isNull()]
    if work.whole_types:
        conditions += [F.col(TYPE).isin(work.whole_types) if work.given.typed else F.lit(True)]
    return balanced(conditions, lambda one, other: one | other)


def _positions_only(rows: DataFrame, work: Split) -> DataFrame:
    """Rows that no test wants are kept for their place alone, unless an `until` looks at every event."""
    from pyspark.sql import functions as F

    if work.whole_rows or any(c.until is not None for p in work.plans for c in p.automaton.closures):
        return rows
    keys = {f.path[0] for p in work.plans for e in p.key for f in walk(e) if isinstance(f, Field)}
    named = zip(work.layout.fields, work.layout.field_names(), strict=True)
    return rows.withColumns({f: F.when(_wanted(work), F.col(f)) for name, f in named if name not in keys})


def _fields(plans: Sequence[Plan], given: Input, whole_rows: bool) -> list[str]:
    """The columns that tests and outputs read, in the DataFrame's order."""
    if whole_rows or any(p.needed is None for p in plans):
        return list(given.arrow.names)
    wanted = {name for p in plans for name in p.needed or ()}
    return [n for n in given.arrow.names if n in wanted]


def _as_events_have_them(given: Input) -> pa.Schema:
    """Columns as events hold them. A time that is written as text or a number is an instant there."""
    instants = given.columns.times()
    return pa.schema([f for f in given.arrow if f.name not in instants or pa.types.is_timestamp(f.type)])


def _named(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def _sortable(name: str, given: Input) -> Column:
    """NaN is null, and null comes first; Spark would put NaN last."""
    from pyspark.sql import functions as F

    column = _named(name)
    return F.when(~F.isnan(column), column) if pa.types.is_floating(given.kind(name)) else column


# The time.


def _instant(given: Input, name: str) -> Column:
    """Microseconds since 1970."""
    from pyspark.sql import functions as F

    kind, column = given.kind(name), _named(name)
    if pa.types.is_timestamp(kind):
        if kind.tz is None:  # without a zone it is UTC, whatever the session's zone
            return F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {_quoted(name)})")
        return F.unix_micros(column)
    return F.col(python_columns.instant_name(given, name))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _needs_now(unit: Unit) -> bool:
    """Does the answer depend on when the input ends: on absences at the end, timeouts, forecasts, what they feed?"""
    return unit.feeding or any(_waits_for_time(s.plan) for s in unit.program)


def _waits_for_time(plan: Plan) -> bool:
    awaited = any(a.absences for a in plan.automaton.accepts)
    return plan.pattern.timeouts or plan.forecast is not None or awaited


def _with_now(df: DataFrame, work: Split, now: int | None) -> DataFrame:
    """The end of the bounded input, beside every row: time goes on that far for each key."""
    from pyspark.sql import functions as F

    if not work.layout.has_now:
        return df
    timed = python_columns.added(df, work.given, ())
    last = timed.agg(F.max(_instant(work.given, work.given.columns.time)).alias(NOW))
    if now is not None:
        last = last.select(F.greatest(F.col(NOW), F.lit(now).cast("bigint")).alias(NOW))
    return df.crossJoin(F.broadcast(last))


# The key.


def _key_column(df: DataFrame, work: Split, number: int) -> Column:
    """Equal keys are equal values here, and the other way round: zero is one number, and NaN is null."""
    from pyspark.sql import functions as F

    expr = work.unit.key[number]
    column = _catalyst_key(expr, work.given)
    if column is None:
        return F.col(python_columns.key_name(number))
    return column


def _key_field(expr: Expr, given: Input, fields: Sequence[str]) -> str | None:
    """The field that a part of the key is, if its column tells keys apart as it is."""
    if not isinstance(expr, Field) or len(expr.path) != 1 or expr.path[0] not in fields:
        return None
    kind = _kind_at(given.arrow, expr.path)
    plain = kind is not None and (pa.types.is_string(kind) or pa.types.is_integer(kind))
    return expr.path[0] if plain else None


def _catalyst_key(expr: Expr, given: Input) -> Column | None:
    from pyspark.sql import functions as F

    if not all(isinstance(node, Field) for node in walk(expr)) or not isinstance(expr, Field):
        return to_value(expr, _as_events_have_them(given))
    column = to_value(expr, _as_events_have_them(given))
    kind = _kind_at(given.arrow, expr.path)
    if column is None or kind is None or pa.types.is_nested(kind):
        return None
    if pa.types.is_floating(kind):
        return F.when(column == 0, F.lit(0.0)).otherwise(column)
    return column


def _kind_at(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType | None:
    if path[0] not in schema.names:
        return None
    kind = schema.field(path[0]).type
    for name in path[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return kind


def _python_keys(unit: Unit, given: Input) -> tuple[tuple[int, Expr], ...]:
    """Parts of the key that only Python can work out."""
    return tuple((i, e) for i, e in enumerate(unit.key) if _catalyst_key(e, given) is None)
