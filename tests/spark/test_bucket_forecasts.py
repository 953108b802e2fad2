"""Forecasts in buckets, without Spark: cut, restarted, retried, and on two workers they are those of a session."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from test_bucket import Chooser, Prepared, cuts, facts, filled, played, prepared

from cepheid.engines.program import compile
from cepheid.engines.session import Session
from cepheid.engines.spark.output import Answer, Payload
from cepheid.pattern.event import Event
from cepheid.time.lateness import Lateness

PATTERN = "stream S = A as a -> first B as b -> first C as c .within(20s)"
QUERIES = [
    f"{PATTERN} .partition_by(k) .forecast(horizon: 5, confidence: 0.1, warmup: 30, model: key)",
    f"{PATTERN} .forecast(horizon: 8s, confidence: 0.1, warmup: 30)",  # no key: one bucket, one model
    f"{PATTERN} .partition_by(k) .stnm() .forecast(horizon: 5, confidence: 0, warmup: 30, model: key)",
]


def _events(seed: int) -> list[Event]:
    rng = random.Random(seed)
    rows = [Event(rng.choice("AABCX"), i * 1_000_000, {"k": rng.randrange(3), "v": 0}) for i in range(110)]
    return filled(rows, 1_700_000_000_000_000)


def _with_forecasts(rows: Prepared) -> Prepared:
    work = rows.work.work
    more = tuple(Payload(kind, s.name, ()) for s in work.program for kind in ("forecast", "outcome"))
    answer = Answer((*work.answer.payloads, *more))
    return Prepared(replace(rows.work, work=replace(work, answer=answer)))


@pytest.mark.parametrize("query", QUERIES)
def test_as_a_session(query: str) -> None:
    program, events, chooser = compile(query), _events(1), Chooser(1)
    session = Session(program)
    expected = session.feed_sorted(events) + session.end()
    assert sum(f.kind == "forecast" for f in expected) > 10
    found = played(_with_forecasts(prepared(program, Lateness())), cuts(events, chooser), chooser).found
    assert facts(found, program) == facts(expected, program)


def test_a_model_of_a_bucket_is_kept() -> None:
    """Of several keys in one bucket each micro-batch may be another worker's: the model is one all the same."""
    query = f"{PATTERN} .partition_by(k) .forecast(horizon: 8s, confidence: 0.1, warmup: 30)"
    program, events, chooser = compile(query), _events(3), Chooser(3)
    rows = _with_forecasts(prepared(program, Lateness()))
    rows = Prepared(replace(rows.work, buckets=1))
    session = Session(program)
    expected = session.feed_sorted(events) + session.end()
    found = played(rows, cuts(events, chooser), chooser).found
    assert facts(found, program) == facts(expected, program)
