"""What a Spark task needs to sift the edges of partitioned graphs. It travels to the workers: plain data only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.graph.threads import ReadyPattern
from cepheid.graph.watch_list import WatchList
from cepheid.pattern.graph_pattern import GraphPattern
from cepheid.pattern.graph_text import graph_text
from cepheid.time.lateness import TooLatePolicy

if TYPE_CHECKING:
    from cepheid.engines.spark.bucket_store import Store
    from cepheid.engines.spark.sifting_bucket import SiftingBucket

# The columns of edges on their way: partition, when it is told, source, label, targets, start, end, tick.
KEY, TIME, SOURCE, LABEL, TARGET, START, END, TICK = "_k", "_t", "_s", "_l", "_v", "_b", "_e", "_c"
CLOSES = "_x"  # the row says that an edge which is there ends
MATCH, TOO_LATE = "match", "too_late"
HAPPENINGS = ("negated", "expired", "excluded")
_MOMENT = pa.timestamp("us", "UTC")
_INTERVAL = pa.struct([("stage", pa.string()), ("start", _MOMENT), ("end", _MOMENT)])
# Of what is found, after the partition.
OWN_COLUMNS = {
    "kind": pa.string(),
    "id": pa.string(),
    "pattern": pa.string(),
    "bindings": pa.map_(pa.string(), pa.string()),
    "intervals": pa.list_(_INTERVAL),
    "first": _MOMENT,
    "last": _MOMENT,
    "decided": _MOMENT,
    "stage": pa.string(),
    "reason": pa.string(),
}


@dataclass(frozen=True)
class SiftingWork:
    patterns: tuple[GraphPattern, ...]
    keys: tuple[tuple[str, pa.DataType], ...]  # the partition, as the user names it
    targets: tuple[str, ...]
    time_is_start: bool  # otherwise a row has a time of its own
    ends: bool
    ticks: bool
    kinds: frozenset[str]  # that are told beside matches
    policy: TooLatePolicy
    buckets: int
    identity: str  # of this start of the query: what a worker remembers of another one is not its state

    def __getstate__(self) -> dict[str, object]:
        """Without what a worker makes for itself."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @cached_property
    def watch(self) -> WatchList:
        """What the sifters of all partitions have in common."""
        return WatchList([ReadyPattern(pattern) for pattern in self.patterns])

    @cached_property
    def schema(self) -> pa.Schema:
        """Of what is found."""
        return pa.schema([*self.keys, *OWN_COLUMNS.items()])

    def key_names(self) -> list[str]:
        return [f"{KEY}{i}" for i in range(len(self.keys))]

    def target_names(self) -> list[str]:
        return [f"{TARGET}{i}" for i in range(len(self.targets))]

    @cached_property
    def program_text(self) -> str:
        """What a checkpoint belongs to. Which happenings are told may change."""
        columns = ", ".join(f"{name} {kind}" for name, kind in self.keys)
        flags = f"{self.time_is_start} {self.ends} {self.ticks} {len(self.targets)}"
        return "\n".join([*map(graph_text, self.patterns), columns, flags])

    def bucket(self, number: int, text: str | None, store: Store, remembered: Any) -> SiftingBucket:
        from cepheid.engines.spark.sifting_bucket import SiftingBucket

        return SiftingBucket.of(self, number, text, store, remembered)
