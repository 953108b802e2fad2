"""A job of `cepheid run --engine spark`: the session, the source, and the face that tables and reports know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cepheid.cli.jobs import stream_names
from cepheid.cli.summary import waiting
from cepheid.engines.local.bad_rows import BadRows
from cepheid.engines.local.reading import Progress
from cepheid.engines.options import Options
from cepheid.engines.program import Program, declarations_of
from cepheid.engines.rows import match_columns
from cepheid.engines.session import Counters, Found
from cepheid.engines.spark.collecting import advice, collected, extent
from cepheid.engines.spark.failures import in_our_words
from cepheid.engines.spark.run import SparkJob, plan_job
from cepheid.engines.spark.setup import check_packages, start_session
from cepheid.engines.spark.sources import Reading, located, read_source, settled
from cepheid.pattern.model import Declarations
from cepheid.pattern.types import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def session(conf: Mapping[str, str] | None = None, *, quiet: bool = False) -> SparkSession:
    """The session, with something to look at while Java starts."""
    check_packages()
    debug = _debug()
    if not debug:
        _hush()
    with waiting("starting Spark", not quiet):
        return start_session(config=conf, silent=not debug, tell=lambda line: click.echo(line, err=True))


def _hush() -> None:
    """Spark's Python logs the errors it raises, as JSON on stderr."""
    from pyspark.logger import PySparkLogger

    for kind in ("DataFrame", "SQL"):
        PySparkLogger.getLogger(f"{kind}QueryContextLogger").disabled = True


def _debug() -> bool:
    """`cepheid --debug`: then Spark may say what it has to say."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("debug"))


@dataclass(frozen=True)
class Opened:
    """A query and its events as a DataFrame, bounded or streaming."""

    declarations: Declarations
    df: DataFrame
    format: str  # of the source

    def located(self, path: str) -> str:
        """A path to write to, as Spark finds it."""
        return located(self.df.sparkSession, path)


def opened(
    text: str, name: str, reading: Reading, options: Options, conf: Mapping[str, str], quiet: bool
) -> Opened:
    declarations = declarations_of(text, name)  # before Spark starts: a mistake in the text is said at once
    spark = session(conf, quiet=quiet)
    with waiting("reading the events' columns", not quiet):
        reading = settled(spark, reading)
        df = read_source(spark, reading, options.columns, declarations)
    return Opened(declarations, df, str(reading.format))


class BatchJob:
    """A bounded job on Spark, as the command line sees any job."""

    progress: Progress | None = None  # Spark does not say how far it is

    def __init__(
        self,
        given: Opened,
        options: Options,
        stream: str | None = None,
        *,
        whole_events: bool = False,
        advise: bool = True,
    ) -> None:
        self.given, self.whole_events = given, whole_events
        self.job: SparkJob = plan_job(given.declarations, given.df, options)
        self.streams, self.advise = stream_names(self.program, stream), advise
        self.counters = Counters(matches=dict.fromkeys(self.streams, 0))
        self.last_time: int | None = None
        self.bad = BadRows()

    @property
    def program(self) -> Program:
        return self.job.program

    def columns(self, stream: str) -> list[tuple[str, Type]]:
        return match_columns(self.program[stream], late=False)

    def steps(self) -> Iterator[list[Found]]:
        for found in collected(self.job, self.streams, self.whole_events):
            for item in found:
                if item.kind == "match":
                    self.counters.matches[item.stream] += 1
            yield found

    def count_events(self) -> None:
        """One more pass over the times alone, for the summary."""
        with in_our_words():
            self.counters.events, self.last_time = extent(self.job.df, self.job.given.columns.time)

    def warnings(self) -> list[str]:
        return advice(self.job, self.streams) if self.advise else []


__all__ = ["BatchJob", "Opened", "opened", "session"]
