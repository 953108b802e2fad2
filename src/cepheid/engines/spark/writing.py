"""`write_stream`: one streaming query that writes matches, timeouts, dead letters and metrics, each to its sink."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from cepheid.engines.options import Duration, Options, make_options
from cepheid.engines.spark.checkpoint import checked
from cepheid.engines.spark.heartbeat import beating
from cepheid.engines.spark.metrics import metrics_text, observed
from cepheid.engines.spark.outlets import Outlet, check_outlets, outlets_of
from cepheid.engines.spark.output import COUNT, KIND, STREAM, Answer
from cepheid.engines.spark.progress import ProgressFile, progress_path
from cepheid.engines.spark.run import SparkJob, plan_job, warn_of_one_partition
from cepheid.engines.spark.sinks import Given
from cepheid.errors import InputMistake
from cepheid.explain.words import Names
from cepheid.pattern.duration import duration
from cepheid.time.lateness import TooLatePolicy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

Sinks = Given | Mapping[str, Given]


def write_stream(
    query: object,
    df: DataFrame,
    *,
    checkpoint: str | PathLike[str],
    matches: Sinks | None = None,
    timeouts: Sinks | None = None,
    forecasts: Sinks | None = None,
    outcomes: Sinks | None = None,
    dead_letters: Given | None = None,
    metrics: Given | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    idle_after: Duration | None = None,
    progress: bool | str | PathLike[str] = True,
    **options: Any,
) -> StreamingQuery:
    """Start one streaming query of all streams of a program, and write what it finds, each kind to its sink.

    A sink is a path (Parquet, each row once), a `ParquetSink` or `KafkaSink`, or a function of (rows, batch number).
    Where a program has several streams, `matches`, `timeouts`, `forecasts` and `outcomes` take a sink for each by name;
    one path is a folder for each.

    Args:
        query: As in `match`.
        df: A streaming DataFrame of events.
        checkpoint: The folder of Spark's checkpoint; the query goes on from there when it is started again.
        matches: Where matches go.
        timeouts: Where runs go that their window ended, of streams with `.timeouts()`.
        forecasts: Where forecasts go, of streams with `.forecast`.
        outcomes: Where it is told what became of the runs that were foretold.
        dead_letters: Where events go that came too late, with the reason.
        metrics: Where the numbers of each micro-batch go.
        trigger: What `DataStreamWriter.trigger` takes: `{"availableNow": True}`.
        name: The name of the streaming query.
        idle_after: Lets time go on by the clock when no events have come for so long.
        progress: The file that `cepheid watch` reads; True puts it into the checkpoint's folder, if that is on this
            machine.
        options: All that `match` takes: `disorder`, `lateness`, `too_late` and so on.
    """
    if dead_letters is not None:
        options.setdefault("too_late", "dead_letter")
    settings = make_options(**options)
    job = _planned(query, df, settings, idle_after, trigger or {})
    _check_dead_letters(settings, dead_letters)
    names = [s.name for s in job.program.declarations.streams]
    timed = [n for n in names if job.program[n].plan.pattern.timeouts]
    _check_timeouts(timed, timeouts)
    foretold = [n for n in names if job.program[n].plan.forecast is not None]
    _check_forecasts(foretold, forecasts, outcomes)
    outlets = [
        *outlets_of("match", "matches", matches, names),
        *outlets_of("timeout", "timeouts", timeouts, timed),
        *outlets_of("forecast", "forecasts", forecasts, foretold),
        *outlets_of("outcome", "outcomes", outcomes, foretold),
        *outlets_of("dead_letter", "dead_letters", dead_letters, [""]),
        *outlets_of("metrics", "metrics", metrics, [""]),
    ]
    if not outlets:
        raise InputMistake(
            "there is nothing to write",
            code="no_sink",
            hint='name a sink at least for the matches: matches="/path/of/a/folder"',
        )
    answer = _answer(job, outlets)
    check_outlets(outlets, answer)
    warn_of_one_partition(job.program, job.given)
    job = checked(job, fspath(checkpoint), dead_letters is not None, idle_after is not None)
    batch = Batch(answer, tuple(outlets), _progress(progress, fspath(checkpoint), job, name))
    return _start(job, batch, fspath(checkpoint), trigger or {}, name)


def _progress(
    asked: bool | str | PathLike[str], checkpoint: str, job: SparkJob, name: str | None
) -> ProgressFile | None:
    if asked is False:
        return None
    path = progress_path(checkpoint) if asked is True else fspath(asked)
    steps = {s.name: tuple(Names(s.plan).states) for s in job.program}
    return None if path is None else ProgressFile(path, name, steps)


@dataclass
class Batch:
    """What is done with each micro-batch of a start of the query. Over Connect it travels to the server."""

    answer: Answer
    outlets: tuple[Outlet, ...]
    progress: ProgressFile | None = None
    again: bool = True  # only the first batch after a start may have been tried before

    def __call__(self, table: DataFrame, number: int) -> None:
        began = time.monotonic()
        table.persist()
        try:
            found, buckets = self._found(table)
            for outlet in self.outlets:
                rows = self.answer.part(table, outlet.kind, outlet.stream)
                if (outlet.kind, outlet.stream) in found:
                    outlet.sink.write(rows, number)
                else:
                    outlet.sink.write_nothing(rows, number, self.again)
        finally:
            table.unpersist()
        self.again = False
        if self.progress is not None:
            self.progress.write(number, time.monotonic() - began, found, buckets)

    def _found(self, table: DataFrame) -> tuple[dict[tuple[str, str], int], list[dict[str, Any]]]:
        """How many findings of each kind and stream there are, and what the buckets say of themselves.

        This first look computes the table as a whole: Spark keeps no state of a batch that is read in part.
        """
        from pyspark.sql import functions as F

        said = F.lit(None).cast("string") if self.progress is None else metrics_text(self.answer)
        rows = table.groupBy(KIND, STREAM).agg(F.sum(COUNT), F.collect_list(said)).collect()
        buckets = [json.loads(text) for row in rows for text in row[3]]
        return {(row[0], row[1]): row[2] for row in rows}, buckets


def _planned(
    query: object, df: DataFrame, options: Options, idle_after: Duration | None, trigger: Mapping[str, Any]
) -> SparkJob:
    if not df.isStreaming:
        raise InputMistake(
            "the DataFrame is bounded: there is no stream to write",
            code="not_streaming",
            hint="read it with spark.readStream, or write what `cepheid.match` gives",
        )
    job = plan_job(query, df, options)
    if idle_after is None:
        return job
    if trigger.get("availableNow") or trigger.get("once"):
        raise InputMistake(
            "`idle_after` is for a stream that goes on, and this trigger ends it",
            code="bad_option",
            hint="leave `idle_after` out, or trigger with processingTime",
        )
    return beating(job, df, duration(idle_after))


def _check_dead_letters(options: Options, dead_letters: Given | None) -> None:
    lateness = options.lateness
    if dead_letters is not None and lateness is None:
        raise InputMistake(
            "`dead_letters` needs to know what is too late",
            code="bad_option",
            hint="say `disorder` instead of a withWatermark",
        )
    letters = lateness is not None and lateness.policy is TooLatePolicy.DEAD_LETTER
    if letters != (dead_letters is not None):
        raise InputMistake(
            'too_late="dead_letter" and a sink for `dead_letters` belong together',
            code="bad_option",
            hint="give both, or neither",
        )


def _check_timeouts(timed: list[str], timeouts: Sinks | None) -> None:
    if timeouts is not None and not timed:
        raise InputMistake(
            "no stream of the program gives timeouts",
            code="no_timeouts",
            hint="add `.timeouts()` to a stream with a `within`, or leave `timeouts` out",
        )


def _check_forecasts(foretold: list[str], forecasts: Sinks | None, outcomes: Sinks | None) -> None:
    if not foretold and (forecasts is not None or outcomes is not None):
        raise InputMistake(
            "no stream of the program gives forecasts",
            code="no_forecast",
            hint="add `.forecast(horizon: ...)` to a stream, or leave `forecasts` and `outcomes` out",
        )


def _answer(job: SparkJob, outlets: list[Outlet]) -> Answer:
    """All streams, whatever is written of them: the state must not depend on today's sinks."""
    names = [s.name for s in job.program]
    beside = ["dead_letter", "metrics"] if any(o.kind == "dead_letter" for o in outlets) else ["metrics"]
    found = job.answer(names, ["match", "timeout", "forecast", "outcome"]).payloads
    return Answer(found + job.answer([], beside).payloads)


def _start(
    job: SparkJob, batch: Batch, checkpoint: str, trigger: Mapping[str, Any], name: str | None
) -> StreamingQuery:
    table = observed(job.table(batch.answer), batch.answer)
    writer = table.writeStream.foreachBatch(batch).option("checkpointLocation", checkpoint)
    if trigger:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    return writer.start()
