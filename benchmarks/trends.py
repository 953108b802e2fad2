"""Aggregates over trends: a closure of which listing is impossible, as events grow, beside plain counting.

The pattern is `A -> all B as b -> C` within an hour, user by user. An hour of a user holds some 25 events; all in all
there are more trends than could be listed. "plain" is the floor: the events in each event's window are counted by numpy
over the same table. The other times are `cepheid.match` over an Arrow table, all included: of the count, and of three
aggregates. At last queries as one program, which shares the work, and one by one: four of one pattern; then with the
closure `B+.increasing(v)`, where an event has to be compared with those before it, four patterns that have the closure
in common (of users with 200 events, and within an hour), and one pattern with four windows. Before times are told, the
rows of some users are worked out again with Python's numbers, class by class, and those of a short window by listing
all matches; queries say in a program what they say alone.

    python benchmarks/trends.py [--events 1000000]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import cepheid
from cepheid.engines.program import compile
from cepheid.pattern.event import Event
from cepheid.trends.by_class import ByClass
from cepheid.trends.matcher import TrendMatcher

FOLDER = Path("build/bench")
ASKED = ("count_trends()", "count_events(b)", "sum_trends(b.v)", "max_trends(b.v)")
ONE = (
    "stream S{} = A -> all B as b -> C .within(1h) .partition_by(user) .trend_aggregate(x: {}, rows: moment) "
    ".emit(user: user, x: x)"
)
RISING = "B+.increasing(v) as b"
FRAMES = ("A as a -> {}", "C as c -> {} -> A as a", "A as a -> {} -> C as c", "A as a -> {} -> A as z")
LINKED = (
    "stream S{} = {} .partition_by(user) .trend_aggregate(n: count_trends(), s: sum_trends(b.v), rows: final) "
    ".emit(user: user, n: n, s: s)"
)
USERS_A_MILLION = 1000
HOUR = 3600
QUERY = (
    "A -> all B as b -> C .within(1h) .partition_by(user) .trend_aggregate(n: count_trends(), "
    "held: count_events(b), total: sum_trends(b.v), rows: moment) .emit(user: user, n: n, held: held, total: total)"
)
COUNTED = QUERY.replace(", held: count_events(b), total: sum_trends(b.v)", "").replace(
    ", held: held, total: total", ""
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    most = parser.parse_args().events
    _check_by_listing()
    rows: list[dict[str, Any]] = []
    titles = ("events", "rows", "trends", "plain s", "count s", "three s", "us/event")
    print(" ".join(f"{title:>12}" for title in titles))
    for count in (most // 4, most // 2, most):
        rows.append(_row(count))
    rows += _together(most)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "trends.json").write_text(json.dumps(rows, indent=1) + "\n")


def _row(count: int) -> dict[str, float]:
    table = _events(count)
    answer = cepheid.match(QUERY, table, time="time", engine="compiled")
    _check_by_class(table, answer)
    plain = _seconds(lambda: _counted(table))
    counted = _seconds(lambda: cepheid.match(COUNTED, table, engine="compiled"))
    whole = _seconds(lambda: cepheid.match(QUERY, table, engine="compiled"))
    trends = float(sum(answer["n"].to_pylist()))
    print(
        f"{count:>12,} {answer.num_rows:>12,} {trends:>12.2e} {plain:>12.2f} {counted:>12.2f} {whole:>12.2f} "
        f"{whole * 1e6 / count:>12.2f}",
        flush=True,
    )
    return {
        "events": count,
        "rows": answer.num_rows,
        "trends": trends,
        "plain_seconds": plain,
        "count_seconds": counted,
        "seconds": whole,
    }


def _together(count: int) -> Iterator[dict[str, Any]]:
    """Queries that share a closure share the work."""
    whole, short = _events(count), _events(count, users=count // 200)
    frames = [frame.format(RISING) for frame in FRAMES]
    hours = [f"{frames[0]} .within({hours}h)" for hours in (1, 2, 3, 4)]
    yield _shared("one pattern", [ONE.format(i, asked) for i, asked in enumerate(ASKED)], whole)
    yield _shared("one closure", _linked(frames), short)
    yield _shared("one closure, 1 h", _linked([f"{frame} .within(1h)" for frame in frames]), whole)
    yield _shared("four windows", _linked(hours), whole)


def _linked(patterns: Sequence[str]) -> list[str]:
    return [LINKED.format(i, pattern) for i, pattern in enumerate(patterns)]


def _shared(title: str, queries: Sequence[str], table: pa.Table) -> dict[str, Any]:
    program = "\n".join(queries)

    def apart() -> dict[str, Any]:
        return {
            name: rows for q in queries for name, rows in cepheid.run(q, table, engine="compiled").items()
        }

    assert cepheid.run(program, table, engine="compiled") == apart()
    clock = time.process_time  # of all threads: what is saved is work
    one = _seconds(lambda: cepheid.run(queries[-1], table, engine="compiled"), clock)
    shared = _seconds(lambda: cepheid.run(program, table, engine="compiled"), clock)
    alone = _seconds(apart, clock)
    print(
        f"{len(queries)} queries, {title}, {table.num_rows:,} events: {shared:.2f} s together, {alone:.2f} s apart; "
        f"the last alone takes {one:.2f} s (processor time)",
        flush=True,
    )
    return {
        "events": table.num_rows,
        "queries": len(queries),
        "sharing": title,
        "together": shared,
        "apart": alone,
        "one": one,
    }


def _events(count: int, users: int | None = None) -> pa.Table:
    """In the order of time; each user has an event in about every 140 seconds."""
    random = np.random.default_rng(count)
    users = users or max(count * USERS_A_MILLION // 1_000_000, 10)
    times = np.sort(random.integers(0, count * 140 // users, count)) * 1_000_000
    kinds = np.array(["A", "B", "C"])[random.choice(3, count, p=[0.05, 0.9, 0.05])]
    return pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "type": kinds,
            "user": random.integers(0, users, count),
            "v": random.integers(0, 100, count),
        }
    )


def _seconds(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """The better of two runs."""
    found = []
    for _ in range(2):
        start = clock()
        work()
        found.append(clock() - start)
    return min(found)


def _counted(table: pa.Table) -> int:
    """The floor: the rows of a window counted, for each event, user by user."""
    order = pc.sort_indices(table, [("user", "ascending"), ("time", "ascending")])
    taken = table.take(order)
    users, times = taken["user"].to_numpy(), taken["time"].cast(pa.int64()).to_numpy()
    starts = np.flatnonzero(np.diff(users, prepend=-1))
    held = 0
    for first, last in zip(starts, [*starts[1:], len(users)], strict=True):
        own = times[first:last]
        held += int((np.arange(len(own)) - np.searchsorted(own, own - HOUR * 1_000_000)).sum())
    return held


# Answers before times.


def _check_by_class(table: pa.Table, answer: pa.Table) -> None:
    """The rows of three users again, by classes of trends and Python's numbers."""
    plan = compile(QUERY).last.plan
    for user in (0, 1, 2):
        own = table.filter(pc.equal(table["user"], user)).slice(0, 400).to_pylist()
        matcher = _ByClassOnly(plan)
        events = [Event(r["type"], int(r["time"].timestamp() * 1e6), r, seq=i) for i, r in enumerate(own)]
        wanted = [m.key for m in matcher.on_batch(events).matches]
        mine = answer.filter(pc.equal(answer["user"], user)).slice(0, len(wanted)).to_pylist()
        found = [tuple(row.values()) for row in mine]
        assert found == wanted, f"user {user}: {found[:2]} is not {wanted[:2]}"
        assert wanted


class _ByClassOnly(TrendMatcher):
    def _new_partition(self, values: tuple[Any, ...]) -> ByClass:
        own = (self.plan, self.tests, values, None)
        return ByClass(*own, trends=self.trends, measures=self.measures, futures=self.futures)


def _check_by_listing() -> None:
    """A window of few events: the aggregate of all listed matches."""
    table = _events(2000)
    short = QUERY.replace("1h", "1300s").replace("rows: moment", "rows: final")
    listed = cepheid.match(
        "A -> all B as b -> C .within(1300s) .partition_by(user) .subsets() .limit(max_matches: 1000000) "
        ".emit(user: user, held: count(b), total: sum(b.v))",
        table,
        engine="reference",
    )
    sums = listed.group_by("user").aggregate([("held", "count"), ("held", "sum"), ("total", "sum")])
    wanted = sorted(
        zip(*(sums[c].to_pylist() for c in ("user", "held_count", "held_sum", "total_sum")), strict=True)
    )
    found = sorted(tuple(row.values()) for row in cepheid.match(short, table, engine="compiled").to_pylist())
    assert found == wanted
    print(f"checked by listing: {listed.num_rows:,} matches of {table.num_rows:,} events")


if __name__ == "__main__":
    main()
