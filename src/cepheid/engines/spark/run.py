"""`run` and `match` over Spark DataFrames: lazy DataFrames of what is found."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.engines.local.run import Results
from cepheid.engines.options import Options
from cepheid.engines.program import Program
from cepheid.engines.spark.batch import found_in
from cepheid.engines.spark.inputs import Input, plan_input
from cepheid.engines.spark.output import Answer, match_payloads
from cepheid.engines.spark.prepare import Split, prepared, split
from cepheid.engines.spark.setup import check_time_column, check_worker_python
from cepheid.engines.spark.units import Unit, narrowed, units_of
from cepheid.engines.spark.work import Work
from cepheid.errors import CepheidWarning, InputMistake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIDE = ("match", "timeout", "pending")


@dataclass(frozen=True)
class SparkJob:
    """A query planned against a DataFrame."""

    df: DataFrame
    program: Program
    given: Input
    options: Options

    def frame(self, stream: str, kind: str = "match") -> DataFrame:
        """The findings of one kind of one stream."""
        (unit,) = [u for u in units_of(narrowed(self.program, [stream])) if stream in u.names]
        work = split(unit, self.given)
        answer = Answer(
            tuple(p for p in match_payloads(unit, self.given, False, _SIDE) if p.stream == stream)
        )
        table = found_in(prepared(self.df, work, self.options.now), _work(work, answer))
        return answer.part(table, kind, stream)


def plan_job(query: object, df: DataFrame, options: Options) -> SparkJob:
    check_worker_python(df)
    _refuse_stream_options(df, options)
    program, given = plan_input(query, df, options)
    return SparkJob(df, program, given, options)


def run_spark(query: object, df: DataFrame, options: Options) -> Results:
    """Every stream of a program: lazy DataFrames by name."""
    job = plan_job(query, df, options)
    _warn_of_one_partition(job.program)
    names = [s.name for s in job.program.declarations.streams]
    results = Results({name: job.frame(name) for name in names})
    results.pending = {name: job.frame(name, "pending") for name in names}
    timed = [name for name in names if job.program[name].plan.pattern.timeouts]
    results.timeouts = {name: job.frame(name, "timeout") for name in timed}
    return results


def match_spark(query: object, df: DataFrame, stream: str | None, options: Options) -> DataFrame:
    job = plan_job(query, df, options)
    name = job.program[stream].name if stream is not None else job.program.last.name
    _warn_of_one_partition(narrowed(job.program, [name]))
    return job.frame(name)


def _work(work: Split, answer: Answer, late_memory: int = 0) -> Work:
    return Work(work.unit.program, work.answered, work.layout, answer, late_memory)


def _warn_of_one_partition(program: Program) -> None:
    for unit in units_of(program):
        if not unit.key:
            warnings.warn(one_partition(unit), CepheidWarning, stacklevel=4)


def one_partition(unit: Unit) -> str:
    names = ", ".join(f"`{name}`" for name in unit.names)
    return (
        f"{names}: no key, so the whole input is matched as one partition, by one core; "
        "add `partition by`, or tie the steps together by the equality of a field"
    )


def _refuse_stream_options(df: DataFrame, options: Options) -> None:
    if options.lateness is not None and not df.isStreaming:
        raise InputMistake(
            "`disorder` and `lateness` are for streams: a bounded DataFrame is sorted as a whole",
            code="bad_option",
            hint="leave them out",
        )


__all__ = ["SparkJob", "check_time_column", "match_spark", "one_partition", "plan_job", "run_spark"]
