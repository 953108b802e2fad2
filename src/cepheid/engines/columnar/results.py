"""What a stream found, over all parts: columns where `.emit` can be read off the events, rows where not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.groups import Group, StreamPlan
from cepheid.engines.columnar.instants import Marks, Numbers
from cepheid.engines.columnar.key_codes import key_values
from cepheid.engines.columnar.left_keys import Finding, match_left
from cepheid.engines.columnar.match_tables import MatchTable
from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.columnar.objects import events_of
from cepheid.engines.columnar.places import PHASE, Places, in_order, pending_in_order, places_of
from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.events import Columns
from cepheid.engines.rows import RowMaker, pending_row, timeout_row
from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.findings import FindingsReader
from cepheid.matching.compiled.kernel.emission import (
    EVENT_ROW,
    MATCH,
    OUT_DETECTED,
    OUT_EVENTS,
    OUT_FIRST,
    OUT_KEY,
    OUT_KIND,
)
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.found import Findings, Match, Timeout
from cepheid.pattern.types import Type

if TYPE_CHECKING:
    from cepheid.engines.columnar.forecasting import ForecastAnswer, Schema

Row = dict[str, Any]


@dataclass(frozen=True)
class StreamAnswer:
    """A stream's answer: a table or rows of matches, rows of what did not become one."""

    matches: pa.Table | list[Row]
    timeouts: list[Row]
    pending: list[Row]
    foretold: ForecastAnswer | None = None
    fed: FedTimes | None = None  # if another stream feeds on the matches
    found: Findings | None = None  # the same as objects, if they are wanted


@dataclass(frozen=True)
class FedTimes:
    """When each match became certain; and whether an event made it so, or that its time had passed."""

    detected: Numbers
    by_event: Marks


@dataclass
class Listed:
    """Rows of one kind, and what they are sorted by."""

    rows: list[Row] = field(default_factory=list)
    keys: list[list[Any]] = field(default_factory=list)
    detected: list[int] = field(default_factory=list)  # of matches
    objects: list[Any] = field(default_factory=list)  # what the rows show, if it is wanted

    def in_order(self) -> list[Row]:
        return self._ordered(self.rows)

    def objects_in_order(self) -> tuple[Any, ...]:
        return tuple(self._ordered(self.objects))

    def _ordered(self, items: list[Any]) -> list[Any]:
        return [items[i] for i in in_order(self.keys).tolist()] if items else []


