"""Prepared rows in the total order of events: time, then the order columns (null first), then as they came."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.layout import SEQUENCE, TIME, Layout

Numbers = npt.NDArray[np.int64]


def places(rows: pa.Table, layout: Layout) -> Numbers:
    """The rows' numbers in order. They come in the order of their sequence."""
    if not layout.columns.order:
        found: Numbers = np.argsort(rows[TIME].to_numpy(), kind="stable")
        return found
    names, columns = [TIME], [rows[TIME]]
    for name in layout.order_names():
        names += [f"is{name}", name]
        columns += [pc.is_valid(rows[name]).cast(pa.int8()), rows[name]]
    table = pa.table([*columns, rows[SEQUENCE]], [*names, SEQUENCE])
    order: Numbers = pc.sort_indices(table, [(n, "ascending") for n in table.column_names]).to_numpy()
    return order.astype(np.int64)


def in_order(rows: pa.Table, layout: Layout) -> pa.Table:
    return rows.take(places(rows, layout))
