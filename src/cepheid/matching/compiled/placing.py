"""Findings of several matchers in the order in which the reference matcher alone finds them.

Of one moment: first what events brought, in their total order; then what deadlines brought, key by key, keys in the
order of the first event of what they found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.kernel.emission import (
    OUT_CAUSE,
    OUT_DETECTED,
    OUT_KEY,
    OUT_PHASE,
)
from cepheid.matching.found import Findings, Match, Pending, Timeout
from cepheid.matching.keys import lookup_key
from cepheid.pattern.event import Event

Finding = Match | Timeout | Pending


class Placed(NamedTuple):
    """A finding and what it is sorted by."""

    moment: int
    phase: int
    event: tuple[Any, ...]  # the place of the event that decides
    found: Finding


def in_order(placed: list[Placed]) -> Findings:
    """Findings of one place stay as they are: they are one key's."""
    placed.sort(key=lambda p: p[:3])
    return Findings(
        tuple(p.found for p in placed if isinstance(p.found, Match)),
        tuple(p.found for p in placed if isinstance(p.found, Timeout)),
        tuple(p.found for p in placed if isinstance(p.found, Pending)),
    )


def by_event(found: Findings, event: Event) -> Iterator[Placed]:
    return (Placed(event.time, 0, event.place_in_order(), f) for f in _each(found))


def by_deadline(found: Findings, inferred: bool) -> Iterator[Placed]:
    """Of many keys and moments."""
    return _grouped((_moment(f), lookup_key(f.key, inferred), f) for f in _each(found))


def by_kernel(
    answers: Answers, event: Callable[[int], Event], finding: Callable[[Any], Finding]
) -> list[Placed]:
    placed: list[Placed] = []
    timed: list[tuple[int, Any, Finding]] = []
    for row in answers.rows:
        found = finding(row)
        if row[OUT_PHASE] == 0:
            place = event(int(row[OUT_CAUSE])).place_in_order()
            placed.append(Placed(int(row[OUT_DETECTED]), 0, place, found))
        else:
            timed.append((int(row[OUT_DETECTED]), int(row[OUT_KEY]), found))
    return placed + list(_grouped(timed))


def _grouped(timed: Iterable[tuple[int, Any, Finding]]) -> Iterator[Placed]:
    groups: dict[tuple[int, Any], list[Finding]] = {}
    for moment, key, found in timed:
        groups.setdefault((moment, key), []).append(found)
    for (moment, _), own in groups.items():
        first = _first_place(own)
        for found in own:
            yield Placed(moment, 1, first, found)


def _first_place(found: list[Finding]) -> tuple[Any, ...]:
    """As the reference matcher has it for keys that answer at one moment."""
    for kind in (Match, Timeout, Pending):
        places = [f.events[0].place_in_order() for f in found if isinstance(f, kind)]
        if places:
            return min(places)
    raise AssertionError("nothing was found")


def _each(found: Findings) -> Iterator[Finding]:
    yield from found.matches
    yield from found.timeouts
    yield from found.pending


def _moment(found: Finding) -> int:
    assert not isinstance(found, Pending)
    return found.detected if isinstance(found, Match) else found.deadline
