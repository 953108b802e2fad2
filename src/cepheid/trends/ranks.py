"""Two columns by rank, so that comparing their ranks is comparing their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.trends.columns import NotWhole, Numbers
from cepheid.trends.kernel.side_by_side import NULL


def joint_ranks(one: Any, other: Any) -> tuple[Numbers, Numbers]:
    """Raises NotWhole for values that Arrow orders otherwise than the language, or not at all."""
    first, second = _plain(one), _plain(other)
    kinds = {first.type, second.type}
    if len(kinds) > 1:
        if not all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds):
            raise NotWhole(f"values of types {first.type} and {second.type} are compared by Python")
        first, second = (_as_float(column) for column in (first, second))
    both = pa.concat_arrays([first, second]).dictionary_encode()
    order = pc.array_sort_indices(both.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = NULL
    codes = both.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
    ranks = rank[codes]
    return ranks[: len(first)], ranks[len(first) :]


def _plain(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind, test = column.type, pa.types
    if test.is_null(kind) or (test.is_integer(kind) and not test.is_uint64(kind)):
        return column.cast(pa.int64())
    if test.is_float32(kind) or test.is_float64(kind):
        return _as_float(column)
    if test.is_string(kind) or test.is_large_string(kind):
        return column.cast(pa.large_string())
    if test.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    raise NotWhole(f"values of type {kind} are compared by Python")


def _as_float(column: pa.Array) -> pa.Array:
    """NaN is null, and there is one zero."""
    floats = pc.add(column.cast(pa.float64()), 0.0)
    return pc.if_else(pc.is_nan(floats), pa.scalar(None, pa.float64()), floats)
