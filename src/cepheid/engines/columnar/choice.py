"""Which streams of a program the compiled matcher takes, and why it does not take the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.events import Columns
from cepheid.engines.program import PlannedStream, Program
from cepheid.matching.compiled.ready import is_ready
from cepheid.pattern.types import Type
from cepheid.plan.event_tests import tests_of
from cepheid.plan.linear_trends import why_not_linear
from cepheid.plan.linked_trends import linked_trends
from cepheid.trends.row_columns import shows_ids

if TYPE_CHECKING:
    from cepheid.engines.columnar.groups import StreamPlan

FEW = 10_000  # rows: the reference matcher is done before the kernel is loaded
FEW_TO_COMPILE = 500_000  # rows: the reference matcher is done before the kernel is compiled
_SHARE_OF_MEMORY = 4


@dataclass(frozen=True)
class Choice:
    """The streams for the kernel, and the reasons why others are not among them."""

    scan: Scan | None = None
    streams: tuple[StreamPlan, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)  # by stream
    fed: Mapping[tuple[str, ...], Scan] = field(
        default_factory=dict
    )  # the columns of those that feed on others
    reason: str | None = None  # for all of them

    def others(self, program: Program) -> tuple[PlannedStream, ...]:
        """The streams of the reference matcher."""
        mine = {s.name for s in self.streams}
        return tuple(s for s in program if s.name not in mine)

    def why_not(self, stream: str) -> str | None:
        return self.reason or self.reasons.get(stream)


def by_reference(reason: str) -> Choice:
    return Choice(reason=reason)


def few_rows(rows: int) -> str | None:
    if rows < FEW:
        return f"there are few events: less than {FEW:,}"
    if rows < FEW_TO_COMPILE and not is_ready():
        return f"it is not compiled on this machine yet, which takes longer than {rows:,} events do"
    return None


def unreadable(scan: Scan, columns: Columns) -> str | None:
    """Columns with a meaning whose values only Python understands."""
    from cepheid.engines.columnar.instants import can_be_times
    from cepheid.engines.columnar.ordering import can_be_order

    if not can_be_times(scan.types[columns.time]):
        return f"the time is of type {scan.types[columns.time]}"
    if columns.type in scan.types and not _can_be_type(scan.types[columns.type]):
        return f"the type column is of type {scan.types[columns.type]}"
    for name in columns.order:
        if not can_be_order(scan.types[name]):
            return f"the order column `{name}` is of type {scan.types[name]}"
    return None


def _can_be_type(kind: pa.DataType) -> bool:
    test = pa.types
    if test.is_dictionary(kind):
        return _can_be_type(kind.value_type)
    return bool(test.is_string(kind) or test.is_large_string(kind) or test.is_string_view(kind))


def choose(
    program: Program, scan: Scan, columns: Columns, only_matches: bool = False, as_objects: bool = False
) -> Choice:
    """Loads the kernel's parts, so it is asked last. `only_matches`: what does not become one is not asked for.

    `as_objects`: what is found may be wanted as it is, and not only as rows.
    """
    streams: dict[str, StreamPlan] = {}
    reasons: dict[str, str] = {}
    fed: dict[tuple[str, ...], Scan] = {}
    for planned in program:
        with_ids = as_objects or _shows_ids(planned)
        found = _chosen(planned, program, scan, columns, only_matches, with_ids, fed)
        if isinstance(found, str):
            reasons[planned.name] = found
        else:
            streams[planned.name] = found
    _leave_together(program, streams, reasons)
    return Choice(scan, tuple(streams.values()), reasons, fed)


def _chosen(
    planned: PlannedStream,
    program: Program,
    scan: Scan,
    columns: Columns,
    only_matches: bool,
    with_ids: bool,
    fed: dict[tuple[str, ...], Scan],
) -> StreamPlan | str:
    from cepheid.engines.columnar.feeding import can_feed, fed_types
    from cepheid.engines.columnar.groups import event_type

    own = fed_types(planned, program, scan, columns) if planned.feeds_on else scan
    if isinstance(own, str):
        return own
    event = event_type(own, columns)
    found = _missing(planned, own, only_matches) or compiled(planned, event, columns.type, with_ids)
    if isinstance(found, str):
        return found
    found = replace(found, only_matches=only_matches)
    if planned.feeds_on:
        fed[planned.feeds_on] = own
    return (can_feed(found) if feeds_others(planned, program) else None) or found


def _leave_together(program: Program, streams: dict[str, StreamPlan], reasons: dict[str, str]) -> None:
    """Streams that feed each other are all taken, or none: matches do not go from one matcher to the other."""
    again = True
    while again:
        again = False
        for planned in program:
            for name in planned.feeds_on:
                if (name in reasons) == (planned.name in reasons):
                    continue
                if name in reasons:
                    reasons[planned.name] = f"it feeds on `{name}`, which the reference matcher takes"
                else:
                    reasons[name] = f"`{planned.name}` feeds on it, which the reference matcher takes"
                again = True
    for name in reasons:
        streams.pop(name, None)


def _shows_ids(planned: PlannedStream) -> bool:
    return planned.stream.outputs is None or shows_ids(planned.stream.outputs)


def compiled(
    planned: PlannedStream, event: Type, type_column: str = "type", with_ids: bool = True
) -> StreamPlan | str:
    """A stream for the kernel, or why it cannot take it. `with_ids`: somebody sees the ids of matches."""
    from cepheid.engines.columnar.groups import StreamPlan
    from cepheid.engines.columnar.per_event import PlanBits
    from cepheid.matching.compiled.compiled_plan import CompiledPlan
    from cepheid.matching.compiled.implied_tests import narrowed_tests
    from cepheid.matching.compiled.unsupported import Unsupported
    from cepheid.trends.aggregates import TrendShape

    reason = can_be_compiled(planned)
    if reason is not None:
        return reason
    try:
        plan = replace(planned.plan, forecast=None)  # forecasts look at all events, matches need not
        # Trends and forecasts look up the tests as they are written. And an id tells how many events of the same time
        # passed them before.
        as_written = planned.plan.trends is not None or planned.plan.forecast is not None or with_ids
        tests = tuple(tests_of(plan)) if as_written else narrowed_tests(plan, event)
        bits = PlanBits.of(plan, tests, type_column)
        if plan.trends is not None:
            shape = TrendShape.of(plan)
            return (
                "its trends are aggregated by Python" if shape is None else StreamPlan(planned, shape, bits)
            )
        return StreamPlan(planned, CompiledPlan.of(plan, event), bits)
    except Unsupported as reason:
        return str(reason)


def can_be_compiled(planned: PlannedStream) -> str | None:
    """Why it cannot, by what it asks for: that can be said without events."""
    if planned.plan.trends is not None and (reason := _why_not_trends(planned)) is not None:
        return reason
    if planned.plan.forecast is not None and (reason := _why_no_forecasts(planned)) is not None:
        return reason
    return None


def why_not_alone(planned: PlannedStream, program: Program) -> str | None:
    """Where matches are found as events come, they do not go from the compiled matcher to another stream."""
    if planned.feeds_on:
        return "it feeds on another stream"
    return "another stream feeds on it" if feeds_others(planned, program) else None


def feeds_others(planned: PlannedStream, program: Program) -> bool:
    return any(planned.name in other.feeds_on for other in program)


def _why_not_trends(planned: PlannedStream) -> str | None:
    """Compiled are aggregates by state and by node, and whose rows need no ids."""
    reason = why_not_linear(planned.plan)
    if reason is not None and linked_trends(planned.plan) is None:
        return f"its trends are aggregated class by class: {reason}"
    if shows_ids(planned.stream.outputs):
        return "its rows have ids"
    return None


def _why_no_forecasts(planned: PlannedStream) -> str | None:
    from cepheid.forecast.columns import why_not_in_columns

    return "its model is given" if planned.trained is not None else why_not_in_columns(planned.plan)


def _missing(planned: PlannedStream, scan: Scan, only_matches: bool) -> str | None:
    """A field that the stream needs, and that is no column."""
    from cepheid.engines.columnar.groups import fields_needed

    needed = fields_needed(planned.plan, only_matches)
    for name in scan.unfit if needed is None else needed:
        if name in scan.unfit:
            return scan.unfit[name]
        if name not in scan.types:
            return f"no event has the field `{name}`"
    return None


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_for_rows() -> int:
    """A share of the machine's memory, or of what a container may have of it."""
    whole = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [2**32]
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        whole.append(int(text))
    return min(whole) // _SHARE_OF_MEMORY
