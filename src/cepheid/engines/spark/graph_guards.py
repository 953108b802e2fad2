"""`unless` on Spark: an anti-join with everything that must not be, by the variables it shares with the pattern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cepheid.engines.spark.graph_stages import (
    PART,
    Binds,
    EdgeAt,
    FoundRows,
    HoldAt,
    StageJoins,
    all_of,
    any_of,
    greatest,
    least,
)
from cepheid.graph.guards import Guard

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def allowed(
    guard: Guard, rows: DataFrame, binds: Binds, holds: Mapping[int, HoldAt], joins: StageJoins
) -> DataFrame:
    """The rows without those in whose window there is what must not be."""
    known = {name: held for name, held in binds.items() if name in guard.needs or name == PART}
    begin = least(holds[s].time for s in guard.starts) if guard.starts else None
    ends = [holds[s] for s in guard.ends]
    end = greatest(hold.time for hold in ends)

    def inside(found: FoundRows) -> Column:
        time = found.hold.time
        in_it = (time < end) | _breaks_itself(found, ends, end)
        return in_it if begin is None else (time > begin) & in_it

    return joins.forbidden(guard.stage, rows, known, inside)


def _breaks_itself(found: FoundRows, ends: list[HoldAt], end: Column) -> Column:
    """Is it made of the very edges with which the window ends?"""
    from pyspark.sql import functions as F

    of_last = [_among_last(edge, ends, end) for edge in found.edges]
    if all(column is None for column in of_last[: len(found.hold.own)]):
        return F.lit(False)  # one of its own edges starts as the window ends, and none of them can be such
    earlier = [edge.start < end for edge in found.edges]
    each = [e if c is None else e | c for e, c in zip(earlier, of_last, strict=True)]
    return (found.hold.time == end) & all_of(each)


def _among_last(edge: EdgeAt, ends: list[HoldAt], end: Column) -> Column | None:
    several = len(ends) > 1
    found = [
        (hold.time == end) & is_it if several else is_it
        for hold in ends
        for last in hold.own
        if (is_it := edge.is_same(last)) is not None
    ]
    return any_of(found) if found else None
