"""What a Spark task needs for MATCH_RECOGNIZE over a stream. It travels to the workers: plain data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.errors import Place
from cepheid.sql_lang.row_query import RowQuery

if TYPE_CHECKING:
    from cepheid.engines.spark.bucket_store import Store
    from cepheid.engines.spark.row_bucket import RowBucket

BODY = "body"
# What was done in a bucket: a row of its own, without a body.
METRICS = {
    "bucket": "int",
    "events": "bigint",
    "late": "bigint",
    "too_late": "bigint",
    "matches": "bigint",
    "waiting": "bigint",
    "keys": "bigint",
    "bytes_written": "bigint",
    "rebuilt": "boolean",
}


@dataclass(frozen=True)
class RowWork:
    query: RowQuery
    columns: str  # of the rows that come
    schema: pa.Schema  # of what is found
    buckets: int
    identity: str  # of this start of the query: what a worker remembers of another one is not its state

    @cached_property
    def program_text(self) -> str:
        """What a checkpoint belongs to."""
        return f"{told(self.query)} {self.columns}"

    def bucket(self, number: int, text: str | None, store: Store, remembered: Any) -> RowBucket:
        from cepheid.engines.spark.row_bucket import RowBucket

        return RowBucket.of(self, number, text, store, remembered)


def told(value: Any) -> str:
    """As text that is the same in every process, wherever in a statement it stands.

    >>> told((frozenset({"B", "A"}), None))
    "(('A', 'B'), None)"
    """
    if is_dataclass(value) and not isinstance(value, type):
        own = (getattr(value, f.name) for f in fields(value) if f.compare)
        return f"{type(value).__name__}({', '.join(told(v) for v in own if not isinstance(v, Place))})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{told(k)}: {told(v)}' for k, v in value.items())}}}"
    if isinstance(value, (frozenset, set)):
        return told(tuple(sorted(value)))
    if isinstance(value, (list, tuple)):
        return f"({', '.join(told(v) for v in value)})"
    return str(value) if isinstance(value, Enum) else repr(value)
