"""Rows by the number of their key: a stable order, whoever puts which half of it together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.engines.columnar.ordering import by_code


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(codes=st.lists(st.integers(0, 5), max_size=30), threads=st.integers(1, 2))
def test_by_code(codes: list[int], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        order, offsets = by_code(np.array(codes, np.int64), 6, pool)
    assert order.tolist() == sorted(range(len(codes)), key=codes.__getitem__)
    assert offsets.tolist() == [sum(code < number for code in codes) for number in range(7)]
