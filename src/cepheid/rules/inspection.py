"""The network to look at: what each node is asked, who shares it, what it stores and until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Expr, Field, rewrite
from cepheid.pattern.rule_model import THIS
from cepheid.pattern.text import Verbatim, expr_text
from cepheid.pattern.time_of import TIME, TIMEOF
from cepheid.pattern.time_test import TimeTest
from cepheid.rules.changed_fact import FactField
from cepheid.rules.closures import INF, bounds, place
from cepheid.rules.discriminations import FactNode
from cepheid.rules.memory import Memory, MemoryPlan, Waiting
from cepheid.rules.nodes import EventJoin, FactLook, Node
from cepheid.rules.objects import Thing
from cepheid.rules.stamps import Stamp
from cepheid.rules.working import Working

if TYPE_CHECKING:
    from cepheid.rules.session import RuleSession


@dataclass(frozen=True)
class Stored:
    objects: tuple[Thing, ...]
    until: int | None  # the last date at which it is needed; None: there is none


@dataclass(frozen=True)
class Asks:
    """A join, or a rule that wants an event to be absent, asks a node to keep what it gets."""

    who: str  # the id of a node
    how_long: (
        int | None
    )  # microseconds after the earliest (a node of tuples: the nearest) event; None: for ever


@dataclass(frozen=True)
class NodeView:
    id: str
    kind: str  # class, discrimination, join, facts, no fact, rule
    type: str  # of the objects that come in here; of a rule: its name
    tests: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()  # who uses it
    received: int = 0  # objects, tuples or firings so far
    tried: int = 0  # pairs that a join has tested
    stored: tuple[Stored, ...] = ()
    most_stored: int = 0
    asked_by: tuple[Asks, ...] = ()
    indexed_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class WaitingView:
    """A firing that waits for an absence to be judged."""

    rule: str
    objects: dict[str, Thing]
    date: int  # the next at which something is judged
    fires_at: int


@dataclass
class _Drawing:
    session: RuleSession
    users: dict[str, dict[str, None]] = field(default_factory=dict)

    def views(self) -> list[NodeView]:
        network = self.session.program.network
        for node in network.nodes:
            for production in node.productions:
                self._use(node, production.rule.rule.name)
                for look in production.looks:
                    self._use_wanted(look.wants, production.rule.rule.name)
        found = [self._class(kind, type) for kind, type in network.classes]
        found += [self._discrimination(d) for d in network.discriminations.values()]
        found += [self._node(node) for node in network.nodes if node.step is not None]
        return found + [self._rule(rule) for rule in self.session.program.rules]

    def _use_of(self, id: str, rule: str) -> None:
        self.users.setdefault(id, {})[rule] = None

    def _use_wanted(self, wants: Any, rule: str) -> None:
        self._use_of(f"d{wants.number}", rule)
        self._use_of(f"{wants.wants.kind} {wants.wants.type}", rule)

    def _use(self, node: Node | None, rule: str) -> None:
        while node is not None:
            self._use_of(_id(node), rule)
            self._use_wanted(node.wants, rule)
            node = node.parent

    def _class(self, kind: str, type: str) -> NodeView:
        id = f"{kind} {type}"
        working = self.session.working
        came = sum(map(working.count_of, working.net.classes[kind, type].counters))
        return NodeView(id, "class", type, rules=tuple(self.users.get(id, ())), received=came)

    def _discrimination(self, found: Any) -> NodeView:
        id, wants = f"d{found.number}", found.wants
        working, tick = self.session.working, self.session.program.tick
        starts = [n for n in working.net.nodes if n.step is None and n.wants is found]
        asked = [Asks(_name(who), _finite(keep)) for who, keep in getattr(found, "asked", ())]
        asked += [Asks(_id(j.child), _shortest(j)) for n in starts for j in n.joins]
        owners = (found, *starts)
        stored = [s for owner in owners for s in (*_stored(working, owner), *_waiting(working, owner))]
        return NodeView(
            id,
            "discrimination",
            wants.type,
            tuple(sorted(test_text(t, ("",), tick) for t in wants.tests)),
            (f"{wants.kind} {wants.type}",),
            tuple(self.users.get(id, ())),
            working.count_of(found.count),
            stored=_longest(stored),
            most_stored=max(_most(working, owner) for owner in owners),
            asked_by=tuple(dict.fromkeys(asked)),
        )

    def _node(self, node: Node) -> NodeView:
        id, type = _id(node), node.wants.wants.type
        assert node.parent is not None
        assert node.count is not None
        parents = [_id(node.parent), f"d{node.wants.number}"]
        step, join = node.step, node.join
        labels, tick, working = (*node.labels, type), self.session.program.tick, self.session.working
        tests = () if step is None else (*step.fact_tests, *step.event_tests)
        keys = () if step is None else tuple(test_text(known, labels, tick) for known, _ in step.keys)
        return NodeView(
            id,
            _kind(node),
            type,
            tuple(sorted(test_text(t, labels, tick) for t in tests)),
            tuple(parents),
            tuple(self.users.get(id, ())),
            working.count_of(node.count),
            working.count_of(join.count) if isinstance(join, EventJoin) else 0,
            (*_stored(working, node), *_waiting(working, node)),
            _most(working, node),
            tuple(Asks(_id(j.child), _shortest(j)) for j in node.joins),
            keys,
        )

    def _rule(self, rule: Any) -> NodeView:
        working = self.session.working
        ends = [(n, p) for n in working.net.nodes for p in n.productions if p.rule is rule]
        looks = [f"d{look.wants.number}" for _, p in ends for look in p.looks]
        return NodeView(
            f"rule {rule.rule.name}",
            "rule",
            rule.rule.name,
            parents=tuple(dict.fromkeys([*(_id(n) for n, _ in ends), *looks])),
            rules=(rule.rule.name,),
            received=sum(working.count_of(p.count) for _, p in ends),
        )


def network_view(session: RuleSession) -> list[NodeView]:
    session.working.begin()  # counters are summed up, once for all nodes
    return _Drawing(session).views()


def waiting_view(session: RuleSession) -> list[WaitingView]:
    found = []
    for element in session.working.waiting():
        rule, things = element.production.rule, element.production.things(element.objects)
        dates = [date for date, _ in element.absences]
        found.append(WaitingView(rule.rule.name, rule.objects(things), dates[0], dates[-1]))
    return sorted(found, key=lambda w: (w.fires_at, w.date))


def _id(node: Node) -> str:
    """What begins a chain is shown with the discrimination that it begins with."""
    return f"d{node.wants.number}" if node.step is None else f"n{node.number}"


def _name(who: Any) -> str:
    return _id(who.child) if isinstance(who, EventJoin) else "an absence"


def _longest(stored: list[Stored]) -> tuple[Stored, ...]:
    """Each once, until the last date that anybody asks for."""
    found: dict[tuple[Thing, ...], Stored] = {}
    for one in stored:
        known = found.get(one.objects)
        if known is None or (known.until is not None and (one.until is None or one.until > known.until)):
            found[one.objects] = one
    return tuple(found.values())


def _kind(node: Node) -> str:
    if node.step is not None and node.step.absent:
        return "no fact"
    return "facts" if isinstance(node.join, FactLook) else "join"


def _stored(working: Working, owner: Any) -> tuple[Stored, ...]:
    if isinstance(owner, FactNode):
        facts = sorted(working.facts_of(owner).members.values(), key=lambda fact: fact.number)
        return tuple(Stored((fact,), None) for fact in facts)
    memory = _memory(working, owner.memory)
    return () if memory is None else tuple(Stored(e.objects, _finite(e.until)) for e in memory.in_order())


def _waiting(working: Working, node: Any) -> tuple[Stored, ...]:
    """They are stored until the last of their dates."""
    memory = _memory(working, getattr(node, "waits", None))
    found = () if memory is None else memory.in_order()
    return tuple(Stored(e.objects, e.absences[-1][0]) for e in found if isinstance(e, Waiting))


def _memory(working: Working, plan: MemoryPlan | None) -> Memory | None:
    return None if plan is None else working.memories[plan.number]


def _most(working: Working, owner: Any) -> int:
    if isinstance(owner, FactNode):
        return len(working.facts_of(owner).members)
    memory = _memory(working, owner.memory)
    return 0 if memory is None else memory.most


def _finite(value: float) -> int | None:
    return None if value == INF else int(value)


def _shortest(join: EventJoin) -> int | None:
    return _finite(max(min((most for _, most in asked), default=INF) for asked in join.asked))


# --- texts --------------------------------------------------------------------------------------------------------


def test_text(expr: Expr, labels: Sequence[str], tick: int) -> str:
    """A test as a user might write it; objects by their variables.

    >>> from cepheid.pattern.time_test import Span
    >>> test_text(TimeTest("1", "0", Span(1), Span(5)), ("a", "c"), tick=1)
    '?c after[1,5] ?a'
    """

    def change(node: Expr) -> Expr | None:
        text = _object_text(node, labels, tick)
        return None if text is None else Verbatim(text)

    return expr_text(rewrite(expr, change))


def _object_text(node: Expr, labels: Sequence[str], tick: int) -> str | None:
    match node:
        case Field(alias=str(alias), path=path):
            label = labels[place(alias)]
            if not label:
                return ".".join(path) or "?this"
            return ".".join((f"?{label}", *path))
        case FactField(event=event, path=path):
            return ".".join((f"?{labels[place(str(event.alias))] or THIS}", *path))
        case Stamp(event=event, named=named):
            label = labels[place(str(event.alias))]
            if named:
                return f"?{label}.{TIME}" if label else TIME
            return f"{TIMEOF}(?{label or THIS})"
        case TimeTest(left=left, right=right):
            low, high = (_bound_text(b, tick) for b in bounds(node))
            names = [labels[place(side)] or "this" for side in (left, right)]
            return f"?{names[0]} after[{low},{high}] ?{names[1]}"
    return None


def _bound_text(bound: float, tick: int) -> str:
    if bound in (INF, -INF):
        return "inf" if bound > 0 else "-inf"
    whole, rest = divmod(int(bound), tick)
    return str(whole) if rest == 0 else f"{int(bound)}us"
