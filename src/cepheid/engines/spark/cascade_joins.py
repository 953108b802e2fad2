"""A cascade as Spark joins: from the prepared rows to tuples of events, to the findings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from cepheid.engines.spark.cascade import Absent, Cascade, Joined
from cepheid.engines.spark.cascade_columns import RANK, Place, at_most, later, order_columns, schema_of
from cepheid.engines.spark.cascade_verify import verifying
from cepheid.engines.spark.catalyst import to_test, to_value
from cepheid.engines.spark.layout import BITS_A_COLUMN, SEQUENCE, TIME, TYPE
from cepheid.engines.spark.output import EVIDENCE, WHOLE_EVIDENCE
from cepheid.engines.spark.prepare import prepared
from cepheid.engines.spark.work import Work
from cepheid.pattern.expr import Expr
from cepheid.plan.event_tests import EventTest

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OF_MATCHES = ("match", EVIDENCE, WHOLE_EVIDENCE)


def found_by_joins(df: DataFrame, cascade: Cascade, work: Work) -> DataFrame:
    """All findings of a bounded DataFrame. Only matches: no run is open, and no absence waits for the end."""
    if not any(p.kind in _OF_MATCHES and p.stream in _names(work) for p in work.answer.payloads):
        return df.sparkSession.createDataFrame([], work.answer.spark_schema())
    tuples = _tuples(_ranked(prepared(df, cascade.work), cascade), cascade)
    return tuples.mapInArrow(verifying(cascade, work), work.answer.spark_schema())


def _names(work: Work) -> set[str]:
    return {s.name for s in work.program}


def _ranked(rows: DataFrame, cascade: Cascade) -> DataFrame:
    """The events, each with its number among those of its time: what a match's id is made of.

    All sides of all joins read these rows, with all columns and without a filter below the window. So to Spark the
    shuffle below it is the same for all of them and runs once, and an event has one place in the order of arrival
    everywhere, whatever the rows come from.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = order_columns(cascade.carried.order_kinds())
    by_time = Window.partitionBy(TIME).orderBy(*(c.asc_nulls_first() for c in order), F.col(SEQUENCE))
    rows = rows.withColumn(TIME, _time_or_refusal(cascade))
    rank = (F.row_number().over(by_time) - 1).cast("bigint")
    return rows.withColumn(RANK, rank).where(F.col(TIME).isNotNull())


def _time_or_refusal(cascade: Cascade) -> Column:
    """A row without a time or a type is refused aloud.

    By the time itself, and not by a filter of its own: Spark tests first whether a time is null.
    """
    from pyspark.sql import functions as F

    columns, time = cascade.carried.given.columns, F.col(TIME)
    checked = F.when(time.isNull(), _refusal(columns.time, "time"))
    if cascade.carried.given.typed:
        checked = checked.when(F.col(TYPE).isNull(), _refusal(columns.type, "type"))
    return checked.otherwise(time)


def _refusal(name: str, what: str) -> Column:
    from pyspark.sql import functions as F

    return F.raise_error(F.lit(f"a row has no `{name}`: every event needs a {what}")).cast("bigint")


# Joins.


def _tuples(rows: DataFrame, cascade: Cascade) -> DataFrame:
    from pyspark.sql import functions as F

    steps = cascade.steps
    places = [step.place for step in steps]
    tuples = _without(_side(rows, cascade, steps[0].test, places[0]), rows, cascade, steps[0], places[:1])
    for number, step in enumerate(steps[1:], 1):
        side = _side(rows, cascade, step.test, step.place)
        tuples = tuples.join(side, _joined(step, places[: number + 1]), "inner")
        tuples = _without(tuples, rows, cascade, step, places[: number + 1])
    return tuples.select(*(F.col(p.named(n)) for p in places for n in cascade.carried.names()))


def _side(rows: DataFrame, cascade: Cascade, test: EventTest, place: Place) -> DataFrame:
    """The rows that pass a test, as one event of a tuple."""
    from pyspark.sql import functions as F

    number = cascade.work.answered.tests.index(test)
    bits = F.col(cascade.work.layout.bit_names()[number // BITS_A_COLUMN])
    passed = bits.bitwiseAND(F.lit(1 << number % BITS_A_COLUMN).cast("bigint")) != 0
    return rows.where(passed).select(*place.renamed())


def _joined(step: Joined, places: list[Place]) -> Column:
    conditions = _conditions(step.ties, step.more, places)
    conditions += [later(places[-2], places[-1])]
    conditions += [at_most(places[b.first], places[b.last], b.most) for b in step.bounds]
    return _all(conditions)


def _without(
    tuples: DataFrame, rows: DataFrame, cascade: Cascade, step: Joined, places: list[Place]
) -> DataFrame:
    """The tuples without those that an event which must not come lies in."""
    for absent in step.absent:
        side = _side(rows, cascade, absent.test, absent.place)
        tuples = tuples.join(side, _violated(absent, places), "left_anti")
    return tuples


def _violated(absent: Absent, places: list[Place]) -> Column:
    own, last = absent.place, places[absent.until]
    conditions = _conditions(absent.ties, absent.more, [*places, own])
    if absent.after is None:
        conditions += [later(own, last), at_most(own, last, absent.most or 0)]
    else:
        itself = own.column(SEQUENCE) == last.column(SEQUENCE)
        conditions += [later(places[absent.after], own), own.column(TIME) <= last.column(TIME)]
        conditions += [itself | later(own, last)]
        if absent.most is not None:
            conditions += [at_most(places[absent.after], own, absent.most)]
    return _all([*conditions, _reads_all(own)])


def _conditions(ties: Iterable[Expr], more: Iterable[Expr], places: list[Place]) -> list[Column]:
    schema = schema_of(places)
    columns = [to_value(tie, schema) for tie in ties]
    columns += [to_test([test], schema).column for test in more]
    return [column for column in columns if column is not None]


def _reads_all(place: Place) -> Column:
    """True. It reads every column, so that Spark does not read this side with fewer: see `_ranked`."""
    from pyspark.sql import functions as F

    # Whether a column is null Spark may know without reading it, and the length of a text it does not.
    texts = [place.column(name).cast("string") for name in place.carried.names()]
    lengths = [F.coalesce(F.length(text).cast("bigint"), F.lit(0).cast("bigint")) for text in texts]
    return reduce(lambda one, other: one + other, lengths) >= F.lit(0)


def _all(conditions: list[Column]) -> Column:
    return reduce(lambda one, other: one & other, conditions)
