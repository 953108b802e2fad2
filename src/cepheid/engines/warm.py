"""Compiles the kernel before it is needed, so that no job has to wait for it. It is kept on disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.busy_keys import rows_of_busy
from cepheid.engines.columnar.kept import FIELD
from cepheid.engines.columnar.key_codes import CloseIntegers, integers_of, key_codes
from cepheid.engines.columnar.ordering import by_code
from cepheid.engines.program import compile
from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import CompiledPlan, Kernel, Keys
from cepheid.matching.compiled.keyed_rows import KeyedRows, places_of
from cepheid.matching.compiled.match_ids import match_lanes
from cepheid.matching.compiled.needed_rows import needed_by
from cepheid.matching.compiled.open_runs import count_states
from cepheid.matching.compiled.packed_words import pack, unpack
from cepheid.matching.compiled.select_rows import select_rows
from cepheid.matching.rows.by_bits import match_bits
from cepheid.matching.rows.found import OpenEnds, Skipping
from cepheid.matching.rows.program import compile_rows
from cepheid.pattern.row_pattern import Variable
from cepheid.pattern.types import struct_of
from cepheid.trends.aggregates import TrendSet, TrendShape, aggregate

# One pattern of each kind: each kind is compiled by itself.
_KINDS = ("A -> B", "A -> all B", "A -> all B .timeouts()", "A -> all B .stnm()", "every (A -> B)")
_TRENDS = (
    "A -> B .trend_aggregate(n: count_trends())",
    "A as a -> B[v > a.v] .trend_aggregate(n: count_trends())",
)


def warm() -> None:
    """Takes about half a minute, the first time on a machine."""
    none, offsets = np.zeros(0, np.int64), np.zeros(2, np.int64)
    for query in _KINDS:
        plan = CompiledPlan.of(compile(query).last.plan, struct_of({}))
        events = to_events(pa.table({}), plan.columns, none, none, none)
        Kernel(plan).match(events, Keys.without_state(offsets), 0, ends=True)
    select_rows(needed_by(plan.plan), places_of([0]), KeyedRows.of([none], none, offsets))
    with ThreadPoolExecutor(1) as pool:
        by_code(none, 1, pool)
        rows_of_busy(CloseIntegers([integers_of(pa.array([0]))], 0, 2), [np.zeros(1, np.int64)], pool)
    key_codes(compile("A -> B .partition_by(k, k)").last.plan, pa.table({f"{FIELD}k": [1]}))
    unpack(*pack(none, offsets))
    count_states(none, none, 1, none)
    match_lanes(0, none.astype(np.uint64), none, none, none, none)
    for ends in (None, OpenEnds.fresh(offsets)):
        match_bits(compile_rows(Variable("A")), none, offsets, Skipping(), None, None, ends)
    for query in _TRENDS:
        trends = compile(query).last.plan
        shape = TrendShape.of(trends)
        assert shape is not None
        aggregate(TrendSet((shape,)), [[trends]], offsets, none, none, lambda name: pa.array(none))


if __name__ == "__main__":
    warm()
