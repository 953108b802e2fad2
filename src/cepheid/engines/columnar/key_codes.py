"""Keys as numbers: rows have one number where the reference matcher finds one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import FIELD, OF_TYPE, TYPE
from cepheid.engines.columnar.objects import rows_of
from cepheid.engines.local.events import plain
from cepheid.matching.evaluate import compile_value
from cepheid.matching.ids import key_text
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr, Field, walk
from cepheid.pattern.values import clean
from cepheid.plan.plan import Plan

_EXACT_IN_FLOAT = 2**53
_CLOSE = 1 << 16
_LARGEST = 2**63 - 1
_ALL = np.frombuffer(b"", np.uint8)  # such bits of a column without nulls
_PLAIN = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_float64,
    pa.types.is_float32,
    pa.types.is_boolean,
    pa.types.is_timestamp,
    pa.types.is_date32,
)


def key_codes(plan: Plan, table: pa.Table) -> tuple[Numbers, int]:
    """A number for each row's key, from 0, and how many there are."""
    parts = [part for part in plan.key if not _is_one_type(part, table)]
    if not parts:
        return np.zeros(table.num_rows, np.int64), 1
    columns = [_column(part, table) for part in parts]
    if all(column is not None for column in columns):
        return _joined([_codes(column, plan.inferred_key) for column in columns])
    return _by_python(plan, table)


def _is_one_type(part: Expr, table: pa.Table) -> bool:
    """Is it the type, of which all rows have the same one? Many are kept for the neighbours of one type."""
    name = FIELD + part.path[0] if isinstance(part, Field) and len(part.path) == 1 else ""
    if name not in table.column_names or table.schema.field(name).metadata != OF_TYPE:
        return False
    ends = pc.min_max(table[TYPE]).as_py()
    return ends["min"] is not None and 0 <= ends["min"] == ends["max"]


def key_columns(plan: Plan, table: pa.Table) -> list[str]:
    """The columns of a table that the key is made of."""
    return [name for name in _fields_read(plan.key) if name in table.column_names]


def part_numbers(plan: Plan, table: pa.Table, parts: int) -> Numbers:
    """Which part the row's key belongs to: the same in every call."""
    codes, count = key_codes(plan, table)
    firsts = np.zeros(count, np.int64)
    firsts[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    keys = key_values(plan, table, firsts)
    parts_of = [crc32(key_text(lookup_key(key, plan.inferred_key)).encode()) % parts for key in keys]
    return np.array(parts_of, np.int64)[codes]


def key_values(plan: Plan, table: pa.Table, rows: Numbers) -> list[tuple[Any, ...]]:
    """The values of the keys of some rows."""
    if not plan.key:
        return [()] * len(rows)
    own = [_column(part, table) for part in plan.key]
    if all(column is not None for column in own):
        return list(zip(*(_values(column.take(pa.array(rows))) for column in own), strict=True))
    found = rows_of(table.select(key_columns(plan, table)), rows)
    values = [compile_value(part) for part in plan.key]
    moments = (Moment(Event("", 0, fields), {}) for fields in found)
    return [tuple(value(moment) for value in values) for moment in moments]


def _values(column: Any) -> list[Any]:
    found: list[Any] = column.to_pylist()
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return found if texts else [clean(plain(value)) for value in found]


def _fields_read(exprs: Sequence[Expr]) -> list[str]:
    names = (FIELD + n.path[0] for e in exprs for n in walk(e) if isinstance(n, Field) and n.path)
    return list(dict.fromkeys(names))


def _column(part: Expr, table: pa.Table) -> Any:
    """The column that a part of the key is; None if it is more than one."""
    if not isinstance(part, Field) or len(part.path) != 1:
        return None
    name = FIELD + part.path[0]
    if name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, pa.int64())])
    column = table[name]
    return column if any(test(column.type) for test in _PLAIN) else None


def _codes(column: Any, inferred: bool) -> tuple[Numbers, int]:
    kind = column.type
    if inferred and pa.types.is_integer(kind) and not _exact_as_float(column):
        column = column.cast(pa.float64(), safe=False)
    if pa.types.is_floating(column.type):
        floats = pc.add(column.cast(pa.float64()), 0.0)  # there is one zero
        column = pc.if_else(pc.is_nan(floats), pa.scalar(None, pa.float64()), floats)
    numbered = _small_integers(column)
    if numbered is not None:
        return numbered
    coded = column.combine_chunks().dictionary_encode()
    count = len(coded.dictionary)
    codes = coded.indices.fill_null(count) if coded.null_count else coded.indices
    return codes.to_numpy(zero_copy_only=False).astype(np.int64), count + bool(coded.null_count)


