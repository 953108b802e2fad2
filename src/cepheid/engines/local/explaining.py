"""Which matcher runs the streams of a program here, and why not the compiled one."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.engines.columnar.choice import FEW, FEW_TO_COMPILE, compiled
from cepheid.engines.local.run import Job
from cepheid.engines.program import PlannedStream, Program
from cepheid.matching.compiled.ready import is_ready
from cepheid.pattern.types import Type, common, struct_of


def matcher_of_job(job: Job, streams: Iterable[PlannedStream]) -> str:
    """For the events at hand."""
    mine = {s.name for s in job.choice.streams}
    reasons = {s.name: job.choice.why_not(s.name) for s in streams}
    return _section([(name, None if name in mine else reason) for name, reason in reasons.items()])


def matcher_of_program(program: Program, streams: Iterable[PlannedStream]) -> str:
    """Without events: what can be said by the declarations. Nothing where they say too little."""
    event = _declared(program)
    if event is None:
        return ""
    found = [(s.name, compiled(s, program, event)) for s in streams]
    text = _section([(name, reason if isinstance(reason, str) else None) for name, reason in found])
    least = FEW if is_ready() else FEW_TO_COMPILE
    return f"{text}  the compiled matcher is for files, lists and tables of {least:,} events and more\n"


def _section(reasons: list[tuple[str, str | None]]) -> str:
    width = max(len(name) for name, _ in reasons)
    lines = [
        f"  {name.ljust(width)}  "
        + ("the compiled matcher" if reason is None else f"the reference matcher: {reason}")
        for name, reason in reasons
    ]
    return "\n".join(["matcher", *lines]) + "\n"


def _declared(program: Program) -> Type | None:
    """All fields of all declared events; None if there are none, or two of one name clash."""
    fields: dict[str, Type] = {}
    for event in program.declarations.events:
        for name, kind in event.fields:
            joint = common(fields[name], kind) if name in fields else kind
            if joint is None:
                return None
            fields[name] = joint
    return struct_of(fields) if fields else None
