"""Rows by the number of their key: how keys are numbered, which of them are left out, a stable order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid
from cepheid.engines.columnar.kept import FIELD
from cepheid.engines.columnar.key_codes import key_codes
from cepheid.engines.columnar.ordering import by_code, only_busy
from cepheid.engines.program import compile


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(codes=st.lists(st.integers(0, 5), max_size=30), threads=st.integers(1, 2))
def test_by_code(codes: list[int], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        order, offsets = by_code(np.array(codes, np.int64), 6, pool)
    assert order.tolist() == sorted(range(len(codes)), key=codes.__getitem__)
    assert offsets.tolist() == [sum(code < number for code in codes) for number in range(7)]


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 2)), max_size=30))
def test_only_busy(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 3)
    codes = np.ascontiguousarray(table[:, 0])
    kept, count = only_busy(codes, 6, [table[:, 1], table[:, 2]])
    busy = sorted({code for code, *bits in rows if any(bits)})
    assert kept.tolist() == [i for i, (code, *_) in enumerate(rows) if code in busy]
    assert count == len(busy)
    assert codes[: len(kept)].tolist() == [busy.index(code) for code, *_ in rows if code in busy]


LARGEST = 2**63 - 1


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint32(), pa.uint64()])
@pytest.mark.parametrize(
    "values", [[3, None, 3, 5, None], [3, 5, 3], [None, None], [], [127, None, 120], [0, None, LARGEST]]
)
def test_null_is_a_key_like_any_other(values: list[int | None], kind: pa.DataType) -> None:
    try:
        column = pa.array(values, kind)
    except pa.ArrowInvalid:
        return  # too big for the type
    plan = compile("A -> B .partition_by(k)").last.plan
    behind = pa.concat_arrays([pa.array([7, None, 9], kind), column])[3:]
    for chunks in ([column], [behind], [column[:1], column[1:1], behind[1:]]):
        codes, count = key_codes(plan, pa.table({f"{FIELD}k": pa.chunked_array(chunks, kind)}))
        assert count == len(set(values))
        assert sorted(set(codes.tolist())) == list(range(count))
        pairs = set(zip(values, codes.tolist(), strict=True))
        assert len(pairs) == count


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(st.sampled_from((0, 1, 10**12, None)), st.sampled_from(("x", "y", None))), max_size=30)
)
def test_keys_of_two_parts(keys: list[tuple[int | None, str | None]]) -> None:
    plan = compile("A -> B .partition_by(k, m)").last.plan
    columns = {f"{FIELD}k": [k for k, _ in keys], f"{FIELD}m": [m for _, m in keys]}
    table = pa.table(
        {
            name: pa.array(v, kind)
            for (name, v), kind in zip(columns.items(), (pa.int64(), pa.string()), strict=True)
        }
    )
    codes, count = key_codes(plan, table)
    pairs = set(zip(keys, codes.tolist(), strict=True))
    assert len(pairs) == len(set(keys))
    assert all(0 <= code < count for code in codes.tolist())


@pytest.mark.parametrize("least", [0, 40, 100])
def test_keys_without_an_event_that_passes(least: int) -> None:
    """Where every event is seen, many keys may have none that a step takes: only their events are left out."""
    rng = np.random.default_rng(least)
    types = np.array(["A", "B", "V"])[rng.integers(0, 3, 6000)]
    key = pa.array(rng.integers(0, 50, 6000), mask=rng.random(6000) < 0.3)
    time = pa.array(np.arange(6000), pa.timestamp("s", "UTC"))
    table = pa.table({"time": time, "type": types, "k": key, "n": np.arange(6000)})
    query = f"A[k >= {least}] as a -> B[k >= {least}] as b .strict() .partition_by(k) .emit(a: a.n, b: b.n)"
    found, expected = (cepheid.match(query, table, engine=e).to_pylist() for e in ("compiled", "reference"))
    assert found == expected
    assert bool(found) == (least < 50)
