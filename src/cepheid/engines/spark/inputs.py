"""A Spark DataFrame as a source of events: its columns, what they mean, the schema the planner knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.forecast_models import with_models
from cepheid.engines.local.arrow_types import as_declared, struct_of_arrow
from cepheid.engines.local.events import Columns, check_columns
from cepheid.engines.options import Options
from cepheid.engines.program import Program, compile, declarations_of, event_columns, partitioned
from cepheid.errors import InputMistake
from cepheid.pattern.types import STRING, TIMESTAMP, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Input:
    """What a DataFrame's columns are. `names` are kept as the DataFrame spells them."""

    columns: Columns
    arrow: pa.Schema
    streaming: bool

    @property
    def schema(self) -> Schema:
        return Schema(common_fields=as_declared(struct_of_arrow(self.arrow), self.columns))

    @property
    def typed(self) -> bool:
        return self.columns.type in self.arrow.names

    def kind(self, name: str) -> pa.DataType:
        return self.arrow.field(name).type


def is_spark(events: Any) -> bool:
    """A DataFrame of Spark, classic or Connect, known without importing Spark."""
    kind = type(events)
    return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"


def plan_input(query: object, df: DataFrame, options: Options) -> tuple[Program, Input]:
    """The query compiled against the DataFrame's schema."""
    declarations = partitioned(declarations_of(query), options.partition_by)
    columns = event_columns(options.columns, declarations)
    given = Input(columns, arrow_schema(df), df.isStreaming)
    check_columns(given.arrow.names, columns)
    _check_type_column(given)
    implicit = {columns.time: TIMESTAMP, columns.type: STRING}
    program = compile(declarations, given.schema, implicit=implicit)
    return with_models(program, options.models), given


def arrow_schema(df: DataFrame) -> pa.Schema:
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import to_arrow_type

    fields = []
    for column in df.schema.fields:
        try:
            kind = to_arrow_type(column.dataType, timezone="UTC")
        except PySparkTypeError:  # a type Arrow has not: an error only if the query names the column
            kind = pa.null()
        fields.append(pa.field(column.name, kind))
    return pa.schema(fields)


def _check_type_column(given: Input) -> None:
    if not given.typed:
        return
    kind = given.kind(given.columns.type)
    if not (pa.types.is_string(kind) or pa.types.is_integer(kind)):
        raise InputMistake(
            f"the type column `{given.columns.type}` holds {kind}",
            code="bad_type_column",
            hint="an event's type is a string: cast the column, or name another with `type=`",
        )
