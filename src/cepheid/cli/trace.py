"""`--trace`: each run's life, one line for each thing that happens."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.cli.words import event_text, moment
from cepheid.engines.local.writers import cell_text
from cepheid.engines.program import Program
from cepheid.matching.lifecycle import (
    Advanced,
    Completed,
    Dropped,
    Evicted,
    Expired,
    Negated,
    RunEvent,
    Started,
)
from cepheid.pattern.event import Event
from cepheid.pattern.text import expr_text

_MOST_HELD = 6


class Trace:
    """A listener that writes lines. It is told the program before the first event."""

    def __init__(self, write: Callable[[str], None], stream: str | None = None) -> None:
        self.write = write
        self.stream = stream
        self.program: Program | None = None

    def __call__(self, happened: RunEvent) -> None:
        if self.stream is None or happened.stream == self.stream:
            self.write(self._line(happened))

    def _line(self, happened: RunEvent) -> str:
        where = " ".join(filter(None, (happened.stream, self._key(happened), f"run {happened.run}")))
        verb, what = _told(happened)
        return f"{moment(happened.time)}  {where}  {verb:<9} {what}{_held(happened.taken)}"

    def _key(self, happened: RunEvent) -> str:
        if self.program is None or not happened.key:
            return ""
        names = [expr_text(k) for k in self.program[happened.stream].plan.key]
        return " ".join(f"{n}={cell_text(v) or 'null'}" for n, v in zip(names, happened.key, strict=False))


def _told(happened: RunEvent) -> tuple[str, str]:
    match happened:
        case Started(event=event):
            return "started", event_text(event)
        case Advanced(event=event, step=step, forked=True):
            return "forked", f"{step} = {event_text(event)}, a copy waits on"
        case Advanced(event=event, step=step):
            return "advanced", f"{step} = {event_text(event)}"
        case Negated(event=event, by=by):
            return "negated", f"{event_text(event)} violates {by}"
        case Expired(deadline=deadline):
            return "expired", f"its time was up at {moment(deadline)}"
        case Completed(match_id=match_id):
            return "completed", f"match {match_id}"
        case Dropped(reason=reason):
            return "dropped", reason
        case Evicted(limit=limit):
            return "evicted", f"by {limit}"
    return type(happened).__name__.lower(), ""


def _held(taken: tuple[Event, ...]) -> str:
    names = [f"{e.type}@{moment(e.time).partition(' ')[2]}" for e in taken]
    if len(names) > _MOST_HELD:
        names = [*names[:2], f"... {len(names) - 4} more ...", *names[-2:]]
    return f"  [{', '.join(names)}]"
