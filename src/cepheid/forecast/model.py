"""The model of a pattern's events: learned while matching, asked about open runs, kept as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cepheid.forecast.completion import Completion
from cepheid.forecast.context_counts import Context, ContextCounts
from cepheid.forecast.evidence import Evidence
from cepheid.forecast.gaps import Gaps
from cepheid.forecast.outcomes import Outcomes
from cepheid.forecast.reach import Reach

MOST_SYMBOLS = 64
# What is foretold is worked out anew when so much more has been learned: the more there is, the less it changes.
_STEP = 50
_GROWTH = ((10_000, 1.4), (100_000, 2.0), (float("inf"), 3.0))  # up to so many events, by this factor


@dataclass
class Learned:
    """What was seen: which symbols follow which, after how long, and what they did to runs."""

    contexts: ContextCounts
    symbols: dict[int, int] = field(default_factory=dict)  # the tests an event passes, as bits -> its number
    gaps: Gaps = field(default_factory=Gaps)
    outcomes: Outcomes = field(default_factory=Outcomes)
    events: int = 0

    def symbol(self, bits: int) -> int:
        """The number of a symbol; all that find no room are one."""
        found = self.symbols.get(bits)
        if found is None:
            if len(self.symbols) >= MOST_SYMBOLS:
                return MOST_SYMBOLS - 1
            found = self.symbols[bits] = len(self.symbols)
        return found

    def learn(self, recent: Context, symbol: int, gap: int | None) -> None:
        """`recent`: the symbols before it, the last one first. `gap`: None for the first event of a key."""
        self.events += 1
        self.contexts.learn(recent, symbol)
        if gap is not None:
            self.gaps.learn(recent[0], symbol, gap)

    def evidence(self) -> Evidence:
        """As it is now: what is learned later does not change it."""
        gaps = self.gaps.table(self.contexts.symbols)
        return Evidence(self.contexts.table(), gaps, self.outcomes.copy(), self.events)

    def as_data(self) -> dict[str, Any]:
        return {
            "events": self.events,
            "symbols": list(self.symbols),
            "contexts": self.contexts.as_data(),
            "gaps": self.gaps.as_data(),
            "outcomes": self.outcomes.as_data(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Learned:
        return cls(
            ContextCounts.from_data(data["contexts"]),
            {bits: number for number, bits in enumerate(data["symbols"])},
            Gaps.from_data(data["gaps"]),
            Outcomes.from_data(data["outcomes"]),
            data["events"],
        )


def due_after(events: int, warmup: int) -> int:
    """After how many events the chances are worked out again."""
    growth = next(factor for most, factor in _GROWTH if events < most)
    return max(events + _STEP, int(events * growth), warmup)


class Model:
    """What was learned, and what it says. The latter is worked out anew from time to time, not with each event."""

    def __init__(
        self, reach: Reach, learned: Learned, warmup: int, basis: dict[str, Any] | None = None
    ) -> None:
        """`basis`: what the chances were worked out from, if they were."""
        self.reach, self.learned, self.warmup = reach, learned, warmup
        self.basis: Evidence | None = None
        self.completion: Completion | None = None
        self.version = 0  # contexts are numbered anew with each
        self.due = warmup
        if basis is not None:
            self._say(Evidence.from_data(basis))

    @classmethod
    def new(cls, reach: Reach, depth: int, warmup: int) -> Model:
        return cls(reach, Learned(ContextCounts(depth)), warmup)

    def settle(self) -> None:
        """To be called after each event: says something new if it is time to."""
        if self.learned.events >= self.due:
            self.work_out()

    def work_out(self) -> None:
        self._say(self.learned.evidence())

    def _say(self, evidence: Evidence) -> None:
        self.basis = evidence
        self.due = due_after(evidence.events, self.warmup)
        if evidence.symbols and evidence.events >= self.warmup:
            self.completion = Completion.of(evidence, self.reach, self.learned.contexts.wished)
            self.version += 1

    def as_data(self) -> dict[str, Any]:
        basis = None if self.basis is None else self.basis.as_data()
        return {"learned": self.learned.as_data(), "basis": basis}

    @classmethod
    def from_data(cls, data: dict[str, Any], reach: Reach, warmup: int) -> Model:
        return cls(reach, Learned.from_data(data["learned"]), warmup, data["basis"])
