"""What an event of each symbol does to a run, learned from what it did: which way it goes, whether it is complete.

The pattern's own tests make most of it certain after one look. What they cannot decide without the run's other events
(a comparison of two events, an event that an older run uses up, the time bound of a step) is a rate: how often it went
which way, so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DONE = (-1,)
GONE: tuple[int, ...] = ()
MOST_PLACES = 256
MOST_TOGETHER = 64  # sets of places a run's copies can be in
MOST_WAYS = 6  # of one event for one set

Outcome = tuple[int, ...]  # the places its copies are in afterwards; DONE; GONE
Ways = list[tuple[Outcome, float]]


@dataclass
class Outcomes:
    """Places are what of a run's state decides its future; each has a number."""

    places: dict[tuple[Any, ...], int] = field(default_factory=dict)
    seen: dict[tuple[int, int], dict[Outcome, int]] = field(default_factory=dict)  # by place and symbol

    def number(self, place: tuple[Any, ...]) -> int:
        """Of a place; all that find no room are one."""
        found = self.places.get(place)
        if found is None:
            if len(self.places) >= MOST_PLACES:
                return MOST_PLACES
            found = self.places[place] = len(self.places)
        return found

    def learn(self, place: int, symbol: int, outcome: Outcome, count: int = 1) -> None:
        ways = self.seen.setdefault((place, symbol), {})
        ways[outcome] = ways.get(outcome, 0) + count

    def ways(self, place: int, symbol: int) -> Ways:
        """What may become of a run there. What was never seen is taken to change nothing."""
        seen = self.seen.get((place, symbol))
        if seen is None:
            return [((place,), 1.0)]
        total = sum(seen.values())
        return [(outcome, count / total) for outcome, count in seen.items()]

    def together(self, places: Outcome, symbol: int) -> Ways:
        """Of all copies of a run at once: it is complete when one of them is."""
        found: dict[Outcome, float] = {GONE: 1.0}
        for place in places:
            joined: dict[Outcome, float] = {}
            for before, chance in found.items():
                for outcome, own in self.ways(place, symbol):
                    both = _union(before, outcome)
                    joined[both] = joined.get(both, 0.0) + chance * own
            found = joined
        likely = sorted(found.items(), key=lambda way: (-way[1], way[0]))[:MOST_WAYS]
        whole = sum(chance for _, chance in likely)
        return [(outcome, chance / whole) for outcome, chance in likely]

    def copy(self) -> Outcomes:
        return Outcomes(dict(self.places), {at: dict(ways) for at, ways in self.seen.items()})

    def as_data(self) -> dict[str, Any]:
        return {
            "places": list(self.places),
            "seen": [[p, s, [[list(o), n] for o, n in ways.items()]] for (p, s), ways in self.seen.items()],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Outcomes:
        places = {as_tuples(place): number for number, place in enumerate(data["places"])}
        seen = {(p, s): {tuple(o): n for o, n in ways} for p, s, ways in data["seen"]}
        return cls(places, seen)


def as_tuples(value: Any) -> Any:
    """As it was before JSON made lists of its tuples."""
    return tuple(as_tuples(v) for v in value) if isinstance(value, list) else value


def _union(one: Outcome, other: Outcome) -> Outcome:
    return DONE if DONE in (one, other) else tuple(sorted({*one, *other}))
