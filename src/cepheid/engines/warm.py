"""Compiles the kernel before it is needed, so that no job has to wait for it. It is kept on disk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engines.program import compile
from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import CompiledPlan, Kernel, Keys
from cepheid.matching.compiled.prune import chain_of, prune
from cepheid.pattern.types import struct_of

# One pattern of each kind: each kind is compiled by itself.
_KINDS = ("A -> B", "A -> B .stnm()", "every (A -> B)")


def warm() -> None:
    """Takes about half a minute for each kind, the first time on a machine."""
    for query in _KINDS:
        plan = CompiledPlan.of(compile(query).last.plan, struct_of({}))
        none = np.zeros(0, np.int64)
        events = to_events(pa.table({}), plan.columns, none, none, none)
        Kernel(plan).match(events, Keys.without_state(np.zeros(2, np.int64)), 0, ends=True)
        if (chain := chain_of(plan.plan)) is not None:
            prune(plan.plan, chain, none, none, np.zeros(2, np.int64))


if __name__ == "__main__":
    warm()
