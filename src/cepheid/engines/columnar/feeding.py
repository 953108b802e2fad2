"""Streams that feed on others: the matches of those are events among the rest, and are read as further pieces.

They come after the events of their time, which made them certain. So a stream is matched once all that it feeds on
is, with their matches behind the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.groups import StreamPlan, kept_type
from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.present import PRESENT, names_text
from cepheid.engines.columnar.results import StreamAnswer
from cepheid.engines.columnar.scan import Batch, Piece, Scan
from cepheid.engines.local.events import Columns
from cepheid.engines.local.frames import SCALARS, build_table
from cepheid.engines.program import PlannedStream, Program
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.pattern.types import NULL

TIME_NAME, TYPE_NAME = "time", "type"  # the fields that every match has as an event


def fed_types(planned: PlannedStream, program: Program, scan: Scan, columns: Columns) -> Scan | str:
    """The columns of the input and of what the stream feeds on; pieces are not there yet. Or why it cannot be."""
    if (columns.time, columns.type) != (TIME_NAME, TYPE_NAME) or TYPE_NAME not in scan.types:
        return "it feeds on another stream, and events have their time or type in other columns than matches"
    if columns.order:
        return "it feeds on another stream, and events have an order besides their time"
    types, unfit = dict(scan.types), dict(scan.unfit)
    for name in planned.feeds_on:
        for column, kind in program[name].columns:
            if column in (TIME_NAME, TYPE_NAME):
                return f"it feeds on `{name}`, which has a column `{column}` of its own"
            if kind not in SCALARS or kind == NULL:
                unfit[column] = f"`{column}` of `{name}` is of no plain type"
            elif types.setdefault(column, SCALARS[kind]) != SCALARS[kind] and not _alike(column, kind, types):
                unfit[column] = f"`{column}` of `{name}` has another type than that of other events"
    return Scan({**types, PRESENT: pa.string()}, (), unfit)


def _alike(column: str, kind: object, types: Mapping[str, pa.DataType]) -> bool:
    own = {column: SCALARS[kind]}  # type: ignore[index]
    no_roles = Columns(time="", type="")
    return bool(kept_type(column, types, no_roles) == kept_type(column, own, no_roles))


def can_feed(stream: StreamPlan) -> str | None:
    """Why the matches of a stream cannot be events for others here."""
    if not isinstance(stream.compiled, CompiledPlan):
        return "its trends are aggregated, and another stream feeds on it"
    if stream.plan.pattern.eager:
        return "its matches may be provisional, and another stream feeds on it"
    return "it forecasts, and another stream feeds on it" if stream.forecasts else None


@dataclass(frozen=True)
class Stage:
    """Streams that feed on the same ones."""

    feeds_on: tuple[str, ...]
    streams: tuple[StreamPlan, ...]


def stages(streams: Iterable[StreamPlan]) -> list[Stage]:
    """In an order in which all that a stage feeds on comes before it."""
    left: dict[tuple[str, ...], list[StreamPlan]] = {}
    for stream in streams:
        left.setdefault(stream.planned.feeds_on, []).append(stream)
    found: list[Stage] = []
    done: set[str] = set()
    while left:
        feeds_on = next(names for names in left if done.issuperset(names))
        stage = Stage(feeds_on, tuple(left.pop(feeds_on)))
        found.append(stage)
        done |= {s.name for s in stage.streams}
    return found


def with_matches(
    known: Scan, base: Scan, stage: Stage, program: Program, answers: Mapping[str, StreamAnswer]
) -> tuple[Scan, int]:
    """The input of a stage: that of all, if it names any of its events, and the matches it feeds on.

    First those that events made certain, then those that time did: they come later in the moment that has passed. And
    where the latter begin.
    """
    pieces: list[Piece] = []
    if any(_sees_others(s, stage.feeds_on) for s in stage.streams):
        pieces += [_with_nulls(piece, base, known) for piece in base.pieces]
    before, of_events = base.rows, base.rows
    for by_event in (True, False):
        for name in stage.feeds_on:
            piece = _piece(name, answers[name], program[name], known, before, by_event)
            pieces.append(piece)
            before += piece.rows
        if by_event:
            of_events = before
    return replace(known, pieces=tuple(pieces)), of_events


def _sees_others(stream: StreamPlan, feeds_on: Sequence[str]) -> bool:
    types = {*stream.plan.event_types, *stream.bits.closing}
    return stream.bits.sees_all or stream.forecasts or not types <= set(feeds_on)


def _with_nulls(piece: Piece, base: Scan, known: Scan) -> Piece:
    """A piece of the input, whose events do not have the fields of matches."""
    present = names_text([name for name in base.types if name != PRESENT])

    def read(names: Sequence[str] | None) -> Iterator[Batch]:
        wanted = list(known.types if names is None else names)
        for batch in piece.read([name for name in wanted if name in base.types]):
            made = {
                name: _same(present, batch.rows)
                if name == PRESENT
                else pa.nulls(batch.rows, known.types[name])
                for name in wanted
                if name not in base.types
            }
            yield replace(batch, columns={**batch.columns, **made})

    return replace(piece, read=read)


def _piece(
    name: str, answer: StreamAnswer, planned: PlannedStream, known: Scan, before: int, by_event: bool
) -> Piece:
    matches, times = answer.matches, answer.fed
    assert times is not None
    which = np.flatnonzero(times.by_event == by_event)
    table = matches if isinstance(matches, pa.Table) else build_table(matches, list(planned.columns))
    table, detected, rows = table.take(pa.array(which)), times.detected[which], len(which)
    fields = [column for column, _ in planned.columns]
    present = names_text([*fields, TIME_NAME, TYPE_NAME])

    def column(wanted: str) -> pa.Array:
        if wanted == TIME_NAME:
            return pa.array(detected).cast(pa.timestamp("us", "UTC"))
        if wanted in (TYPE_NAME, PRESENT):
            return _same(name if wanted == TYPE_NAME else present, rows)
        if wanted not in fields:
            return pa.nulls(rows, known.types[wanted])
        values = table[wanted].combine_chunks()
        return values if values.type == known.types[wanted] else values.cast(known.types[wanted])

    def read(names: Sequence[str] | None) -> Iterator[Batch]:
        yield Batch(0, rows, {wanted: column(wanted) for wanted in (known.types if names is None else names)})

    return Piece(name, 0, before, rows, 0, read)


def _same(text: str, rows: int) -> pa.Array:
    indices: Numbers = np.zeros(rows, np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array([text]))
