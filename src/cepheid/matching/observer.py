"""Looking on while the reference matcher works: what `cepheid why-not` and `cepheid debug` are made of.

An observer is told what happens and decides nothing. Without one a partition asks once for each event whether there
is one, and that is all it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from cepheid.matching.lifecycle import RunEvent
from cepheid.matching.run import Run, Taken
from cepheid.matching.tests import Seen

if TYPE_CHECKING:
    from cepheid.matching.partition import Partition


class Observer(Protocol):
    """`partition.runs` is what is open at that moment."""

    def before_event(self, partition: Partition, seen: Seen, taken: Taken) -> None:
        """An event is about to be offered to the open runs."""

    def after_event(self, partition: Partition) -> None:
        """It has been offered, what is complete has been given out."""

    def before_time(self, partition: Partition, deadline: int) -> None:
        """Time is about to go past a deadline of this partition."""

    def after_time(self, partition: Partition) -> None:
        """It has."""

    def at_end(self, partition: Partition, time: int) -> None:
        """Nothing comes any more."""

    def told(
        self, partition: Partition, kind: type[RunEvent], run: Run, time: int, details: dict[str, Any]
    ) -> None:
        """What a listener is told, with the run itself."""

    def complete(self, partition: Partition, runs: list[Run], given: list[Run]) -> None:
        """Runs that are complete at one moment, and those of them that are given out."""
