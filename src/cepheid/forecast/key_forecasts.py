"""What is remembered of one key: its last symbols, its open runs, what was foretold of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from cepheid.forecast.context_counts import BEGINNING, Context
from cepheid.forecast.model import Model
from cepheid.forecast.outcomes import DONE, Outcome
from cepheid.forecast.places import Held, Places, Unit
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run
from cepheid.matching.snapshot import EventTable
from cepheid.pattern.event import Event


@dataclass
class Said:
    """The last forecast of a run."""

    run_id: str
    probability: float
    start: int


@dataclass
class KeyForecasts:
    """One key's part of the model's world."""

    recent: Context  # symbols, the last one first
    model: Model | None = None  # of its own
    last: int | None = None  # the time of the last event
    units: dict[Held, Unit] = field(default_factory=dict)
    by_place: dict[int, int] = field(default_factory=dict)  # how many of them are where
    said: dict[Held, Said] = field(default_factory=dict)
    runs: list[Run] | None = None  # those `units` was made of; None: it is to be made
    # Where they were after the last event, if time alone may change it: an older run's window ends.
    placed: dict[Held, int] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)  # places of runs that ended since the last event
    context: int = 0
    version: int = -1  # of what the model says, by which the context is numbered
    _names: dict[int, tuple[Run, Held]] = field(default_factory=dict)  # by the identity of the run
    _by_set: dict[Outcome, list[Held]] | None = None

    @classmethod
    def new(cls, depth: int, model: Model | None) -> KeyForecasts:
        return cls((BEGINNING,) * max(depth, 1), model)

    def begin_anew(self) -> None:
        self.recent = (BEGINNING,) * len(self.recent)
        self.last, self.version = None, -1

    def took(self, symbol: int, time: int) -> None:
        self.recent, self.last = (symbol, *self.recent[:-1]), time

    # The open runs.

    def unchanged(self, partition: Partition) -> bool:
        """Are the open runs the very same?"""
        before, now = self.runs, partition.runs
        return before is not None and len(before) == len(now) and all(map(is_, before, now))

    def look(self, partition: Partition, places: Places, model: Model) -> None:
        """The units of the open runs, those known already as they are."""
        known = self.units if places.lasting else {}
        number = model.learned.outcomes.number
        self.units, self.by_place, self.runs, self._by_set = {}, {}, list(partition.runs), None
        for held, runs in self._together(partition, places).items():
            unit = known.get(held)
            if unit is None or unit.runs != tuple(runs):
                unit = Unit(number(places.place(runs, partition)), tuple(runs), runs[0].start_time)
            self.units[held] = unit
            self.by_place[unit.place] = self.by_place.get(unit.place, 0) + 1

    def _together(self, partition: Partition, places: Places) -> dict[Held, list[Run]]:
        """Runs by the name of their unit. A run never changes, and neither does its name."""
        before, self._names = self._names, {}
        found: dict[Held, list[Run]] = {}
        for run in partition.runs:
            named = before.get(id(run)) or (run, places.name(run.events()))
            self._names[id(run)] = named
            found.setdefault(named[1], []).append(run)
        return found

    def by_set(self) -> dict[Outcome, list[Held]]:
        """The units by the places of all that came of them."""
        if self._by_set is None:
            self._by_set = _by_set(self.units)
        return self._by_set

    # What an event did to them.

    def learn_again(self, by_place: dict[int, int], symbol: int, model: Model) -> bool:
        """Where an event always does the same to a run at a place: is that known of all places?"""
        seen = [model.learned.outcomes.seen.get((place, symbol)) for place in by_place]
        if not all(ways is not None and len(ways) == 1 for ways in seen):
            return False
        for ways, count in zip(seen, by_place.values(), strict=True):
            assert ways is not None
            for outcome in ways:
                ways[outcome] += count
        return True

    def learn_stayed(self, symbol: int, model: Model) -> None:
        learn = model.learned.outcomes.learn
        for place, count in self.by_place.items():
            learn(place, symbol, (place,), count)

    def learn_moved(
        self, before: dict[Held, Unit], event: Event, symbol: int, ends: list[Held], model: Model
    ) -> None:
        """Where each unit went, by itself: what its earlier copies did is learned as theirs. `ends`: complete now."""
        done = {*ends, *(held[:-1] for held in ends if held[-1] is event)}
        children: dict[Held, list[int]] = {}
        for held, unit in self.units.items():
            if held[-1] is event and len(held) > 1:
                children.setdefault(held[:-1], []).append(unit.place)
        for held, unit in before.items():
            place = self.placed.get(held, unit.place)
            model.learned.outcomes.learn(place, symbol, self._outcome(held, children, done))

    def _outcome(self, held: Held, children: dict[Held, list[int]], done: set[Held]) -> Outcome:
        if held in done:
            return DONE
        places = set(children.get(held, ()))
        if held in self.units:
            places.add(self.units[held].place)
        return tuple(sorted(places))

    # What became of those that were foretold.

    def completed(self, taken: Iterable[Held]) -> Iterator[tuple[Held, Said]]:
        for held in taken:
            for length in range(1, len(held) + 1):
                said = self.said.pop(held[:length], None)
                if said is not None:
                    yield held[:length], said

    def ended(self) -> Iterator[tuple[Held, Said]]:
        """Those of which no copy is left."""
        if not self.said:
            return
        alive = {held[:length] for held in self.units for length in range(1, len(held) + 1)}
        for held in [h for h in self.said if h not in alive]:
            yield held, self.said.pop(held)

    # As plain data.

    def as_data(self, events: EventTable) -> dict[str, Any]:
        said = [
            [[events.number(e) for e in h], s.run_id, s.probability, s.start] for h, s in self.said.items()
        ]
        placed = [
            [[events.number(e) for e in h], place] for h, place in self.placed.items() if h in self.units
        ]
        model = None if self.model is None else self.model.as_data()
        return {
            "recent": self.recent,
            "last": self.last,
            "said": said,
            "placed": placed,
            "lost": self.lost,
            "model": model,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], events: list[Event], model: Model | None) -> KeyForecasts:
        said = {tuple(events[i] for i in held): Said(*rest) for held, *rest in data["said"]}
        placed = {tuple(events[i] for i in held): place for held, place in data["placed"]}
        return cls(tuple(data["recent"]), model, data["last"], said=said, placed=placed, lost=data["lost"])


def _by_set(units: dict[Held, Unit]) -> dict[Outcome, list[Held]]:
    """A run that forked goes on in its copies: it is where they are."""
    places = {held: {unit.place} for held, unit in units.items()}
    for held, unit in units.items():
        for length in range(1, len(held)):
            if held[:length] in places:
                places[held[:length]].add(unit.place)
    found: dict[Outcome, list[Held]] = {}
    for held, where in places.items():
        found.setdefault(tuple(sorted(where)), []).append(held)
    return found
