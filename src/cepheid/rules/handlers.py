"""The way of an event through the entrance, written out as Python.

It does what `send_event` does. Most events meet nothing: for them no object is made, only values are looked up. The
code is made once for a network; a session binds it to its own memory, which is in the defaults of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Binary, Expr, Field, Literal
from cepheid.rules.closures import EXACT, INF, lookup_key, place
from cepheid.rules.discriminations import EventNode
from cepheid.rules.memory import Element, MemoryPlan
from cepheid.rules.nodes import EventJoin, FactLook, Node
from cepheid.rules.objects import Event
from cepheid.rules.productions import Production
from cepheid.rules.resolve import EVENT
from cepheid.rules.written import code_of

if TYPE_CHECKING:
    from cepheid.rules.network import Network
    from cepheid.rules.working import Working

Handler = Callable[[Mapping[str, Any], int, Any, int], None]  # fields, time, identity, number
Binding = Callable[["Working"], Handler]
ARGUMENTS = "fields, time, identity, number"


class Writer:
    """Writes handlers of events of one type: for all that ask for them, or for some, of which tests are known."""

    def __init__(self, net: Network, type: str, held: bool) -> None:
        """`held`: events of this type may be retracted by a rule."""
        self.type, self.held = type, held
        self.count = net.classes[EVENT, type].count
        self.nodes: list[EventNode] = [
            n for n in net.discriminations.values() if (n.wants.kind, n.wants.type) == (EVENT, type)
        ]
        own = set(self.nodes)
        self.traced = any(join.same and join.wants in own for n in net.nodes for join in n.joins)

    def handler(self) -> Binding:
        return self._written(_Source(self), self.nodes, frozenset())

    def handler_for(self, nodes: Sequence[EventNode], true: frozenset[Expr]) -> Binding:
        """For one of many values: there are others like it, and all have the same code."""
        return self._written(_Alike(self), nodes, true)

    def _written(self, source: _Source, nodes: Sequence[EventNode], true: frozenset[Expr]) -> Binding:
        for at, node in enumerate(nodes):
            source.ask(at, node, true)
        source.came(self.count, [f"ok{at}" for at in range(len(nodes))], len(self.nodes) > 1)
        if self.traced:
            flags = "".join(f"(ok{at}, {source.name('node', node)}), " for at, node in enumerate(nodes))
            source.line(f"working.passed = [node for ok, node in ({flags}) if ok]")
        for at, node in enumerate(nodes):
            source.store(at, node)
        joins = [(join, at) for at, node in enumerate(nodes) for join in node.joins]
        for join, at in sorted(joins, key=lambda pair: -pair[0].child.depth):
            source.join(at, join)
        for at, node in enumerate(nodes):
            for entry in node.entries:
                source.enter(at, entry)
        return source.compiled()


class _Source:
    def __init__(self, writer: Writer) -> None:
        self.lines: list[str] = ["event = None"]
        self.known: dict[str, Any] = {
            "new": Event.__new__,
            "Event": Event,
            "Element": Element,
            "lookup_key": lookup_key,
            "INF": INF,
        }
        # What a session has of its own: a name for it, and where it is found.
        self.bound: dict[str, Callable[[Working], Any]] = {
            "working": lambda working: working,
            "journal": lambda working: working.journal,
        }
        self.type, self.held = writer.type, writer.held

    def name(self, what: str, thing: Any) -> str:
        name = f"{what}{len(self.known)}"
        self.known[name] = thing
        return name

    def own(self, what: str, find: Callable[[Working], Any]) -> str:
        name = f"{what}{len(self.bound)}"
        self.bound[name] = find
        return name

    def counter(self, number: int | None) -> str:
        return str(number)

    def line(self, text: str, deep: int = 1) -> None:
        self.lines.append("    " * (deep - 1) + text)

    def made(self, deep: int) -> None:
        """From here on there is an event. It is made without its `__init__`, which takes longer."""
        self.line("if event is None:", deep)
        fields = {
            "type": repr(self.type),
            "identity": "identity",
            "fields": "{**fields}",
            "number": "number",
            "time": "time",
            "fact": "None",
            "retracted": "False",
            "held": "[]" if self.held else "None",
        }
        self.line("event = new(Event)", deep + 1)
        for name, value in fields.items():
            self.line(f"event.{name} = {value}", deep + 1)

    def compiled(self) -> Binding:
        code = code_of(ARGUMENTS, tuple(self.bound), tuple(self.lines))
        known, find = self.known, tuple(self.bound.values())

        def bind(working: Working) -> Handler:
            return FunctionType(code, known, "handle", tuple([one(working) for one in find]))

        return bind

    # The parts of a handler.

    def came(self, count: int, passed: list[str], several: bool) -> None:
        """An event that passes nothing is done, and cannot fail any more: it needs no note."""
        self.line(f"if not ({' or '.join(passed) or False}):")
        self.line(f"{self.own('counts', lambda w: w.counts)}[{self.counter(count)}] += 1", 2)
        self.line("return", 2)
        if several:
            self.line(f"journal.append({self.counter(count)})")

    def ask(self, at: int, node: EventNode, true: frozenset[Expr]) -> None:
        inline = [_inline(test) for test in node.wants.tests - true]
        self.line(f"ok{at} = True")
        for number, text in enumerate(filter(None, inline)):
            value, right_kind, compared = text
            deep = 1 if number == 0 else 2
            if number:
                self.line(f"if ok{at}:")
            self.line(f"v = {value}", deep)
            self.line(f"if {right_kind}:", deep)
            self.line(f"ok{at} = {compared}", deep + 1)
            self.line("else:", deep)
            self._ask_slowly(at, node, deep + 1)
        if None in inline:
            self.line(f"if ok{at}:")
            self._ask_slowly(at, node, 2)
        self.line(f"if ok{at}: journal.append({self.counter(node.count)})")

    def _ask_slowly(self, at: int, node: EventNode, deep: int) -> None:
        self.made(deep)
        self.line(f"ok{at} = {self.name('test', node.whole_test)}((event,))", deep)

    def store(self, at: int, node: EventNode) -> None:
        if node.memory is None or node.keep < 0:
            return
        self.line(f"if ok{at}:")
        self.made(2)
        self._add(node.memory, ("event",), node.keep, 2)

    def join(self, at: int, join: EventJoin) -> None:
        self.line(f"if ok{at}:")
        key = _key(join.exprs[1])
        if key is None:
            self.made(2)
            self.line(f"{self.name('join', join)}.on_event(working, event)", 2)
            return
        memory, place = join.memory, join.index
        index = self.own("index", lambda w: w.memory(memory).indexes[place])
        table = self.own("table", lambda w: w.memory(memory).indexes[place].table)
        self._key_found(key, table, 2)
        run = f"{self.name('join', join)}.on_found(working, {index}, found, k, event)"
        fires = join.child.firing()
        if fires is None or not join.only_time:
            self.line(run, 4)
            return
        self.line(f"if {index}.plain and (k.__class__ is str or k.__class__ is int):", 4)
        self._fire(join, index, fires)
        self.line(f"else: {run}", 4)

    def _fire(self, join: EventJoin, index: str, fires: Production) -> None:
        """Tuples of the same key: if their time is right, too, the rule fires. It is what `on_found` comes to."""
        low, high = join.low, join.high
        since = "-INF" if high == INF else f"time - {high!r}"
        until = "INF" if low == -INF else f"time - {low!r}"
        things = [f"objects[{p}]" if p in range(join.child.width - 1) else "event" for p in fires.places]
        self.line(
            f"for element in found if len(found) == 1 else {index}.narrowed(found, {since}, {until}):", 5
        )
        self.line("objects = element.objects", 6)
        self.line(f"journal.append({self.counter(join.count)})", 6)
        self.line(f"if {since} <= objects[{join.against}].time <= {until}:", 6)
        self.line(f"journal.append({self.counter(join.child.count)})", 7)
        self.line(f"journal.append({self.counter(fires.count)})", 7)
        made = self.own("made", lambda w: w.made)
        self.line(f"{made}.append(({self.name('rule', fires.rule)}, ({', '.join(things)},)))", 7)

    def _add(self, plan: MemoryPlan, objects: tuple[str, ...], keep: float, deep: int) -> None:
        """As `Memory.add` does, if there is nothing special about it: no other code of rules is run as often."""
        memory = self.own("memory", lambda w: w.memory(plan.number))
        key = _key(plan.exprs[0], objects) if len(plan.exprs) == 1 else None
        if key is None or plan.traced or keep == INF:
            until = "INF" if keep == INF else f"time + {keep!r}"
            self.line(f"{memory}.add(({', '.join(objects)},), {until})", deep)
            return
        index = self.own("index", lambda w: w.memory(plan.number).indexes[0])
        table = self.own("table", lambda w: w.memory(plan.number).indexes[0].table)
        due = self.own("due", lambda w: w.memory(plan.number).by_date)
        ask = self.own("ask", lambda w: w.timers.ask)
        self._look_up(key, deep)
        self.line("element = Element()", deep)
        self.line(f"element.objects = ({', '.join(objects)},)", deep)
        self.line(f"element.until = until = time + {keep!r}", deep)
        self.line(f"element.memory = {memory}", deep)
        self.line("element.key = k", deep)
        self.line("element.alive = True", deep)
        self.line(f"{memory}.count += 1", deep)
        self.line(f"if {memory}.count > {memory}.most: {memory}.rise()", deep)
        self.line("if k is not None:", deep)
        new = f"{index}.plain and k not in {table} and (k.__class__ is int or k.__class__ is str)"
        self.line(f"if {new}: {table}[k] = [element]", deep + 1)
        self.line(f"else: {index}.insert(element, k)", deep + 1)
        for at in plan.fact_places:
            self.line(f"{objects[at]}.cell.elements[element] = None", deep)
        self.line("journal.append(element)", deep)
        self.line(f"needed = {due}.get(until)", deep)
        self.line("if needed is None:", deep)
        self.line(f"{due}[until] = [element]", deep + 1)
        self.line(f"{ask}(until, {memory})", deep + 1)
        self.line("else: needed.append(element)", deep)

    def _look_up(self, key: str, deep: int) -> None:
        """The key of a value; None if it is null, or NaN."""
        self.line(f"k = {key}", deep)
        plain = f"k.__class__ is str or (k.__class__ is int and {-EXACT} < k < {EXACT})"
        self.line(f"if not ({plain}): k = None if k is None or k != k else lookup_key(k)", deep)

    def _key_found(self, key: str, table: str, deep: int) -> None:
        self._look_up(key, deep)
        self.line("if k is not None:", deep)
        self.line(f"found = {table}.get(k)", deep + 1)
        self.line("if found is not None:", deep + 1)
        self.made(deep + 2)

    def enter(self, at: int, entry: Node) -> None:
        self.line(f"if ok{at}:")
        looks = [_key_of_event(look) for look in entry.looks]
        kept = entry.storing()
        if kept is not None and 0 <= kept[1] < INF:
            assert entry.memory is not None
            self.made(2)
            self._add(entry.memory, ("event",), kept[1], 2)
            return
        if not entry.looks or entry.productions or entry.memory is not None or None in looks:
            self.made(2)
            self.line(f"{self.name('receive', entry.receive)}(working, (event,))", 2)
            return
        for look, key in zip(entry.looks, looks, strict=True):
            assert isinstance(look, FactLook)
            assert key is not None
            self._look(look, key)

    def _look(self, look: FactLook, key: str) -> None:
        """Facts by a value of the event: if there is nothing else to ask of them, they are joined here."""
        node, place = look.wants, look.table
        assert place is not None
        table = self.own("table", lambda w: w.facts_of(node).tables[place])
        self._key_found(key, self.own("facts", lambda w: w.facts_of(node).tables[place].facts), 2)
        run = f"{self.name('look', look)}.on_found(working, {table}, found, k, (event,))"
        if look.rest is not None:
            self.line(run, 4)
            return
        self.line(f"if {table}.plain and (k.__class__ is str or k.__class__ is int):", 4)
        self.line("for fact in found.values():", 5)
        self._receive(look.child)
        self.line(f"else: {run}", 4)

    def _receive(self, child: Node) -> None:
        """A pair of the event and a fact."""
        kept = child.storing()
        if kept is None or kept[0] != 0 or not 0 <= kept[1] < INF:
            self.line(f"{self.name('receive', child.receive)}(working, (event, fact))", 6)
            return
        assert child.memory is not None
        self.line(f"journal.append({self.counter(child.count)})", 6)
        self._add(child.memory, ("event", "fact"), kept[1], 6)


class _Alike(_Source):
    """What differs is known by name, all of it as arguments: so the text is the same for all that are alike."""

    def counter(self, number: int | None) -> str:
        return self.name("count", number)

    def compiled(self) -> Binding:
        code = code_of(ARGUMENTS, (*self.known, *self.bound), tuple(self.lines))
        known, find = tuple(self.known.values()), tuple(self.bound.values())

        def bind(working: Working) -> Handler:
            return FunctionType(code, {}, "handle", (*known, *[one(working) for one in find]))

        return bind


def _key(exprs: tuple[Expr, ...], objects: tuple[str, ...] = ("event",)) -> str | None:
    """Of these objects, if it is one value of one of them. Of the event, which may not be there yet, it is at hand."""
    if len(exprs) != 1 or not isinstance(exprs[0], Field) or len(exprs[0].path) > 1:
        return None
    of = objects[place(str(exprs[0].alias))]
    owner = "" if of == "event" else f"{of}."
    return f"{owner}fields.get({exprs[0].path[0]!r})" if exprs[0].path else f"{owner}identity"


def _key_of_event(look: Any) -> str | None:
    if not isinstance(look, FactLook) or look.table is None:
        return None
    return _key(tuple(known for known, _ in look.step.keys))


def _inline(test: Expr) -> tuple[str, str, str] | None:
    """`field < 5` as: the value, is it of a kind that Python compares like us, and the comparison."""
    if not isinstance(test, Binary) or test.op not in ("==", "!=", "<", "<=", ">", ">="):
        return None
    if not isinstance(test.left, Field) or len(test.left.path) != 1 or not isinstance(test.right, Literal):
        return None
    value = test.right.value
    if value.__class__ is str:
        right_kind = "v.__class__ is str"
    elif value.__class__ is int and abs(value) < EXACT:
        right_kind = "v.__class__ is int"
    elif value.__class__ is float and value == value and abs(value) < INF:
        right_kind = "v.__class__ is float and v == v"  # NaN is null
    else:
        return None
    return f"fields.get({test.left.path[0]!r})", right_kind, f"v {test.op} {value!r}"
