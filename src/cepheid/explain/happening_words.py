"""What happened, in words: for the terminal and the page alike."""

from __future__ import annotations

from cepheid.explain.event_words import clock, event_name
from cepheid.explain.happenings import (
    Advanced,
    Began,
    Blocked,
    Dropped,
    Evicted,
    Expired,
    Frame,
    Happening,
    Killed,
    Looped,
    Matched,
    Passed,
    Trace,
    TracedRun,
    Waiting,
    Withheld,
)

# For colours: did it do the run good, end it, or neither?
GOOD, BAD, QUIET = "good", "bad", "quiet"


def kind_of(happened: Happening) -> str:
    """
    >>> kind_of(Killed(0, "guard", "unless X"))
    'killed'
    """
    if isinstance(happened, Advanced) and happened.forked:
        return "looped, forked" if isinstance(happened, Looped) else "forked"
    return type(happened).__name__.lower()


def mood_of(happened: Happening) -> str:
    if isinstance(happened, (Began, Advanced, Matched)):
        return GOOD
    return BAD if isinstance(happened, (Killed, Expired, Dropped, Evicted, Withheld)) else QUIET


class Words:
    """Says what happened in a trace."""

    def __init__(self, trace: Trace, id_column: str = "id") -> None:
        self.trace = trace
        self.id_column = id_column

    def happening(self, happened: Happening, frame: Frame) -> str:
        """One line, which begins with the run."""
        return f"run {happened.run}: {self.what(happened, frame)}"

    def what(self, happened: Happening, frame: Frame) -> str:
        event = "" if frame.event is None else event_name(frame.event, self.id_column)
        match happened:
            case Began(step=step):
                return f"began with {event} as {step}"
            case Advanced(step=step, from_run=parent, forked=forked):
                waits = ", which waits on" if forked else ""
                what = "took one more" if isinstance(happened, Looped) else "took"
                return f"{what} {event} as {step}, coming from run {parent}{waits}"
            case Passed(causes=causes):
                return f"passed over {event}: " + "; ".join(c.text for c in causes)
            case Blocked(by=by):
                return f"has one way less: `{by}` and {event}"
            case Matched(match_id=match_id):
                return f"matched: {self.held(self.trace.runs[happened.run])} ({match_id[:8]})"
            case Withheld(reason=reason):
                return f"was complete and is not given: {reason}"
            case Waiting(deadline=deadline):
                until = "" if deadline is None else f" until {clock(deadline)}"
                return f"still waits{until} for an absence to be certain"
        return f"{ended(happened)}{f' (by {event})' if event and isinstance(happened, Killed) else ''}"

    def held(self, run: TracedRun) -> str:
        """`a = A1, b = [B1, B2]`."""
        by_step: dict[str, list[str]] = {}
        for step, event in run.held:
            by_step.setdefault(step, []).append(event_name(event, self.id_column))
        return ", ".join(f"{step} = {_listed(names)}" for step, names in by_step.items())


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    shown = names if len(names) <= 6 else [*names[:2], f"... {len(names) - 4} more ...", *names[-2:]]
    return f"[{', '.join(shown)}]"


def ended(end: Happening | None) -> str:
    """How a run ended; nothing: it is still open."""
    match end:
        case Killed(kind="contiguity", rule=rule):
            return f"broken: {rule}"
        case Killed(kind="closed", rule=rule):
            return f"closed: {rule}"
        case Killed(rule=rule):
            return f"killed by `{rule}`"
        case Expired(window=window, deadline=deadline):
            return f"expired: {window} was over at {clock(deadline)}"
        case Dropped(reason=reason):
            return f"dropped: {reason}"
        case Evicted(limit=limit):
            return f"dropped by {limit}"
    return "open to the end"
