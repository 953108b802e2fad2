"""Random graph patterns over a small world, and random histories of edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from cepheid.errors import PatternMistake
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.expr import Binary, In, IsNull, Literal
from cepheid.pattern.graph_pattern import (
    VALUE,
    Allen,
    Block,
    Body,
    Choice,
    Clause,
    Concurrent,
    GraphPattern,
    Let,
    Relation,
    Repeat,
    Stage,
    Then,
    Unless,
    Window,
    variable,
)

LABELS = ("k", "a")
NODES = ("m", "n")
VALUES = (1, "m", "n")
VARIABLES = ("x", "y")


@dataclass(frozen=True)
class Happens:
    """An edge comes (open, or with an end that is known), or one that came before ends."""

    time: int
    edge: tuple[Any, str, Any, int]
    end: int | None
    closes: bool = False


@st.composite
def tests(draw: Any, known: list[str]) -> Any:
    kind = draw(st.sampled_from(["none"] * 6 + ["eq", "cmp", "in", "var"]))
    if kind == "eq":
        return Binary("==", VALUE, Literal(draw(st.sampled_from((1, 2, "m")))))
    if kind == "cmp":
        return Binary(draw(st.sampled_from(("!=", "=="))), VALUE, Literal(draw(st.sampled_from((1, "m")))))
    if kind == "in":
        return In(VALUE, (Literal(1), Literal(2)))
    if kind == "var" and known:
        return Binary(draw(st.sampled_from(("==", "!="))), VALUE, variable(draw(st.sampled_from(known))))
    return None


@st.composite
def clauses(draw: Any, anchor: str, known: list[str], others: bool = True) -> Clause:
    source = anchor
    if others and known and draw(st.integers(0, 4)) == 0:
        source = draw(st.sampled_from(known))
    bind = draw(st.sampled_from((None, None, None, *VARIABLES)))
    negated = draw(st.integers(0, 7)) == 0
    return Clause(source, draw(st.sampled_from(LABELS)), bind, draw(tests(known)), negated)


@st.composite
def stages(draw: Any, name: str, known: list[str]) -> Stage:
    anchor = draw(st.sampled_from([name, name, name, *VARIABLES]))
    own = Clause(
        anchor,
        draw(st.sampled_from(LABELS)),
        draw(st.sampled_from((None, None, *VARIABLES))),
        draw(tests([])),
    )
    more = draw(st.lists(clauses(anchor, [*known, anchor]), max_size=draw(st.sampled_from((0, 0, 1, 2)))))
    return Stage(name, anchor, (own, *more))


@st.composite
def blocks(draw: Any, prefix: str, known: list[str], most: int = 3) -> Block:
    count = draw(st.integers(1, most))
    made = [draw(stages(f"{prefix}{i}", known)) for i in range(count)]
    parts: list[Any] = list(made)
    if count > 1 and draw(st.booleans()):
        at = draw(st.integers(0, count - 2))
        parts = [*made[:at], Concurrent((made[at], made[at + 1])), *made[at + 2 :]]
    return Block(
        tuple(parts),
        tuple(
            draw(st.lists(guards([s.name for s in made], known), max_size=draw(st.sampled_from((0, 1, 2)))))
        ),
        draw(st.sampled_from(((), (), (draw(relations([s.name for s in made])),)))) if count > 1 else (),
        draw(st.sampled_from(((), (), (), (Let("z", variable("x")),)))),
        draw(st.sampled_from(((), (), (), (IsNull(variable("x"), True),)))),
    )


@st.composite
def guards(draw: Any, names: list[str], known: list[str]) -> Unless:
    own = Clause(
        "bad", draw(st.sampled_from(LABELS)), draw(st.sampled_from((None, *VARIABLES))), draw(tests([]))
    )
    more = draw(st.lists(clauses("bad", ["x", "bad"]), max_size=1))
    window = draw(st.sampled_from(list(Window)))
    start = draw(st.sampled_from(names)) if window in (Window.BETWEEN, Window.AFTER) else None
    end = draw(st.sampled_from(names)) if window is Window.BETWEEN else None
    return Unless("bad", (own, *more), window, start, end)


@st.composite
def relations(draw: Any, names: list[str]) -> Relation:
    kind = draw(st.sampled_from(list(Allen)))
    low, high = draw(st.sampled_from(((None, None), (None, None), (1, None), (None, 2), (1, 2))))
    if kind in (Allen.MEETS, Allen.MET_BY, Allen.EQUALS):
        low = high = None
    left, right = draw(st.permutations(names))[:2]
    return Relation(left, kind, right, low, high)


@st.composite
def bodies(draw: Any) -> Body:
    kind = draw(
        st.sampled_from(["block"] * 4 + ["then", "choice", "exclusive", "repeat", "repeat_then", "inner"])
    )
    one = draw(blocks("s", [], 3 if kind == "block" else 2))
    if kind == "block":
        return one
    shared = frozenset(draw(st.sets(st.sampled_from(VARIABLES))))
    if kind == "repeat":
        least = draw(st.integers(1, 2))
        return Repeat(one, least, draw(st.sampled_from((least, least + 1, None))), shared)
    two = draw(blocks("t", list(VARIABLES), 2))
    if kind == "then":
        return Then((one, two))
    if kind == "repeat_then":
        return Then((Repeat(one, 1, 2, shared), two))
    if kind == "inner":
        return Repeat(Choice((one, two)), 1, 2, shared)
    return Choice((one, two), kind == "exclusive", shared)


@st.composite
def patterns(draw: Any) -> GraphPattern:
    pattern = GraphPattern(
        "p",
        draw(bodies()),
        deadline=draw(st.sampled_from((None, None, None, None, 0, 1, 2))),
        within=draw(st.sampled_from((None, None, None, None, 1, 2))),
    )
    try:
        ReadyPattern(pattern)
    except PatternMistake:
        from hypothesis import reject

        reject()
    return pattern


@st.composite
def histories(draw: Any, most: int = 7) -> list[list[Happens]]:
    """By tick: what happens, in the order of time; of one time in any order."""
    edges = draw(
        st.lists(
            st.tuples(
                st.sampled_from(NODES), st.sampled_from(LABELS), st.sampled_from(VALUES), st.integers(1, 4)
            ),
            min_size=3,
            max_size=most,
            unique_by=lambda e: (e[0], e[1], repr(e[2]), e[3]),
        )
    )
    happens = []
    for edge in edges:
        length = draw(st.sampled_from((None, None, 0, 1, 2)))
        end = None if length is None else edge[3] + length
        if end is not None and draw(st.booleans()):
            happens += [Happens(edge[3], edge, None), Happens(end, edge, end, closes=True)]
        else:
            happens.append(Happens(edge[3], edge, end))
    shuffled = draw(st.permutations(happens))
    in_order = sorted(shuffled, key=lambda h: h.time)
    in_order = _open_first(in_order)
    times = sorted({h.time for h in in_order})
    ticks: list[list[Happens]] = [[]]
    for time in times:
        ticks[-1] += [h for h in in_order if h.time == time]
        ticks += [[] for _ in range(draw(st.integers(0, 2)))]
    return ticks


def _open_first(happens: list[Happens]) -> list[Happens]:
    """An edge cannot end before it has come."""
    found: list[Happens] = []
    for h in happens:
        if h.closes and not any(o.edge == h.edge and not o.closes for o in found):
            opening = next(o for o in happens if o.edge == h.edge and not o.closes)
            found.append(opening)
        if h not in found:
            found.append(h)
    return found
