"""The local engine in columns, through the compiled matcher, gives what it gives through the reference matcher."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

import cepheid
from cepheid.engines.columnar import matching, scan
from cepheid.errors import CepheidError, CepheidWarning, PatternMistake
from cepheid.pattern.event import Event
from cepheid.testing.scenarios import Scenario, load_scenarios
from cepheid.testing.strategies import FAMILIES, cases
from cepheid.testing.strategies import events as some_events

SCENARIOS = [s for s in load_scenarios(Path(__file__).parent / "scenarios") if not s.streaming]
TOOK: Counter[str] = Counter()


def table_of(events: Any) -> pa.Table:
    """Every column for every type; raises if values of one column have several types."""
    names = dict.fromkeys(name for e in events for name in e.fields)
    columns = {name: pa.array([e.fields.get(name) for e in events]) for name in names}
    return pa.table(columns)


def facts(query: Any, events: Any, **options: Any) -> dict[str, Any]:
    """Everything there is to say of an answer, or what was wrong."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", CepheidWarning)
        try:
            results = cepheid.run(query, events, **options)
        except CepheidError as problem:
            return {"error": (type(problem).__name__, problem.code, str(problem))}
    return {
        "matches": {name: _rows(frame) for name, frame in results.items()},
        "types": {name: frame.schema for name, frame in results.items()},
        "pending": {name: _rows(frame) for name, frame in results.pending.items()},
        "timeouts": {name: _rows(frame) for name, frame in results.timeouts.items()},
        "bad": results.bad_rows,
        "told": [str(w.message) for w in told if issubclass(w.category, CepheidWarning)],
    }


def _rows(frame: pa.Table) -> list[dict[str, Any]]:
    return list(frame.to_pylist())


def compared(query: Any, table: pa.Table, forms: dict[str, Callable[[], Any]], **options: Any) -> bool:
    """The same answer in all forms; False: the compiled matcher does not take the query."""
    wanted = facts(query, table, engine="reference", **options)
    for name, form in forms.items():
        how = {"memory": 1} if "spilled" in name else {}
        threads = 1 if "one" in name else 2
        found = facts(query, form(), engine="compiled", threads=threads, **how, **options)
        if found.get("error", ("", ""))[1] == "not_compiled":
            return False
        assert found == wanted, name
    return True


def forms_of(table: pa.Table, folder: Path | None = None) -> dict[str, Callable[[], Any]]:
    forms: dict[str, Callable[[], Any]] = {
        "table, one thread": lambda: table,
        "spilled table": lambda: table,
    }
    if folder is not None:
        path = folder / "events.parquet"
        pq.write_table(table, path, row_group_size=3)
        forms["file"] = lambda: str(path)
        forms["spilled file, one thread"] = lambda: str(path)
    return forms


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few events are several pieces, batches and chunks."""
    monkeypatch.setattr(scan, "BATCH", 4)
    monkeypatch.setattr(matching, "_LEAST", 2)


# --- golden scenarios ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_scenario(scenario: Scenario, tmp_path: Path) -> None:
    try:
        table = table_of(scenario.events)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pytest.skip("values of one column have several types: that is no table")
    options: dict[str, Any] = {"order": scenario.option("order")}
    if "now" in scenario.options:
        from cepheid.pattern.duration import duration

        options["now"] = duration(scenario.options["now"]) / 10**6
    took = compared(scenario.query, table, forms_of(table, tmp_path), **options)
    TOOK["taken" if took else "left"] += 1


# --- made-up patterns and streams ---------------------------------------------------------------------------

QUIET = (
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.function_scoped_fixture,
)
TESTS = (
    "A as a -> B[v > a.v] as b -> C[v != a.v or v is null] as c .partition_by(k) .within(3s)"
    " .emit(id: match_id(), k: k, first: a.v, second: b.f, at: match_end())",
    "A as a -> B[f >= b.f]+ as b -> C[f * 2 < sum(b.f) + a.v] as c .emit(n: count(b), top: last(b).f, s: sum(b.f))",
    "A as a -> all B[v - a.v in (0, 1, 2)] as b -> C as c .stnm() .partition_by(name, k)"
    " .emit(id: match_id(), name: name)",
    'A[concat(lower(name), "x") != "bx"] as a -> B[name > a.name] as b .partition_by(v % 2) .emit(id: match_id())',
    "A as a -> B[time - a.time <= 2s and not (f > a.f)] as b .timeouts() .within(4s) .partition_by(k)",
    "A as a -> B[v == a.v] as b -> C[v == a.v] as c .within(5s)",
    "A as a -> B[k == a.k and f > 0] as b .emit(a: a.name, b: b.name, id: match_id())",
    "A as a -> NOT X[v > a.v] within 2s .partition_by(k)",
    "A as a -> all B as b .within(3s) .longest() .partition_by(k)",
    "every (A as a -> B[v > a.v] as b -> C as c) .partition_by(k) .timeouts() .within(4s)",
    "A as a -> next B as b .partition_by(k) .emit(id: match_id(), v: b.v)",
)


def made_up(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=QUIET)


def check(query: str, events: list[Event], **options: Any) -> None:
    note(query)
    table = table_of(events)
    try:
        cepheid.compile(query)
        took = compared(query, table, forms_of(table), **options)
    except PatternMistake as mistake:
        note(str(mistake))
        reject()
    TOOK["taken" if took else "left"] += 1


def typed(events: list[Event]) -> list[Event]:
    """Fields of every type, now and then null."""
    names = ("a", "b", "ab", "bx", "", "é", None)
    for i, e in enumerate(events):
        v, k = e.fields["v"], e.fields["k"]
        e.fields["f"] = None if (i + k) % 5 == 4 else (0.5 * (v or 0) - 0.25 * (i % 4))
        e.fields["name"] = names[(i * 7 + (v or 0)) % len(names)]
    return events


def check_tests(count: int) -> None:
    kinds = ("A", "A", "B", "B", "B", "C", "X")

    @made_up(count)
    @given(st.sampled_from(TESTS), some_events(12, kinds), st.permutations(range(12)), st.booleans())
    def run(query: str, given_events: list[Event], order: list[int], by_order: bool) -> None:
        """Events in any order; those of one time by another column, or as they come."""
        events = typed(given_events)
        for at, e in enumerate(events):
            e.fields["o"] = order[at] % 3 if order[at] else None
        shuffled = [events[i] for i in order if i < len(events)]
        check(query, shuffled, order="o" if by_order else None)

    run()


def check_family(family: str, count: int) -> None:
    @made_up(count)
    @given(cases(family))
    def run(case: tuple[str, list[Event]]) -> None:
        check(*case)

    run()


@pytest.mark.parametrize("family", FAMILIES)
def test_made_up_patterns(family: str) -> None:
    check_family(family, 12)


def test_made_up_streams() -> None:
    check_tests(120)


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_many_made_up_patterns(family: str) -> None:
    check_family(family, 600)


@pytest.mark.soak
def test_many_made_up_streams() -> None:
    check_tests(3_000)
