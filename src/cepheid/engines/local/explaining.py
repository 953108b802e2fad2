"""Which matcher runs the streams of a program here, why not the compiled one, and where each test runs."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.engines.columnar.choice import FEW, FEW_TO_COMPILE, choose, compiled, feeds_others
from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.events import Columns as EventColumns
from cepheid.engines.local.frames import arrow_type
from cepheid.engines.local.run import Job
from cepheid.engines.program import PlannedStream, Program
from cepheid.errors import CepheidError
from cepheid.explain.test_places import (
    ARROW,
    KERNEL,
    PYTHON,
    TestsPlaced,
    placed,
    tests_of_events,
    tests_of_runs,
)
from cepheid.matching.compiled.arrow_terms import Fields, Stays
from cepheid.matching.compiled.arrow_tests import condition
from cepheid.matching.compiled.ready import is_ready
from cepheid.pattern.expr import Expr
from cepheid.pattern.types import STRING, TIMESTAMP, Type, common, struct_of

Columns = Mapping[str, pa.DataType]


def tests_of_job(job: Job, planned: PlannedStream) -> TestsPlaced:
    """For the events at hand."""
    mine = {s.name for s in job.choice.streams}
    if planned.name not in mine:
        return _by_reference(job.choice.why_not(planned.name))
    scan = job.choice.fed[planned.feeds_on] if planned.feeds_on else job.choice.scan
    assert scan is not None
    return _by_kernel(planned, scan.types)


def tests_of_program(program: Program, planned: PlannedStream) -> TestsPlaced | None:
    """Without events: what can be said by the declarations. None where they say too little."""
    event = _declared(program)
    if event is None:
        return None
    columns = {name: arrow_type(kind) for name, kind in event.fields}
    if planned.feeds_on or feeds_others(planned, program):
        own = {"time": arrow_type(TIMESTAMP), "type": arrow_type(STRING)}
        choice = choose(program, Scan({**columns, **own}, ()), EventColumns())
        reason = choice.why_not(planned.name)
        columns = {
            **columns,
            **(choice.fed[planned.feeds_on].types if planned.feeds_on and not reason else {}),
        }
    else:
        found = compiled(planned, event)
        reason = found if isinstance(found, str) else None
    if reason is not None:
        return _by_reference(reason)
    least = FEW if is_ready() else FEW_TO_COMPILE
    note = f"the compiled matcher is for files, lists and tables of {least:,} events and more"
    return _by_kernel(planned, columns, note)


def _by_reference(reason: str | None) -> TestsPlaced:
    return TestsPlaced(f"the reference matcher: {reason}", (), (f"all tests: {PYTHON}",))


def _by_kernel(planned: PlannedStream, columns: Columns, *notes: str) -> TestsPlaced:
    plan = planned.plan
    by_event = (
        placed(step, test, ARROW if _arrow_takes(test, columns) else PYTHON)
        for step, _, test in tests_of_events(plan)
    )
    by_run = (placed(step, test, KERNEL) for step, test in tests_of_runs(plan))
    return TestsPlaced("the compiled matcher", (*by_event, *by_run), notes)


def _arrow_takes(test: Expr, columns: Columns) -> bool:
    """By the types of its columns: some values (a sum that overflows) may send it back to Python."""
    none = {name: pa.array([], kind) for name, kind in columns.items()}
    try:
        condition(test, Fields(none, 0))
    except Stays:
        return False
    except (CepheidError, pa.ArrowException):  # Python says what is wrong with it
        return False
    return True


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
