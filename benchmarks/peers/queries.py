"""The questions, in Cepheid's language, chosen so that their meaning can be said in the other engines too.

An answer is a table of whole numbers, one row a match: ids of its events. Closures here take neighbours, so the ids of
their ends tell which events they hold. Times are whole milliseconds and no two events share one, because Flink,
Siddhi and Esper count in milliseconds and each orders ties in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """A question: what it asks, its text for Cepheid, how many columns its answer has."""

    name: str
    asks: str
    text: str
    columns: int
    asked_of: frozenset[str] | None = None  # engines; None: all of them


SEQUENCE = Query(
    "sequence",
    "a login, the first payment over 700 after it, the first higher one after that, within a day, per user",
    # `first`: a run takes the first event that fits, and runs share events. Every engine can say this one.
    """Login as l -> first Payment[amount > 700] as p -> first Payment[amount > p.amount] as q
    .within(1d) .partition_by(user_id) .emit(a: l.id, b: p.id, c: q.id)""",
    3,
)
SEQUENCE_ANY = Query(
    "sequence_any",
    "a login, a payment over 700 after it, a higher one after that, within a day, per user: every three that fit",
    # What `->` means if nothing is said, and what Flink calls followedByAny.
    """Login as l -> Payment[amount > 700] as p -> Payment[amount > p.amount] as q
    .within(1d) .partition_by(user_id) .emit(a: l.id, b: p.id, c: q.id)""",
    3,
    frozenset({"cepheid", "cepheid-memory", "cepheid-spark", "flink", "flink-parquet"}),
)
BRUTE_FORCE = Query(
    "brute_force",
    "three or more failed logins with no login among them, then a login, within an hour, per user",
    # A login ends the closure, so that the failures are those in a row; the oldest run takes them all.
    """LoginFailed{3,} as f until type == "Login" -> Login as l
    .within(1h) .partition_by(user_id) .stnm() .longest() .emit(a: first(f).id, b: l.id, c: last(f).id)""",
    3,
)
RISING = Query(
    "rising",
    "a payment, three or more that rise, and the one that no longer does, per user",
    # By user and type, so that a neighbour is the next payment whatever else the user does. The last step is there
    # because Flink gives out a closure at the end as soon as it is long enough.
    """Payment as s -> all Payment{3,}.increasing(amount) as r -> Payment[amount <= r.amount] as e
    .strict() .longest() .partition_by(user_id, type) .emit(a: s.id, b: e.id, c: last(r).id)""",
    3,
)
ABSENCE = Query(
    "absence",
    "an order that is not confirmed within an hour, per user",
    """Order as o -> NOT Confirm[order_id == o.order_id] within 1h
    .partition_by(user_id) .emit(a: o.id)""",
    1,
)
CORRELATION = Query(
    "correlation",
    "a search, a click and a purchase of one session within ten minutes, every combination, not partitioned",
    """Search as s -> Click[session == s.session] as c -> Buy[session == s.session] as b
    .within(10m) .emit(a: s.id, b: c.id, c: b.id)""",
    3,
)
V_SHAPE = Query(
    "v_shape",
    "a price that falls three times or more, then rises three times or more, until it no longer does, per symbol",
    """Tick as s -> all Tick{3,}.decreasing(price) as d -> all Tick{3,}.increasing(price) as u
        -> Tick[price <= u.price] as e
    .strict() .longest() .partition_by(symbol, type) .emit(a: s.id, b: last(d).id, c: e.id)""",
    3,
)

QUERIES = {q.name: q for q in (SEQUENCE, SEQUENCE_ANY, BRUTE_FORCE, RISING, ABSENCE, CORRELATION, V_SHAPE)}
