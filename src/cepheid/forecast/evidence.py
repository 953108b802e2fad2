"""All that chances are worked out from, as it was at one moment: a restart that has it says the same again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheid.forecast.context_counts import ContextTable
from cepheid.forecast.gaps import GapTable
from cepheid.forecast.outcomes import Outcomes


@dataclass(frozen=True)
class Evidence:
    """What followed which context, after how long, and what it did to runs, after so many events."""

    contexts: ContextTable
    gaps: GapTable
    outcomes: Outcomes
    events: int

    @property
    def symbols(self) -> int:
        return self.contexts.symbols

    def as_data(self) -> dict[str, Any]:
        return {
            "contexts": self.contexts.as_data(),
            "gaps": self.gaps.as_data(),
            "outcomes": self.outcomes.as_data(),
            "events": self.events,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Evidence:
        return cls(
            ContextTable.from_data(data["contexts"]),
            GapTable.from_data(data["gaps"]),
            Outcomes.from_data(data["outcomes"]),
            data["events"],
        )