class StreamResults:
    """Collects what a stream finds, part by part."""

    def __init__(
        self, stream: StreamPlan, outputs: list[tuple[str, Type]], group: Group, columns: Columns
    ) -> None:
        self.stream, self.types, self.columns = stream, list(group.types), columns
        self.table = None if stream.as_objects else MatchTable.of(stream, dict(outputs), group.schema)
        self.maker = RowMaker(stream.planned)
        self.listed = {kind: Listed() for kind in listed_kinds(stream)}
        self.foretold: ForecastAnswer | None = None
        self.tables: list[pa.Table] = []
        self.table_keys: list[list[Any]] = []
        self.table_detected: list[Numbers] = []

    def add(self, rows: Sorted, answers: Answers, end: int) -> None:
        places = places_of(answers, rows)
        are = answers.rows[:, OUT_KIND] == MATCH
        matches = np.flatnonzero(are)
        others = np.flatnonzero(~are) if not self.stream.only_matches else matches[:0]
        # With a key that the reference matcher took there are matches as objects: then all are.
        if self.table is not None and len(matches) and not answers.left and not self.listed["match"].rows:
            self._add_table(rows, answers, matches, places)
        else:
            others = np.sort(np.concatenate([others, matches]))
        self._add_objects(rows, answers, others, places)
        for key in answers.left:
            noted = match_left(self.stream.plan, rows, key, self.types, self.columns, end)
            self._list(rows, noted.found, noted.places())

    def answer(self, feeds: bool, of_events: int) -> StreamAnswer:
        """`feeds`: another stream feeds on the matches. `of_events`: arrivals that events brought, directly or not."""
        listed = {kind: own.in_order() for kind, own in self.listed.items() if kind != "match"}
        fed = self._fed(of_events) if feeds else None
        timeouts, pending = (listed.get(kind, []) for kind in ("timeout", "pending"))
        return StreamAnswer(self._matches(), timeouts, pending, self.foretold, fed, self._found())

    def _found(self) -> Findings | None:
        if not self.stream.as_objects:
            return None
        own = {kind: listed.objects_in_order() for kind, listed in self.listed.items()}
        return Findings(own["match"], own.get("timeout", ()), own.get("pending", ()))

    def _fed(self, of_events: int) -> FedTimes:
        """In the order of the matches."""
        listed = self.listed["match"]
        detected = np.concatenate([*self.table_detected, np.array(listed.detected, np.int64)])
        keys = [*self.table_keys, *listed.keys]
        if not len(detected):
            return FedTimes(detected, np.zeros(0, np.bool_))
        phases, arrivals = (np.concatenate([own[part] for own in keys]) for part in (PHASE, -1))
        order = in_order(keys)
        by_event = (phases == 0) & (arrivals < of_events)
        return FedTimes(detected[order], by_event[order])

    def forecast(
        self, rows: Sorted, group: Group, schema: Schema, end: int, pool: Executor, threads: int
    ) -> None:
        """Beside the matches. One model learns from all keys, so they must be there together."""
        if self.foretold is not None:
            raise Unsupported("the keys of its forecasts lie in several files")
        from cepheid.engines.columnar.forecasting import forecast_answer  # most streams have none

        self.foretold = forecast_answer(self.stream, group, rows, self.columns, schema, end, pool, threads)

    def _matches(self) -> pa.Table | list[Row]:
        if not self.tables:
            return self.listed["match"].in_order()
        table = pa.concat_tables(self.tables)
        if not self.listed["match"].rows:
            return table.take(pa.array(in_order(self.table_keys)))
        # Some parts gave tables, others objects: rows are what both can be.
        rows = [*batch_rows({n: table[n] for n in table.column_names}), *self.listed["match"].rows]
        order = in_order([*self.table_keys, *self.listed["match"].keys])
        return [rows[i] for i in order.tolist()]

    def _add_table(self, rows: Sorted, answers: Answers, matches: Numbers, places: Places) -> None:
        assert self.table is not None
        self.tables.append(self.table.read(answers, matches, rows))
        self.table_keys.append(places.taken(matches).keys(rows.table, len(self.columns.order)))
        self.table_detected.append(answers.rows[matches, OUT_DETECTED])

    # Objects.

    def _add_objects(self, rows: Sorted, answers: Answers, which: Numbers, places: Places) -> None:
        if not len(which):
            return
        which = pending_in_order(answers, which, rows)
        own = answers.rows[which]
        spans = [np.arange(r[OUT_FIRST], r[OUT_FIRST] + r[OUT_EVENTS]) for r in own]
        numbers = np.unique(answers.events[np.concatenate(spans), EVENT_ROW])
        events = dict(
            zip(numbers.tolist(), events_of(rows.table, numbers, self.types, self.columns), strict=True)
        )
        reader = FindingsReader(
            self.stream.plan, answers, events.__getitem__, self._keys(rows.table, answers, own)
        )
        self._list(rows, [reader.one(row) for row in own], places.taken(which))

    def _keys(self, table: pa.Table, answers: Answers, own: Numbers) -> Callable[[int], tuple[Any, ...]]:
        numbers, at = np.unique(own[:, OUT_KEY], return_index=True)
        first = answers.events[own[at, OUT_FIRST], EVENT_ROW]
        values = key_values(self.stream.plan, table, first)
        return dict(zip(numbers.tolist(), values, strict=True)).__getitem__

    def _list(self, rows: Sorted, found: list[Finding], places: Places) -> None:
        kinds = np.array([_kind(f) for f in found])
        for kind, listed in self.listed.items():
            which = np.flatnonzero(kinds == kind) if len(kinds) else np.zeros(0, np.int64)
            if len(which):
                own = [found[i] for i in which.tolist()]
                listed.rows += [self._row(one) for one in own]
                listed.objects += own if self.stream.as_objects else []
                listed.detected += [one.detected for one in own if isinstance(one, Match)]
                listed.keys.append(places.taken(which).keys(rows.table, len(self.columns.order)))

    def _row(self, found: Finding) -> Row:
        if isinstance(found, Match):
            return self.maker.row(found)
        planned = self.stream.planned
        return timeout_row(planned, found) if isinstance(found, Timeout) else pending_row(planned, found)


def listed_kinds(stream: StreamPlan) -> tuple[str, ...]:
    return ("match",) if stream.only_matches else ("match", "timeout", "pending")


def _kind(found: Finding) -> str:
    return "match" if isinstance(found, Match) else "timeout" if isinstance(found, Timeout) else "pending"
