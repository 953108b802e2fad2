"""The model of a pattern's events: learned while matching, asked about open runs, kept as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.forecast.completion import Completion, Reach
from cepheid.forecast.context_tree import ContextTree
from cepheid.forecast.gaps import Gaps
from cepheid.forecast.outcomes import Outcome, Outcomes

MOST_SYMBOLS = 64
_GROWTH, _STEP = 1.4, 50  # what is foretold is worked out anew when so much more has been learned


@dataclass
class Learned:
    """What was seen: which symbols follow which, after how long, and what they did to runs."""

    tree: ContextTree
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

    def learn(self, recent: Sequence[int], symbol: int, gap: int | None) -> None:
        """`recent`: the symbols before it, the last one first. `gap`: None for the first event of a key."""
        self.events += 1
        self.tree.learn(recent, symbol)
        if gap is not None:
            self.gaps.learn(recent[0], symbol, gap)

    def as_data(self) -> dict[str, Any]:
        return {
            "events": self.events,
            "symbols": list(self.symbols),
            "tree": self.tree.as_data(),
            "gaps": self.gaps.as_data(),
            "outcomes": self.outcomes.as_data(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Learned:
        return cls(
            ContextTree.from_data(data["tree"]),
            {bits: number for number, bits in enumerate(data["symbols"])},
            Gaps.from_data(data["gaps"]),
            Outcomes.from_data(data["outcomes"]),
            data["events"],
        )


def due_after(events: int, warmup: int) -> int:
    """After how many events the chances are worked out again."""
    return max(events + _STEP, int(events * _GROWTH), warmup)


class Model:
    """What was learned, and what it says. The latter is worked out anew from time to time, not with each event."""

    def __init__(
        self, reach: Reach, learned: Learned, warmup: int, basis: dict[str, Any] | None = None
    ) -> None:
        self.reach, self.learned, self.warmup = reach, learned, warmup
        self.basis = basis  # what `completion` was worked out of: a restart must say the same
        self.completion: Completion | None = None
        self.version = 0  # contexts are numbered anew with each
        self.due = warmup
        if basis is not None:
            self._say(Learned.from_data(basis))

    @classmethod
    def new(cls, reach: Reach, depth: int, warmup: int) -> Model:
        return cls(reach, Learned(ContextTree(depth)), warmup)

    def settle(self) -> None:
        """To be called after each event: says something new if it is time to."""
        if self.learned.events >= self.due:
            self.work_out()

    def work_out(self) -> None:
        self.basis = self.learned.as_data()
        self._say(self.learned)

    def _say(self, learned: Learned) -> None:
        self.due = due_after(learned.events, self.warmup)
        if learned.tree.symbols and learned.events >= self.warmup:
            self.completion = Completion.of(learned.tree, learned.gaps, learned.outcomes, self.reach)
            self.version += 1

    def as_data(self) -> dict[str, Any]:
        return {"learned": self.learned.as_data(), "basis": self.basis}

    @classmethod
    def from_data(cls, data: dict[str, Any], reach: Reach, warmup: int) -> Model:
        return cls(reach, Learned.from_data(data["learned"]), warmup, data["basis"])


__all__ = ["Learned", "Model", "Outcome", "Reach"]