class Integers(NamedTuple):
    """The values, whatever lies where there is none; bits that say where there is one; and the first one's place."""

    values: Numbers
    present: npt.NDArray[np.uint8]
    offset: int


class CloseIntegers(NamedTuple):
    """Integers that lie close together: of them a table is quicker than a dictionary."""

    chunks: list[Integers]
    least: int
    size: int  # of the table: its last place is for nulls


def close_integers(column: Any, each: Callable[..., Iterable[Any]] = map) -> CloseIntegers | None:
    """None: it has others. `each` is a map: chunks can be looked at beside each other."""
    if not pa.types.is_integer(column.type) or pa.types.is_uint64(column.type):
        return None
    chunks = [integers_of(chunk.cast(pa.int64())) for chunk in column.chunks if len(chunk)]
    ends = list(each(lambda chunk: _ends(*chunk), chunks))
    least = min((int(end) for end, _ in ends), default=_LARGEST)
    most = max((int(end) for _, end in ends), default=-_LARGEST)
    if least > most or most - least > 2 * len(column) + _CLOSE:
        return None
    return CloseIntegers(chunks, least, most - least + 2)


def _small_integers(column: Any) -> tuple[Numbers, int] | None:
    close = close_integers(column)
    if close is None:
        return None
    codes = np.empty(len(column), np.int64)
    known = np.full(close.size, -1, np.int64)
    at = count = 0
    for chunk in close.chunks:
        own = codes[at : at + len(chunk.values)]
        count, at = int(_number(*chunk, close.least, known, count, own)), at + len(own)
    return codes, count


def only_column(plan: Plan, table: pa.Table) -> Any:
    """The column that is the key, if its values are taken as they are; None: it is more than that."""
    return _column(plan.key[0], table) if len(plan.key) == 1 and not plan.inferred_key else None


def integers_of(array: Any) -> Integers:
    validity, buffer = array.buffers()
    bits = np.frombuffer(validity, np.uint8) if array.null_count else _ALL
    values = np.frombuffer(buffer, np.int64, len(array), array.offset * 8)
    for found in (values, bits):  # some buffers may be written to: what is compiled is of one kind
        found.flags.writeable = False
    return Integers(values, bits, array.offset)


@njit(cache=True, nogil=True)
def is_there(present, at):  # type: ignore[no-untyped-def]
    return len(present) == 0 or (present[at >> 3] >> (at & 7)) & 1 != 0


@njit(cache=True, nogil=True)
def _ends(values, present, offset):  # type: ignore[no-untyped-def]
    """The least and the largest value; the other way round, if there is none."""
    least, most = _LARGEST, -_LARGEST
    for i in range(len(values)):
        if is_there(present, offset + i):
            least, most = min(least, values[i]), max(most, values[i])
    return least, most


@njit(cache=True, nogil=True)
def _number(values, present, offset, least, known, count, codes):  # type: ignore[no-untyped-def]
    """As they come; so many numbers are given."""
    for i in range(len(values)):
        at = values[i] - least if is_there(present, offset + i) else len(known) - 1
        if known[at] < 0:
            known[at] = count
            count += 1
        codes[i] = known[at]
    return count


def _exact_as_float(column: Any) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is None or (ends["min"] >= -_EXACT_IN_FLOAT and ends["max"] <= _EXACT_IN_FLOAT)


def _joined(parts: list[tuple[Numbers, int]]) -> tuple[Numbers, int]:
    codes, count = parts[0]
    for more, size in parts[1:]:
        both = codes * size + more
        if count * size <= 2 * len(both) + _CLOSE:
            codes = np.empty(len(both), np.int64)
            known = np.full(count * size, -1, np.int64)
            count = int(_number(*integers_of(pa.array(both)), 0, known, 0, codes))
        else:
            known, codes = np.unique(both, return_inverse=True)
            count = len(known)
    return codes, count


def _by_python(plan: Plan, table: pa.Table) -> tuple[Numbers, int]:
    numbers: dict[Any, int] = {}
    keys = key_values(plan, table, np.arange(table.num_rows))
    looked_up = (lookup_key(key, plan.inferred_key) for key in keys)
    codes = [numbers.setdefault(key, len(numbers)) for key in looked_up]
    return np.array(codes, np.int64), len(numbers)
