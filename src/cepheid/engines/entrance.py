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
) -> Results:
    """Run every stream of a program over events; the matches by stream, in the kind the events came in.

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
    job = Job(query, events, options, listener, engine=engine)
    return collect(job)


def match(query: object, events: Any, *, stream: str | None = None, **options: Any) -> Any:
    """Run a query and give the matches of one stream: the named one, or the last of the text.

    >>> match("A as a -> B as b", [{"type": "A", "time": 1}, {"type": "B", "time": 2}])[0]["b"]["type"]
    'B'
    """
    if is_spark(events):
        from cepheid.engines.spark.run import match_spark

        _known_engine(options.pop("engine", "auto"))
        return match_spark(query, events, stream, make_options(**options))
    results = run(query, events, **options)
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
