"""What can be counted while a job runs in this process, beside what it finds."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.engines.local.run import Job
from cepheid.engines.network import Network
from cepheid.explain.census import Census
from cepheid.explain.over_time import Counts
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event


def census_of(network: Network) -> dict[str, Census]:
    """A census of each stream, to be asked for before the first event. Aggregates of trends have no runs to count."""
    counted = {}
    for name, matcher in network.matchers.items():
        if isinstance(matcher, ReferenceMatcher) and matcher.plan.trends is None:
            counted[name] = matcher.observer = Census(matcher.plan)
    return counted


class Observed:
    """The events over time, and how far the runs of each stream come. To be made before the job runs.

    The compiled matcher tells nothing of its runs: where it takes any stream, there is no census.
    """

    def __init__(self, job: Job) -> None:
        self.events = Counts()
        self.first: int | None = None
        self.last: int | None = None
        self.census = {} if job.choice.streams else census_of(job.session.network)
        job.lookers.append(self._look_at)

    def _look_at(self, batch: Iterable[Event]) -> None:
        for event in batch:
            self.events.add(event.time)
            self.first = event.time if self.first is None else min(self.first, event.time)
            self.last = event.time if self.last is None else max(self.last, event.time)
