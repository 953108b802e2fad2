"""Times in CSV: a number is an epoch, everything else is a text."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa

from cepheid.engines.local.reading import Marks, Numbers
from cepheid.engines.local.times import from_microseconds, to_microseconds
from cepheid.errors import InputMistake

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = r"^-?[0-9]{1,18}$"  # what Arrow reads as Python does


def csv_time(text: str) -> str | int | Decimal | None:
    """A number as a number, so that it is read as an epoch; everything else as text."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else Decimal(text)
    return text or None


def csv_times(texts: pa.Array, unit: str) -> tuple[Numbers, Marks]:
    """Microseconds since 1970, and which texts are no times."""
    import pyarrow.compute as pc

    from cepheid.engines.columnar.instants import iso_times, read_times

    if pc.all(pc.match_substring_regex(texts, _WHOLE)).as_py():
        return read_times(texts.cast(pa.int64()), unit)
    written = iso_times(texts)
    if written is not None:
        return read_times(written, unit)
    micros, wrong = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.bool_)
    for at, text in enumerate(texts.to_pylist()):
        try:
            micros[at] = _in_years(to_microseconds(csv_time(text), unit))
        except InputMistake:
            wrong[at] = True
    return micros, wrong


def _in_years(microseconds: int) -> int:
    """As the maker of events has it: what is no datetime is no time."""
    from_microseconds(microseconds)
    return microseconds
