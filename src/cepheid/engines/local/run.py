"""`run` and `match`: a query over events that are all there, answered in the kind the events came in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from cepheid.engines.local.bad_rows import BadRow
from cepheid.engines.local.events import Columns
from cepheid.engines.local.frames import build_frame
from cepheid.engines.local.reading import BATCH
from cepheid.engines.local.sources import Source, open_source
from cepheid.engines.local.times import to_microseconds
from cepheid.engines.program import Program, compile, declarations_of
from cepheid.engines.session import Found, Session
from cepheid.errors import CepheidError, InputMistake, nearest
from cepheid.explain.unseen import FieldsSeen
from cepheid.lang.parser import parse_expression
from cepheid.matching.lifecycle import Listener
from cepheid.pattern.duration import duration
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr
from cepheid.pattern.model import Declarations
from cepheid.pattern.types import BOOL, STRING, TIMESTAMP, Schema, Type, list_of
from cepheid.time.lateness import Lateness, TooLatePolicy

Duration = str | int | float | timedelta
ENGINES = ("auto", "reference")


class CepheidWarning(UserWarning):
    """Something that is not an error but hardly what was meant."""


class Results(dict[str, Any]):
    """The matches of every stream by name; beside them what did not become a match."""

    def __init__(self, frames: dict[str, Any]) -> None:
        super().__init__(frames)
        self.pending: dict[str, Any] = {}
        self.timeouts: dict[str, Any] = {}
        self.dead_letters: list[dict[str, Any]] = []
        self.bad_rows: list[BadRow] = []
        self.warnings: list[str] = []


@dataclass(frozen=True)
class Options:
    """How events are read and how their time is understood."""

    columns: Columns = field(default_factory=Columns)
    partition_by: tuple[str, ...] = ()
    now: int | None = None
    lateness: Lateness | None = None  # None: the input is sorted as a whole, nothing is late
    bad_rows: str = "fail"
    batch_size: int = BATCH  # how many events are read before what they made certain is given


class Job:
    """A program and its source, ready to run; `steps` gives what is found as it goes."""

    def __init__(
        self,
        query: object,
        events: Any,
        options: Options,
        listener: Listener | None = None,
        source_name: str = "query",
        on_bad: Callable[[BadRow], None] | None = None,
    ) -> None:
        declarations = _partitioned(declarations_of(query, source_name), options.partition_by)
        columns = replace(options.columns, plain_type=_plain_type(declarations))
        self.options = options
        self.source: Source = open_source(
            events, columns, bad_rows=options.bad_rows, on_bad=on_bad, batch_size=options.batch_size
        )
        self.program: Program = compile(
            declarations, self.source.schema, source_name, {columns.time: TIMESTAMP, columns.type: STRING}
        )
        self.session = Session(self.program, options.lateness, listener=listener)
        self.seen = FieldsSeen([s.plan for s in self.program], self.source.schema is not None)

    def steps(self) -> Iterator[list[Found]]:
        """What is found, batch by batch."""
        feed: Callable[[list[Event]], list[Found]] = self.session.feed
        batches = self.source.batches()
        if self.options.lateness is None:
            batches, feed = _sorted(batches, self.options.batch_size), self.session.feed_sorted
        for batch in batches:
            self.seen.look_at(batch)
            yield feed(batch)
        yield self.session.end(self.options.now)

    def columns(self, stream: str) -> list[tuple[str, Type]]:
        planned = self.program[stream]
        late = self.options.lateness is not None and self.options.lateness.threshold
        added = [("late", BOOL)] if late and planned.stream.outputs is None else []
        return [*planned.columns, *added]

    def side_columns(self, stream: str, kind: str) -> list[tuple[str, Type]]:
        """The columns of timeouts and of pending absences."""
        taken = [
            c for c in _default_columns(self.program, stream) if c[0] not in ("match_id", "start", "end")
        ]
        reached = [("reached", STRING), ("waiting_for", list_of(STRING))] if kind == "timeout" else []
        return [("start", TIMESTAMP), ("deadline", TIMESTAMP), *reached, *taken]

    def warnings(self) -> list[str]:
        return self.seen.warnings()


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
) -> Results:
    """Run every stream of a program over events; the matches by stream, in the kind the events came in.

    >>> events = [{"type": "A", "time": 1}, {"type": "B", "time": 2, "v": 7}]
    >>> run("stream S = A -> B as b .emit(v: b.v)", events)
    {'S': [{'v': 7}]}
    """
    _known_engine(engine)
    options = make_options(
        time, type, order, end, time_unit, partition_by, now, disorder, lateness, too_late, bad_rows
    )
    job = Job(query, events, options, listener)
    return collect(job)


def match(query: object, events: Any, *, stream: str | None = None, **options: Any) -> Any:
    """Run a query and give the matches of one stream: the named one, or the last of the text.

    >>> match("A as a -> B as b", [{"type": "A", "time": 1}, {"type": "B", "time": 2}])[0]["b"]["type"]
    'B'
    """
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


def make_options(
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
) -> Options:
    columns = Columns(time, type, _names(order), end, time_unit)
    late = None
    if disorder is not None or lateness is not None:
        late = Lateness(duration(disorder or 0), duration(lateness or 0), _policy(too_late))
    moment = None if now is None else to_microseconds(now, time_unit)
    return Options(columns, _names(partition_by), moment, late, bad_rows)


def collect(job: Job) -> Results:
    """Run a job to its end and put the answer into frames."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for found in job.steps():
        for item in found:
            rows.setdefault((item.kind, item.stream), []).append(item.row)
    kind = job.source.kind
    names = [s.name for s in job.program.declarations.streams]
    results = Results({n: build_frame(rows.get(("match", n), []), job.columns(n), kind) for n in names})
    for name in names:
        for what, side in (("pending", results.pending), ("timeout", results.timeouts)):
            columns = job.side_columns(name, what)
            side[name] = build_frame(rows.get((what, name), []), columns, kind)
    results.dead_letters = rows.get(("dead_letter", ""), [])
    results.bad_rows = job.source.bad.letters or job.source.bad.examples
    results.warnings = job.warnings()
    for text in results.warnings:
        warnings.warn(text, CepheidWarning, stacklevel=3)
    return results


