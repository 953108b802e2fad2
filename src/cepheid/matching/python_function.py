"""Python functions as conditions, and events as they see them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.matching.moment import Moment, Names, Value
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Opaque
from cepheid.pattern.times import from_microseconds
from cepheid.pattern.values import clean


class EventView:
    """An event as a Python function sees it: `view.price`, `view["price"]`; a missing field is None."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    def __getattr__(self, name: str) -> Any:
        # Python's own protocols (copy, pickle) must not take a missing field for an answer.
        if name == "_event" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return clean(self._event.fields.get(name))

    def __contains__(self, name: object) -> bool:
        return name in self._event.fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._event.fields)

    def __repr__(self) -> str:
        return f"{self.type}({', '.join(f'{n}={v!r}' for n, v in self._event.fields.items())})"

    @property
    def type(self) -> str:
        return self._event.type

    @property
    def time(self) -> datetime:
        return from_microseconds(self._event.time)


def opaque(expr: Opaque, names: Names) -> Value:
    function = expr.function
    views = [_viewer(alias, names) for alias in expr.aliases] or [_view_at_hand]

    def call(moment: Moment) -> Any:
        arguments = [view(moment) for view in views]
        try:
            return clean(function(*arguments))
        except Exception as problem:
            raise EvaluationError(
                f"the Python function `{expr.name}` failed: {type(problem).__name__}: {problem}",
                code="python_error",
                place=expr.place,
                hint="a missing field and a step that took no part are None",
            ) from problem

    return call


def _view_at_hand(moment: Moment) -> EventView | None:
    return None if moment.event is None else EventView(moment.event)


def _viewer(alias: str, names: Names) -> Value:
    def view(moment: Moment) -> Any:
        events = moment.binds.get(alias, ())
        if len(events) == 1:
            return EventView(events[0])
        if events:
            return tuple(EventView(event) for event in events)
        # A closure's own name, before it captured anything, is the event taken before.
        before = moment.previous if alias == names.own else None
        return None if before is None else EventView(before)

    return view
