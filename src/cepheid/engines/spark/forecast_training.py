"""Models of forecasts trained on a bounded DataFrame: every task learns from its keys, the driver adds it all up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.forecast_models import model_entry
from cepheid.engines.network import Network
from cepheid.engines.options import Options
from cepheid.engines.spark.batch import KeyByKey, in_order
from cepheid.engines.spark.inputs import plan_input
from cepheid.engines.spark.output import Answer
from cepheid.engines.spark.prepare import prepared, split
from cepheid.engines.spark.setup import check_time_column, check_worker_python
from cepheid.engines.spark.units import narrowed, units_of
from cepheid.engines.spark.work import Work
from cepheid.engines.spark.worker_memory import leave_modules_alone
from cepheid.errors import InputMistake
from cepheid.forecast.matcher import ForecastMatcher
from cepheid.forecast.merging import merged
from cepheid.forecast.model import Learned, Model
from cepheid.pattern.model import Declarations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LEARNED = pa.schema([("stream", pa.string()), ("learned", pa.string())])
_SPARK_SCHEMA = "stream string, learned string"


def train_on_spark(query: Declarations, df: DataFrame, options: Options) -> dict[str, Any]:
    """By stream: what was learned."""
    if df.isStreaming:
        raise InputMistake(
            "a model is trained on events that are past, and this DataFrame is a stream",
            code="not_bounded",
            hint="read the history with spark.read; a running stream learns while it matches",
        )
    check_worker_python(df)
    check_time_column(df, options.columns.time)
    program, given = plan_input(query, df, options)
    program = narrowed(program, [s.name for s in program if s.plan.forecast is not None])
    parts: dict[str, list[Learned]] = {}
    for unit in units_of(program):
        own = split(unit, given, whole_rows=False, earlier=[])
        work = Work(unit.program, own.answered, own.layout, Answer(()))
        rows = in_order(prepared(df, own, options.now), own.layout)
        for row in rows.mapInArrow(_learning(work), _SPARK_SCHEMA).collect():
            parts.setdefault(row[0], []).append(Learned.from_data(json.loads(row[1])))
    trained = (s for s in program if s.name in parts)
    return {s.name: model_entry(s, merged(parts[s.name]).as_data()) for s in trained}


def _learning(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        learner = _Learner(work)
        for batch in batches:
            learner.feed(batch)
        learner.end()
        found = {name: json.dumps(model.learned.as_data()) for name, model in learner.models.items()}
        yield pa.RecordBatch.from_arrays([pa.array(found), pa.array(found.values())], schema=_LEARNED)
        leave_modules_alone()

    return run


class _Learner(KeyByKey):
    """Goes on with the same models from key to key."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.models: dict[str, Model] = {}

    def new_network(self) -> Network:
        network = super().new_network()
        for name, matcher in network.matchers.items():
            if isinstance(matcher, ForecastMatcher):
                matcher.shared = self.models.setdefault(name, matcher.model())
        return network
