"""`run`, `match` and `detect` over Spark DataFrames, bounded or streaming: lazy DataFrames of what is found."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.local.run import Results
from cepheid.engines.options import Options, make_options
from cepheid.engines.program import Program
from cepheid.engines.spark.batch import found_in
from cepheid.engines.spark.cascade import apart, cascade_of, why_not
from cepheid.engines.spark.cascade_joins import found_by_joins
from cepheid.engines.spark.inputs import Input, plan_input
from cepheid.engines.spark.output import WHOLE_EVIDENCE, Answer, Payload, match_payloads
from cepheid.engines.spark.prepare import prepared, split
from cepheid.engines.spark.setup import check_state_store, check_time_column, check_worker_python
from cepheid.engines.spark.stream import METRICS, bucket_count, found_in_stream, with_watermark
from cepheid.engines.spark.units import Unit, narrowed, units_of
from cepheid.engines.spark.work import StreamWork, Work
from cepheid.errors import CepheidWarning, InputMistake
from cepheid.time.lateness import Lateness
from cepheid.trends.matcher import no_late_trends

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHOLE = ("dead_letter", "timeout", "pending", WHOLE_EVIDENCE)  # findings that show events as they came


@dataclass(frozen=True)
class SparkJob:
    """A query planned against a DataFrame, bounded or streaming."""

    df: DataFrame
    program: Program
    given: Input
    options: Options

    @property
    def lateness(self) -> Lateness:
        return self.options.lateness or Lateness(policy=self.options.policy)

    @property
    def buckets(self) -> int:
        return bucket_count(self.df, self.options.buckets)

    def answer(self, streams: Iterable[str], kinds: Iterable[str]) -> Answer:
        """The table of what is asked for."""
        wanted, kinds = set(streams), list(kinds)
        late = self.given.streaming and self.lateness.threshold > 0
        payloads = [
            p
            for unit in units_of(self.program)
            for p in match_payloads(unit, self.given, late, kinds)
            if p.stream in wanted
        ]
        if "dead_letter" in kinds:
            payloads.append(self._dead_letters())
        if "metrics" in kinds:
            payloads.append(METRICS)
        return Answer(tuple(payloads))

    def _dead_letters(self) -> Payload:
        columns = [(f.name, f.type) for f in self.given.arrow if not pa.types.is_null(f.type)]
        return Payload("dead_letter", "", (*columns, ("reason", pa.string())))

    def table(self, answer: Answer) -> DataFrame:
        """All findings the answer has a place for."""
        names = {p.stream for p in answer.payloads if p.stream}
        program = narrowed(self.program, names or [s.name for s in self.program])
        units = [part for unit in units_of(program) for part in apart(unit, self.given)]
        tables = [self._unit_table(unit, answer, units[:i]) for i, unit in enumerate(units)]
        return reduce(lambda one, other: one.unionByName(other), tables)

    def _unit_table(self, unit: Unit, answer: Answer, earlier: list[Unit]) -> DataFrame:
        whole = any(p.kind in _WHOLE for p in answer.payloads)
        cascade = cascade_of(unit, self.given)
        work = cascade.work if cascade else split(unit, self.given, whole_rows=whole, earlier=earlier)
        plain = Work(unit.program, work.answered, work.layout, answer, self.lateness.threshold)
        if cascade is not None:
            return found_by_joins(self.df, cascade, plain)
        if not self.given.streaming:
            return found_in(prepared(self.df, work, self.options.now), plain)
        rows = prepared(self.df, work, end_type=self.options.end_type)
        buckets = self.buckets if unit.key else 1
        stream = StreamWork(plain, buckets, self.lateness, secrets.token_hex(8), self.options.end_type)
        return found_in_stream(rows, stream)

    def frame(self, stream: str, kind: str = "match") -> DataFrame:
        """The findings of one kind of one stream."""
        answer = self.answer([stream], [kind])
        return answer.part(self.table(answer), kind, stream)


def plan_job(query: object, df: DataFrame, options: Options) -> SparkJob:
    """The query planned, and everything checked that would otherwise fail in the middle of the job."""
    check_worker_python(df)
    check_time_column(df, options.columns.time)
    program, given = plan_input(query, df, options)
    if not given.streaming:
        _refuse_stream_options(options)
        _refuse_shared_learning(program)
        return SparkJob(df, program, given, options)
    check_state_store(df)
    _refuse_batch_options(options)
    _refuse_late_trends(program, options)
    return SparkJob(with_watermark(df, given, options.disorder), program, given, options)


def run_spark(query: object, df: DataFrame, options: Options) -> Results:
    """Every stream of a program: lazy DataFrames by name."""
    job = plan_job(query, df, options)
    warn_of_one_partition(job.program, job.given)
    names = [s.name for s in job.program.declarations.streams]
    results = Results({name: job.frame(name) for name in names})
    if not job.given.streaming:
        results.pending = {name: job.frame(name, "pending") for name in names}
    timed = [name for name in names if job.program[name].plan.pattern.timeouts]
    results.timeouts = {name: job.frame(name, "timeout") for name in timed}
    foretold = [name for name in names if job.program[name].plan.forecast is not None]
    results.forecasts = {name: job.frame(name, "forecast") for name in foretold}
    results.outcomes = {name: job.frame(name, "outcome") for name in foretold}
    return results


def match_spark(query: object, df: DataFrame, stream: str | None, options: Options) -> DataFrame:
    """The matches of one stream: the named one, or the last of the text."""
    job = plan_job(query, df, options)
    name = job.program[stream].name if stream is not None else job.program.last.name
    warn_of_one_partition(narrowed(job.program, [name]), job.given)
    return job.frame(name)


def detect(query: object, *, stream: str | None = None, **options: Any) -> Callable[[DataFrame], DataFrame]:
    """For `df.transform(cepheid.detect(query))`: the matches of a stream as a DataFrame.

    Args:
        query: As in `match`.
        stream: The stream that is wanted, where the query has several.
        options: All that `match` takes, but for what concerns local engines.
    """
    settings = make_options(**options)
    return lambda df: match_spark(query, df, stream, settings)


def warn_of_one_partition(program: Program, given: Input) -> None:
    """Not of what joins can match."""
    for unit in units_of(program):
        for part in apart(unit, given):
            if not part.key and (why := why_not(part, given)):
                warnings.warn(one_partition(part, why), CepheidWarning, stacklevel=4)


def one_partition(unit: Unit, why: str) -> str:
    """`why`: what stands in the way of joins."""
    names = ", ".join(f"`{name}`" for name in unit.names)
    return (
        f"{names}: no key, so the whole input is matched as one partition, by one core "
        f"(not by joins: {why}); add `partition by`, or tie the steps together by the equality of a field"
    )


def _refuse_stream_options(options: Options) -> None:
    given = [
        ("disorder` and `lateness", options.lateness),
        ("buckets", options.buckets),
        ("end_type", options.end_type),
    ]
    for name, value in given:
        if value is not None:
            raise InputMistake(
                f"`{name}` is for streams: a bounded DataFrame is sorted as a whole",
                code="bad_option",
                hint="leave it out",
            )


def _refuse_late_trends(program: Program, options: Options) -> None:
    for planned in program:
        if planned.plan.trends is not None and options.lateness is not None and options.lateness.threshold:
            raise no_late_trends(planned.name)


def _refuse_shared_learning(program: Program) -> None:
    for planned in program:
        forecast = planned.plan.forecast
        if forecast is not None and forecast.learn and not forecast.per_key:
            raise InputMistake(
                f"a bounded DataFrame is matched key by key: the forecasts of `{planned.name}` have no order of "
                f"time in which one model could learn from all keys",
                code="no_order_to_learn",
                hint="train_forecast(query, df) first and then `learn: false`, or `model: key`",
            )


def _refuse_batch_options(options: Options) -> None:
    if options.now is not None:
        raise InputMistake(
            "`now` is for bounded input: a stream's time is its watermark",
            code="bad_option",
            hint="leave it out",
        )
