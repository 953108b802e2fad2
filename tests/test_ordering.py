"""Rows by the number of their key: how keys are numbered, which of them are left out, a stable order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid
from cepheid.engines.columnar.busy_keys import busy_rows
from cepheid.engines.columnar.kept import BITS, FIELD
from cepheid.engines.columnar.key_codes import key_codes
from cepheid.engines.columnar.ordering import by_code
from cepheid.engines.columnar.picking import places, those
from cepheid.engines.program import compile


@settings(max_examples=100)
@given(codes=st.lists(st.integers(0, 5), max_size=30), threads=st.integers(1, 2))
def test_by_code(codes: list[int], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        order, offsets = by_code(np.array(codes, np.int64), 6, pool)
    assert order.tolist() == sorted(range(len(codes)), key=codes.__getitem__)
    assert offsets.tolist() == [sum(code < number for code in codes) for number in range(7)]


@pytest.mark.parametrize("key", ["k", "t", "k, m"])
@settings(max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from((3, 5, 8, None)), st.integers(0, 1), st.integers(0, 2), st.integers(0, 2)),
        max_size=30,
    ),
    cut=st.integers(0, 30),
)
def test_rows_of_busy_keys(key: str, rows: list[tuple[int | None, int, int, int]], cut: int) -> None:
    """A row with any bit makes its key busy; small integers, texts, and keys of two parts."""
    k, m, *bits = zip(*rows, strict=True) if rows else ((),) * 4
    texts = [None if value is None else f"key {value}" for value in k]
    columns = {
        f"{FIELD}k": pa.array(k, pa.int64()),
        f"{FIELD}m": pa.array(m, pa.int64()),
        f"{FIELD}t": pa.array(texts, pa.string()),
        **{f"{BITS}{i}": pa.array(own, pa.int64()) for i, own in enumerate(bits)},
    }
    table = pa.table(columns)
    table = pa.concat_tables([table[:cut], table[cut:]])  # two chunks
    plan = compile(f"A -> B .strict() .partition_by({key})").last.plan
    with ThreadPoolExecutor(2) as pool:
        found = busy_rows(plan, table, pool)
    keys = list({"k": k, "t": texts, "k, m": list(zip(k, m, strict=True))}[key])
    busy = {own for own, *passed in zip(keys, *bits, strict=True) if any(passed)}
    assert found.rows.tolist() == [i for i, own in enumerate(keys) if own in busy]
    assert found.keys == len(busy)
    pairs = {(keys[row], code) for row, code in zip(found.rows.tolist(), found.codes.tolist(), strict=True)}
    assert sorted(code for _, code in pairs) == list(range(len(busy)))


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


@settings(max_examples=100)
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


@pytest.mark.parametrize("key", ["k, type", "type, k", "type"])
@pytest.mark.parametrize("query", ["A as x -> A[v > x.v] as y", "A as x -> B[v > x.v] as y"])
def test_the_type_as_a_part_of_the_key(query: str, key: str) -> None:
    """Where only rows of one type are kept it tells no keys apart; a row of another type is one of another key."""
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 5, 300) for name in ("k", "v")}
    types = pa.array(["A", "B", "C", None]).take(pa.array(rng.integers(0, 4, 300)))
    table = pa.table({"time": np.arange(300), "type": types, **columns, "n": np.arange(300)})
    text = f"{query} .strict() .partition_by({key}) .emit(x: x.n, y: y.n, kind: type)"
    found, expected = (
        cepheid.match(text, table, engine=engine, bad_rows="skip").to_pylist()
        for engine in ("compiled", "reference")
    )
    assert found == expected
    assert bool(found) == (query.count("A") == 2)


@given(st.lists(st.booleans(), max_size=20))
def test_picking_by_marks(marks: list[bool]) -> None:
    given = np.array(marks, np.bool_)
    given.flags.writeable = False
    numbers = np.arange(len(marks)) * 3
    assert places(given).tolist() == np.flatnonzero(given).tolist()
    assert those(numbers, given).tolist() == numbers[given].tolist()
