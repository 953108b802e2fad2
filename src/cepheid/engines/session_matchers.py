"""Which matcher takes the streams of a session that is fed by a program: lists may go through the kernel."""

from __future__ import annotations

from cepheid.engines.columnar.choice import can_be_compiled, why_not_alone
from cepheid.engines.network import MakeMatcher, reference
from cepheid.engines.program import PlannedStream, Program
from cepheid.errors import InputMistake
from cepheid.matching.compiled.ready import is_ready
from cepheid.matching.lifecycle import Listener
from cepheid.matching.list_matcher import ENOUGH, ListMatcher
from cepheid.matching.protocol import Matcher

ENGINES = ("auto", "reference", "compiled")


def session_matchers(program: Program, engine: str, listens: bool) -> tuple[MakeMatcher, dict[str, str]]:
    """How matchers are made, and why streams are the reference matcher's from the start."""
    reasons = {s.name: why for s in program if (why := _why_not(s, program, engine, listens)) is not None}
    if engine == "compiled":
        for name, reason in reasons.items():
            raise InputMistake(f"the compiled matcher cannot take `{name}`: {reason}", code="not_compiled")

    def make(planned: PlannedStream, listener: Listener | None, late_memory: int) -> Matcher:
        if planned.name in reasons:
            return reference(planned, listener, late_memory)
        must = engine == "compiled"
        return ListMatcher(planned.plan, late_memory=late_memory, enough=1 if must else ENOUGH, must=must)

    return make, reasons


def _why_not(planned: PlannedStream, program: Program, engine: str, listens: bool) -> str | None:
    if engine == "reference":
        return "it was asked for"
    if planned.plan.trends is not None:
        return "it aggregates trends"
    if listens:
        return "somebody listens to what happens to each run"
    if planned.plan.forecast is not None:
        return "it forecasts its open runs"
    if engine == "auto" and not is_ready():
        return "the kernel is not compiled on this machine yet"
    return can_be_compiled(planned) or why_not_alone(planned, program)


def known_engine(name: str) -> str:
    if name not in ENGINES:
        raise InputMistake(
            f"there is no engine {name!r}", code="unknown_engine", hint="use one of " + ", ".join(ENGINES)
        )
    return name
