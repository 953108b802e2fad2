"""The incremental object for programs that feed events one by one and want matches as they happen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cepheid.engines import session
from cepheid.engines.forecast_models import with_models
from cepheid.engines.local.events import EventMaker
from cepheid.engines.local.times import to_microseconds
from cepheid.engines.options import Duration, make_options
from cepheid.engines.program import compile, event_columns
from cepheid.engines.session import Found
from cepheid.engines.session_matchers import known_engine, session_matchers
from cepheid.matching.lifecycle import Listener
from cepheid.matching.protocol import Matcher
from cepheid.time.lateness import Lateness


class Session:
    """A query at work on events as they come.

    Args:
        query: As in `run`.
        time: The field of an event's time.
        type: The field of its type.
        order: Fields that put events of one time in order.
        time_unit: What a number as a time counts: `s`, `ms`, `us` or `ns` since 1970.
        disorder: How far events may be out of order. They wait until nothing earlier can come.
        lateness: How much later than that an event is still matched, and its matches marked.
        too_late: What becomes of events later than that: `fail`, `drop` or `dead_letter`.
        listener: Called with each thing that happens to a run.
        engine: `auto`, `reference` or `compiled`. They give the same answer.
        models: What forecasts learned before, from `train_forecast`.

    >>> live = Session("A as a -> B as b .within(10s) .emit(v: b.v)", disorder="2s")
    >>> live.feed({"type": "A", "time": 0})
    []
    >>> live.feed([{"type": "B", "time": 1, "v": 7}, {"type": "Tick", "time": 5}])
    [Found(stream='matches', kind='match', row={'v': 7})]
    """

    def __init__(
        self,
        query: object,
        *,
        time: str = "time",
        type: str = "type",
        order: Any = None,
        time_unit: str = "s",
        disorder: Duration = 0,
        lateness: Duration = 0,
        too_late: str = "fail",
        listener: Listener | None = None,
        engine: str = "auto",
        models: Any = None,
    ) -> None:
        options = make_options(
            time,
            type,
            order,
            None,
            time_unit,
            disorder=disorder,
            lateness=lateness,
            too_late=too_late,
            models=models,
        )
        self.program = with_models(compile(query), options.models)
        make, self._reasons = session_matchers(self.program, known_engine(engine), listener is not None)
        self._inner = session.Session(
            self.program, options.lateness or Lateness(), make=make, listener=listener
        )
        declarations, columns = self.program.declarations, options.columns
        self._maker = EventMaker(event_columns(columns, declarations) if declarations.untyped else columns)
        self._unit = time_unit

    def feed(self, events: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[Found]:
        """One event or several, in the order they arrive; what was found because of them."""
        rows = [events] if isinstance(events, Mapping) else events
        return self._inner.feed(self._maker.make(row) for row in rows)

    def advance(self, time: Any) -> list[Found]:
        """Time has come this far although no event came: deadlines before it (less the disorder) pass."""
        return self._inner.advance(to_microseconds(time, self._unit))

    def end(self, now: Any = None) -> list[Found]:
        """No more events: what is still open is decided, or reported as pending."""
        return self._inner.end(None if now is None else to_microseconds(now, self._unit))

    def snapshot(self) -> bytes:
        """The whole state, to go on from elsewhere."""
        return self._inner.snapshot()

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot of a session with the same query."""
        self._inner.restore(state)
        self._maker.continue_from(self._inner.counters.events)

    def explain(self) -> dict[str, str]:
        """Which matcher takes the events of each stream, by what came so far."""
        return {name: self._told(name, matcher) for name, matcher in self._inner.network.matchers.items()}

    def _told(self, name: str, matcher: Matcher) -> str:
        reason = self._reasons.get(name) or getattr(matcher, "reason", None)
        if reason is not None:
            return f"the reference matcher: {reason}"
        return "the compiled matcher for lists, the reference matcher for a few events"

    @property
    def counters(self) -> session.Counters:
        """How many events came, were late, too late or dropped, and how many matches each stream has."""
        return self._inner.counters
