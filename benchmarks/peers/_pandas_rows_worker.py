"""Run by `pandas_rows.py` with the package's own pandas on the path; imports nothing of the project."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

# As in data.py, which cannot be imported here: it wants pyarrow, and that another numpy.
_NAMES = ["time", "order_id", "session", "amount", "price", "user_id", "symbol", "type", "unused"]
FLAT = np.dtype({"names": _NAMES, "formats": ["<i8"] * 3 + ["<f8"] * 2 + ["<i4"] * 4})
PAYMENT, LOGIN, FAILED, ORDER, CONFIRM, TICK = 1, 2, 3, 4, 5, 9
TEXT = """SELECT {columns} FROM events MATCH_RECOGNIZE (
    PARTITION BY {key} ORDER BY time MEASURES {measures} ONE ROW PER MATCH AFTER MATCH SKIP {skip}
    PATTERN ({pattern}) DEFINE {define})"""
# The types in the frame, so that the rows of a pattern are neighbours in it, and the query.
QUERIES = {
    # X and Y are what lies between: all that does not fit the next step.
    "sequence": (
        [LOGIN, PAYMENT],
        TEXT.format(
            columns="a, b, c",
            key="user_id",
            measures="FIRST(L.id) AS a, LAST(P.id) AS b, LAST(Q.id) AS c",
            skip="TO NEXT ROW",
            pattern="L X* P Y* Q",
            define="""L AS type = 2, X AS type = 2 OR amount <= 700, P AS type = 1 AND amount > 700,
                Y AS type = 2 OR amount <= LAST(P.amount),
                Q AS type = 1 AND amount > LAST(P.amount) AND time - FIRST(L.time) <= 86400000""",
        ),
    ),
    # Z is the first row after the bound, or there is no more row.
    "absence": (
        [ORDER, CONFIRM],
        TEXT.format(
            columns="a",
            key="user_id",
            measures="FIRST(O.id) AS a",
            skip="TO NEXT ROW",
            pattern="O X* (Z | $)",
            define="""O AS type = 4, Z AS time - FIRST(O.time) > 3600000,
                X AS time - FIRST(O.time) <= 3600000 AND (type = 4 OR order_id != FIRST(O.order_id))""",
        ),
    ),
    "brute_force": (
        [LOGIN, FAILED],
        TEXT.format(
            columns="a, b, c",
            key="user_id",
            measures="FIRST(F.id) AS a, LAST(L.id) AS b, LAST(F.id) AS c",
            skip="PAST LAST ROW",
            pattern="F{3,} L",
            define="F AS type = 3, L AS type = 2 AND time - FIRST(F.time) <= 3600000",
        ),
    ),
    # The next trend may begin with the payment that ended this one.
    "rising": (
        [PAYMENT],
        TEXT.format(
            columns="a, b, c",
            key="user_id",
            measures="FIRST(S.id) AS a, LAST(E.id) AS b, LAST(R.id) AS c",
            skip="TO LAST E",
            pattern="S R{3,} E",
            define="R AS amount > PREV(amount), E AS amount <= PREV(amount)",
        ),
    ),
    # The next shape may begin at the top of this one.
    "v_shape": (
        [TICK],
        TEXT.format(
            columns="a, b, c",
            key="symbol",
            measures="FIRST(S.id) AS a, LAST(D.id) AS b, LAST(E.id) AS c",
            skip="TO LAST U",
            pattern="S D{3,} U{3,} E",
            define="D AS price < PREV(price), U AS price > PREV(price), E AS price <= PREV(price)",
        ),
    ),
}


def main(name: str, warm: str, file: str, out: str, repeat: str) -> None:
    from pandas_match_recognize import match_recognize  # type: ignore[import-not-found]

    start = time.process_time()  # the imports, as good as
    logging.disable(logging.CRITICAL)
    types, text = QUERIES[name]
    began = time.perf_counter()
    match_recognize(text, _frame(warm, types))
    warm_up = time.perf_counter() - began
    frame = _frame(file, types)
    seconds = []
    for _ in range(int(repeat)):
        began = time.perf_counter()
        found = match_recognize(text, frame)
        seconds.append(time.perf_counter() - began)
    found[[c for c in "abc" if c in found]].to_numpy(np.int64).tofile(out)
    print("seconds", min(seconds), "warm_up", warm_up, "start", start)


def _frame(file: str, types: list[int]) -> Any:
    records = np.fromfile(file, FLAT)
    frame = pd.DataFrame({name: records[name] for name in _NAMES})
    frame["id"] = np.arange(len(frame))
    return frame[frame["type"].isin(types)].reset_index(drop=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
