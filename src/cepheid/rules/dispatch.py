"""Which handler an event takes: where many rules ask for a value of one field, each value has a handler of its own.

So an event is asked only what its value leaves open, however many rules there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Expr
from cepheid.rules.discriminations import EventNode, constant_of
from cepheid.rules.flow import send_event
from cepheid.rules.handlers import ARGUMENTS, Binding, Handler, Writer
from cepheid.rules.objects import Event
from cepheid.rules.written import written

if TYPE_CHECKING:
    from cepheid.rules.network import Network
    from cepheid.rules.working import Working

MOST_NODES = 16  # discriminations that are asked one after the other
FEW_VALUES = 3  # to ask for each is as fast as to look them up
MOST_WRITTEN = 4096  # questions in all handlers of a type


def handler_of(net: Network, type: str, held: bool) -> Binding | None:
    """None if there is too much to ask. `held`: events of this type may be retracted by a rule."""
    writer = Writer(net, type, held)
    return _by_value(writer) or (writer.handler() if len(writer.nodes) <= MOST_NODES else None)


def _by_value(writer: Writer) -> Binding | None:
    """If one field is asked for many constants of one kind: a handler for each of them, and one for all else."""
    field = _most_asked(writer.nodes)
    if field is None:
        return None
    wanted: dict[Any, list[EventNode]] = defaultdict(list)
    true: dict[Any, set[Expr]] = defaultdict(set)
    others = []
    for node in writer.nodes:
        found = [(value, test) for asked, value, test in _constants(node) if asked == field]
        if len(found) == 1:
            ((value, test),) = found
            wanted[value].append(node)
            true[value].add(test)
        else:
            others.append(node)
    sizes = [len(nodes) + len(others) for nodes in wanted.values()]
    if len(sizes) <= FEW_VALUES or max(sizes) > MOST_NODES or sum(sizes) > MOST_WRITTEN:
        return None
    in_order = {node: at for at, node in enumerate(writer.nodes)}
    bindings = {
        value: writer.handler_for(sorted([*nodes, *others], key=in_order.__getitem__), frozenset(true[value]))
        for value, nodes in wanted.items()
    }
    return _dispatching(*field, bindings, writer.handler_for(others, frozenset()), writer)


Asked = tuple[str, type]  # a field, and the kind of the constants


def _most_asked(nodes: Sequence[EventNode]) -> Asked | None:
    asked = Counter(field for node in nodes for field in {field for field, *_ in _constants(node)})
    return max(asked, key=asked.__getitem__, default=None)


def _constants(node: EventNode) -> list[tuple[Asked, Any, Expr]]:
    found = filter(None, map(constant_of, node.wants.tests))
    return [((name, value.__class__), value, test) for name, value, test in found]


class _Ways(dict[Any, Handler]):
    """Handlers of a session by value, made when they are first needed."""

    def __init__(self, bindings: Mapping[Any, Binding], other: Handler, working: Working) -> None:
        super().__init__()
        self.bindings, self.other, self.working = bindings, other, working

    def __missing__(self, value: Any) -> Handler:
        if value not in self.bindings:
            return self.other
        handler = self[value] = self.bindings[value](self.working)
        return handler


def _dispatching(
    name: str, kind: type, bindings: Mapping[Any, Binding], other: Binding, writer: Writer
) -> Binding:
    lines = [
        "value = fields.get(name)",
        "if value.__class__ is kind:",
        f"    ways[value]({ARGUMENTS})",
        "elif value is None:",
        f"    other({ARGUMENTS})",
        "else:",
        f"    slowly({ARGUMENTS})",
    ]
    type, held = writer.type, writer.held

    def bind(working: Working) -> Handler:
        def slowly(fields: Mapping[str, Any], time: int, identity: Any, number: int) -> None:
            """A value of another kind: what it is equal to is asked one by one."""
            event = Event(type, identity, dict(fields), number, time)
            event.held = [] if held else None
            send_event(working, event)

        rest = other(working)
        known = {
            "name": name,
            "kind": kind,
            "ways": _Ways(bindings, rest, working),
            "other": rest,
            "slowly": slowly,
        }
        handler: Handler = written(ARGUMENTS, lines, known)
        return handler

    return bind