def _sorted(batches: Iterator[list[Event]], size: int) -> Iterator[list[Event]]:
    """The whole input in total order, in batches."""
    events = [event for batch in batches for event in batch]
    try:
        events.sort(key=Event.place_in_order)
    except TypeError:
        raise InputMistake(
            "the order columns hold values that cannot be compared with each other", code="bad_order"
        ) from None
    for at in range(0, len(events), size):
        yield events[at : at + size]


def _partitioned(declarations: Declarations, names: tuple[str, ...]) -> Declarations:
    """`partition_by=` counts for streams that do not say it themselves."""
    if not names:
        return declarations
    keys: tuple[Expr, ...] = tuple(parse_expression(n, "partition_by") for n in names)
    return replace(
        declarations,
        streams=tuple(
            s if s.pattern.partition_by else replace(s, pattern=replace(s.pattern, partition_by=keys))
            for s in declarations.streams
        ),
    )


def _plain_type(declarations: Declarations) -> str | None:
    """The one type name of a query over a table without a type column; None if it uses several."""
    from cepheid.engines.program import types_read

    own = {s.name for s in declarations.streams}
    names = {t for s in declarations.streams for t in types_read(s)} - own
    return names.pop() if len(names) == 1 else None


def _default_columns(program: Program, stream: str) -> list[tuple[str, Type]]:
    from cepheid.plan.validate import output_types

    planned = program[stream]
    plain = replace(planned.stream, outputs=None)
    return [c for c in output_types(plain, planned.plan, program.schema) if c[0] != "provisional"]


def _names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def _policy(name: str) -> TooLatePolicy:
    try:
        return TooLatePolicy(name.replace("-", "_"))
    except ValueError:
        raise InputMistake(
            f"{name!r} is not a policy for events that come too late",
            code="bad_option",
            hint="use drop, dead_letter or fail",
        ) from None


def _known_engine(name: str) -> None:
    if name not in ENGINES:
        raise InputMistake(
            f"there is no engine {name!r}", code="unknown_engine", hint="use one of " + ", ".join(ENGINES)
        )


__all__ = ["CepheidError", "CepheidWarning", "Job", "Options", "Results", "Schema", "collect", "match", "run"]
