"""How Spark shares the work of a query: what it does itself, what it moves, what is left to the matcher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cepheid.engines.options import Options, make_options
from cepheid.engines.program import PlannedStream
from cepheid.engines.spark.cascade import Cascade, apart, cascade_of, why_not
from cepheid.engines.spark.inputs import Input, plan_input
from cepheid.engines.spark.prepare import Split, split
from cepheid.engines.spark.stream import bucket_count
from cepheid.engines.spark.units import Unit, narrowed, units_of
from cepheid.explain.tables import Row, aligned
from cepheid.explain.words import Names, test_text
from cepheid.pattern.duration import duration_text
from cepheid.pattern.expr import Expr
from cepheid.plan.seen_rows import seen_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain_spark(query: object, df: DataFrame, *, stream: str | None = None, **options: Any) -> str:
    """How a query runs on a DataFrame, as text: its tests in Spark, what is shuffled, what the matcher does.

    Nothing is run.

    Args:
        query: As in `match`.
        df: The DataFrame it would run on.
        stream: The stream that is wanted, where the query has several.
        options: All that `match` takes.
    """
    settings = make_options(**options)
    if df.isStreaming:
        settings = replace(settings, buckets=bucket_count(df, settings.buckets))
    program, given = plan_input(query, df, settings)
    if stream is not None:
        program = narrowed(program, [program[stream].name])
    parts = [part for unit in units_of(program) for part in apart(unit, given)]
    texts = [_unit_text(part, given, settings) for part in parts]
    if len(parts) > 1:
        texts.insert(0, f"{len(parts)} groups of streams; Spark reads the events once for each.\n")
    return "\n\n".join(texts)


def _unit_text(unit: Unit, given: Input, options: Options) -> str:
    head = f"stream{'s' if len(unit.names) > 1 else ''} {', '.join(unit.names)}"
    cascade = cascade_of(unit, given)
    work = split(unit, given) if cascade is None else cascade.work
    sections = [
        ("runs", list(_runs(work, options, cascade))),
        ("Spark tests each event by itself", _tests(work)),
        ("left to Python, where Spark's tests hold", _left(work)),
        ("Spark moves", _moved(work, cascade)),
        ("the matcher, in Python, looks at several events", _matcher(unit)),
    ]
    told = ["\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections if lines]
    return "\n\n".join([f"{head}\n{'=' * len(head)}", *told]) + "\n"


# Sections.


def _runs(work: Split, options: Options, cascade: Cascade | None) -> Iterator[str]:
    unit, given = work.unit, work.given
    if cascade is not None:
        yield "as joins: there is no key, but an equality ties each step to one before it"
        yield from _joins(unit.program.streams[0])
        yield "the matcher then looks at each tuple of events by itself"
    elif not unit.key:
        yield "as one partition, by one core: there is no key"
        yield f"not as joins: {why_not(unit, given)}"
        yield _advice(unit)
    elif given.streaming:
        yield f"by key: {unit.key_text()}, in {options.buckets} buckets, each with its state in one task"
    else:
        yield f"by key: {unit.key_text()}; a key is matched by one task, key after key"
    if unit.feeding:
        yield "together, because one stream feeds another"
    if cascade is None:
        yield from _matcher_used(work, options)


def _matcher_used(work: Split, options: Options) -> Iterator[str]:
    reasons = _why_not_compiled(work, options)
    if None in reasons.values():
        yield "through the compiled matcher"
    alone = len(reasons) == 1
    for name, reason in reasons.items():
        if reason is not None:
            yield f"{'' if alone else f'`{name}` '}through the reference matcher: {reason}"


def _why_not_compiled(work: Split, options: Options) -> dict[str, str | None]:
    """Of each stream; None: it is. In a bounded input also with all rows of a key at once."""
    from cepheid.engines.spark.kernel_rows import why_not_compiled
    from cepheid.engines.spark.staged_keys import choose_staged

    program, given = work.unit.program, work.given
    event = given.schema.common_fields
    assert event is not None, "a DataFrame has a schema"
    late = options.lateness.threshold if options.lateness is not None else 0
    reasons = why_not_compiled(program, work.layout, event, late)
    others = tuple(stream for stream in program if reasons[stream.name] is not None)
    if given.streaming or not others:
        return reasons
    types = {name: given.kind(name) for name in work.layout.fields}
    choice = choose_staged(replace(program, streams=others), work.layout, types, given.typed)
    staged = {stream.name for stream in choice.streams}
    return {
        name: None if name in staged or reason is None else choice.why_not(name) or reason
        for name, reason in reasons.items()
    }


def _advice(unit: Unit) -> str:
    if unit.feeding:
        return (
            "! `partition by` one field in all of them, and emit it under its name in those that feed others"
        )
    return "! add `partition by`, or tie the steps together by the equality of a field"


def _joins(stream: PlannedStream) -> Iterator[str]:
    names = Names(stream.plan)
    within = stream.plan.pattern.within
    rows: list[Row] = []
    for number, position in enumerate(stream.plan.automaton.positions):
        word = "join" if number else "start"
        bound = f", in {duration_text(within)}" if number and within is not None else ""
        on = f"on {_conditions(position.beta)}{bound}" if position.beta else ""
        rows.append((word, names.positions[number], on))
    for absence in stream.plan.automaton.absences:
        rows.append(("without", absence.node.step.type, f"on {_conditions(absence.beta)}"))
    for guard in stream.plan.guards:
        rows.append(("without", guard.guard.step.type, f"on {_conditions(guard.beta)}"))
    yield from aligned(rows, 2)


def _tests(work: Split) -> list[str]:
    rows = []
    for test, left in zip(work.answered.tests, work.answered.left, strict=True):
        done = tuple(t for t in test.alpha if t not in left)
        rows.append((test.type, _conditions(done) or "its type alone"))
    return aligned(rows)


def _left(work: Split) -> list[str]:
    pairs = zip(work.answered.tests, work.answered.left, strict=True)
    return aligned([(test.type, _conditions(left)) for test, left in pairs if left])


def _moved(work: Split, cascade: Cascade | None) -> list[str]:
    columns = work.given.columns
    names = [columns.time, *([columns.type] if work.given.typed else []), *columns.order]
    names += [n for n in work.layout.fields if n not in names]
    unused = [n for n in work.given.arrow.names if n not in names]
    rows = [
        ("rows", _rows_moved(work)),
        *[("", advice) for advice in _fewer_rows(work)],
        ("columns", ", ".join(names) + (f"; not {', '.join(unused)}" if unused else "")),
    ]
    if cascade is not None:
        rows.append(("by", "time, to number the events of one time, then by what joins them"))
    else:
        rows.append(("by", work.unit.key_text() or "nothing: to one task"))
    if work.layout.has_now:
        rows.append(("beside", "the time of the last event: what waits for time waits until then"))
    return aligned(rows)


def _rows_moved(work: Split) -> str:
    if work.keeps_all_rows:
        return "all, because neighbours count; those that pass no test without their values"
    if work.whole_types:
        return "those that pass a test, and all of type " + ", ".join(work.whole_types)
    return "those that pass a test"


def _fewer_rows(work: Split) -> Iterator[str]:
    """Where all rows move for patterns that name one type: mostly its own neighbours are what is meant."""
    column = work.given.columns.type
    looking = [plan for plan in work.plans if seen_rows(plan, column).all]
    kinds = {kind for plan in looking for kind in plan.event_types}
    if work.given.typed and len(kinds) == 1 and all(plan.forecast is None for plan in looking):
        key = ", ".join(part for part in (work.unit.key_text(), column) if part)
        yield f"! neighbours may be of any type: `partition by {key}` means those of {kinds.pop()}, and moves no others"


def _matcher(unit: Unit) -> list[str]:
    rows: list[Row] = []
    for stream in unit.program:
        rows += [(stream.name, name, text) for name, text in _across(stream)]
    return aligned(rows)


def _across(stream: PlannedStream) -> Iterator[tuple[str, str]]:
    plan, names = stream.plan, Names(stream.plan)
    for position, name in zip(plan.automaton.positions, names.positions, strict=True):
        yield name, _conditions(position.beta) or "-"
    for absence in plan.automaton.absences:
        yield f"NOT {absence.node.step.type}", _conditions(absence.beta) or "-"
    for guard in plan.guards:
        yield f"unless {guard.guard.step.type}", _conditions(guard.beta) or "-"


# Words.


def _conditions(tests: Sequence[Expr]) -> str:
    return " and ".join(test_text(test) for test in tests)


__all__ = ["explain_spark"]
