"""`cepheid.why_not`: the slice is taken where the events are, and looked at here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
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

MOST_STEPS = 5_000  # that one steps through

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

    Args:
        query: As in `match`.
        events: As in `match`.
        expected: The events one expected to be a match, by their `id` column or, without one, by their number from 1.
        exactly: A match may hold more events than the expected ones, unless this is said.
        key: Look at one partition only, `{"user": "ann"}` or just `"ann"`. Of a Spark DataFrame only
            its rows are pulled.
        stream: The stream that is meant, where the query has several.
        id: The column that tells events apart.
        options: All that `run` takes.

    >>> events = [{"type": "A", "time": 0}, {"type": "B", "time": 720}]
    >>> found = why_not("A as a -> B as b within 10m", events)
    >>> found.cause.kind, found.near_misses[0].text
    ('window', 'would match with `within 12m`')
    """
    asked = Asked(stream, key, tuple(str(x) for x in expected or ()), exactly=exactly, id_column=id)
    return inquire(query, events, make_options(**options), asked)


@dataclass(frozen=True)
class Asked:
    """What is asked about. `as_text`: values of the key as one writes them on a command line."""

    stream: str | None = None
    key: Any = None
    expected: tuple[str, ...] = ()
    exactly: bool = False
    id_column: str = "id"
    as_text: bool = False
    source_name: str = "query"

    def wanted(self, planned: PlannedStream) -> Wanted:
        return Wanted(key_of(self.key, planned), self.expected, self.id_column, self.as_text)


def inquire(query: object, events: Any, options: Options, asked: Asked) -> WhyNot:
    taken = slice_of(query, events, options, asked)
    return explained(
        taken.plan,
        taken.events,
        expected=taken.expected,
        exactly=asked.exactly,
        now=options.now,
        id_column=asked.id_column,
        notes=(*taken.notes, *_in_all(query, events, options, taken, asked.stream)),
    )


def traced(query: object, events: Any, options: Options, asked: Asked) -> Trace:
    """What the reference matcher does with events, step by step."""
    taken = slice_of(query, events, options, asked)
    if len(taken.events) > MOST_STEPS:
        raise InputMistake(
            f"{len(taken.events):,} events are more than one can step through",
            code="too_many_events",
            hint=f"look at one key (--key) or at a slice of at most {MOST_STEPS:,} events",
        )
    return trace(taken.plan, taken.events, options.now, id_column=asked.id_column)


def slice_of(query: object, events: Any, options: Options, asked: Asked) -> Slice:
    """The events to be looked at."""
    options = replace(options, lateness=None)  # they are all there: they are put in order and nothing is late
    if is_spark(events):
        events = _pulled(query, events, options, asked)
        asked = replace(asked, key=None)
    elif hasattr(events, "__next__") and not hasattr(events, "read"):
        events = list(events)  # it may have to be read twice

    def open_job() -> Job:
        return Job(query, events, options, source_name=asked.source_name)

    return take_slice(open_job, asked.stream, asked.wanted)


def _planned(program: Program, stream: str | None) -> PlannedStream:
    return program.last if stream is None else program[stream]


def _pulled(query: object, df: DataFrame, options: Options, asked: Asked) -> Any:
    """The rows of one key, and the expected ones, from Spark."""
    if df.isStreaming:
        raise InputMistake(
            "why_not looks at events that are all there, and this is a stream",
            code="bad_input",
            hint="give the table the stream is written to, or a DataFrame read from its source as a batch",
        )
    program, given = plan_input(query, df, options)
    planned = _planned(program, asked.stream)
    wanted = asked.wanted(planned)
    if not wanted.key:
        names = ", ".join(column_name(k) for k in planned.plan.key)
        raise InputMistake(
            "of a Spark DataFrame only one key is pulled, and none was given",
            code="no_key",
            hint=f"give key={{...}}{f' with {names}' if names else ''}, or a DataFrame you have pulled yourself",
        )
    for name in wanted.key:
        if name not in given.arrow.names:
            raise InputMistake(f"there is no column `{name}`", code="bad_key")
    rows = df.filter(_condition(wanted, given.arrow.names)).limit(MOST_EVENTS + 1).toArrow()
    if rows.num_rows > MOST_EVENTS:
        raise InputMistake(
            f"this key has more than {MOST_EVENTS:,} rows",
            code="too_many_events",
            hint="filter the DataFrame by time first: only the events around those you expected",
        )
    return rows


def _condition(wanted: Wanted, names: list[str]) -> Column:
    from functools import reduce

    from pyspark.sql import functions as F

    same = [F.col(f"`{name}`").eqNullSafe(F.lit(value)) for name, value in wanted.key.items()]
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
