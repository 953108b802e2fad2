"""Does the work for an event grow with the number of open runs? One key, more and more of them.

    python benchmarks/growth.py [--quick]

Prints a table of microseconds an event and writes build/bench/growth.json. Key-only patterns must stay flat: the
slowest size at most twice the fastest. So must tests across events that few of the waiting runs fit: runs are found by
an equal value, and by one that is passed. Answers are checked against the reference matcher at the small sizes and by
arithmetic at the others. Where half of the runs fit, the matches grow with the window: that cost is only reported.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.program import compile
from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import Answers, CompiledPlan, Kernel, Keys
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.pattern.types import INT, struct_of
from cepheid.plan.plan import Plan

SIZES = (10, 100, 1_000, 10_000, 100_000)
CHECKED = 100  # sizes up to this one are also given to the reference matcher
KINDS = {"A": 0, "B": 1, "C": 2}


@dataclass(frozen=True)
class Stream:
    """Events of one key, a second apart: those that open the runs, then those that are timed."""

    kinds: str
    opening: int
    matches: int  # how many there must be, by arithmetic
    advances: int  # and how often a run must have taken an event


def waiting_starts(size: int, cycle: str, events: int) -> Stream:
    """So many starts wait; each cycle completes the oldest and brings a new one."""
    cycles = events // len(cycle)
    taken = (
        cycles if cycle == "BA" else cycles * (size + 1)
    )  # every waiting run takes the B, one of them keeps it
    return Stream("A" * size + cycle * cycles, size, cycles, taken)


def sliding_starts(size: int, events: int) -> Stream:
    """As many starts as the window holds, and an end for all of them: about one match an event."""
    cycle = "A" * (size - 1) + "B"
    cycles = -(-events // size)
    matches = (size - 1) * (2 + cycles)
    return Stream(cycle * (2 + cycles), 2 * size, matches, matches)


@dataclass(frozen=True)
class Case:
    name: str
    query: str  # {window} is the window in seconds
    stream: Any
    window: Any = None
    flat: bool = True
    few: bool = False  # of the starts in the window an event is above one or two


def pairs(size: int) -> int:
    """A window of so many events of A and B in turn holds about `size` open runs of A -> B -> C."""
    return max(4, 2 * int((2 * size) ** 0.5))


def alternating(size: int, events: int) -> Stream:
    ends = (pairs(size) + events) // 2
    starts = np.minimum(np.arange(1, ends + 1), (pairs(size) + 1) // 2)  # in the window of each B
    return Stream("AB" * ends, pairs(size), 0, int(starts.sum()))


CASES = (
    Case("stnm A -> B", "A -> B .stnm()", lambda n, m: waiting_starts(n, "BA", m)),
    Case("stnm A -> B -> C", "A -> B -> C .stnm()", lambda n, m: waiting_starts(n, "BCA", m)),
    Case("all A -> B within", "A -> B .within({window}s)", sliding_starts, lambda n: n - 1),
    Case("all A -> B -> C within", "A -> B -> C .within({window}s)", alternating, pairs),
    Case("all A -> B", "A -> B", lambda n, m: Stream("A" * (n + m), n, 0, 0)),
)
DOUBLED = (
    Case("A -> B[v > a.v], half fit", "A as a -> B[v > a.v] as b .within({window}s)", None, flat=False),
    Case("A -> B[v > a.v], few fit", "A as a -> B[v > a.v] as b .within({window}s)", None, few=True),
    Case(
        "A -> first B[v > a.v]",
        "A as a -> first B[v > a.v] as b .within({window}s)",
        None,
        few=True,
    ),
    Case("A -> B[v == a.v]", "A as a -> B[v == a.v] as b .within({window}s)", None),
    Case(
        "stnm A -> B[v > a.v], half fit",
        "A as a -> B[v > a.v] as b .within({window}s) .stnm()",
        None,
        flat=False,
    ),
)


def planned(query: str) -> CompiledPlan:
    fields = struct_of({"v": INT})
    return CompiledPlan.of(compile(query).last.plan, fields)


def run(kernel: Kernel, kinds: str, values: Any) -> tuple[Answers, float]:
    numbers = np.array([KINDS[k] for k in kinds], np.int64)
    times = np.arange(len(kinds), dtype=np.int64) * 1_000_000
    events = to_events(pa.table({"v": values}), kernel.plan.columns, times, np.int64(1) << numbers, numbers)
    keys = Keys.without_state(np.array([0, len(kinds)]))
    begun = time.process_time()
    answers = kernel.match(events, keys, 0, ends=True)
    took = time.process_time() - begun
    assert not answers.left, "the kernel gave up"
    return answers, took


def reference_counts(plan: Plan, kinds: str, values: Any) -> list[int]:
    told: Counter[str] = Counter()
    matcher = ReferenceMatcher(plan, lambda happened: told.update([type(happened).__name__]))
    events = [
        Event(k, i * 1_000_000, {"type": k, "v": int(v)}, seq=i)
        for i, (k, v) in enumerate(zip(kinds, values, strict=True))
    ]
    matcher.on_batch(events)
    matcher.on_end(events[-1].time)
    return [told[n] for n in ("Started", "Advanced", "Completed", "Negated", "Expired", "Evicted", "Dropped")]


def microseconds(plan: CompiledPlan, stream: Stream, values: Any, repeats: int = 3) -> float:
    """An event of those that come when all the runs are open."""
    kernel = Kernel(plan)
    answers, _ = run(kernel, stream.kinds, values)
    if stream.matches >= 0:
        found = (len(answers.rows), int(answers.counts[1]))
        assert found == (stream.matches, stream.advances), (found, stream.matches, stream.advances)
    whole = min(run(kernel, stream.kinds, values)[1] for _ in range(repeats))
    opening = min(
        run(kernel, stream.kinds[: stream.opening], values[: stream.opening])[1] for _ in range(repeats)
    )
    return (whole - opening) / (len(stream.kinds) - stream.opening) * 1e6


def checked(plan: CompiledPlan, kinds: str, values: Any) -> None:
    answers, _ = run(Kernel(plan), kinds, values)
    wanted = reference_counts(plan.plan, kinds, values)
    assert answers.counts.tolist() == wanted, (answers.counts.tolist(), wanted)


def flat_case(case: Case, events: int) -> dict[int, float]:
    found = {}
    for size in SIZES:
        query = case.query.format(window=case.window(size) if case.window else 0)
        plan = planned(query)
        stream = case.stream(size, events)
        values = np.zeros(len(stream.kinds), np.int64)
        if size <= CHECKED:
            few = case.stream(size, 200)
            checked(plan, few.kinds, np.zeros(len(few.kinds), np.int64))
        found[size] = microseconds(plan, stream, values)
    return found


def doubled_case(case: Case, events: int) -> dict[int, float]:
    """The window holds more and more starts; what an event is compared with grows as well."""
    found = {}
    random = np.random.default_rng(5)
    for window in (50, 100, 200, 400, 800, 1_600):
        plan = planned(case.query.format(window=window))
        kinds = "".join(random.choice(list("AAAAAAAAAB"), window * 2 + events).tolist())
        values = random.integers(0, 1_000_000, len(kinds))
        if case.few:
            values[np.array(list(kinds)) == "B"] //= window
        elif "==" in case.query:
            values //= 1_000
        checked(plan, kinds[:200], values[:200])
        found[window] = microseconds(plan, Stream(kinds, window * 2, -1, -1), values)
    return found


def shown(name: str, found: dict[int, float]) -> None:
    print(f"{name:30}" + "".join(f"{n:>9,}: {us:7.3f}" for n, us in found.items()), flush=True)


def main() -> int:
    events = 20_000 if "--quick" in sys.argv else 200_000
    results: dict[str, Any] = {}
    print("microseconds an event, by open runs")
    for case in CASES:
        found = flat_case(case, events)
        results[case.name] = found
        shown(case.name, found)
    print("microseconds an event, by the window in events; a test across events")
    for case in DOUBLED:
        found = doubled_case(case, events // 4)
        results[case.name] = found
        shown(case.name, found)
    flat = [case.name for case in (*CASES, *DOUBLED) if case.flat]
    steep = [name for name in flat if max(results[name].values()) > 2 * min(results[name].values())]
    target = Path("build/bench/growth.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({"microseconds": results, "not flat": steep}, indent=2) + "\n")
    print("flat within 2x:", "all" if not steep else f"not {', '.join(steep)}")
    return 1 if steep else 0


if __name__ == "__main__":
    raise SystemExit(main())
