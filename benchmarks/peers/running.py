"""One question put to one engine: its answer compared with Cepheid's over the same events, then its time."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import getloadavg
from pathlib import Path

from peers import cepheid_peers
from peers.asking import Answer, NotHere, Peer, Runs, differences
from peers.data import Dataset, dataset
from peers.queries import Query

WARM_UP = 20_000


@dataclass(frozen=True)
class Result:
    """A line of the table: figures, or why there are none. `wrong`: it should have had some.

    `load` is the machine's when the question was put: on a busy one figures say little.
    """

    query: str
    peer: str
    events: int
    answer: Answer | None = None
    why_not: str = ""
    wrong: bool = False
    load: float = 0.0

    @property
    def rate(self) -> float | None:
        """Events a second."""
        return self.events / self.answer.seconds if self.answer else None


@dataclass
class Bench:
    """The events and Cepheid's answers, kept for as long as the benchmark runs."""

    data: Path
    build: Path
    repeat: int
    _expected: dict[tuple[str, int], Answer] = field(default_factory=dict)

    def measured(self, query: Query, peer: Peer, events: int) -> Result:
        if why := peer.cannot.get(query.name):
            return Result(query.name, peer.name, events, why_not=why)
        load = getloadavg()[0]
        try:
            answer = peer.ask(query, self._events(events), self._runs(self.repeat))
        except NotHere as trouble:
            return Result(query.name, peer.name, events, why_not=str(trouble))
        except Exception as trouble:  # one engine's failure is a line of the table, not the end of the others
            why = f"{type(trouble).__name__}: {trouble}"
            return Result(query.name, peer.name, events, why_not=why, wrong=True)
        if peer is cepheid_peers.SPARK:
            self._expected.setdefault((query.name, events), answer)
        if other := differences(answer, self._answer(query, events)):
            known = peer.differs.get(query.name)
            why = f"another answer ({other}){f': {known}' if known else ''}"
            return Result(query.name, peer.name, events, why_not=why, wrong=known is None)
        return Result(query.name, peer.name, events, answer, load=load)

    def _answer(self, query: Query, events: int) -> Answer:
        """Cepheid's own: on Spark where there is one, so that the local engine has something to be compared with."""
        key = query.name, events
        if key not in self._expected:
            try:
                found = cepheid_peers.ask_spark(query, self._events(events), self._runs(1))
            except NotHere:
                found = cepheid_peers.ask_local(query, self._events(events), self._runs(1))
            assert len(found.rows), f"{query.name}: no match to compare"
            self._expected[key] = found
        return self._expected[key]

    def _events(self, events: int) -> Dataset:
        return dataset(events, self.data)

    def _runs(self, repeat: int) -> Runs:
        return Runs(dataset(WARM_UP, self.data), repeat, self.build)
