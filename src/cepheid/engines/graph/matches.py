"""Matches with times as the user of a graph writes them; as rows and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import pyarrow as pa

from cepheid.engines.graph.clock import Clock, Time
from cepheid.engines.local.frames import build_table, frame_of
from cepheid.errors import InputMistake
from cepheid.graph.batch import GraphMatch
from cepheid.pattern.types import NULL, Type, list_of, struct_of


@dataclass(frozen=True)
class StageInterval:
    """When a stage was found, and until when it held; None if it still holds."""

    stage: str
    start: Time
    end: Time | None


@dataclass(frozen=True)
class Match:
    pattern: str
    binds: dict[str, Any]
    intervals: tuple[StageInterval, ...]  # in the order of time; of all rounds
    first: Time  # the time of the first stage
    last: Time  # of the last
    decided: Time  # when it was certain: later, if an interval had to end

    def row(self) -> dict[str, Any]:
        intervals = [{"stage": i.stage, "start": i.start, "end": i.end} for i in self.intervals]
        return {
            "pattern": self.pattern,
            "bindings": dict(self.binds),
            "intervals": intervals,
            "first": self.first,
            "last": self.last,
            "decided": self.decided,
        }


def user_match(match: GraphMatch, clock: Clock) -> Match:
    intervals = (
        StageInterval(name, clock.time(i.start), None if i.end is None else clock.time(i.end))
        for name, i in match.intervals
    )
    times = (clock.time(t) for t in (match.first, match.last, match.decided))
    return Match(match.pattern, match.binds, tuple(intervals), *times)


class Matches(Sequence[Match]):
    """Matches in the order in which they became certain."""

    def __init__(self, matches: Iterable[Match]) -> None:
        self._matches = list(matches)

    def __len__(self) -> int:
        return len(self._matches)

    @overload
    def __getitem__(self, at: int) -> Match: ...
    @overload
    def __getitem__(self, at: slice) -> Matches: ...
    def __getitem__(self, at: int | slice) -> Match | Matches:
        return Matches(self._matches[at]) if isinstance(at, slice) else self._matches[at]

    def __repr__(self) -> str:
        return f"<{len(self)} matches>"

    def of(self, pattern: str) -> Matches:
        """Those of one pattern."""
        return Matches(match for match in self if match.pattern == pattern)

    def rows(self) -> list[dict[str, Any]]:
        return [match.row() for match in self]

    def to_arrow(self) -> pa.Table:
        """A row for each match: pattern, bindings (a struct), intervals (a list), first, last, decided."""
        names = sorted({name for match in self for name in match.binds})
        bindings = struct_of(dict.fromkeys(names, NULL))
        intervals = list_of(struct_of({"stage": NULL, "start": NULL, "end": NULL}))
        schema: list[tuple[str, Type]] = [
            ("pattern", NULL),
            ("bindings", bindings),
            ("intervals", intervals),
            *((name, NULL) for name in ("first", "last", "decided")),
        ]
        try:
            return build_table(self.rows(), schema)
        except InputMistake as mistake:
            hint = "take the matches of one pattern, matches.of(name), or the Python values, matches.rows()"
            raise InputMistake(mistake.message, code=mistake.code, hint=hint) from None

    def to_pandas(self) -> Any:
        return frame_of(self.to_arrow(), "pandas")
