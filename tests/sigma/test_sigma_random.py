"""Random rules over random events: what the patterns find is what the specification says."""

from __future__ import annotations

import pytest

pytest.importorskip("sigma.collection", reason="needs the extra sigma")

from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from sigma_cases import found, numbered, program_text
from sigma_oracle import correlated, fits

import cepheid

QUIET: Any = {"suppress_health_check": list(HealthCheck)}
FIELDS = ("a", "b", "c")
TEXTS = ("x", "X", "xy", "Yx", "", "x*", "a_b", "%", "\\", "10.0.0.1", "7", "ä", "Ä x")
VALUES = st.sampled_from([*TEXTS, 7, 1.5, True, None, None])
WANTED = st.sampled_from(
    [*TEXTS, "*", "?", "x?", "*y", "?x*", "*x*y*", "\\*", "\\\\", "_", 7, 1.5, True, None]
)
MODIFIERS = st.sampled_from(["", "", "|contains", "|startswith", "|endswith", "|cased", "|contains|all"])


@st.composite
def items(draw: st.DrawFn) -> tuple[str, Any]:
    field = draw(st.sampled_from(FIELDS))
    kind = draw(st.sampled_from(["text", "text", "re", "cidr", "exists", "compare", "fieldref", "neq"]))
    if kind == "re":
        flags = draw(st.sampled_from(["", "|i", "|s"]))
        return f"{field}|re{flags}", draw(st.sampled_from(["^x", "x$", "x|y", "[0-9]+", "^X?$", "x.y"]))
    if kind == "cidr":
        return f"{field}|cidr", draw(st.sampled_from(["10.0.0.0/8", "10.0.0.1/32", "10.0.0.2/31", "::/0"]))
    if kind == "exists":
        return f"{field}|exists", draw(st.booleans())
    if kind == "compare":
        return f"{field}|{draw(st.sampled_from(['lt', 'lte', 'gt', 'gte']))}", draw(
            st.sampled_from([1, 7, 1.5])
        )
    if kind == "fieldref":
        return f"{field}|fieldref", draw(st.sampled_from(FIELDS))
    if kind == "neq":
        return f"{field}|neq", draw(st.lists(WANTED, min_size=1, max_size=2))
    modifiers = draw(MODIFIERS)
    wanted = WANTED if not modifiers else WANTED.filter(lambda v: isinstance(v, str))
    values = draw(st.lists(wanted, min_size=1, max_size=3))
    return field + modifiers, values if len(values) > 1 or "all" in modifiers else values[0]


SELECTIONS = st.one_of(
    st.lists(items(), min_size=1, max_size=3).map(dict),
    st.lists(st.lists(items(), min_size=1, max_size=2).map(dict), min_size=1, max_size=2),
)
CONDITIONS = st.sampled_from(
    ["s1", "s1 and s2", "s1 or s2", "s1 and not s2", "not s1", "not (s1 or s2)", "1 of s*", "all of them",
     "s1 and not 1 of s2*", "not s1 or not s2", "not (s1 and not s2)", ["s1", "s2"]]
)  # fmt: skip
DETECTIONS = st.fixed_dictionaries({"s1": SELECTIONS, "s2": SELECTIONS, "condition": CONDITIONS})
EVENTS = st.lists(st.fixed_dictionaries(dict.fromkeys(FIELDS, VALUES)), min_size=1, max_size=6)


def check_detections(count: int) -> None:
    @settings(max_examples=count, **QUIET)
    @given(DETECTIONS, EVENTS)
    def finds_what_fits(detection: dict[str, Any], events: list[dict[str, Any]]) -> None:
        rows = numbered(events)
        text = program_text({"rule": detection})
        note(text)
        expected = [[e["n"]] for e in rows if fits({"detection": detection}, e)]
        assert found(text, rows, "rule") == expected

    finds_what_fits()


# Correlations: rules that are told apart by one letter, so that events fit none, one or several of them.

RULES = {name: {"s": {"k|contains": name}, "condition": "s"} for name in ("p", "q", "r")}
OF_RULES = {name: {"detection": detection} for name, detection in RULES.items()}


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    time, rows = 0, []
    for _ in range(draw(st.integers(1, 14))):
        time += draw(st.sampled_from([0, 1, 1, 2, 5]))
        kind = draw(st.sampled_from(["p", "q", "r", "p", "q", "pq", "qr", "z"]))
        rows.append({"time": time, "k": kind, "g": draw(st.sampled_from(["u", "u", "w", None])),
                     "v": draw(st.sampled_from([1, 2, 3, None]))})  # fmt: skip
    return numbered(rows)


@st.composite
def correlations(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(
        st.sampled_from(
            ["event_count", "value_count", "value_sum", "value_avg", "temporal", "temporal_ordered"]
        )
    )
    rules = draw(st.permutations(["p", "q", "r"]))[: draw(st.integers(1, 3))]
    found: dict[str, Any] = {
        "type": kind,
        "rules": rules,
        "timespan": draw(st.sampled_from(["1s", "3s", "6s"])),
    }
    if draw(st.booleans()):
        found["group-by"] = ["g"]
    if not kind.startswith("temporal"):
        operator = draw(st.sampled_from(["gte", "gte", "gt", "lt", "lte", "eq", "neq"]))
        found["condition"] = {operator: draw(st.integers(1, 3))}
        if kind != "event_count":
            found["condition"]["field"] = "v"
    return found


def check_correlations(count: int) -> None:
    @settings(max_examples=count, **QUIET)
    @given(correlations(), histories())
    def finds_what_the_definition_says(correlation: dict[str, Any], events: list[dict[str, Any]]) -> None:
        text = program_text(RULES, correlation)
        note(text)
        note(str(cepheid.sigma_patterns(text)))
        matches = correlated(correlation, OF_RULES, events)
        expected = sorted(sorted(match, key=lambda n: (events[n]["time"], n)) for match in matches)
        assert found(text, events, "correlation") == expected

    finds_what_the_definition_says()


def test_a_detection_finds_what_fits() -> None:
    check_detections(80)


def test_a_correlation_finds_what_the_definition_says() -> None:
    check_correlations(90)


@pytest.mark.soak
def test_many_detections() -> None:
    check_detections(5000)


@pytest.mark.soak
def test_many_correlations() -> None:
    check_correlations(5000)
