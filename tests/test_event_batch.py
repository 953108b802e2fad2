"""The events of a batch that are looked at, by their types, however the types are written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_columnar import facts

from cepheid.engines.columnar import event_batch
from cepheid.engines.columnar.event_batch import EventBatch
from cepheid.engines.columnar.scan import Batch
from cepheid.engines.local.events import Columns

NAMES = ("A", "B", "C", "D", "E", "F", "G", "H", "I", "J")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_batch, "_SOME", 2)
    monkeypatch.setattr(event_batch, "_FEW", 3)


def looked_at(types: Any, times: list[int | None], wanted: frozenset[str] | None) -> EventBatch:
    columns = {"time": pa.array(times, pa.int64()), "type": types}
    return EventBatch.of(Batch(0, len(times), columns), Columns(), wanted)


def check(types: Any, times: list[int | None], wanted: frozenset[str] | None) -> None:
    """By the definition, row by row."""
    names = types.to_pylist()
    found = looked_at(types, times, wanted)
    good = [bool(name) and time is not None for name, time in zip(names, times, strict=True)]
    rows = [i for i, name in enumerate(names) if good[i] and (wanted is None or name in wanted)]
    assert found.good.tolist() == good
    assert found.types == {name for i, name in enumerate(names) if good[i]}
    assert found.rows.tolist() == rows
    for name in (*NAMES, "Z"):
        assert found.kinds.places(name).tolist() == [at for at, i in enumerate(rows) if names[i] == name]
    for known in (("J", "Z", "B", "A"), ("Z", *reversed(NAMES))):
        numbers = [known.index(names[i]) if names[i] in known else -1 for i in rows]
        assert found.kinds.numbers(known).tolist() == numbers


@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_rows_by_type(data: Any) -> None:
    """Dictionaries with entries that nobody uses, that are there twice, that are null or no name."""
    dictionary = data.draw(st.lists(st.sampled_from((*NAMES, "", None)), min_size=1, max_size=14))
    size = data.draw(st.integers(0, 20))
    code = st.one_of(st.none(), st.integers(0, len(dictionary) - 1), st.integers(0, len(dictionary) - 1))
    codes = data.draw(st.lists(code, min_size=size, max_size=size))
    width = data.draw(st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8()]))
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, width), pa.array(dictionary, pa.string()))
    plain = coded.cast(pa.string())
    types = data.draw(
        st.sampled_from([coded, plain, plain.cast(pa.large_string()), plain.dictionary_encode()])
    )
    time = st.one_of(st.none(), st.just(5), st.just(6))
    times = data.draw(st.lists(time, min_size=size, max_size=size))
    wanted = data.draw(st.one_of(st.none(), st.frozensets(st.sampled_from((*NAMES, "Z")))))
    check(types, times, wanted)


def test_a_type_that_comes_late() -> None:
    types = pa.array(["A"] * 30 + ["B"])
    assert looked_at(types, [1] * 31, frozenset()).types == {"A", "B"}
    assert looked_at(types, [1] * 30 + [None], frozenset()).types == {"A"}


@pytest.mark.parametrize(
    ("steps", "finds"), [("A as a -> B[v > 0] as b", True), ("A as a -> X as b", False), ("X -> Y", False)]
)
def test_row_groups_with_types_of_their_own(steps: str, finds: bool, tmp_path: Path) -> None:
    """Each row group has its own dictionary; some types are in one of them only, and one row has none."""
    kinds: list[str | None] = [*"AAAA", *"BABB", *"CCAC", *"CCCC", *"ABCB"]
    kinds[6] = None
    rows = [
        {"type": kind, "time": i, "k": i % 2, "v": float(i % 5) if i % 7 else None}
        for i, kind in enumerate(kinds)
    ]
    table = pa.Table.from_pylist(rows)
    path = tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=4)
    query = f"stream S = {steps} .partition_by(k)"
    for form in (str(path), table, table.set_column(0, "type", table["type"].dictionary_encode())):
        wanted = facts(query, form, engine="reference", bad_rows="skip")
        assert bool(wanted["matches"]["S"]) == finds
        assert len(wanted["bad"]) == 1
        for threads in (1, 2):
            assert facts(query, form, engine="compiled", threads=threads, bad_rows="skip") == wanted
