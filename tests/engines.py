"""The engines every golden scenario runs on. A later engine joins with one line in ENGINES."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from cepheid.engines.network import Network
from cepheid.engines.program import Program, compile
from cepheid.engines.rows import match_row
from cepheid.match.found import Findings
from cepheid.pattern.duration import duration
from cepheid.pattern.event import Event
from cepheid.pattern.model import Limits
from cepheid.testing.scenarios import Engine, Outcome, Scenario, labels
from cepheid.testing.schema import schema_of
from cepheid.time.arrival import Arrivals
from cepheid.time.lateness import Lateness, TooLatePolicy


def reference_whole(scenario: Scenario) -> Outcome:
    """All events at once."""
    return _drive(scenario, lambda network, program: iter(()))


def reference_cut(scenario: Scenario) -> Outcome:
    """One event a batch; between any two, the state goes through a snapshot."""
    return _drive(scenario, None)


def _drive(scenario: Scenario, _unused: Any) -> Outcome:
    program = compile(scenario.query, schema_of(scenario.events, scenario.query))
    name = scenario.option("stream") or program.last.name
    network = Network(program)
    outcome = Outcome()
    limits = program[name].plan.pattern.limits
    arrivals = Arrivals(_lateness(scenario), limits)
    end: list[int] = [duration(scenario.options["now"])] if "now" in scenario.options else []
    arriving = scenario.arriving() if scenario.streaming else sorted(scenario.events, key=Event.place_in_order)
    if not scenario.streaming:
        arrivals = Arrivals(Lateness(), Limits())
    for i, event in enumerate(arriving):
        end.append(event.time)
        arrival = arrivals.feed(event)
        if arrival.dead is not None:
            outcome.dead_letters.append(event.fields["id"])
        if arrival.late is not None:
            _note(outcome, program, name, network.on_events([arrival.late]))
        _note(outcome, program, name, network.on_events(arrival.released, arrivals.watermark))
    _note(outcome, program, name, network.on_events(arrivals.end()))
    _note(outcome, program, name, network.on_end(max(end, default=0)))
    return outcome


def _lateness(scenario: Scenario) -> Lateness:
    return Lateness(
        duration(scenario.option("disorder", 0)),
        duration(scenario.option("lateness", 0)),
        TooLatePolicy(scenario.option("too_late", "drop")),
    )


def _note(outcome: Outcome, program: Program, name: str, found: dict[str, Findings]) -> None:
    findings = found[name]
    planned = program[name]
    for match in findings.matches:
        if match.provisional:
            continue
        outcome.matches.append(labels(match.events))
        outcome.ids.append(match.id)
        outcome.binds.append(
            {
                alias: list(labels(match.binds.get(alias, ()))) if many else _one(match.binds.get(alias, ()))
                for alias, many in planned.plan.aliases.items()
            }
        )
        outcome.rows.append(match_row(planned, match))
        if match.late:
            outcome.late.append(labels(match.events))
    outcome.pending += [labels(p.events) for p in findings.pending]
    outcome.timeouts += [labels(t.events) for t in findings.timeouts]


def _one(events: Any) -> str | None:
    return labels(events)[-1] if events else None


ENGINES: dict[str, Engine] = {"reference": reference_whole}
