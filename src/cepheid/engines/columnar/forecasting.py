"""Forecasts of a stream whose events are all there in columns."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.groups import Group, StreamPlan
from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.key_codes import key_values
from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.columnar.objects import events_of
from cepheid.engines.local.events import Columns
from cepheid.engines.local.frames import SCALARS, build_table
from cepheid.engines.rows import RowMaker
from cepheid.forecast.columns import ColumnForecasts, EventColumns, Told
from cepheid.forecast.kernel import words as k
from cepheid.forecast.kernel.symbols import note_firsts, number_symbols
from cepheid.matching.compiled.key_words import KeyWords
from cepheid.matching.compiled.keyed_rows import places_of
from cepheid.matching.compiled.match_ids import id_texts, match_lanes
from cepheid.matching.found import Foretold
from cepheid.matching.ids import text_word
from cepheid.pattern.event import Event
from cepheid.pattern.forecast_values import FORECAST_VALUES
from cepheid.pattern.types import DURATION, FLOAT, INT, STRING, TIMESTAMP, Type
from cepheid.plan.event_tests import tests_of
from cepheid.plan.plan import Plan

Row = dict[str, Any]
Schema = list[tuple[str, Type]]
_FEW_BITS = 16  # of the tests: then each of their answers has a place in a table
_WHAT = pa.array(["completed", "ended", "open"])


@dataclass(frozen=True)
class ForecastAnswer:
    """What was foretold of a stream's runs, and what became of them."""

    forecasts: pa.Table | list[Row]  # rows: of columns that have to be evaluated
    outcomes: pa.Table


def forecast_answer(
    stream: StreamPlan,
    group: Group,
    rows: Sorted,
    columns: Columns,
    schema: Schema,
    end: int,
    pool: Executor,
    threads: int,
) -> ForecastAnswer:
    """`schema`: the columns of the outcomes, the partition's among them."""
    plan = stream.planned.plan
    events = _events(plan, group, rows)
    told = ColumnForecasts(plan, events).run(end, pool.map, threads)
    reader = _Reader(stream, rows, dict(schema), events, told)
    assert plan.forecast is not None
    if plan.forecast.outputs is None:
        return ForecastAnswer(reader.forecasts(), reader.outcomes())
    return ForecastAnswer(list(reader.rows(list(group.types), columns)), reader.outcomes())


def _events(plan: Plan, group: Group, rows: Sorted) -> EventColumns:
    """The events by their symbols: each stands for the answers of all tests of the plan."""
    numbers = {test: number for number, test in enumerate(group.bits.tests)}
    places = places_of([numbers[test] for test in tests_of(plan)]).tolist()
    ranks = rows.ranks(rows.rows)
    used = {column for column, _ in places}
    bits = {bit for _, bit in places}
    if len(used) == 1 and max(bits) - min(bits) < _FEW_BITS:
        shared, shift = rows.tested.shared[used.pop()], min(bits)
        mask = sum(1 << bit for bit in bits)
        firsts = np.full(1 << (max(bits) - shift + 1), np.iinfo(np.int64).max)
        note_firsts(shared, mask, shift, ranks, firsts)
        known = np.argsort(firsts, kind="stable")[: int((firsts < np.iinfo(np.int64).max).sum())]
        found = [[(int(value) << shift) >> bit & 1 for _, bit in places] for value in known]
        numbers_of = np.zeros(len(firsts), np.uint8)
        numbers_of[known] = np.arange(len(known))
        symbols = np.empty(len(shared), np.uint8)
        number_symbols(shared, mask, shift, numbers_of, symbols)
        first_ranks = firsts[known].tolist()
    else:
        answers = np.stack([rows.tested.shared[column] >> bit & 1 for column, bit in places], axis=1)
        values, first, which = _distinct(answers, ranks)
        found, first_ranks, symbols = values.tolist(), first.tolist(), which.astype(np.uint8)
    own = [sum(int(bit) << number for number, bit in enumerate(answer)) for answer in found]
    return EventColumns(symbols, rows.tested.times, ranks, rows.offsets, own, first_ranks)


