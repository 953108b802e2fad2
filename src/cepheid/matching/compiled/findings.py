"""The kernel's answers as matches, timeouts and pending absences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.kernel.emission import (
    EVENT_POSITION,
    EVENT_RANK,
    EVENT_ROW,
    MATCH,
    OUT_COUNT,
    OUT_DETECTED,
    OUT_EVENTS,
    OUT_FIRST,
    OUT_FROM,
    OUT_KEY,
    OUT_KIND,
    OUT_PHASE,
    OUT_STATE,
    OUT_TO,
    PENDING,
    PROVISIONAL,
    TIMEOUT,
)
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.moments import deciding_rows, moments_of
from cepheid.matching.compiled.tables import Table
from cepheid.matching.found import Findings, Match, Pending, Timeout
from cepheid.matching.ids import key_text, match_id, text_word
from cepheid.matching.keys import lookup_key
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan


class FindingsReader:
    """Makes matches of a plan of the kernel's answers: `event` is the event of a row, `key` the values of a key."""

    def __init__(
        self,
        plan: Plan,
        answers: Answers,
        event: Callable[[int], Event],
        key: Callable[[int], tuple[Any, ...]],
    ) -> None:
        self.plan, self.answers = plan, answers
        self.event, self.key = event, key
        self.word = text_word(plan.identity)

    def read(self) -> Findings:
        matches: list[Match] = []
        timeouts: list[Timeout] = []
        pending: list[Pending] = []
        for i in self._in_order():
            found = self.one(self.answers.rows[i])
            if isinstance(found, Match):
                matches.append(found)
            elif isinstance(found, Timeout):
                timeouts.append(found)
            else:
                pending.append(found)
        return Findings(tuple(matches), tuple(timeouts), tuple(pending))

    def one(self, row: Table) -> Match | Timeout | Pending:
        """What a row of the answers is."""
        if row[OUT_KIND] in (MATCH, PROVISIONAL):
            return self._match(row)
        if row[OUT_KIND] == TIMEOUT:
            return self._timeout(row)
        assert row[OUT_KIND] == PENDING
        return self._pending(row)

    def _in_order(self) -> Sequence[int]:
        """As events and deadlines come: deadlines of a time after its events, keys by their first event."""
        rows = self.answers.rows
        if not len(rows):
            return []
        moments = moments_of(self.answers)
        deciding = deciding_rows(self.answers, moments, lambda own: own)  # the rows of a key lie in order
        if np.any(rows[:, OUT_KEY] != rows[0, OUT_KEY]):  # those of others come between them
            deciding = self._ranked(deciding)
        order: Sequence[int] = np.lexsort((deciding, rows[:, OUT_PHASE], moments)).tolist()
        return order

    def _ranked(self, rows: Table) -> Table:
        """Events of these rows numbered by their place in the total order."""
        own, numbers = np.unique(rows, return_inverse=True)
        places = [self.event(row).place_in_order() for row in own.tolist()]
        ranks = np.empty(len(own), np.int64)
        ranks[sorted(range(len(own)), key=places.__getitem__)] = np.arange(len(own))
        found: Table = ranks[numbers]
        return found

    def _taken(self, row: Table) -> tuple[tuple[Event, ...], dict[str, tuple[Event, ...]], list[Any]]:
        own = self.answers.events[row[OUT_FIRST] : row[OUT_FIRST] + row[OUT_EVENTS]]
        events = tuple(self.event(int(r)) for r in own[:, EVENT_ROW])
        binds: dict[str, tuple[Event, ...]] = {}
        positions = self.plan.automaton.positions
        for event, position in zip(events, own[:, EVENT_POSITION], strict=True):
            alias = positions[position].step.alias
            if alias is not None:
                binds[alias] = (*binds.get(alias, ()), event)
        places = [
            (int(p), e.time, int(r))
            for e, p, r in zip(events, own[:, EVENT_POSITION], own[:, EVENT_RANK], strict=True)
        ]
        return events, binds, places

    def _key(self, row: Table) -> tuple[Any, ...]:
        return self.key(int(row[OUT_KEY]))

    def _match(self, row: Table) -> Match:
        events, binds, places = self._taken(row)
        key = self._key(row)
        word = text_word(key_text(lookup_key(key, self.plan.inferred_key)))
        return Match(
            match_id(self.word, word, places),
            key,
            events,
            binds,
            int(row[OUT_FROM]),
            int(row[OUT_TO]),
            int(row[OUT_DETECTED]),
            provisional=bool(row[OUT_KIND] == PROVISIONAL),
            count=int(row[OUT_COUNT]),
        )

    def _timeout(self, row: Table) -> Timeout:
        events, binds, places = self._taken(row)
        steps = self.plan.automaton.positions
        out = self.plan.automaton.out[row[OUT_STATE]]
        waiting = tuple(dict.fromkeys(steps[e.position].step.type for e in out))
        last = steps[places[-1][0]].step
        reached = last.alias or last.type
        return Timeout(
            self._key(row), events, binds, int(row[OUT_FROM]), int(row[OUT_DETECTED]), reached, waiting
        )

    def _pending(self, row: Table) -> Pending:
        events, binds, _ = self._taken(row)
        deadline = int(row[OUT_DETECTED])
        return Pending(
            self._key(row), events, binds, int(row[OUT_FROM]), None if deadline == NEVER else deadline
        )
