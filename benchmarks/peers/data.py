"""The events: shops, their users and a ticker, with stories planted by a seeded generator, in time order.

They are kept twice: as Parquet, and as flat records of fixed width that a Java program maps into memory and reads
without parsing. The second is the faster to read, which favours the engines that are given it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EVENTS_A_USER = 100
EVENTS_A_SYMBOL = 1_000
# The place in this list is the type's number in the flat file.
TYPES = (
    "View", "Payment", "Login", "LoginFailed", "Order", "Confirm", "Search", "Click", "Buy", "Tick",
)  # fmt: skip
VIEW, PAYMENT, LOGIN, FAILED, ORDER, CONFIRM, SEARCH, CLICK, BUY, TICK = range(len(TYPES))
FLAT = np.dtype(
    [
        ("time", "<i8"),
        ("order_id", "<i8"),
        ("session", "<i8"),
        ("amount", "<f8"),
        ("price", "<f8"),
        ("user_id", "<i4"),
        ("symbol", "<i4"),
        ("type", "<i4"),
        ("unused", "<i4"),  # so that a record is a whole number of long words
    ]
)
NONE = -1  # in the flat file; null in Parquet

_START = 1_700_000_000_000
_SPAN = 10 * 86_400_000
_HOUR = 3_600_000
# Events that another version of this page made are not taken for its own.
_EDITION = sha256(Path(__file__).read_bytes()).hexdigest()[:6]


@dataclass(frozen=True)
class Dataset:
    events: int
    parquet: Path
    flat: Path


def dataset(events: int, folder: Path) -> Dataset:
    """The events, made if they are not there yet."""
    name = f"peers_{events}_{_EDITION}"
    made = Dataset(events, folder / f"{name}.parquet", folder / f"{name}.bin")
    if not (made.parquet.exists() and made.flat.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        records = _records(events)
        # Under another name first: a run that is stopped leaves no half of a file behind.
        unfinished = folder / f"{name}.unfinished"
        records.tofile(unfinished)
        unfinished.replace(made.flat)
        pq.write_table(_table(records), unfinished, row_group_size=1 << 18)
        unfinished.replace(made.parquet)
    return made


def _records(events: int) -> Any:
    rng = np.random.default_rng(7)
    users = max(events // EVENTS_A_USER, 1)
    parts = [
        _attacks(rng, events // 200, users),
        _orders(rng, events * 5 // 100, users),
        _purchases(rng, events // 500, users),
        _sessions(rng, events * 3 // 100, users),
        _ticks(rng, events * 20 // 100, max(events // EVENTS_A_SYMBOL, 1)),
        _alone(rng, events * 12 // 100, users, PAYMENT),
        _alone(rng, events * 6 // 100, users, LOGIN),
        _alone(rng, events * 3 // 100, users, FAILED),
    ]
    parts.append(_alone(rng, events - sum(len(p) for p in parts), users, VIEW))
    records = np.concatenate(parts)
    records = records[np.argsort(records["time"], kind="stable")]
    # No two events at one time: each is at least a millisecond after the one before.
    steps = np.arange(events)
    records["time"] = _START + np.maximum.accumulate(records["time"] - steps) + steps
    return records


def _blank(count: int, kind: int) -> Any:
    records = np.zeros(count, FLAT)
    records["type"] = kind
    for name in ("order_id", "session", "user_id", "symbol"):
        records[name] = NONE
    records["amount"] = records["price"] = np.nan
    return records


def _alone(rng: Any, count: int, users: int, kind: int) -> Any:
    records = _blank(count, kind)
    records["time"] = rng.integers(0, _SPAN, count)
    records["user_id"] = rng.integers(0, users, count)
    if kind == PAYMENT:
        records["amount"] = rng.integers(0, 100_000, count) / 100
    return records


def _attacks(rng: Any, count: int, users: int) -> Any:
    """One to six failed logins in a quarter of an hour or in two hours, then a login."""
    tries = rng.integers(1, 7, count)
    whose = np.repeat(np.arange(count), tries)
    login = _alone(rng, count, users, LOGIN)
    failed = _blank(len(whose), FAILED)
    failed["user_id"] = login["user_id"][whose]
    width = np.where(rng.random(count) < 0.7, _HOUR // 4, 2 * _HOUR)
    before = 1 + (rng.random(len(whose)) * width[whose]).astype(np.int64)
    failed["time"] = login["time"][whose] - _at_the_bound(rng, before, _HOUR)
    failed["time"] = np.maximum(failed["time"], 0)
    return np.concatenate([failed, login])


def _purchases(rng: Any, count: int, users: int) -> Any:
    """A login, and two high payments in the day after it or about as long."""
    logins = _alone(rng, count, users, LOGIN)
    first, second = logins.copy(), logins.copy()
    first["type"] = second["type"] = PAYMENT
    first["amount"], second["amount"] = rng.integers(701, 900, count), rng.integers(900, 1000, count)
    first["time"] += 1 + rng.integers(0, 12 * _HOUR, count)
    second["time"] += _at_the_bound(rng, rng.integers(12 * _HOUR, 26 * _HOUR, count), 24 * _HOUR)
    stories = np.concatenate([logins, first, second])
    stories["time"] = np.minimum(stories["time"], _SPAN - 1)
    return stories


def _at_the_bound(rng: Any, gaps: Any, bound: int) -> Any:
    """One gap in twenty is exactly the bound, one a millisecond more: engines differ in what they make of it."""
    which = rng.random(len(gaps))
    return np.where(which < 0.05, bound, np.where(which < 0.1, bound + 1, gaps))


def _orders(rng: Any, count: int, users: int) -> Any:
    """Orders, four in five confirmed, some of them too late; none so near the end that its answer is still open."""
    orders = _alone(rng, count, users, ORDER)
    orders["time"] = rng.integers(0, _SPAN - 3 * _HOUR, count)
    orders["order_id"] = np.arange(count)
    confirms = orders[rng.random(count) < 0.8].copy()
    confirms["type"] = CONFIRM
    after = 1 + (rng.exponential(0.5, len(confirms)) * _HOUR).astype(np.int64)
    confirms["time"] += _at_the_bound(rng, after, _HOUR)
    confirms["time"] = np.minimum(confirms["time"], _SPAN - 1)
    return np.concatenate([orders, confirms])


def _sessions(rng: Any, count: int, users: int) -> Any:
    """A search, up to three clicks after some minutes and up to two purchases after some more."""
    searches = _alone(rng, count, users, SEARCH)
    searches["session"] = np.arange(count)
    clicks = _follow(rng, searches, rng.integers(0, 4, count), CLICK, 6)
    bought = _follow(rng, searches, np.maximum(rng.integers(-3, 3, count), 0), BUY, 16)
    return np.concatenate([searches, clicks, bought])


def _follow(rng: Any, searches: Any, times: Any, kind: int, minutes: int) -> Any:
    records = np.repeat(searches, times)
    records["type"] = kind
    after = 1 + (rng.random(len(records)) * minutes * 60_000).astype(np.int64)
    records["time"] += _at_the_bound(rng, after, 10 * 60_000) if kind == BUY else after
    records["time"] = np.minimum(records["time"], _SPAN - 1)
    return records


def _ticks(rng: Any, count: int, symbols: int) -> Any:
    """Prices of no user. Their steps keep their direction more often than not, or there would be few shapes."""
    records = _blank(count, TICK)
    records["time"] = np.sort(rng.integers(0, _SPAN, count))
    records["symbol"] = np.arange(count) % symbols
    turns = np.where(rng.random(count) < 0.35, -1, 1)
    rows = -(-count // symbols)
    grid = np.ones(rows * symbols, np.int64)
    grid[:count] = turns
    direction = np.cumprod(grid.reshape(rows, symbols), axis=0)
    steps = direction * rng.integers(0, 100, (rows, symbols))
    records["price"] = (100_000 + np.cumsum(steps, axis=0)).reshape(-1)[:count] / 100
    return records


def _table(records: Any) -> pa.Table:
    count = len(records)
    kinds = pa.DictionaryArray.from_arrays(pa.array(records["type"], pa.int8()), pa.array(TYPES))
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "type": kinds.cast(pa.string()),
            "time": pa.array(records["time"] * 1000, pa.timestamp("us", tz="UTC")),
            "user_id": _or_null(records["user_id"]),
            "amount": pa.array(records["amount"], from_pandas=True),
            "order_id": _or_null(records["order_id"]),
            "session": _or_null(records["session"]),
            "symbol": _or_null(records["symbol"]),
            "price": pa.array(records["price"], from_pandas=True),
            # A column that no query reads, as real tables have them.
            "page": pa.array([f"/page/{i}" for i in range(5000)]).take(
                pa.array(np.arange(count) * 7919 % 5000)
            ),
        }
    )


def _or_null(numbers: Any) -> pa.Array:
    return pa.array(numbers.astype(np.int64), mask=numbers == NONE)
