"""What a Spark task needs to match a unit's events. It travels to the workers, so it holds plain data only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cepheid.engines.network import Network, reference_matcher
from cepheid.engines.program import PlannedStream, Program
from cepheid.engines.rows import RowMaker, side_rows
from cepheid.engines.session import Found, limits_of
from cepheid.engines.spark.evidence import evidence
from cepheid.engines.spark.layout import Layout
from cepheid.engines.spark.output import Answer
from cepheid.matching.found import Findings
from cepheid.matching.lifecycle import Listener
from cepheid.matching.protocol import Matcher
from cepheid.matching.tests import PlanTests
from cepheid.pattern.model import Limits
from cepheid.plan.event_tests import Answered
from cepheid.time.lateness import Lateness

if TYPE_CHECKING:
    from cepheid.engines.spark.bucket import Bucket
    from cepheid.engines.spark.bucket_store import Store


@dataclass(frozen=True)
class Work:
    """A program, the tests answered before it, the columns events come in and findings go out by."""

    program: Program
    answered: Answered
    layout: Layout
    answer: Answer
    late_memory: int = 0

    def __getstate__(self) -> dict[str, object]:
        """Without what a worker compiles for itself."""
        names = ("program", "answered", "layout", "answer", "late_memory")
        return {name: self.__dict__[name] for name in names}

    @cached_property
    def tests(self) -> dict[str, PlanTests]:
        return {s.name: PlanTests(s.plan, self.answered) for s in self.program}

    @cached_property
    def rows(self) -> dict[str, RowMaker]:
        return {s.name: RowMaker(s) for s in self.program}

    def network(self) -> Network:
        """A network at its beginning; what can be compiled once is."""

        def make(planned: PlannedStream, listener: Listener | None, late_memory: int) -> Matcher:
            return reference_matcher(planned, listener, late_memory, self.tests[planned.name])

        return Network(self.program, make, late_memory=self.late_memory, rows=self.rows)

    def found(self, findings: dict[str, Findings]) -> list[Found]:
        """Findings as rows, those that were asked for."""
        items: list[Found] = []
        for name, finding in findings.items():
            planned = self.program[name]
            for match in finding.matches:
                row = self.rows[name].row(match)
                if self.late_memory and planned.stream.outputs is None:
                    row["late"] = match.late
                items.append(Found(name, "match", row, match))
            items += [Found(name, kind, row) for kind, row in side_rows(self.rows[name], finding)]
        wanted = [item for item in items if self.answer.wants(item)]
        kinds = {name: self.answer.evidence_kind(name) for name in findings}
        return wanted + [evidence(item, kind) for item in items if (kind := kinds[item.stream])]


@dataclass(frozen=True)
class StreamWork:
    """What a stream's tasks need beside: how many buckets there are, what is late, what ends the stream."""

    work: Work
    buckets: int
    lateness: Lateness
    identity: str  # of this start of the query: what a worker remembers of another one is not its state
    end_type: str | None = None

    def bucket(self, number: int, text: str | None, store: Store, remembered: Any) -> Bucket:
        """The state of a bucket, whose head is given; what a worker remembers of it counts if it is the same."""
        from cepheid.engines.spark.bucket import Bucket, read_head

        if text is None:
            return Bucket.fresh(self, number)
        head = read_head(text, self)
        if remembered is not None and remembered.token == head["token"]:
            return remembered  # type: ignore[no-any-return]
        return Bucket.rebuilt(self, number, head, store)

    def limits(self) -> Limits:
        return limits_of(self.work.program)

    @cached_property
    def program_text(self) -> str:
        """What a checkpoint belongs to."""
        return str(self.work.program)