def _distinct(answers: Numbers, ranks: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The different rows, in the order in which they come; the rank of the first of each; which one each row is."""
    values, which = np.unique(answers, axis=0, return_inverse=True)
    firsts = np.full(len(values), np.iinfo(np.int64).max)
    np.minimum.at(firsts, which.reshape(-1), ranks)
    order = np.argsort(firsts)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return values[order], firsts[order], place[which.reshape(-1)]


class _Reader:
    """What the kernel told, as columns of the answer."""

    def __init__(
        self, stream: StreamPlan, rows: Sorted, types: dict[str, Type], events: EventColumns, told: Told
    ) -> None:
        self.planned, self.plan = stream.planned, stream.planned.plan
        self.sorted, self.types, self.events = rows, types, events
        self.runs, self.chain = told.runs, told.chain
        in_order = np.argsort(events.ranks[told.rows[:, k.F_EVENT]], kind="stable")
        self.told, self.values = told.rows[in_order], told.values[in_order]
        by_key = told.runs[told.outcomes[:, k.O_RUN], k.R_KEY]
        self.ends = told.outcomes[np.lexsort((by_key, told.outcomes[:, k.O_TIME]))]
        self.first_rows = rows.rows[rows.offsets[:-1]]  # of each key
        self.ids = self._ids()

    def forecasts(self) -> pa.Table:
        return pa.table({**self._run_columns(self.told[:, k.F_RUN], self._said()), **self._values()})

    def outcomes(self) -> pa.Table:
        said = {"time": self.ends[:, k.O_TIME], "event": self.ends[:, k.O_INDEX]}
        columns = self._run_columns(self.ends[:, k.O_RUN], said)
        return pa.table({**columns, "outcome": _WHAT.take(pa.array(self.ends[:, k.O_WHAT]))})

    def rows(self, types: list[str], columns: Columns) -> Iterator[Row]:
        """Forecasts with columns of their own, which may look at the events of the run."""
        maker, values = RowMaker(self.planned), self._values()
        keys = key_values(self.plan, self.sorted.table, self.first_rows)
        used = np.unique(self.chain[:, k.C_EVENT])
        objects = events_of(self.sorted.table, self.sorted.rows[used], types, columns)
        events = dict(zip(used.tolist(), objects, strict=True))
        ids, times = self.ids.to_pylist(), self._said()["time"].tolist()
        said = zip(*(values[name].to_pylist() for name in FORECAST_VALUES), strict=True)
        for row, time, own in zip(self.told.tolist(), times, said, strict=True):
            _, _, key, start = run = self.runs[row[k.F_RUN]].tolist()
            binds = self._binds(run, events)
            yield maker.forecast(
                Foretold(ids[row[k.F_RUN]], keys[key], binds, time, row[k.F_INDEX], start, own)
            )

    def _binds(self, run: list[int], events: dict[int, Event]) -> dict[str, tuple[Event, ...]]:
        binds: dict[str, tuple[Event, ...]] = {}
        first = run[k.R_CHAIN]
        for event, position, _ in self.chain[first : first + run[k.R_LENGTH]].tolist():
            alias = self.plan.automaton.positions[position].step.alias
            if alias is not None:
                binds[alias] = (*binds.get(alias, ()), events[event])
        return binds

    def _ids(self) -> pa.Array:
        words = KeyWords(self.plan.inferred_key)
        keys = self.runs[:, k.R_KEY]
        of_keys = self.sorted.words.of(
            keys,
            self.first_rows[keys],
            lambda rows: words.of(key_values(self.plan, self.sorted.table, rows)),
        )
        chain = self.chain.T
        times = self.events.times[chain[k.C_EVENT]]
        word = text_word(self.plan.identity)
        lengths = self.runs[:, k.R_LENGTH]
        return id_texts(match_lanes(word, of_keys, lengths, chain[k.C_POSITION], times, chain[k.C_RANK]))

    def _said(self) -> dict[str, Numbers]:
        """When."""
        return {"time": self.events.times[self.told[:, k.F_EVENT]], "event": self.told[:, k.F_INDEX]}

    def _run_columns(self, runs: Numbers, said: dict[str, Numbers]) -> dict[str, Any]:
        found = {
            "run_id": self.ids.take(pa.array(runs)),
            "time": pa.array(said["time"]).cast(SCALARS[TIMESTAMP]),
            "event": pa.array(said["event"]),
            "start": pa.array(self.runs[runs, k.R_START]).cast(SCALARS[TIMESTAMP]),
        }
        return found | self._key_columns(self.runs[runs, k.R_KEY])

    def _key_columns(self, keys: Numbers) -> dict[str, Any]:
        names, every = self.plan.key_names, len(self.first_rows)
        own, which = np.arange(every), keys
        if every > len(keys):  # few of the keys were told of
            own, which = np.unique(keys, return_inverse=True)
        values = key_values(self.plan, self.sorted.table, self.first_rows[own])
        rows = [dict(zip(names, key, strict=False)) for key in values]
        table = build_table(rows, [(name, self.types[name]) for name in names])
        return {name: table[name].take(pa.array(which)) for name in names}

    def _values(self) -> dict[str, Any]:
        """As in FORECAST_VALUES."""
        runs = self.runs[self.told[:, k.F_RUN]]
        last = self.chain[runs[:, k.R_CHAIN] + runs[:, k.R_LENGTH] - 1, k.C_POSITION]
        steps = [p.step.alias or p.step.type for p in self.plan.automaton.positions]
        durations = np.rint(self.values[:, k.V_EXPECTED :]).astype(np.int64).T
        found = [
            pa.array(self.values[:, k.V_CHANCE], SCALARS[FLOAT]),
            *(pa.array(own).cast(SCALARS[DURATION]) for own in durations),
            pa.array(steps, SCALARS[STRING]).take(pa.array(last)),
            pa.array(self.told[:, k.F_DEPTH], SCALARS[INT]),
            *self._until(runs[:, k.R_START]),
        ]
        return dict(zip(FORECAST_VALUES, found, strict=True))

    def _until(self, starts: Numbers) -> tuple[pa.Array, pa.Array]:
        """How far it looks: a time, and a number of events."""
        forecast, within, said = self.plan.forecast, self.plan.pattern.within, self._said()
        assert forecast is not None
        ends = [said["time"] + forecast.horizon] if forecast.horizon is not None else []
        ends += [starts + within] if within is not None else []
        none = pa.nulls(len(starts))
        until = pa.array(np.min(ends, axis=0)) if ends else none
        last = none if forecast.events is None else pa.array(said["event"] + forecast.events)
        return until.cast(SCALARS[TIMESTAMP]), last.cast(SCALARS[INT])
