"""`cepheid.why_not`: the slice is taken where the events are, and looked at here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cepheid.engines.local.run import Job
from cepheid.engines.options import Options, make_options
from cepheid.engines.program import PlannedStream, Program
from cepheid.engines.slices import MOST_EVENTS, Slice, Wanted, key_of, take_slice
from cepheid.engines.spark.inputs import is_spark, plan_input
from cepheid.errors import InputMistake
from cepheid.explain.happenings import Trace
from cepheid.explain.recorder import trace
from cepheid.explain.why_not import WhyNot
from cepheid.explain.why_not import why_not as explained
from cepheid.pattern.text import column_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def why_not(
    query: object,
    events: Any,
    *,
    expected: Iterable[Any] | None = None,
    exactly: bool = False,
    key: Any = None,
    stream: str | None = None,
    id: str = "id",
    **options: Any,
) -> WhyNot:
    """Why a query has no match in events, or why the expected events are none.

    `expected`: the events one expected to be a match, by their `id` column or, without one, by their number from 1.
    A match may hold more than these, unless `exactly`.
    `key`: look at one partition only, `{"user": "ann"}` or just `"ann"`. Of a Spark DataFrame only its rows are pulled.

    >>> events = [{"type": "A", "time": 0}, {"type": "B", "time": 720}]
    >>> found = why_not("A as a -> B as b within 10m", events)
    >>> found.cause.kind, found.near_misses[0].text
    ('window', 'would match with `within 12m`')
    """
    made = make_options(**options)
    taken = slice_of(query, events, made, stream=stream, key=key, expected=expected, id_column=id)
    notes = (*taken.notes, *_in_all(query, events, made, taken, stream))
    return explained(
        taken.plan,
        taken.events,
        expected=taken.expected,
        exactly=exactly,
        now=made.now,
        id_column=id,
        notes=notes,
    )


def traced(
    query: object,
    events: Any,
    options: Options,
    *,
    key: Any = None,
    stream: str | None = None,
    id_column: str = "id",
    as_text: bool = False,
) -> Trace:
    """What the reference matcher does with events, step by step."""
    taken = slice_of(query, events, options, stream=stream, key=key, id_column=id_column, as_text=as_text)
    return trace(taken.plan, taken.events, options.now, id_column=id_column)


def slice_of(
    query: object,
    events: Any,
    options: Options,
    *,
    stream: str | None = None,
    key: Any = None,
    expected: Iterable[Any] | None = None,
    id_column: str = "id",
    as_text: bool = False,
    source_name: str = "query",
) -> Slice:
    """The events to be looked at."""
    names = tuple(str(x) for x in expected or ())
    options = replace(options, lateness=None)  # they are all there: they are put in order and nothing is late
    if is_spark(events):
        wanted = Wanted({}, names, id_column)
        events = _pulled(query, events, options, stream, key, wanted)
        key = None
    elif not hasattr(events, "__len__") and hasattr(events, "__next__"):
        events = list(events)  # it may have to be read twice

    def open_job() -> Job:
        return Job(query, events, options, source_name=source_name)

    filtered = key_of(key, _planned(open_job().program, stream)) if key is not None else {}
    return take_slice(open_job, stream, Wanted(filtered, names, id_column, as_text))


def _planned(program: Program, stream: str | None) -> PlannedStream:
    return program.last if stream is None else program[stream]


def _pulled(
    query: object, df: DataFrame, options: Options, stream: str | None, key: Any, wanted: Wanted
) -> Any:
    """The rows of one key, and the expected ones, from Spark."""
    if df.isStreaming:
        raise InputMistake(
            "why_not looks at events that are all there, and this is a stream",
            code="bad_input",
            hint="give the table the stream is written to, or a DataFrame read from its source as a batch",
        )
    program, given = plan_input(query, df, options)
    planned = _planned(program, stream)
    filtered = key_of(key, planned)
    if not filtered:
        names = ", ".join(column_name(k) for k in planned.plan.key)
        raise InputMistake(
            "of a Spark DataFrame only one key is pulled, and none was given",
            code="no_key",
            hint=f"give key={{...}}{f' with {names}' if names else ''}, or a DataFrame you have pulled yourself",
        )
    for name in filtered:
        if name not in given.arrow.names:
            raise InputMistake(f"there is no column `{name}`", code="bad_key")
    rows = df.filter(_condition(filtered, wanted, given.arrow.names)).limit(MOST_EVENTS + 1).toArrow()
    if rows.num_rows > MOST_EVENTS:
        raise InputMistake(
            f"this key has more than {MOST_EVENTS:,} rows",
            code="too_many_events",
            hint="filter the DataFrame by time first: only the events around those you expected",
        )
    return rows


def _condition(key: Any, wanted: Wanted, names: list[str]) -> Column:
    from functools import reduce

    from pyspark.sql import functions as F

    same = [F.col(f"`{name}`").eqNullSafe(F.lit(value)) for name, value in key.items()]
    condition = reduce(lambda a, b: a & b, same)
    if wanted.expected and wanted.id_column in names:
        condition = condition | F.col(f"`{wanted.id_column}`").cast("string").isin(list(wanted.expected))
    return condition


def _in_all(query: object, events: Any, options: Options, taken: Slice, stream: str | None) -> Iterable[str]:
    """Of more events than were looked at, the matches are counted: by the compiled matcher, where it can."""
    if not taken.notes or is_spark(events):
        return
    job = Job(query, events, replace(options, lateness=None))
    name = _planned(job.program, stream).name
    count = 0
    for found in job.steps():
        count += sum(item.kind == "match" and item.stream == name for item in found)
    yield f"in all events there {'is' if count == 1 else 'are'} {count:,} match{'' if count == 1 else 'es'}"
