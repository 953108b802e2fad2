"""`Program.explain` and `cepheid explain`: how a query is matched, with what a rate or some events say of its state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cepheid.engines.columnar.choice import can_be_compiled
from cepheid.engines.local.events import scan_schema
from cepheid.engines.local.explaining import tests_of_job, tests_of_program
from cepheid.engines.local.observing import census_of
from cepheid.engines.local.run import Job
from cepheid.engines.options import Options
from cepheid.engines.program import PlannedStream, Program, compile
from cepheid.engines.session import Session
from cepheid.errors import InputMistake, LimitReached
from cepheid.explain.census import Census
from cepheid.explain.explanation import ExplainedStream, Explanation
from cepheid.explain.state_text import Load, Sample
from cepheid.pattern.event import Event
from cepheid.pattern.model import OnLimit
from cepheid.plan.plan import Plan

SAMPLED = 50_000  # events
_MOST_RUNS = 20_000  # of a partition, in a sample: beyond that nobody needs to count
_AT_ONCE = 500


def explain(
    query: object,
    events: Any = None,
    options: Options | None = None,
    *,
    stream: str | None = None,
    rate: float | None = None,
    keys: int | None = None,
    sampled: bool = True,
    source: str = "query",
) -> Explanation:
    """Every stream of a query, or one of them. `events` say the types of fields, and `sampled` what is open at most.

    `rate` is events a second; where it is not given and there are events, it is theirs.
    """
    if rate is not None and rate <= 0:
        raise InputMistake("the rate must be more than 0 events a second", code="bad_option")
    if keys is not None and keys < 1:
        raise InputMistake("there is one key at least", code="bad_option")
    options = options or Options()
    if isinstance(events, Iterator):  # they are looked at more than once
        events = list(events)
    program, job = _planned(query, events, options, source)
    shown = list(program) if stream is None else [program[stream]]
    samples = {} if events is None or not sampled else _sampled(query, events, options, source)
    load = None if rate is None else Load(rate, keys or 1)
    return Explanation(tuple(_stream(p, program, job, load, samples.get(p.name)) for p in shown))


def _stream(
    planned: PlannedStream, program: Program, job: Job | None, load: Load | None, sample: Sample | None
) -> ExplainedStream:
    tests = tests_of_program(program, planned) if job is None else tests_of_job(job, planned)
    if load is not None and sample is not None and load.keys == 1:
        load = replace(load, keys=max(1, sample.keys))  # as many as there are in the sample
    return ExplainedStream(
        planned.name,
        planned.plan,
        planned.stream.pattern,
        planned.feeds_on,
        tests,
        load,
        sample,
        _beside(planned, program),
    )


def _beside(planned: PlannedStream, program: Program) -> tuple[Plan, ...]:
    """The plans whose trends are aggregated with those of the stream, by one pass over the same partitions."""

    def partitions(plan: Plan) -> object:
        return plan.key, plan.inferred_key

    def in_columns(plan: Plan) -> bool:
        return plan.trends is not None and all(len(c.path) < 2 for c in plan.trends.columns)

    able = [s.plan for s in program if in_columns(s.plan) and can_be_compiled(s) is None]
    if planned.plan not in able:
        return ()
    return tuple(plan for plan in able if partitions(plan) == partitions(planned.plan))


def _planned(query: object, events: Any, options: Options, source: str) -> tuple[Program, Job | None]:
    """Where the events do not say their types beforehand (JSON lines), they are read for it."""
    if events is None:
        return compile(query, None, source), None
    job = Job(query, events, options, source_name=source)
    if job.source.schema is not None:
        return job.program, job
    reading = Job(query, events, options, source_name=source).source
    return compile(query, scan_schema(reading.batches(), reading.columns), source), job


# A sample.


def _sampled(query: object, events: Any, options: Options, source: str) -> dict[str, Sample]:
    """The first events, matched by the reference matcher: what was open at most."""
    job = Job(query, events, options, source_name=source)
    taken, whole = _first(job)
    session = Session(_limited(job.program))
    counted = census_of(session.network)
    try:
        for at in range(0, len(taken), _AT_ONCE):
            session.feed_sorted(taken[at : at + _AT_ONCE])
    except LimitReached:
        whole = False
    return {name: _sample(census, whole) for name, census in counted.items()}


def _first(job: Job) -> tuple[list[Event], bool]:
    taken: list[Event] = []
    for batch in job.source.batches():
        taken += batch
        if len(taken) > SAMPLED:
            break
    kept = taken[:SAMPLED]
    return sorted(kept, key=Event.place_in_order), len(kept) == len(taken)


def _limited(program: Program) -> Program:
    """The same with fewer runs: a pattern that explodes is to say so, not to do so."""

    def limited(planned: PlannedStream) -> PlannedStream:
        pattern = planned.plan.pattern
        limits = replace(
            pattern.limits, max_runs=min(_MOST_RUNS, pattern.limits.max_runs), on_limit=OnLimit.ERROR
        )
        return replace(planned, plan=replace(planned.plan, pattern=replace(pattern, limits=limits)))

    return replace(program, streams=tuple(limited(s) for s in program))


def _sample(census: Census, whole: bool) -> Sample:
    return Sample(
        census.events,
        len(census.keys),
        census.seconds,
        census.peaks(),
        census.total.peak,
        census.largest,
        whole,
    )
