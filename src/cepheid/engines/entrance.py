"""`run` and `match`: one entrance for every kind of events and every engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cepheid.engines.local.run import Job, Results, collect
from cepheid.engines.options import Duration, make_options
from cepheid.engines.program import declarations_of
from cepheid.engines.spark.inputs import is_spark
from cepheid.errors import InputMistake, nearest
from cepheid.matching.lifecycle import Listener

ENGINES = ("auto", "reference", "compiled", "spark")


def run(
    query: object,
    events: Any,
    *,
    time: str = "time",
    type: str = "type",
    order: str | Sequence[str] | None = None,
    end: str | None = None,
    time_unit: str = "s",
    partition_by: str | Sequence[str] | None = None,
    now: Any = None,
    disorder: Duration | None = None,
    lateness: Duration | None = None,
    too_late: str = "fail",
    bad_rows: str = "fail",
    engine: str = "auto",
    listener: Listener | None = None,
    memory: int | None = None,
    threads: int | None = None,
    models: Any = None,
    only_matches: bool = False,
) -> Results:
    """Run every stream of a program over events; the matches by stream, in the kind the events came in.

    Args:
        query: A text, a pattern or stream built in Python, or a compiled program.
        events: A list of dicts (or anything that gives them), a pandas, polars or Arrow table, a DuckDB relation, a
            Spark DataFrame, or a path: JSON lines, CSV, Parquet, a folder or a pattern such as `logs/*.parquet`.
        time: The column of an event's time.
        type: The column of its type. A table without one is of one type.
        order: Columns that put events of one time in order.
        end: The column of an event's end, if it has one.
        time_unit: What a number in the time column counts: `s`, `ms`, `us` or `ns` since 1970.
        partition_by: The key, as columns or expressions, of streams that do not say one themselves.
        now: When the input ends, if later than its last event: absences before it are certain.
        disorder: How far events may be out of order. Without it the input is sorted as a whole, and nothing is late.
        lateness: How much later than that an event is still matched, and its matches marked.
        too_late: What becomes of events later than that: `fail`, `drop` or `dead_letter`.
        bad_rows: What becomes of rows that are no event: `fail`, `skip` or `dead_letter`.
        engine: `auto`, `reference` or `compiled`. They give the same answer.
        listener: Called with each thing that happens to a run.
        memory: Bytes of rows that the compiled matcher keeps; beyond that they go to temporary files.
        threads: Of the compiled matcher; without it, one for each core.
        models: What forecasts learned before, from `train_forecast`.
        only_matches: Leave out timeouts and pending absences. The latter show whole events, so that only for them all
            columns of a file are read. On Spark nothing is read for either until somebody looks.

    >>> events = [{"type": "A", "time": 1}, {"type": "B", "time": 2, "v": 7}]
    >>> run("stream S = A -> B as b .emit(v: b.v)", events)
    {'S': [{'v': 7}]}
    """
    _known_engine(engine)
    options = make_options(
        time,
        type,
        order,
        end,
        time_unit,
        partition_by,
        now,
        disorder,
        lateness,
        too_late,
        bad_rows,
        memory=memory,
        threads=threads,
        models=models,
    )
    if is_spark(events):
        from cepheid.engines.spark.run import run_spark

        return run_spark(query, events, options)
    return collect(Job(query, events, options, listener, engine=engine, only_matches=only_matches))


def match(query: object, events: Any, *, stream: str | None = None, **options: Any) -> Any:
    """Run a query and give the matches of one stream: the named one, or the last of the text.

    The answer is of the kind the events are: a list for a list, a pandas table for a pandas table, an Arrow table for a
    file, a lazy DataFrame for one of Spark.

    Args:
        query: As in `run`.
        events: As in `run`.
        stream: The stream that is wanted, where the query has several.
        options: All that `run` takes: `time`, `type`, `order`, `now`, `disorder` and so on.

    >>> match("A as a -> B as b", [{"type": "A", "time": 1}, {"type": "B", "time": 2}])[0]["b"]["type"]
    'B'
    """
    if is_spark(events):
        from cepheid.engines.spark.run import match_spark

        _known_engine(options.pop("engine", "auto"))
        return match_spark(query, events, stream, make_options(**options))
    results = run(query, events, **options, only_matches=True)
    if stream is None:
        return results[declarations_of(query, "query").streams[-1].name]
    if stream not in results:
        names = list(results)
        raise InputMistake(
            f"there is no stream `{stream}`",
            code="unknown_stream",
            hint=nearest(stream, names) or "the streams are " + ", ".join(names),
        )
    return results[stream]


def _known_engine(name: str) -> None:
    if name not in ENGINES:
        raise InputMistake(
            f"there is no engine {name!r}", code="unknown_engine", hint="use one of " + ", ".join(ENGINES)
        )
