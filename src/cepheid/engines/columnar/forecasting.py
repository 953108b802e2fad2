"""Forecasts of a stream whose events are all there in columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cepheid.engines.columnar.groups import Group, StreamPlan
from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import BITS, TIME
from cepheid.engines.columnar.key_codes import key_values
from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.columnar.objects import events_of
from cepheid.engines.local.events import Columns
from cepheid.engines.rows import RowMaker
from cepheid.forecast.columns import ColumnForecasts, EventColumns, Told, ToldForecast, ToldRun
from cepheid.forecast.model import Learned
from cepheid.matching.compiled.keyed_rows import BITS_A_COLUMN
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.found import Foretold, Outcome
from cepheid.matching.ids import key_text, match_id, text_word
from cepheid.matching.keys import lookup_key
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds
from cepheid.plan.event_tests import tests_of
from cepheid.plan.plan import Plan

Row = dict[str, Any]
_WHAT = ("completed", "ended", "open")


@dataclass
class ForecastRows:
    """What was foretold of a stream's runs, and what became of them."""

    forecasts: list[Row] = field(default_factory=list)
    outcomes: list[Row] = field(default_factory=list)
    learned: Learned | None = None


def forecast_rows(stream: StreamPlan, group: Group, rows: Sorted, columns: Columns, end: int) -> ForecastRows:
    plan = stream.planned.plan
    order = np.arange(rows.table.num_rows) if rows.rank is None else np.argsort(rows.rank)
    codes = np.empty(rows.table.num_rows, np.int64)
    codes[rows.rows] = np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))
    times = rows.table[TIME].to_numpy()[order]
    events = EventColumns(_bits(plan, group, rows)[order], times, codes[order], len(rows.offsets) - 1)
    forecasts = ColumnForecasts.of(plan, events)
    if forecasts is None:
        raise Unsupported("its forecasts have too many symbols or places")
    told = forecasts.run(end)
    reader = _Reader(stream, group, rows, columns, order, told)
    return ForecastRows(list(reader.forecasts()), list(reader.outcomes()), forecasts.learned())


def _bits(plan: Plan, group: Group, rows: Sorted) -> Numbers:
    """The tests each row passes, in the order of the plan's own."""
    numbers = {test: number for number, test in enumerate(group.bits.tests)}
    found = np.zeros(rows.table.num_rows, np.int64)
    for own, test in enumerate(tests_of(plan)):
        column, bit = divmod(numbers[test], BITS_A_COLUMN)
        found |= (rows.table[f"{BITS}{column}"].to_numpy() >> bit & 1) << own
    return found


class _Reader:
    """What the kernel told, as rows of the answer."""

    def __init__(
        self, stream: StreamPlan, group: Group, rows: Sorted, columns: Columns, order: Numbers, told: Told
    ) -> None:
        self.plan, self.rows, self.order, self.told = stream.planned.plan, rows, order, told
        self.times = rows.table[TIME].to_numpy()
        self.maker = RowMaker(stream.planned)
        self.types, self.columns = list(group.types), columns
        firsts = rows.rows[rows.offsets[:-1]]
        self.keys = key_values(self.plan, rows.table, firsts)
        texts = (key_text(lookup_key(key, self.plan.inferred_key)) for key in self.keys)
        self.words = text_word(self.plan.identity), [text_word(text) for text in texts]
        self.ids = [self._id(run) for run in told.runs]
        self.events = self._events() if stream.planned.plan.forecast.outputs else {}  # type: ignore[union-attr]

    def _id(self, run: ToldRun) -> str:
        places = [
            (position, int(self.times[self.order[event]]), rank)
            for event, position, rank in run.chain.tolist()
        ]
        ordered = sorted(places, key=lambda p: (p[1], p[2], p[0]))
        return match_id(self.words[0], self.words[1][run.key], ordered)

    def _events(self) -> dict[int, Event]:
        """Of the runs that were told of, for columns that look at them."""
        used = np.unique(
            np.concatenate([run.chain[:, 0] for run in self.told.runs] or [np.zeros(0, np.int64)])
        )
        found = events_of(self.rows.table, self.order[used], self.types, self.columns)
        return dict(zip(used.tolist(), found, strict=True))

    def forecasts(self) -> Iterator[Row]:
        for told in self.told.forecasts:
            yield self.maker.forecast(self._foretold(told, self.told.runs[told.run]))

    def _foretold(self, told: ToldForecast, run: ToldRun) -> Foretold:
        forecast, within = self.plan.forecast, self.plan.pattern.within
        assert forecast is not None
        time = int(self.times[self.order[told.event]])
        ends = [time + forecast.horizon] if forecast.horizon is not None else []
        ends += [run.start + within] if within is not None else []
        last = self.plan.automaton.positions[int(run.chain[0, 1])].step
        values = (
            told.probability,
            told.expected,
            told.low,
            told.high,
            last.alias or last.type,
            told.depth,
            from_microseconds(min(ends)) if ends else None,
            None if forecast.events is None else told.index + forecast.events,
        )
        key = self.keys[run.key]
        return Foretold(self.ids[told.run], key, self._binds(run), time, told.index, run.start, values)

    def _binds(self, run: ToldRun) -> dict[str, tuple[Event, ...]]:
        binds: dict[str, tuple[Event, ...]] = {}
        for event, position, _ in reversed(run.chain.tolist()) if self.events else ():
            alias = self.plan.automaton.positions[position].step.alias
            if alias is not None:
                binds[alias] = (*binds.get(alias, ()), self.events[event])
        return binds

    def outcomes(self) -> Iterator[Row]:
        """In the order of time."""
        for run, time, index, what in sorted(self.told.outcomes, key=lambda outcome: outcome[1]):
            told = self.told.runs[run]
            key = self.keys[told.key]
            yield self.maker.outcome(Outcome(self.ids[run], key, (), time, index, told.start, _WHAT[what]))
