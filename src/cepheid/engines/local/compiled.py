"""A local job by the compiled matcher: the choice, the run, and what is told of bad rows on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.columnar.choice import (
    Choice,
    by_reference,
    can_be_compiled,
    choose,
    cores,
    few_rows,
    memory_for_rows,
    unreadable,
)
from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.gathering import Gathered, NotInColumns
from cepheid.engines.local.reading import BATCH, Place
from cepheid.engines.local.sources import Source
from cepheid.engines.options import Options
from cepheid.engines.program import Program
from cepheid.engines.rows import match_columns, side_columns
from cepheid.engines.session import Found, Session, limits_of
from cepheid.errors import EvaluationError
from cepheid.explain.unseen import FieldsSeen
from cepheid.time.lateness import Lateness

if TYPE_CHECKING:
    from cepheid.engines.columnar.groups import StreamPlan
    from cepheid.engines.columnar.reading import PieceRead
    from cepheid.engines.columnar.run import Answer, Work
    from cepheid.engines.columnar.scan import Scan


@dataclass(frozen=True)
class FoundTable:
    """All matches of a stream, or all it found of another kind, as a table."""

    stream: str
    table: pa.Table
    kind: str = "match"

    def rows(self) -> Iterator[list[Found]]:
        for batch in self.table.to_batches(BATCH):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield [Found(self.stream, self.kind, row) for row in batch_rows(columns)]


def choose_matcher(
    program: Program, source: Source, options: Options, listens: bool, engine: str, only_matches: bool
) -> Choice:
    """Which streams the compiled matcher takes. `compiled` as the engine: whatever the number of events."""
    if engine == "reference":
        return by_reference("it was asked for")
    if options.lateness is not None and (reason := _may_tell_late(program, options.lateness)) is not None:
        return by_reference(reason)
    if listens:
        return by_reference("somebody listens to what happens to each run")
    if source.columns.end is not None:
        return by_reference("events have an end")
    rows = source.count()
    if rows is None:
        return by_reference("only files (Parquet of one kind), lists and tables are read in columns")
    reason = None if engine == "compiled" else few_rows(rows)
    return by_reference(reason) if reason is not None else _in_columns(program, source, only_matches)


def _may_tell_late(program: Program, lateness: Lateness) -> str | None:
    """Where late events may be matched, what shows whole matches has a column for it."""
    if lateness.threshold and any(s.stream.outputs is None for s in program):
        return "its answer says of each match whether it came late"
    return None


def _in_columns(program: Program, source: Source, only_matches: bool) -> Choice:
    from cepheid.engines.columnar.groups import fields_needed

    try:
        mine = [s.plan for s in program if can_be_compiled(s) is None]
        scan = source.scan([fields_needed(plan, only_matches) for plan in mine])
    except NotInColumns as why:
        return by_reference(str(why))
    reason = unreadable(scan, source.columns)
    if reason is not None:
        return by_reference(reason)
    return choose(program, scan, source.columns, only_matches)


@dataclass
class CompiledRun:
    """One run of the compiled matcher over a source."""

    program: Program
    source: Source
    options: Options
    choice: Choice
    tells: bool  # does it tell of bad rows, or does the reference matcher that runs beside it?
    bad: list[tuple[Place, dict[str, Any]]] = field(default_factory=list)

    def answer(self) -> Answer | None:
        """None: it has to be left to the reference matcher, for example to say what is wrong with an expression."""
        from cepheid.matching.compiled.unsupported import Unsupported

        try:
            if not self._comes_in_time():
                return None
            found = self._run()
            self._tell()
        except (EvaluationError, Unsupported, pa.ArrowException):
            return None
        return found

    def _comes_in_time(self) -> bool:
        """Late events are matched as they come, or turned away: the reference matcher does it."""
        from cepheid.engines.columnar.punctual import comes_in_time

        lateness = self.options.lateness
        if lateness is None:
            return True
        assert self.choice.scan is not None
        most = limits_of(self.program).max_buffer
        return comes_in_time(self.choice.scan, self.source.columns, lateness.disorder, most)

    def _run(self) -> Answer:
        from cepheid.engines.columnar.staged import run_staged

        assert self.choice.scan is not None
        return run_staged(self.program, self.choice, self.choice.scan, self._work)

    def _work(self, streams: Sequence[StreamPlan], scan: Scan) -> Work:
        from cepheid.engines.columnar.groups import groups_of
        from cepheid.engines.columnar.run import Work
        from cepheid.engines.columnar.staged import feeding

        return Work(
            scan,
            self.source.columns,
            groups_of(streams, scan, self.source.columns),
            lambda name: match_columns(self.program[name], late=False),
            lambda name: side_columns(self.program, name, "outcome"),
            self.options.now,
            self.options.memory or memory_for_rows(),
            self.options.threads or cores(),
            self._on_piece,
            feeding(self.choice),
        )

    def _on_piece(self, found: PieceRead) -> None:
        self.source.progress.done = found.piece.done
        if not found.bad:
            return
        for place, values in _rows_at(found):
            if self.source.bad.policy == "fail":
                self._report(place, values)
            self.bad.append((place, values))

    def _tell(self) -> None:
        """At the end: what is left to the reference matcher after all is told by it."""
        if not self.tells:
            return
        for place, values in self.bad:
            self._report(place, values)
        for bad in self.source.gathered.bad if self.source.gathered is not None else ():
            self.source.report(bad.row, bad.mistake)

    def _report(self, place: Place, values: dict[str, Any]) -> None:
        from cepheid.matching.compiled.unsupported import Unsupported

        if not self.source.report_bad(place, values):
            raise Unsupported("a row is an event after all")


def _rows_at(found: PieceRead) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Bad rows with all their columns, which were not read before."""
    piece, wanted = found.piece, iter(found.bad)
    row = next(wanted, None)
    for batch in piece.read(None):
        first = batch.first - piece.first
        while row is not None and row < first + batch.rows:
            one = {name: values.slice(row - first, 1) for name, values in batch.columns.items()}
            (values,) = batch_rows(one)
            yield Place(piece.source, piece.first + row + 1, "row"), values
            row = next(wanted, None)


def noted(
    answer: Answer, session: Session, seen: FieldsSeen, gathered: Gathered | None
) -> Iterator[list[Found] | FoundTable]:
    """An answer as it is handed out, and counted."""
    session.counters.events, session.last_time = answer.events, answer.last
    fields = {} if gathered is None or seen.fields_known else gathered.fields
    for kind in answer.types:
        seen.fields.setdefault(kind, set()).update(fields.get(kind, ()))
    for name, found in answer.streams.items():
        session.counters.matches[name] = len(found.matches)
        yield _found(name, "match", found.matches)
        yield [Found(name, "timeout", row) for row in found.timeouts]
        yield [Found(name, "pending", row) for row in found.pending]
        if found.foretold is not None:
            yield _found(name, "outcome", found.foretold.outcomes)
            yield _found(name, "forecast", found.foretold.forecasts)


def _found(stream: str, kind: str, rows: pa.Table | list[dict[str, Any]]) -> list[Found] | FoundTable:
    if isinstance(rows, pa.Table):
        return FoundTable(stream, rows, kind)
    return [Found(stream, kind, row) for row in rows]


def narrowed(session: Session, choice: Choice) -> Session:
    """The session of the streams that are left; it counts into the same counters."""
    others = replace(session.program, streams=choice.others(session.program))
    rest = Session(others, session.lateness)
    rest.counters = session.counters
    return rest
