"""The way of an event through the entrance, written out as Python for each type of events.

It does what `Network.event` does. Most events meet nothing: for them no object is made, only values are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Binary, Expr, Field, Literal
from cepheid.rules.closures import EXACT, INF, is_identity, lookup_key
from cepheid.rules.discriminations import EventNode
from cepheid.rules.nodes import EventJoin, FactLook, Node
from cepheid.rules.objects import Event
from cepheid.rules.resolve import EVENT

if TYPE_CHECKING:
    from cepheid.rules.network import Network

Handler = Callable[[Mapping[str, Any], int, Any, int], None]  # fields, time, identity, number
MOST_NODES = 16  # of a type with more, values are looked up and not asked one after the other


def handler_of(net: Network, type: str, held: bool) -> Handler | None:
    """None if there is too much to ask. `held`: events of this type may be retracted by a rule."""
    nodes = [n for n in net.discriminations.values() if (n.wants.kind, n.wants.type) == (EVENT, type)]
    if len(nodes) > MOST_NODES:
        return None
    source = _Source(type, held)
    for at, node in enumerate(nodes):
        source.ask(at, node)
    if nodes:
        source.line(f"if not ({' or '.join(f'ok{at}' for at in range(len(nodes)))}): return")
    if any(join.same and join.wants in nodes for n in net.nodes for join in n.joins):
        flags = ", ".join(f"(ok{at}, {source.name('node', node)})" for at, node in enumerate(nodes))
        source.line(f"{source.name('net', net)}.passed = [node for ok, node in ({flags},) if ok]")
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
    def __init__(self, type: str, held: bool) -> None:
        self.lines = ["def handle(fields, time, identity, number):", "    event = None"]
        self.known: dict[str, Any] = {"Event": Event, "lookup_key": lookup_key}
        more = ", held=[]" if held else ""
        self.make = f"event = Event({type!r}, identity, dict(fields), number, time{more})"

    def name(self, what: str, thing: Any) -> str:
        name = f"{what}{len(self.known)}"
        self.known[name] = thing
        return name

    def line(self, text: str, deep: int = 1) -> None:
        self.lines.append("    " * deep + text)

    def made(self, deep: int) -> None:
        """From here on there is an event."""
        self.line("if event is None:", deep)
        self.line(self.make, deep + 1)

    def compiled(self) -> Handler:
        exec(compile("\n".join(self.lines), "<handler of events>", "exec"), self.known)
        handler: Handler = self.known["handle"]
        return handler

    # The parts of a handler.

    def ask(self, at: int, node: EventNode) -> None:
        inline = [_inline(test) for test in node.wants.tests]
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
        self.line(f"if ok{at}: {self.name('node', node)}.passed += 1")

    def _ask_slowly(self, at: int, node: EventNode, deep: int) -> None:
        self.made(deep)
        self.line(f"ok{at} = {self.name('test', node.whole_test)}((event,))", deep)

    def store(self, at: int, node: EventNode) -> None:
        if node.memory is None or node.keep < 0:
            return
        until = f"time + {node.keep!r}" if node.keep < INF else "INF"
        self.known["INF"] = INF
        self.line(f"if ok{at}:")
        self.made(2)
        self.line(f"{self.name('memory', node.memory)}.add((event,), {until})", 2)

    def join(self, at: int, join: EventJoin) -> None:
        self.line(f"if ok{at}:")
        key = _key(join.exprs[1])
        if key is None:
            self.made(2)
            self.line(f"{self.name('join', join)}.on_event(event)", 2)
            return
        self._key_found(key, self.name("table", join.index.table), 2)
        self.line(f"{self.name('join', join)}.on_found(found, k, event)", 4)

    def _key_found(self, key: str, table: str, deep: int) -> None:
        self.line(f"k = {key}", deep)
        self.line("if k is not None and k == k:", deep)
        plain = f"k.__class__ is str or (k.__class__ is int and {-EXACT} < k < {EXACT})"
        self.line(f"if not ({plain}): k = lookup_key(k)", deep + 1)
        self.line(f"found = {table}.get(k)", deep + 1)
        self.line("if found is not None:", deep + 1)
        self.made(deep + 2)

    def enter(self, at: int, entry: Node) -> None:
        self.line(f"if ok{at}:")
        looks = [_key_of_event(look) for look in entry.looks]
        if entry.productions or entry.memory is not None or None in looks:
            self.made(2)
            self.line(f"{self.name('entry', entry)}.receive((event,))", 2)
            return
        self.line(f"{self.name('entry', entry)}.received += 1", 2)
        for look, key in zip(entry.looks, looks, strict=True):
            assert isinstance(look, FactLook)
            assert look.table is not None
            assert key is not None
            self._key_found(key, self.name("table", look.table.facts), 2)
            self.line(f"{self.name('look', look)}.on_found(found, k, (event,))", 4)


def _key(exprs: tuple[Expr, ...]) -> str | None:
    """Of the event itself, if it is a plain one."""
    if len(exprs) != 1 or not isinstance(exprs[0], Field):
        return None
    if is_identity(exprs[0]):
        return "identity"
    return f"fields.get({exprs[0].path[0]!r})" if len(exprs[0].path) == 1 else None


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
        right_kind = "v.__class__ is float"
    else:
        return None
    return f"fields.get({test.left.path[0]!r})", right_kind, f"v {test.op} {value!r}"
