"""The questions on polars, by hand: lazy frames over the Parquet file, the same plans as the SQL."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pyarrow as pa

from peers.asking import Answer, Peer, Runs, best_of
from peers.data import Dataset
from peers.getting import python_module
from peers.queries import Query


def ask(query: Query, data: Dataset, runs: Runs) -> Answer:
    os.environ.setdefault("POLARS_MAX_THREADS", "2")  # read when polars is imported
    pl = python_module("polars", "polars", runs.build)
    return best_of(lambda d: _collected(pl, query, d), data, runs)


def _collected(pl: Any, query: Query, data: Dataset) -> pa.Table:
    table: pa.Table = _PLANS[query.name](pl, pl.scan_parquet(data.parquet)).collect().to_arrow()
    return table


def _sequence(pl: Any, events: Any) -> Any:
    """Joins by user, then the least id: the first that fits."""
    logins = _of(pl, events, "Login").select("user_id", a="id", start="time")
    payments = _of(pl, events, "Payment").select("user_id", "id", "time", "amount")
    day = timedelta(days=1)
    high = payments.filter(pl.col("amount") > 700).select("user_id", "time", b="id", least="amount")
    started = logins.join(high, on="user_id").filter(
        pl.col("b") > pl.col("a"), pl.col("time") <= pl.col("start") + day
    )
    first = started.group_by("a").agg(pl.all().sort_by("b").first())
    higher = first.drop("time").join(payments, on="user_id")
    fits = (
        pl.col("id") > pl.col("b"),
        pl.col("amount") > pl.col("least"),
        pl.col("time") <= pl.col("start") + day,
    )
    return higher.filter(*fits).group_by("a", "b").agg(c=pl.col("id").min())


def _brute_force(pl: Any, events: Any) -> Any:
    """Islands between logins; the failures that are too old for the island's login are left out."""
    login = pl.col("type") == "Login"
    tries = events.filter(pl.col("type").is_in(["Login", "LoginFailed"])).sort("id")
    island = login.cast(pl.Int64).cum_sum().over("user_id") - login.cast(pl.Int64)
    tries = tries.select("id", "user_id", "time", "type", island=island)
    logins = tries.filter(login).select("user_id", "island", b="id", end="time")
    failed = tries.filter(pl.col("type") == "LoginFailed").join(logins, on=["user_id", "island"])
    recent = failed.filter(pl.col("time") >= pl.col("end") - timedelta(hours=1))
    return (
        recent.group_by("b")
        .agg(a=pl.col("id").min(), c=pl.col("id").max(), failures=pl.len())
        .filter(pl.col("failures") >= 3)
        .drop("failures")
    )


def _rising(pl: Any, events: Any) -> Any:
    """An island begins at each payment that does not rise; the next island's first payment ends it."""
    payments = _of(pl, events, "Payment").sort("id")
    rises = (pl.col("amount") > pl.col("amount").shift(1).over("user_id")).fill_null(False)
    marked = payments.select("id", "user_id", island=(~rises).cast(pl.Int64).cum_sum().over("user_id"))
    islands = marked.group_by("user_id", "island").agg(
        a=pl.col("id").min(), c=pl.col("id").max(), events=pl.len()
    )
    closed = islands.sort("a").with_columns(b=pl.col("a").shift(-1).over("user_id"))
    return closed.filter(pl.col("events") > 3, pl.col("b").is_not_null()).select("a", "b", "c")


def _absence(pl: Any, events: Any) -> Any:
    """An anti-join with the orders that were confirmed in time."""
    orders = _of(pl, events, "Order").select("user_id", "order_id", a="id", start="time")
    confirms = _of(pl, events, "Confirm").select("user_id", "order_id", "id", "time")
    pairs = orders.join(confirms, on=["user_id", "order_id"])
    in_time = (pl.col("id") > pl.col("a"), pl.col("time") <= pl.col("start") + timedelta(hours=1))
    return orders.join(pairs.filter(*in_time), on="a", how="anti").select("a")


def _correlation(pl: Any, events: Any) -> Any:
    """Two joins on the session."""
    searches = _of(pl, events, "Search").select("session", a="id", start="time")
    clicks = _of(pl, events, "Click").select("session", b="id")
    bought = _of(pl, events, "Buy").select("session", "time", c="id")
    both = searches.join(clicks, on="session").filter(pl.col("b") > pl.col("a")).join(bought, on="session")
    end = pl.col("start") + timedelta(minutes=10)
    return both.filter(pl.col("c") > pl.col("b"), pl.col("time") <= end).select("a", "b", "c")


def _v_shape(pl: Any, events: Any) -> Any:
    """Islands of one direction; a rising one after a falling one."""
    ticks = _of(pl, events, "Tick").sort("id").select("id", "symbol", "price")
    way = (pl.col("price") - pl.col("price").shift(1).over("symbol")).sign().fill_null(0)
    ticks = ticks.with_columns(way=way)
    same = (pl.col("way") == pl.col("way").shift(1).over("symbol")).fill_null(False)
    ticks = ticks.with_columns(turned=(~same).cast(pl.Int64))
    marked = ticks.with_columns(island=pl.col("turned").cum_sum().over("symbol"))
    islands = marked.group_by("symbol", "island").agg(
        way=pl.col("way").first(), first=pl.col("id").min(), last=pl.col("id").max(), steps=pl.len()
    )
    beside = islands.sort("first").with_columns(
        way_before=pl.col("way").shift(1).over("symbol"),
        steps_before=pl.col("steps").shift(1).over("symbol"),
        a=pl.col("last").shift(2).over("symbol"),
        b=pl.col("last").shift(1).over("symbol"),
        c=pl.col("first").shift(-1).over("symbol"),
    )
    shape = (
        pl.col("way") == 1,
        pl.col("steps") >= 3,
        pl.col("way_before") == -1,
        pl.col("steps_before") >= 3,
    )
    return beside.filter(*shape, pl.col("c").is_not_null()).select("a", "b", "c")


def _of(pl: Any, events: Any, kind: str) -> Any:
    return events.filter(pl.col("type") == kind)


_PLANS = {
    "sequence": _sequence,
    "brute_force": _brute_force,
    "rising": _rising,
    "absence": _absence,
    "correlation": _correlation,
    "v_shape": _v_shape,
}
PEER = Peer("polars", "lazy frames by hand, from Parquet, 2 threads", ask)
