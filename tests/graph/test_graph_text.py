"""`print(pattern)` is read back to the same model: random patterns with every construct, and names that need quotes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.lang.graph import parse_graph_patterns
from cepheid.pattern.expr import Binary, Call, In, Literal, Unary
from cepheid.pattern.graph_pattern import (
    VALUE,
    Block,
    Body,
    Choice,
    Clause,
    GraphPattern,
    Repeat,
    Stage,
    Then,
    variable,
)
from cepheid.pattern.graph_text import graph_text

sys.path.insert(0, str(Path(__file__).parent))

from graph_strategies import patterns


def read_back(pattern: GraphPattern) -> GraphPattern:
    (found,) = parse_graph_patterns(graph_text(pattern))
    return found


def sayable(body: Body) -> Body:
    """What a choice that is not exclusive shares means nothing, and the text has no word for it."""
    if isinstance(body, Repeat):
        return replace(body, part=sayable(body.part))
    if isinstance(body, Choice):
        shared = body.shared if body.exclusive else frozenset[str]()
        return replace(body, parts=tuple(map(sayable, body.parts)), shared=shared)
    return replace(body, parts=tuple(map(sayable, body.parts))) if isinstance(body, Then) else body


@given(
    patterns(),
    st.sampled_from(({}, {"severity": "high", "level": -2.5, "stage": None, "on": True})),
    st.booleans(),
    st.sampled_from((None, 1, 90 * 10**6)),
)
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
def test_round_trip(pattern: GraphPattern, metadata: Any, private: bool, within: int | None) -> None:
    pattern = replace(pattern, body=sayable(pattern.body), metadata=metadata, private=private, within=within)
    assert read_back(pattern) == pattern


NAMES = (
    "stage",
    "a.b",
    "then",
    "of",
    "before",
    "42",
    "unless it",
    "value",
    "global",
    "ticks",
    "xor",
    "All",
    "in",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_that_need_quotes(name: str) -> None:
    one = Stage(name, name, (Clause(name, name, "x"), Clause("x", name, name)))
    two = Stage(f"{name} two", "x", (Clause("x", "k", test=Binary("<", VALUE, variable(name))),))
    pattern = GraphPattern(
        name,
        Then(
            (Block((one,)), Repeat(Block((one, two)), 2, None, frozenset({name}))),
            frozenset({name}),
            (name, "z"),
        ),
        metadata={name: name},
    )
    assert read_back(pattern) == pattern


TESTS = [
    (" = 1", Binary("==", VALUE, Literal(1))),
    (" != ?y", Binary("!=", VALUE, variable("y"))),
    (" >= ?y * 2 + 1", Binary(">=", VALUE, Binary("+", Binary("*", variable("y"), Literal(2)), Literal(1)))),
    (" in (1, ?y)", In(VALUE, (Literal(1), variable("y")))),
    (' not in ("a")', In(VALUE, (Literal("a"),), negated=True)),
    (' like "a%"', Call("like", (VALUE, Literal("a%")))),
    (' not like "a%"', Unary("not", Call("like", (VALUE, Literal("a%"))))),
    (
        " between 1 and ?y",
        Binary("and", Binary(">=", VALUE, Literal(1)), Binary("<=", VALUE, variable("y"))),
    ),
    ("[value % 2 == 0]", Binary("==", Binary("%", VALUE, Literal(2)), Literal(0))),
    (
        "[value > 1 or value == ?y]",
        Binary("or", Binary(">", VALUE, Literal(1)), Binary("==", VALUE, variable("y"))),
    ),
    ("[value > value]", Binary(">", VALUE, VALUE)),
    (" = (?y > 1)", Binary("==", VALUE, Binary(">", variable("y"), Literal(1)))),
    ("[lower(value) == ?y]", Binary("==", Call("lower", (VALUE,)), variable("y"))),
]


@pytest.mark.parametrize(("text", "test"), TESTS, ids=[text for text, _ in TESTS])
@pytest.mark.parametrize("bind", [None, "z"])
def test_tests_of_a_target(text: str, test: Any, bind: str | None) -> None:
    pattern = GraphPattern("p", Block((Stage("a", "a", (Clause("a", "k", bind, test),)),)))
    wanted = f"stage a {{ .k{text}{'' if bind is None else ' -> ?z'} }}"
    assert wanted in graph_text(pattern)
    assert read_back(pattern) == pattern
