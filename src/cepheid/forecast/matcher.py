"""The reference matcher with forecasts beside its matches: it learns from every event and looks at every open run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from cepheid.errors import InputMistake
from cepheid.forecast.completion import Completion, Row, expected, quantile, value_at
from cepheid.forecast.key_forecasts import KeyForecasts, Said
from cepheid.forecast.model import Learned, Model
from cepheid.forecast.outcomes import GONE
from cepheid.forecast.places import Held, Places, Unit
from cepheid.forecast.reach import longest_memory, reach_of
from cepheid.matching.evaluate import compile_value
from cepheid.matching.found import Findings, Foretold, Outcome
from cepheid.matching.ids import match_id
from cepheid.matching.lifecycle import Listener
from cepheid.matching.moment import Moment
from cepheid.matching.partition import Partition
from cepheid.matching.protocol import Key
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.run import Run
from cepheid.matching.snapshot import EventTable, Kept, to_json
from cepheid.matching.tests import PlanTests, Seen
from cepheid.pattern.event import Event
from cepheid.pattern.forecast_values import FORECAST_VALUES
from cepheid.pattern.times import from_microseconds
from cepheid.plan.plan import Plan

_NOTHING = Findings()
_MODEL = "model"  # the name under which the shared model lies among the keys' texts: none of them looks so


class ForecastMatcher(ReferenceMatcher):
    """`trained`: what a model learned before, as plain data."""

    def __init__(
        self,
        plan: Plan,
        listener: Listener | None = None,
        *,
        tests: PlanTests | None = None,
        late_memory: int = 0,
        trained: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(plan, listener, tests=tests, late_memory=late_memory)
        assert plan.forecast is not None
        self.forecast = plan.forecast
        self.reach = reach_of(plan)
        self.trained = trained
        if trained is None and not self.forecast.learn:
            raise InputMistake(
                f"`{plan.name}` is to forecast without learning, and has no model",
                code="no_model",
                hint="give one that was trained before, or leave out `learn: false`",
            )
        self.places = Places(plan)
        self.keep = longest_memory(plan)
        self.shared: Model | None = None
        self.completions: list[Held] = []
        self.known_bits: dict[tuple[tuple[bool, ...], ...], int] = {}
        self.model_touched = False
        alone = replace(plan, forecast=None)
        # May an event that passes no test be kept from the runs? It changes none of them.
        self.may_pass_by = self.places.lasting and not alone.sees_all_events and not alone.closing_types
        self.passed_by = False
        names = (*plan.key_names, *FORECAST_VALUES)
        where = self.forecast.where
        self.where = None if where is None else compile_value(where, keys=names)

    # The model.

    def model(self) -> Model:
        """That of all keys; from the shelf, if it was put there."""
        if self.shared is None:
            kept = self.shelf.take(_MODEL) if self.shelf else None
            self.shared = self._new_model() if kept is None else self._read_model(json.loads(kept.body))
        self.model_touched = True
        return self.shared

    def _new_model(self) -> Model:
        if self.trained is None:
            return Model.new(self.reach, self.forecast.max_depth, self.forecast.warmup)
        model = Model(self.reach, Learned.from_data(self.trained), self.forecast.warmup)
        model.work_out()
        return model

    def _read_model(self, data: dict[str, Any]) -> Model:
        return Model.from_data(data, self.reach, self.forecast.warmup)

    def _model_of(self, state: KeyForecasts) -> Model:
        return state.model if state.model is not None else self.model()

    def _state(self, partition: Partition) -> KeyForecasts:
        state: KeyForecasts | None = partition.beside
        if state is None:
            own = self._new_model() if self.forecast.per_key else None
            depth = (own or self.model()).learned.contexts.wished
            state = partition.beside = KeyForecasts.new(depth, own)
        return state

    # What happens.

    def _offered(self, partition: Partition, event: Event) -> Findings:
        state = self._state(partition)
        model = self._model_of(state)
        if not state.unchanged(partition):  # windows that ended in between
            state.look(partition, self.places, model)
        self.passed_by = False
        if event.late:  # out of order: nothing to learn from
            found = self._watched(partition, lambda: partition.on_event(event))
            state.look(partition, self.places, model)
            return self._with_outcomes(found, partition, state, event.time)
        bits = self._bits(self.tests.look_at(event))
        symbol = model.learned.symbol(bits)
        if state.lost:
            self._learn_lost(state, model, symbol)
        self.passed_by = self.may_pass_by and not bits
        if self.passed_by:
            partition.pass_by(event)
            found = _NOTHING
            if self.forecast.learn:
                state.learn_stayed(symbol, model)
        else:
            found = self._offered_to_runs(partition, state, model, event, symbol)
        self._remember(state, model, event, symbol)
        if self.forecast.learn:
            model.settle()
        rows = self._foretold(partition, state, model, event.time)
        return replace(found, forecasts=tuple(rows)) if rows else found

    def _bits(self, seen: Seen) -> int:
        """The tests an event passes alone, in the order of the plan's own."""
        passed = (seen.positions, seen.absences, seen.guards)
        bits = self.known_bits.get(passed)
        if bits is None:
            every = [fits for of_a_kind in passed for fits in of_a_kind]
            bits = self.known_bits[passed] = sum(fits << number for number, fits in enumerate(every))
        return bits

    def _offered_to_runs(
        self, partition: Partition, state: KeyForecasts, model: Model, event: Event, symbol: int
    ) -> Findings:
        before, by_place = state.units, state.by_place
        found = self._watched(partition, lambda: partition.on_event(event))
        done: list[Held] = []
        if self.completions or not self.places.lasting or not state.unchanged(partition):
            state.look(partition, self.places, model)
            done = self._ends(partition, state, before, event)
            self._learn_moves(state, model, before, by_place, event, symbol, done)
        elif self.forecast.learn:
            state.learn_stayed(symbol, model)
        return self._with_outcomes(found, partition, state, event.time, done)

    def _schedule(self, key: Key, partition: Partition, now: int) -> None:
        if self.passed_by and partition.scheduled is not None:
            return  # nothing has changed but the time of its last event: it is looked at early enough
        super()._schedule(key, partition, now)

    def _learn_moves(
        self,
        state: KeyForecasts,
        model: Model,
        before: dict[Held, Unit],
        by_place: dict[int, int],
        event: Event,
        symbol: int,
        done: list[Held],
    ) -> None:
        """What the event did to the open runs. `done`: what is complete now."""
        if self.forecast.learn:
            known = self.places.certain and state.learn_again(by_place, symbol, model)
            if not known:
                state.learn_moved(before, event, symbol, done, model)
        if self.places.queued:
            state.placed = {held: unit.place for held, unit in state.units.items()}

    def _learn_lost(self, state: KeyForecasts, model: Model, symbol: int) -> None:
        """Runs that the bound of a step has ended: it counts as what the next event did."""
        for place in state.lost if self.forecast.learn else ():
            model.learned.outcomes.learn(place, symbol, GONE)
        state.lost.clear()

    def _ends(
        self, partition: Partition, state: KeyForecasts, before: dict[Held, Unit], event: Event
    ) -> list[Held]:
        """What completed: given out, or complete and only held back for more."""
        if self.places.certain:
            return self.completions
        held_back = [
            held
            for held, unit in state.units.items()
            if any(run.last.event is event for run in unit.runs)
            and _complete(partition, unit.runs)
            and not (held in before and _complete(partition, before[held].runs))
        ]
        return self.completions + held_back

    def _remember(self, state: KeyForecasts, model: Model, event: Event, symbol: int) -> None:
        gap = None if state.last is None else event.time - state.last
        if self.forecast.learn:
            model.learned.learn(state.recent, symbol, gap)
        laws = None if model.completion is None else model.completion.laws
        if laws is not None and state.version == model.version and symbol < len(laws.next[state.context]):
            state.context = laws.next[state.context][symbol]
        else:
            state.version = -1
        state.took(symbol, event.time)

    def _timed(self, partition: Partition, time: int) -> Findings:
        found = self._watched(partition, lambda: partition.on_time(time))
        found = self._after_time(found, partition, time - 1)
        self._note_silence(self._state(partition), time)
        return found

    def _note_silence(self, state: KeyForecasts, time: int) -> None:
        """A key of which nothing was heard for so long begins anew."""
        if state.last is not None and self.keep is not None and state.last + self.keep < time:
            if self.forecast.learn:
                self._model_of(state).learned.gaps.learn_silence(state.recent[0])
            state.begin_anew()

    def _ended(self, partition: Partition, time: int) -> Findings:
        found = self._watched(partition, lambda: partition.on_end(time))
        found = self._after_time(found, partition, time)
        state = self._state(partition)
        left = [self._outcome(partition, held, said, time, "open") for held, said in state.said.items()]
        state.said.clear()
        return replace(found, outcomes=(*found.outcomes, *left))

    def _after_time(self, found: Findings, partition: Partition, time: int) -> Findings:
        state = self._state(partition)
        if not self.completions and state.unchanged(partition):
            return found
        before = state.units
        state.look(partition, self.places, self._model_of(state))
        self._note_lost(state, before, time)
        return self._with_outcomes(found, partition, state, time)

    def _note_lost(self, state: KeyForecasts, before: dict[Held, Unit], time: int) -> None:
        """Runs that the bound of a step has ended, not the window: it is learned as what the next event does."""
        within = self.plan.pattern.within
        done = {held[:length] for held in self.completions for length in range(1, len(held) + 1)}
        for held, unit in before.items():
            by_window = within is not None and time >= unit.start + within
            if held not in state.units and held not in done and not by_window:
                state.lost.append(unit.place)

    def _watched(self, partition: Partition, step: Callable[[], Findings]) -> Findings:
        partition.emitted = []
        found = step()
        self.completions = [self.places.name(run.events()) for run in partition.emitted]
        return found

    # What is said.

    def _foretold(self, partition: Partition, state: KeyForecasts, model: Model, time: int) -> list[Foretold]:
        completion = model.completion
        if completion is None or not state.units:
            return []
        if state.version != model.version:
            state.context, state.version = completion.laws.at(state.recent), model.version
        rows: list[Foretold] = []
        if completion.hopes[state.context] < self.forecast.confidence:
            return rows
        for places, units in state.by_set().items():
            number = completion.number(state.context, places)
            if number is not None:
                row = completion.row(state.context, number)
                if row[0][-1] >= self.forecast.confidence:
                    rows += self._of_set(partition, state, completion, row, units, time)
        return rows

    def _of_set(
        self,
        partition: Partition,
        state: KeyForecasts,
        completion: Completion,
        row: Row,
        units: Iterable[Held],
        time: int,
    ) -> Iterator[Foretold]:
        """Of units that differ in how much time they have: those that pass, and have changed enough."""
        confidence, change = self.forecast.confidence, self.forecast.change
        for held in units:
            unit, said = state.units[held], state.said.get(held)
            budget = self._budget(unit.start, time)
            place = completion.place(budget)
            probability = value_at(row[0], place)
            if probability < confidence or (
                said is not None and abs(probability - said.probability) < change
            ):
                continue
            values = self._told(completion, row, place, probability, unit, state)
            until = None if budget is None else from_microseconds(time + budget)
            last = None if self.forecast.events is None else partition.index + self.forecast.events
            values, run = (*values, until, last), unit.runs[0]
            if self.where is not None:
                moment = Moment(None, run.binds, None, (*partition.key, *values))
                if self.where(moment) is not True:
                    continue
            run_id = said.run_id if said is not None else _run_id(partition, run, len(held))
            state.said[held] = Said(run_id, probability, unit.start)
            yield Foretold(run_id, partition.key, run.binds, time, partition.index, unit.start, values)

    def _budget(self, start: int, time: int) -> int | None:
        """How much time there is: up to the horizon, and to the end of the window."""
        horizon, within = self.forecast.horizon, self.plan.pattern.within
        if within is None:
            return horizon
        left = start + within - time
        return left if horizon is None or left < horizon else horizon

    def _told(
        self,
        completion: Completion,
        row: Row,
        place: float,
        probability: float,
        unit: Unit,
        state: KeyForecasts,
    ) -> tuple[Any, ...]:
        """As in FORECAST_VALUES, without how far it looks."""
        width, tail = completion.width, (1.0 - self.forecast.interval) / 2
        chances, areas = row
        last = self.plan.automaton.positions[unit.runs[0].last.position].step
        return (
            probability,
            _duration(width * expected(chances, areas, place)),
            _duration(width * quantile(chances, place, tail)),
            _duration(width * quantile(chances, place, 1.0 - tail)),
            last.alias or last.type,
            completion.laws.depths[state.context],
        )

    def _with_outcomes(
        self,
        found: Findings,
        partition: Partition,
        state: KeyForecasts,
        time: int,
        done: Iterable[Held] | None = None,
    ) -> Findings:
        if not state.said:
            return found
        ends = self.completions if done is None else done
        outcomes = [self._outcome(partition, h, s, time, "completed") for h, s in state.completed(ends)]
        outcomes += [self._outcome(partition, h, s, time, "ended") for h, s in state.ended()]
        return replace(found, outcomes=tuple(outcomes)) if outcomes else found

    def _outcome(self, partition: Partition, held: Held, said: Said, time: int, what: str) -> Outcome:
        return Outcome(said.run_id, partition.key, held, time, partition.index, said.start, what)

    # How long a key is remembered.

    def _is_over(self, partition: Partition, now: int) -> bool:
        state: KeyForecasts | None = partition.beside
        return super()._is_over(partition, now) and (state is None or state.last is None)

    def _moment(self, partition: Partition) -> int | None:
        state: KeyForecasts | None = partition.beside
        if state is None or state.last is None:
            return super()._moment(partition)
        moments = [] if partition.idle else [super()._moment(partition)]
        moments += [] if self.keep is None else [state.last + self.keep]
        return min((m for m in moments if m is not None), default=None)

    # State.

    def _extra_state(self, partition: Partition, events: EventTable) -> dict[str, Any]:
        return {**super()._extra_state(partition, events), "forecast": self._state(partition).as_data(events)}

    def _restore_extra(self, partition: Partition, state: dict[str, Any], events: list[Event]) -> None:
        super()._restore_extra(partition, state, events)
        data = state["forecast"]
        own = None if data["model"] is None else self._read_model(data["model"])
        partition.beside = KeyForecasts.from_data(data, events, own)

    def _revived(self, kept: Kept) -> Key:
        if kept.key != _MODEL:
            return super()._revived(kept)
        if self.shared is None:
            self.shared = self._read_model(json.loads(kept.body))
        return ()

    def take_touched(self) -> list[str]:
        touched = super().take_touched()
        if self.model_touched and not self.forecast.per_key:
            touched.append(_MODEL)
        self.model_touched = False
        return touched

    def kept(self, key: str) -> Kept | None:
        if key != _MODEL:
            return super().kept(key)
        return None if self.shared is None else self._kept_model(self.shared)

    def _kept_model(self, model: Model) -> Kept:
        return Kept(_MODEL, None, to_json(model.as_data()))

    def put_away(self, keys: Iterable[str]) -> None:
        """The shared model stays: what it says takes long to work out."""
        super().put_away(key for key in keys if key != _MODEL)

    def snapshot(self, others: Iterable[Kept] = ()) -> bytes:
        models = [] if self.forecast.per_key else [self._kept_model(self.model())]
        return super().snapshot([*others, *models])

    def restore(self, state: bytes) -> None:
        self.shared = None
        super().restore(state)


def _complete(partition: Partition, runs: Iterable[Run]) -> bool:
    return any(partition.moves.complete(run) for run in runs)


def _run_id(partition: Partition, run: Run, events: int) -> str:
    places = [(t.position, t.event.time, t.rank) for t in run.taken[:events]]
    return match_id(*partition.identity, sorted(places, key=lambda p: (p[1], p[2], p[0])))


def _duration(microseconds: float) -> timedelta:
    return timedelta(microseconds=round(microseconds))
