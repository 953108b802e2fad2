"""What the streams of a program need of the input: streams with one key share their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from cepheid.engines.columnar.kept import ARRIVAL, BITS, FIELD, OF_TYPE, ORDER, TIME, TYPE
from cepheid.engines.columnar.per_event import PlanBits, SharedBits
from cepheid.engines.columnar.present import PRESENT
from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.arrow_types import plain_arrow, type_from_arrow
from cepheid.engines.local.events import Columns
from cepheid.engines.program import PlannedStream
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.pattern.expr import Aggregate, Element, Expr, Field, walk
from cepheid.pattern.types import TIMESTAMP, Type, struct_of
from cepheid.plan.plan import Plan
from cepheid.trends.aggregates import TrendShape


@dataclass(frozen=True)
class StreamPlan:
    """A stream for the kernel."""

    planned: PlannedStream
    compiled: CompiledPlan | TrendShape
    bits: PlanBits
    only_matches: bool = False  # nobody asks for timeouts and pending absences
    as_objects: bool = False  # what is found is wanted as it is, with its events, and not only as rows

    @property
    def plan(self) -> Plan:
        """That of the matches: forecasts, which look at all events, are made beside them."""
        return self.compiled.plan if isinstance(self.compiled, CompiledPlan) else self.planned.plan

    @property
    def forecasts(self) -> bool:
        return self.planned.plan.forecast is not None

    @property
    def name(self) -> str:
        return self.planned.name

    @property
    def fields(self) -> frozenset[str] | None:
        """None: all of them."""
        return None if self.as_objects else fields_needed(self.plan, self.only_matches)


@dataclass(frozen=True)
class Group:
    """Streams with one key, and the columns of the rows they keep."""

    streams: tuple[StreamPlan, ...]
    fields: tuple[str, ...]
    types: tuple[str, ...]  # of events that any of them names or has to see
    bits: SharedBits
    schema: pa.Schema

    @property
    def plan(self) -> Plan:
        return self.streams[0].plan


def groups_of(streams: Iterable[StreamPlan], scan: Scan, columns: Columns) -> list[Group]:
    by_key: dict[tuple[tuple[Expr, ...], bool], list[StreamPlan]] = {}
    for stream in streams:
        by_key.setdefault((stream.plan.key, stream.plan.inferred_key), []).append(stream)
    return [_group(tuple(own), scan, columns) for own in by_key.values()]


def _group(streams: tuple[StreamPlan, ...], scan: Scan, columns: Columns) -> Group:
    wanted = [s.fields for s in streams]
    names = [n for n in scan.types if any(w is None or n in w for w in wanted)]
    types = tuple(dict.fromkeys(t for s in streams for t in (*s.plan.event_types, *sorted(s.bits.closing))))
    own = [pa.field(TIME, pa.int64()), pa.field(ARRIVAL, pa.int64()), pa.field(TYPE, pa.int32())]
    bits = SharedBits.of([s.bits for s in streams])
    bits = replace(bits, sees_all=bits.sees_all or any(s.forecasts for s in streams))
    own += [pa.field(f"{BITS}{i}", pa.int64()) for i in range(bits.columns)]
    own += [pa.field(f"{ORDER}{i}", kept_type(n, scan.types, columns)) for i, n in enumerate(columns.order)]
    for name in names:
        told = OF_TYPE if name == columns.type else None
        own.append(pa.field(FIELD + name, kept_type(name, scan.types, columns), metadata=told))
    return Group(streams, tuple(names), types, bits, pa.schema(own))


def kept_type(name: str, types: Mapping[str, pa.DataType], columns: Columns) -> pa.DataType:
    """The type a column is kept in: plain, and without a limit on all its texts together."""
    if name == columns.time:
        return pa.timestamp("us", "UTC")
    kind = plain_arrow(types[name])
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(kind) else kind


def event_type(scan: Scan, columns: Columns) -> Type:
    """What is known of the events' fields."""
    known = {name: type_from_arrow(kind) for name, kind in scan.types.items() if name != PRESENT}
    return struct_of({**known, columns.time: TIMESTAMP})


def fields_needed(plan: Plan, only_matches: bool) -> frozenset[str] | None:
    """None: all of them. Timeouts and pending absences show whole events, if anybody asks for them."""
    if plan.needed is None or not (only_matches or _shows_only_matches(plan)):
        return None
    tests = [t for p in plan.automaton.positions for t in (*p.alpha, *p.beta)]
    tests += [t for a in plan.automaton.absences for t in (*a.alpha, *a.beta)]
    tests += [t for g in plan.guards for t in (*g.alpha, *g.beta)]
    read = (n for e in (*plan.key, *tests) for n in walk(e) if isinstance(n, (Field, Element, Aggregate)))
    return plan.needed | {n.path[0] for n in read if n.path}


def _shows_only_matches(plan: Plan) -> bool:
    may_be_pending = any(accept.absences for accept in plan.automaton.accepts)
    return not plan.pattern.timeouts and not may_be_pending
