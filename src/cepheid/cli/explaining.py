"""`cepheid explain --engine spark`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cepheid.cli.spark_job import session
from cepheid.cli.summary import waiting
from cepheid.engines.options import Options, make_options
from cepheid.engines.program import declarations_of
from cepheid.engines.spark.explaining import explain_spark
from cepheid.engines.spark.sources import Reading, declared_schema, read_source
from cepheid.errors import InputMistake
from cepheid.pattern.model import Declarations
from cepheid.pattern.types import TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain_on_spark(text: str, name: str, events: str | None, *, stream: str | None, **columns: Any) -> None:
    declarations = declarations_of(text, name)
    df = _columns_of(events, declarations, make_options(**columns))
    with waiting("planning"):
        shown = explain_spark(declarations, df, stream=stream, **columns)
    click.echo(shown.rstrip("\n"))


def _columns_of(events: str | None, declarations: Declarations, options: Options) -> DataFrame:
    """The events, or without them a table of what is declared: Spark translates tests by their columns' types."""
    spark = session()
    if events is not None:
        return read_source(spark, Reading(events), options.columns, declarations)
    try:
        schema = declared_schema(declarations, options.columns, TIMESTAMP)
    except InputMistake as mistake:
        raise InputMistake(
            mistake.message, code=mistake.code, hint="declare the events, or name some with --schema EVENTS"
        ) from None
    return spark.createDataFrame([], schema)
