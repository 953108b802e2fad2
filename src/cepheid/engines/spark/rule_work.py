"""What a Spark task needs for rules over a stream. It travels to the workers: plain data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cepheid.engines.rules.keys import Keys
from cepheid.engines.rules.prepared import Prepared
from cepheid.pattern.rule_text import rule_set_text

if TYPE_CHECKING:
    from cepheid.engines.spark.bucket_store import Store
    from cepheid.engines.spark.rule_bucket import RuleBucket


@dataclass(frozen=True)
class RuleWork:
    prepared: Prepared
    keys: Keys
    buckets: int
    identity: str  # of this start of the query: what a worker remembers of another one is not its state
    static: Mapping[int, bytes] = field(default_factory=dict)  # rows of tables that are no streams, by bucket

    @cached_property
    def program_text(self) -> str:
        """What a checkpoint belongs to. The rows of tables do not count: they were taken when it began."""
        prepared = self.prepared
        keys = sorted(f"{name} {event} {column}" for (name, event), column in self.keys.items())
        return f"{rule_set_text(prepared.rules)} {prepared.program} {prepared.tick} {keys}"

    def bucket(self, number: int, text: str | None, store: Store, remembered: Any) -> RuleBucket:
        from cepheid.engines.spark.rule_bucket import RuleBucket

        return RuleBucket.of(self, number, text, store, remembered)
