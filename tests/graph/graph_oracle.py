"""Graph patterns by definition: every way to take edges for clauses is tried, and then everything is asked of it.

Nothing is shared with the product but the model and the evaluation of expressions. Only for small graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import conjuncts
from cepheid.pattern.graph_pattern import (
    Allen,
    Block,
    Body,
    Choice,
    Clause,
    Concurrent,
    GraphPattern,
    Relation,
    Repeat,
    Stage,
    Then,
    Unless,
    Window,
    variables_in,
)


@dataclass(frozen=True)
class OracleEdge:
    source: Any
    label: str
    target: Any
    start: int
    end: int | None = None
    tick: int = 0
    end_tick: int = 0


@dataclass(frozen=True)
class Taken:
    """A stage with an edge for each of its positive clauses."""

    stage: Stage
    own: tuple[OracleEdge, ...]
    others: tuple[OracleEdge, ...]

    @property
    def time(self) -> int:
        return max(e.start for e in self.own)

    @property
    def interval(self) -> tuple[int, float]:
        return self.time, max(self.time, min(inf if e.end is None else e.end for e in self.own))

    @property
    def tick(self) -> int:
        return max(e.tick for e in (*self.own, *self.others))


@dataclass(frozen=True)
class State:
    binds: dict[str, Any]
    taken: tuple[Taken, ...] = ()
    relations: tuple[tuple[Relation, Taken, Taken], ...] = ()
    first: tuple[Taken, ...] = ()  # of the first slot
    alternative: int = 0


Answer = tuple[str, frozenset[Any]]


def all_matches(pattern: GraphPattern, edges: list[OracleEdge]) -> list[Any]:
    """Bindings and intervals of each, once."""
    found = {}
    for script in scripts(pattern.body):
        for state in followed(script, State({}), edges):
            match = checked(pattern, state)
            if match is not None:
                # Where it matters when edges end, other edges are another match.
                edges_of = [t.own for t in state.taken] if has_relations(pattern.body) else []
                found[repr((match[0], edges_of))] = (*match, state.alternative)
    matches = sorted(found.values(), key=lambda m: m[2])
    body = pattern.body
    if isinstance(body, Choice) and body.exclusive:
        matches = not_excluded(body.shared, matches)
    return [m[0] for m in matches]


def has_relations(body: Body) -> bool:
    if isinstance(body, Block):
        return bool(body.relations)
    parts = (body.part,) if isinstance(body, Repeat) else body.parts  # type: ignore[attr-defined]
    return any(has_relations(part) for part in parts)


# A script: blocks one after the other, and what is forgotten between them.

Script = list[tuple[Block, frozenset[str], int]]


def scripts(body: Body, rounds: int = 4) -> Iterator[Script]:
    if isinstance(body, Block):
        yield [(body, frozenset(), 0)]
    elif isinstance(body, Then):
        for parts in product(*(list(scripts(p)) for p in body.parts)):
            yield [item for part in parts for item in part]
    elif isinstance(body, Choice):
        for number, part in enumerate(body.parts):
            for script in scripts(part):
                yield [(b, f, number) for b, f, _ in script]
    elif isinstance(body, Repeat):
        forgotten = frozenset(names(body.part)) - body.shared
        inner = list(scripts(body.part))
        for count in range(body.least, min(rounds, body.most or rounds) + 1):
            for parts in product(inner, repeat=count):
                whole: Script = []
                for i, part in enumerate(parts):
                    for j, (block, forget, number) in enumerate(part):
                        begins = i > 0 and j == 0
                        whole.append((block, forget | (forgotten if begins else frozenset()), number))
                yield whole


def names(body: Body) -> Iterator[str]:
    if isinstance(body, Block):
        for stage in body.stages():
            yield stage.anchor
            yield from (c.bind for c in stage.clauses if c.bind is not None and not c.negated)
        yield from (x.variable for x in body.lets)
    elif isinstance(body, Repeat):
        yield from names(body.part)
    elif isinstance(body, (Then, Choice)):
        for part in body.parts:
            yield from names(part)


def followed(script: Script, state: State, edges: list[OracleEdge]) -> Iterator[State]:
    if not script:
        yield state
        return
    block, forget, alternative = script[0]
    kept = {n: v for n, v in state.binds.items() if n not in forget}
    floor = max((t.time for t in state.taken), default=-1)
    for after in block_ways(block, replace(state, binds=kept, alternative=alternative), floor, edges):
        yield from followed(script[1:], after, edges)


def block_ways(block: Block, state: State, floor: int, edges: list[OracleEdge]) -> Iterator[State]:
    slots = [p.stages if isinstance(p, Concurrent) else (p,) for p in block.parts]
    stages = [s for slot in slots for s in slot]
    for ways in product(*(list(stage_ways(s, edges)) for s in stages)):
        by_slot, at = [], 0
        for slot in slots:
            by_slot.append(ways[at : at + len(slot)])
            at += len(slot)
        if not in_order(by_slot, floor):
            continue
        binds = joined(ways, state.binds)
        if binds is None:
            continue
        binds = with_lets(block, binds)
        if not all(true(e, binds) for e in block.where):
            continue
        if not stages_hold(by_slot, state.binds, binds, block, edges):
            continue
        if any(broken(u, block, by_slot, binds, edges) for u in block.unless):
            continue
        of = {t.stage.name: t for t in ways}
        yield State(
            binds,
            (*state.taken, *ways),
            (*state.relations, *((r, of[r.left], of[r.right]) for r in block.relations)),
            state.first or tuple(by_slot[0]),
            state.alternative,
        )


def stage_ways(stage: Stage, edges: list[OracleEdge]) -> Iterator[Taken]:
    own = [c for c in stage.clauses if not c.negated and c.source == stage.anchor]
    others = [c for c in stage.clauses if not c.negated and c.source != stage.anchor]
    for chosen in product(*([e for e in edges if e.label == c.label] for c in own + others)):
        if joined_clauses(own + others, chosen, {}) is not None:
            yield Taken(stage, chosen[: len(own)], chosen[len(own) :])


def in_order(by_slot: list[Any], floor: int) -> bool:
    for slot in by_slot:
        if any(t.time <= floor for t in slot):
            return False
        used = [e for t in slot for e in set(t.own)]
        if len(used) != len(set(used)):
            return False
        floor = max(t.time for t in slot)
    return True


def joined(ways: tuple[Taken, ...], binds: dict[str, Any]) -> dict[str, Any] | None:
    found: dict[str, Any] | None = dict(binds)
    for taken in ways:
        positive = [c for c in taken.stage.clauses if not c.negated and c.source == taken.stage.anchor]
        positive += [c for c in taken.stage.clauses if not c.negated and c.source != taken.stage.anchor]
        if found is not None:
            found = joined_clauses(positive, (*taken.own, *taken.others), found)
    return found


def joined_clauses(clauses: list[Clause], chosen: Any, binds: dict[str, Any]) -> dict[str, Any] | None:
    found = dict(binds)
    for clause, edge in zip(clauses, chosen, strict=True):
        for name, value in ((clause.source, edge.source), (clause.bind, edge.target)):
            if name is None:
                continue
            if name in found and not same(found[name], value):
                return None
            found[name] = value
    return found


def same(a: Any, b: Any) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def with_lets(block: Block, binds: dict[str, Any]) -> dict[str, Any]:
    for let in block.lets:
        if let.variable not in binds:
            binds = {**binds, let.variable: compile_value(let.value)(moment(binds))}
    return binds


def moment(binds: dict[str, Any], value: Any = None) -> Moment:
    return Moment(Event("", 0, {**{f"?{n}": v for n, v in binds.items()}, "value": value}), {})


def true(expr: Any, binds: dict[str, Any], value: Any = None) -> bool:
    test = compile_test([expr])
    return test is None or test(moment(binds, value))


def passes(test: Any, binds: dict[str, Any], value: Any) -> bool:
    """Each condition by itself: one about a value of another type is not true."""
    for part in conjuncts(test):
        try:
            if not true(part, binds, value):
                return False
        except EvaluationError as problem:
            if problem.code != "type_clash":
                raise
            return False
    return True


def stages_hold(
    by_slot: list[Any], before: dict[str, Any], binds: dict[str, Any], block: Block, edges: list[OracleEdge]
) -> bool:
    known = set(before)
    for slot in by_slot:
        for taken in slot:
            own = {taken.stage.anchor} | {c.bind for c in taken.stage.clauses if c.bind and not c.negated}
            seen = {n: v for n, v in binds.items() if n in known | own}
            if not stage_holds(taken, seen, edges):
                return False
        for taken in slot:
            known |= {taken.stage.anchor} | {c.bind for c in taken.stage.clauses if c.bind and not c.negated}
        for let in block.lets:
            if variables_in(let.value) <= known:
                known |= {let.variable}
    return True


def stage_holds(taken: Taken, binds: dict[str, Any], edges: list[OracleEdge]) -> bool:
    stage = taken.stage
    positive = [c for c in stage.clauses if not c.negated and c.source == stage.anchor]
    positive += [c for c in stage.clauses if not c.negated and c.source != stage.anchor]
    for clause, edge in zip(positive, (*taken.own, *taken.others), strict=True):
        if clause.test is not None and not passes(clause.test, binds, edge.target):
            return False
    if not all(holds(e, taken.time) for e in taken.others):
        return False
    return not any(absent_is_there(c, binds, taken.time, edges) for c in stage.clauses if c.negated)


def holds(edge: OracleEdge, time: int) -> bool:
    return edge.start <= time and (edge.end is None or time < edge.end or edge.start == edge.end == time)


def absent_is_there(clause: Clause, binds: dict[str, Any], time: int, edges: list[OracleEdge]) -> bool:
    for edge in edges:
        if edge.label == clause.label and holds(edge, time):
            bound = joined_clauses([clause], [edge], binds)
            if bound is not None and (clause.test is None or passes(clause.test, bound, edge.target)):
                return True
    return False


def broken(
    unless: Unless, block: Block, by_slot: list[Any], binds: dict[str, Any], edges: list[OracleEdge]
) -> bool:
    of = {t.stage.name: t for slot in by_slot for t in slot}
    begin: float = -inf
    if unless.window is Window.WHOLE:
        begin = min(t.time for t in by_slot[0])
    elif unless.window is not Window.GLOBAL:
        begin = of[str(unless.start)].time
    ends = [of[str(unless.end)]] if unless.window is Window.BETWEEN else by_slot[-1]
    end = max(t.time for t in ends)
    closing = {e for t in ends if t.time == end for e in t.own}
    for bad in stage_ways(Stage("", unless.anchor, unless.clauses), edges):
        bound = joined((bad,), binds)
        if bound is None or not stage_holds(bad, bound, edges) or not bad.time > begin:
            continue
        at_the_end = {e for e in (*bad.own, *bad.others) if e.start == end}
        if bad.time < end or (bad.time == end and at_the_end <= closing):
            return True
    return False


def checked(pattern: GraphPattern, state: State) -> tuple[Any, int, int] | None:
    times = [t.time for t in state.taken]
    first, last = min(times), max(times)
    if pattern.within is not None and last - first > pattern.within:
        return None
    decided, tick = last, max(t.tick for t in state.taken)
    for relation, left, right in state.relations:
        truth = related(relation, left.interval, right.interval)
        if truth is not True:
            return None
        known = looked_at(relation, left.interval, right.interval)
        decided = max(decided, known)
        ends = [e.end_tick for t in (left, right) for e in t.own if e.end == known]
        tick = max([tick, *ends])
    if pattern.deadline is not None and tick - min(t.tick for t in state.first) > pattern.deadline:
        return None
    holds = sorted(state.taken, key=lambda t: (t.time, t.stage.name))
    binds = sorted(state.binds.items())
    return (binds, [(t.stage.name, t.time) for t in holds]), first, decided


INVERSE = {
    Allen.AFTER: Allen.BEFORE,
    Allen.MET_BY: Allen.MEETS,
    Allen.OVERLAPPED_BY: Allen.OVERLAPS,
    Allen.STARTED_BY: Allen.STARTS,
    Allen.CONTAINS: Allen.DURING,
    Allen.FINISHED_BY: Allen.FINISHES,
}


def related(relation: Relation, left: Any, right: Any) -> bool | None:
    """Infinite ends are open: which of two is later is not known."""
    kind, (a, b), (c, d) = relation.kind, left, right
    if kind in INVERSE:
        kind, (a, b), (c, d) = INVERSE[kind], right, left
    unknown = b == inf and d == inf
    true = {
        Allen.BEFORE: b < c,
        Allen.MEETS: b == c and a < c,
        Allen.OVERLAPS: a < c < b < d,
        Allen.STARTS: a == c and b < d,
        Allen.DURING: c < a and b < d,
        Allen.FINISHES: c < a and b == d and not unknown,
        Allen.EQUALS: a == c and b == d and not unknown,
    }[kind]
    if not true:
        return False
    gap = {
        Allen.BEFORE: c - b,
        Allen.OVERLAPS: b - c,
        Allen.STARTS: d - b,
        Allen.DURING: a - c,
        Allen.FINISHES: a - c,
    }.get(kind, 0)
    if gap == inf and (relation.low is not None or relation.high is not None):
        return None
    return (relation.low is None or gap >= relation.low) and (relation.high is None or gap <= relation.high)


def looked_at(relation: Relation, left: Any, right: Any) -> int:
    kind, (a, b), (c, d) = relation.kind, left, right
    if kind in INVERSE:
        kind, (a, b), (c, d) = INVERSE[kind], right, left
    if kind in (Allen.BEFORE, Allen.MEETS):
        return int(c)
    times = [a, c, b]
    if kind is Allen.STARTS and (relation.low is not None or relation.high is not None):
        times.append(d)
    return int(max(t for t in times if t != inf))


def not_excluded(shared: frozenset[str], matches: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for match in matches:
        (binds, _), first, decided, alternative = match
        mine = {n: v for n, v in binds if n in shared}
        if not any(
            a != alternative and {n: v for n, v in b if n in shared} == mine and first < other < decided
            for (b, _), _, other, a in kept
        ):
            kept.append(match)
    return kept
