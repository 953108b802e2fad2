"""What a firing does, written out for each rule: it is told, rows are emitted, other actions become operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Expr
from cepheid.pattern.rule_model import Emit
from cepheid.rules.actions import Things, operation_of
from cepheid.rules.happenings import Emitted, Fired
from cepheid.rules.resolve import ReadyRule
from cepheid.rules.values import values_text
from cepheid.rules.written import written

if TYPE_CHECKING:
    from cepheid.rules.operating import Operating

Fire = Callable[["Operating", Things, int, int], None]  # what is matched, the firing's number and its time


def fire_of(rule: ReadyRule) -> Fire:
    source = _Source()
    source.tell(
        "Fired", rule=source.name(rule.rule.name), time="now", objects=rule.objects_text, number="number"
    )
    for action in rule.rule.actions:
        if isinstance(action, Emit):
            source.emit(action.stream, rule.matched_values(action.fields))
        else:
            act = source.name(operation_of(action, rule))
            source.lines.append(f"session.queue.append({act}(session, things, number, now))")
    fire: Fire = written("session, things, number, now", source.lines, source.known)
    return fire


class _Source:
    def __init__(self) -> None:
        self.known: dict[str, Any] = {"new": object.__new__, "Fired": Fired, "Emitted": Emitted}
        self.lines = ["told = session.told"]

    def name(self, thing: Any) -> str:
        name = f"known{len(self.known)}"
        self.known[name] = thing
        return name

    def emit(self, stream: str, exprs: Mapping[str, Expr]) -> None:
        fields = values_text(exprs, self.name)
        self.tell("Emitted", stream=self.name(stream), fields=fields, time="now", firing="number")

    def tell(self, kind: str, **values: str) -> None:
        """Something that happened. It is made without its `__init__`, which takes longer."""
        self.lines.append(f"happened = new({kind})")
        self.lines += [f"happened.{name} = {value}" for name, value in values.items()]
        self.lines.append("told.append(happened)")
