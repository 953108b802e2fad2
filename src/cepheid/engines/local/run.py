"""A query over events that are all there, or that come from a file, answered in the kind they came in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from cepheid.engines.columnar.choice import Choice
from cepheid.engines.forecast_models import with_models
from cepheid.engines.local.bad_rows import BadRow, BadRows
from cepheid.engines.local.compiled import CompiledRun, FoundTable, choose_matcher, narrowed, noted
from cepheid.engines.local.frames import build_frame, frame_of
from cepheid.engines.local.match_list import MatchList
from cepheid.engines.local.reading import Progress
from cepheid.engines.local.sources import Source, open_source
from cepheid.engines.options import Options
from cepheid.engines.program import Program, compile, declarations_of, event_columns, partitioned
from cepheid.engines.rows import match_columns, side_columns
from cepheid.engines.session import Counters, Found, Session
from cepheid.errors import CepheidWarning, InputMistake
from cepheid.explain.unseen import FieldsSeen
from cepheid.matching.lifecycle import Listener
from cepheid.pattern.event import Event
from cepheid.pattern.types import STRING, TIMESTAMP, Schema, Type
from cepheid.time.lateness import Lateness

if TYPE_CHECKING:
    from cepheid.explain.plot import Plot


class Results(dict[str, Any]):
    """The matches of every stream by name; beside them what did not become a match.

    It is a dict of tables (or lists) by the name of the stream. Beside it stand, by name too, `pending` (absences
    that were not yet certain), `timeouts`, `forecasts` and `outcomes`; and for all streams together `dead_letters`,
    `bad_rows` and `warnings`.
    """

    def __init__(self, frames: dict[str, Any]) -> None:
        super().__init__(frames)
        self.pending: dict[str, Any] = {}
        self.timeouts: dict[str, Any] = {}
        self.forecasts: dict[str, Any] = {}  # of streams with `.forecast`
        self.outcomes: dict[str, Any] = {}  # what became of the runs that were foretold
        self.dead_letters: list[dict[str, Any]] = []
        self.bad_rows: list[BadRow] = []
        self.warnings: list[str] = []

    def plot(self, kind: str = "timeline", **columns: Any) -> Plot:
        """The matches of all streams: see `cepheid.plot`."""
        from cepheid.engines.plotting import plot

        return plot(dict(self), kind, **columns)

    def _repr_html_(self) -> str:
        from cepheid.engines.shown_table import results_html

        return results_html(self)


class Job:
    """A program and its source, ready to run; `steps` gives what is found as it goes.

    `only_matches`: nobody asks for timeouts and pending absences, which need not be made then.
    """

    def __init__(
        self,
        query: object,
        events: Any,
        options: Options,
        listener: Listener | None = None,
        source_name: str = "query",
        on_bad: Callable[[BadRow], None] | None = None,
        engine: str = "auto",
        only_matches: bool = False,
    ) -> None:
        declarations = partitioned(declarations_of(query, source_name), options.partition_by)
        columns = event_columns(options.columns, declarations)
        self.options, self.engine, self._listens = options, engine, listener is not None
        self.only_matches = only_matches
        self.source: Source = open_source(
            events, columns, bad_rows=options.bad_rows, on_bad=on_bad, batch_size=options.batch_size
        )
        program = compile(
            declarations, self.source.schema, source_name, {columns.time: TIMESTAMP, columns.type: STRING}
        )
        self.program: Program = with_models(program, options.models)
        self.session = Session(self.program, options.lateness, listener=listener)
        self.seen = FieldsSeen([s.plan for s in self.program], self.source.schema is not None)
        # These are shown every event that the reference matcher is given.
        self.lookers: list[Callable[[list[Event]], None]] = [self.seen.look_at]

    @property
    def counters(self) -> Counters:
        return self.session.counters

    @property
    def last_time(self) -> int | None:
        return self.session.last_time

    @property
    def bad(self) -> BadRows:
        return self.source.bad

    @property
    def progress(self) -> Progress:
        return self.source.progress

    @cached_property
    def choice(self) -> Choice:
        """Which streams the compiled matcher takes."""
        return choose_matcher(
            self.program, self.source, self.options, self._listens, self.engine, self.only_matches
        )

    def steps(self) -> Iterator[list[Found]]:
        """What is found, batch by batch."""
        for found in self.answers():
            if isinstance(found, FoundTable):
                yield from found.rows()
            else:
                yield found

    def answers(self) -> Iterator[list[Found] | FoundTable]:
        """What is found, batch by batch; all matches of a stream as a table, where they were made in columns."""
        if self.engine == "compiled":
            _refuse_others(self.choice, self.program)
        if not self.choice.streams:
            yield from self._by_reference(self.session)
            return
        others = self.choice.others(self.program)
        compiled = CompiledRun(self.program, self.source, self.options, self.choice, tells=not others)
        answer = compiled.answer()
        if answer is None:
            yield from self._by_reference(self.session)
            return
        yield from noted(answer, self.session, self.seen, self.source.gathered)
        if others:
            yield from self._by_reference(narrowed(self.session, self.choice))

    def _by_reference(self, session: Session) -> Iterator[list[Found]]:
        feed: Callable[[list[Event]], list[Found]] = session.feed
        batches = self.source.batches()
        if self.options.lateness is None:
            batches, feed = _sorted(batches, self.options.batch_size), session.feed_sorted
        for batch in batches:
            for look_at in self.lookers:
                look_at(batch)
            yield feed(batch)
        yield session.end(self.options.now)

    def columns(self, stream: str) -> list[tuple[str, Type]]:
        return match_columns(self.program[stream], _matches_late(self.options.lateness))

    def side_columns(self, stream: str, kind: str) -> list[tuple[str, Type]]:
        """The columns of timeouts and of pending absences."""
        return side_columns(self.program, stream, kind)

    def warnings(self) -> list[str]:
        return self.seen.warnings()


def collect(job: Job) -> Results:
    """Run a job to its end and put the answer into frames."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    tables: dict[tuple[str, str], Any] = {}
    kind = job.source.kind
    for found in job.answers():
        if isinstance(found, FoundTable) and kind != "dicts":
            tables[found.kind, found.stream] = frame_of(found.table, kind)
            continue
        for item in chain.from_iterable(found.rows()) if isinstance(found, FoundTable) else found:
            rows.setdefault((item.kind, item.stream), []).append(item.row)
    names = [s.name for s in job.program.declarations.streams]

    def frame(what: str, name: str) -> Any:
        if (what, name) in tables:
            return tables[what, name]
        columns = job.columns(name) if what == "match" else job.side_columns(name, what)
        made = build_frame(rows.get((what, name), []), columns, kind)
        return MatchList(made, name) if kind == "dicts" and what == "match" else made

    results = Results({name: frame("match", name) for name in names})
    for name in names:
        sides = [("pending", results.pending), ("timeout", results.timeouts)] if not job.only_matches else []
        if job.program[name].plan.forecast is not None:
            sides += [("forecast", results.forecasts), ("outcome", results.outcomes)]
        for what, side in sides:
            side[name] = frame(what, name)
    results.dead_letters = rows.get(("dead_letter", ""), [])
    results.bad_rows = job.source.bad.letters or job.source.bad.examples
    results.warnings = job.warnings()
    for text in results.warnings:
        warnings.warn(text, CepheidWarning, stacklevel=3)
    return results


def _refuse_others(choice: Choice, program: Program) -> None:
    for planned in choice.others(program):
        raise InputMistake(
            f"the compiled matcher cannot take `{planned.name}`: {choice.why_not(planned.name)}",
            code="not_compiled",
            hint='leave out `engine="compiled"`: what it cannot take, the reference matcher takes',
        )


def _sorted(batches: Iterator[list[Event]], size: int) -> Iterator[list[Event]]:
    """The whole input in total order, in batches."""
    events = [event for batch in batches for event in batch]
    try:
        events.sort(key=Event.place_in_order)
    except TypeError:
        raise InputMistake(
            "the order columns hold values that cannot be compared with each other", code="bad_order"
        ) from None
    at = 0
    while at < len(events):
        end = min(at + size, len(events))
        # Events of one time stay together: what a stream finds among them comes after all of them for another.
        while end < len(events) and events[end].time == events[end - 1].time:
            end += 1
        yield events[at:end]
        at = end


def _matches_late(lateness: Lateness | None) -> bool:
    return lateness is not None and lateness.threshold > 0


__all__ = ["Job", "Options", "Results", "Schema", "collect"]
