"""The times of a batch of events, from whatever column they are written in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.local.times import PER_SECOND, to_microseconds
from cepheid.errors import InputMistake
from cepheid.matching.compiled.arrow_terms import FIRST_INSTANT, LAST_INSTANT

Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"


def can_be_times(kind: pa.DataType) -> bool:
    test = pa.types
    text = test.is_string(kind) or test.is_large_string(kind)
    return bool(test.is_timestamp(kind) or _is_number(kind) or text or test.is_date(kind))


def _is_number(kind: pa.DataType) -> bool:
    test = pa.types
    return bool(
        (test.is_integer(kind) and not test.is_uint64(kind)) or test.is_float32(kind) or test.is_float64(kind)
    )


def read_times(column: Any, unit: str) -> tuple[Numbers, Marks]:
    """Microseconds since 1970, and which rows have no time: what is wrong with those is for Python to say."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        micros, wrong = _of_instants(column)
    elif pa.types.is_integer(kind):
        micros, wrong = _of_whole(column, unit)
    elif pa.types.is_floating(kind):
        micros, wrong = _of_floats(column, unit)
    else:
        micros, wrong = _of_texts(column, unit)
    if len(micros) and (micros.min() < FIRST_INSTANT or micros.max() > LAST_INSTANT):
        wrong = wrong | (micros < FIRST_INSTANT) | (micros > LAST_INSTANT)
    return micros, wrong


def _unknown(column: Any) -> Marks:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    found: Marks = pc.is_null(column).to_numpy(zero_copy_only=False)
    return found


def _of_instants(column: Any) -> tuple[Numbers, Marks]:
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.date32())
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    micros = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return filled(micros, 0).to_numpy(zero_copy_only=False), _unknown(column)


def filled(column: Any, value: Any) -> Any:
    """Without nulls. Arrow copies a column also where it has none."""
    return pc.fill_null(column, value) if column.null_count else column


def _of_whole(column: Any, unit: str) -> tuple[Numbers, Marks]:
    values = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    per_second = PER_SECOND[unit]
    if per_second > 10**6:
        return values // (per_second // 10**6), _unknown(column)
    factor = 10**6 // per_second
    wrong = np.abs(values // 2) > LAST_INSTANT // factor  # far outside all years, and beyond 64 bits soon
    return np.where(wrong, 0, values) * factor, _unknown(column) | wrong


def _of_floats(column: Any, unit: str) -> tuple[Numbers, Marks]:
    values = pc.fill_null(column.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        micros = np.rint(values * 10**6 / PER_SECOND[unit])
        wrong = ~(np.abs(micros) < 2.0**62)
    return np.where(wrong, 0, micros).astype(np.int64), wrong


def iso_times(texts: Any) -> Any:
    """Instants, where Arrow reads all texts and reads them as Python does; None: they are for Python."""
    for pattern, kind in ((_ISO + "Z$", pa.timestamp("us", "UTC")), (_ISO + "$", pa.timestamp("us"))):
        if not texts.null_count and pc.all(pc.match_substring_regex(texts, pattern)).as_py():
            try:
                return texts.cast(kind)
            except pa.ArrowInvalid:  # 30 February
                return None
    return None


def _of_texts(column: Any, unit: str) -> tuple[Numbers, Marks]:
    written = iso_times(column)
    if written is not None:
        return _of_instants(written)
    texts = column.to_pylist()
    micros, wrong = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.bool_)
    for at, text in enumerate(texts):
        try:
            micros[at] = to_microseconds(text, unit)
        except InputMistake:
            wrong[at] = True
    return micros, wrong
