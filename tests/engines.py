"""The engines every golden scenario runs on. A later engine joins with one line in ENGINES."""

from __future__ import annotations

from typing import Any

from cepheid.engines.network import Network
from cepheid.engines.program import Program, compile
from cepheid.engines.rows import RowMaker
from cepheid.matching.found import Findings
from cepheid.pattern.duration import duration
from cepheid.pattern.event import Event
from cepheid.pattern.model import Limits
from cepheid.testing.scenarios import Engine, Outcome, Scenario, labels
from cepheid.testing.schema import schema_of
from cepheid.time.arrival import Arrivals
from cepheid.time.lateness import Lateness, TooLatePolicy


def reference_whole(scenario: Scenario) -> Outcome:
    """All events at once (a stream: as they arrive)."""
    return _drive(scenario, restart=False, one_by_one=scenario.streaming)


def reference_restarted(scenario: Scenario) -> Outcome:
    """One event at a time, and between any two the whole state goes through a snapshot into a new matcher."""
    return _drive(scenario, restart=True, one_by_one=True)


def _drive(scenario: Scenario, restart: bool, one_by_one: bool) -> Outcome:
    program = compile(scenario.query, schema_of(scenario.events))
    name = scenario.option("stream") or program.last.name
    network = Network(program)
    outcome = Outcome()
    if one_by_one:
        arriving = (
            scenario.arriving() if scenario.streaming else sorted(scenario.events, key=Event.place_in_order)
        )
        lateness = _lateness(scenario) if scenario.streaming else Lateness()
        limits = program[name].plan.pattern.limits if scenario.streaming else Limits()
        arrivals = Arrivals(lateness, limits)
        for event in arriving:
            arrival = arrivals.feed(event)
            if arrival.dead is not None:
                outcome.dead_letters.append(event.fields["id"])
            if arrival.late is not None:
                _note(outcome, program, name, network.on_events([arrival.late]))
            _note(outcome, program, name, network.on_events(arrival.released, arrivals.watermark))
            network = _restarted(program, network) if restart else network
        _note(outcome, program, name, network.on_events(arrivals.end()))
    else:
        _note(outcome, program, name, network.on_events(sorted(scenario.events, key=Event.place_in_order)))
    last = max((e.time for e in scenario.events), default=0)
    now = duration(scenario.options["now"]) if "now" in scenario.options else last
    _note(outcome, program, name, network.on_end(max(last, now)))
    return outcome


def _restarted(program: Program, network: Network) -> Network:
    fresh = Network(program)
    fresh.restore(network.snapshot())
    return fresh


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
        outcome.rows.append(RowMaker(planned).row(match))
        if match.provisional:
            continue
        outcome.matches.append(labels(match.events))
        outcome.ids.append(match.id)
        outcome.ends.append(match.end)
        outcome.binds.append(
            {
                alias: list(labels(match.binds.get(alias, ()))) if many else _one(match.binds.get(alias, ()))
                for alias, many in planned.plan.aliases.items()
            }
        )
        if match.late:
            outcome.late.append(labels(match.events))
    outcome.pending += [labels(p.events) for p in findings.pending]
    outcome.deadlines += [p.deadline for p in findings.pending]
    outcome.timeouts += [labels(t.events) for t in findings.timeouts]


def _one(events: Any) -> str | None:
    return labels(events)[-1] if events else None


ENGINES: dict[str, Engine] = {"reference": reference_whole, "reference-restarted": reference_restarted}
