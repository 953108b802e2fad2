"""The whole of it: read and test, keep, sort, match, put in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

from cepheid.engines.columnar.groups import Group
from cepheid.engines.columnar.kept import PARTS, KeptRows
from cepheid.engines.columnar.key_codes import part_numbers
from cepheid.engines.columnar.matching import Sorted, StreamMatcher, match_all
from cepheid.engines.columnar.reading import PieceRead, PieceReader, read_all
from cepheid.engines.columnar.results import StreamAnswer, StreamResults
from cepheid.engines.columnar.scan import Scan
from cepheid.engines.columnar.trends import TrendResults, take_trends
from cepheid.engines.local.events import Columns
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.pattern.expr import Opaque, walk
from cepheid.pattern.types import Type


@dataclass
class Answer:
    """What all streams found, and what came in."""

    streams: dict[str, StreamAnswer] = field(default_factory=dict)
    events: int = 0
    last: int | None = None
    types: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Work:
    """What is to be done."""

    scan: Scan
    columns: Columns
    groups: Sequence[Group]
    outputs: Callable[[str], list[tuple[str, Type]]]  # the columns of a stream's answer
    outcomes: Callable[[str], list[tuple[str, Type]]]  # the columns of what became of runs that were foretold
    now: int | None
    memory: int  # bytes of kept rows
    threads: int
    on_piece: Callable[[PieceRead], None]  # told of each piece, in order
    feeding: frozenset[str] = frozenset()  # streams that others feed on
    of_events: int = sys.maxsize  # rows before this are events, or matches that events made certain


def run(work: Work) -> Answer:
    answer = Answer()
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(work.threads)
        stack.callback(pool.shutdown, cancel_futures=True)
        kept = [_kept(group, work) for group in work.groups]
        for rows in kept:
            stack.callback(rows.close)
        _read(work, kept, pool, answer)
        times = [t for t in (work.now, answer.last) if t is not None]
        for group, rows in zip(work.groups, kept, strict=True):
            answer.streams.update(_match(work, group, rows, pool, max(times, default=0)))
    return answer


def _kept(group: Group, work: Work) -> KeptRows:
    plan = group.plan
    limit = work.memory // len(work.groups)
    return KeptRows(group.schema, limit, lambda table: part_numbers(plan, table, PARTS), bool(plan.key))


def _read(work: Work, kept: list[KeptRows], pool: ThreadPoolExecutor, answer: Answer) -> None:
    reader = PieceReader(work.groups, work.scan, work.columns)
    # A user's function sees events in their order, and is never called by two threads.
    threads = 1 if any(_calls_python(group) for group in work.groups) else work.threads
    for found in read_all(work.scan, reader.read, pool, threads):
        work.on_piece(found)
        answer.events += found.events
        answer.types |= found.types
        if found.last is not None:
            answer.last = found.last if answer.last is None else max(answer.last, found.last)
        for rows, batches in zip(kept, found.kept, strict=True):
            for batch in batches:
                rows.add(batch)


def _calls_python(group: Group) -> bool:
    return any(isinstance(node, Opaque) for expr in group.bits.in_python for node in walk(expr))


def _match(
    work: Work, group: Group, kept: KeptRows, pool: ThreadPoolExecutor, end: int
) -> dict[str, StreamAnswer]:
    order = len(work.columns.order)
    listed = [i for i, s in enumerate(group.streams) if isinstance(s.compiled, CompiledPlan)]
    matchers = [StreamMatcher(group, i) for i in listed]
    results: list[StreamResults] = [
        (StreamResults if i in listed else TrendResults)(s, work.outputs(s.name), group, work.columns)
        for i, s in enumerate(group.streams)
    ]
    # Forecasts are made while matches are found and put together, by threads of their own: they do not wait for others.
    with ThreadPoolExecutor(1) as beside, ThreadPoolExecutor(work.threads) as learning:
        for table in kept.parts():
            if table.num_rows:
                rows = Sorted.of(group, table, order, pool)
                rows.gather(pool)
                forecasts = [
                    beside.submit(
                        r.forecast, rows, group, work.outcomes(r.stream.name), end, learning, work.threads
                    )
                    for r in results
                    if r.stream.forecasts
                ]
                found = match_all(matchers, rows, end, pool, work.threads)
                for number, answers in zip(listed, found, strict=True):
                    results[number].add(rows, answers, end)
                take_trends(group, results, rows, end)
                for made in forecasts:
                    made.result()
    return {
        s.name: result.answer(s.name in work.feeding, work.of_events)
        for s, result in zip(group.streams, results, strict=True)
    }
