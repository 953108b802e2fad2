"""FROM PATTERN queries: what they are read into, that they run, and what is said of broken ones.

What they find is in scenarios/from_pattern.yaml, which runs on every engine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid
from cepheid.cli import main
from cepheid.engines.program import compile, declarations_of
from cepheid.lang.parser import parse_query
from cepheid.pattern.event import Event
from cepheid.pattern.model import Pattern
from cepheid.sql_lang.comments import blank_comments
from cepheid.sql_lang.from_pattern import is_from_pattern, parse_from_pattern
from cepheid.testing.scenarios import load_scenarios
from cepheid.testing.strategies import events as some_events

SCENARIOS = [
    s for s in load_scenarios(Path(__file__).parent.parent / "scenarios") if s.name.startswith("from_")
]


def pattern_of(text: str) -> Pattern:
    return parse_from_pattern(text).streams[-1].pattern


# --- the same as the language's own text ---------------------------------------------------------------------

SAME = [
    ("(A -> B)", "every first (A -> B)"),
    ("(EVERY (A -> B))", "every (A -> B)"),
    ("((EVERY (A -> B)))", "every (A -> B)"),
    ("(e1=A[x > 1] -> e2=B[y < e1.x])", "every first (A[x > 1] as e1 -> B[y < e1.x] as e2)"),
    ("(A{3} -> B{2,} -> C{1,4} -> D{,2})", "every first (A{3} -> B{2,} -> C{1,4} -> D{0,2})"),
    ("(A+ -> B* -> C? -> D)", "every first (A+ -> B* -> C? -> D)"),
    ("(e=A[x > 1]{2} -> B)", "every first (A[x > 1]{2} as e -> B)"),
    ("((A -> B){2} -> C)", "every first ((A -> B){2} -> C)"),
    ("(A and B -> C)", "every first (AND(A, B) -> C)"),
    ("(A or B or C -> D)", "every first (OR(A, B, C) -> D)"),
    ("(A or B and C -> D)", "every first (OR(A, AND(B, C)) -> D)"),
    ("((A or B) and C -> D)", "every first (AND(OR(A, B), C) -> D)"),
    ("(AND(A, B -> C) -> OR(D, E))", "every first (AND(A, B -> C) -> OR(D, E))"),
    ("(A -> (B and C){2} -> D)", "every first (A -> (AND(B, C)){2} -> D)"),
    ("(A -> not X -> B)", "every first (A -> NOT X -> B)"),
    ("(A -> not X and B)", "every first (A -> NOT X -> B)"),
    ("(A -> B and not X[v > 1] -> C)", "every first (A -> NOT X[v > 1] -> B -> C)"),
    ("(A -> not X and not Y and B)", "every first (A -> NOT X -> NOT Y -> B)"),
    ("(A -> AND(B, NOT X) -> C)", "every first (A -> NOT X -> B -> C)"),
    ("(A -> not X for 5 seconds -> B)", "every first (A -> NOT X within 5s -> B)"),
    ("(A -> not X and B within 5s -> C)", "every first (A -> NOT X -> B within 5s -> C)"),
    ("(not X for 5s and B -> C)", "every first (NOT X within 5s -> B -> C)"),
    ("(A -> B -> not X within 5s)", "every first (A -> B -> NOT X within 5s)"),
    ("(A -> B within 2s -> C within 3s)", "every first (A -> B within 2s -> C within 3s)"),
    ("(A -> B within 9s)", "every first (A -> B) within 9s"),
    ("((A -> B) within 2s -> C)", "every first ((A -> B) within 2s -> C)"),
    ("(A -> B) WITHIN 9s", "every first (A -> B) within 9s"),
    ("(A -> B within 2s -> C) WITHIN 9s", "every first (A -> B within 2s -> C) within 9s"),
    ("(A -> B) PARTITION BY user, lower(region)", "every first (A -> B) partition by user, lower(region)"),
    ("(e=A -> B) PARTITION BY k WITHIN 1h", "every first (A as e -> B) within 1h partition by k"),
    ("(a=A -> b=B) WHERE b.v > a.v or a.v is null", "every first (A as a -> B as b) .where(b.v > a.v or a.v is null)"),
    ("(a=A+ -> B) WHERE a[last].v > 1", "every first (A+ as a -> B) .where(last(a).v > 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "same"), SAME)
def test_reads_as(query: str, same: str) -> None:
    assert pattern_of(f"FROM PATTERN {query}") == parse_query(same).streams[-1].pattern


@pytest.mark.parametrize("text", ["A, B+, C", "A -> B+, C", "A -> B+ -> C"])
def test_sequence_is_strict(text: str) -> None:
    same = parse_query("A -> B+ -> C .strict() .longest() .skip(past_last)")
    assert pattern_of(f"FROM SEQUENCE ({text})") == same.streams[-1].pattern


DURATIONS = [
    *("5 seconds", "5 sec", "5 SECONDS", "5s", "'5 seconds'", '"5s"', "5000ms", "5 Secs"),
    *("INTERVAL '5' SECOND", "interval '5' seconds", "INTERVAL 5 SECOND", "INTERVAL '5 seconds'", "interval 5s"),
]  # fmt: skip


@pytest.mark.parametrize("text", DURATIONS)
def test_durations(text: str) -> None:
    assert pattern_of(f"FROM PATTERN (A -> B) WITHIN {text} PARTITION BY k").within == 5_000_000
    assert pattern_of(f"FROM PATTERN (A -> B within {text} -> C)") == pattern_of(
        "FROM PATTERN (A -> B within 5s -> C)"
    )


def test_keywords_have_no_case_and_comments_are_blanks() -> None:
    loud = """-- the first line
        FROM PATTERN /* a
        comment -- in a comment */ (EVERY (e1=A -> NOT X FOR 5 SECONDS -> e2=B[s == '-- no comment'])) // one more
        WITHIN 10 MINUTES PARTITION BY k SELECT e1.v AS v, e2.`select` INSERT INTO Out -- the end"""
    soft = """from pattern (every (e1=A -> not X for 5 seconds -> e2=B[s == '-- no comment']))
        within 10 minutes partition by k select e1.v as v, e2.`select` insert into Out;;"""
    assert parse_from_pattern(loud) == parse_from_pattern(soft)


def test_comments_leave_every_place_as_it_was() -> None:
    text = "A /* b\nc */ \"-- d\" '/* e */' -- f\n`#g` # h"
    assert blank_comments(text) == "A     \n     \"-- d\" '/* e */'     \n`#g`    "


# --- columns -------------------------------------------------------------------------------------------------

NAMES = [
    ("e1.v", ["v"]),
    ("e1[0].address.city", ["city"]),
    ("e1[last].v", ["v"]),
    ("e1[last]", ["e1"]),
    ("first(e1)", ["e1"]),
    ("last(e1).v", ["v"]),
    ("e1", ["e1"]),
    ("k", ["k"]),
    ("count(e1)", ["count"]),
    ("COUNT(e1), avg(e1.v), max(e1.v) AS most", ["count", "avg", "most"]),
    ("coalesce(e2.v, 0)", ["coalesce"]),
    ("match_id(), match_start()", ["match_id", "match_start"]),
    ("e1.v + 1 AS more, 'x' AS `a b`", ["more", "a b"]),
    ("*", ["e1", "e2"]),
    ("k, *, count(e1) AS n", ["k", "e1", "e2", "n"]),
]


@pytest.mark.parametrize(("select", "names"), NAMES)
def test_names_of_columns(select: str, names: list[str]) -> None:
    program = compile(f"FROM PATTERN (e1=A+ -> e2=B) PARTITION BY k SELECT {select}")
    assert [name for name, _ in program.last.columns] == names


def test_without_select_the_columns_of_a_match() -> None:
    program = compile("FROM PATTERN (e1=A -> e2=B) PARTITION BY k INSERT INTO S")
    assert program.last.name == "S"
    assert [name for name, _ in program.last.columns] == ["match_id", "start", "end", "k", "e1", "e2"]


def test_last_is_a_field_elsewhere() -> None:
    bare, quoted = "FROM PATTERN (e1=A[last > 1]+ -> B)", "FROM PATTERN (e1=A[`last` > 1]+ -> B)"
    assert pattern_of(bare) == pattern_of(quoted)
    assert "last(e1).v" in str(compile("FROM PATTERN (e1=A+ -> e2=B[v > e1[last].v])"))
    assert "last(e1).v" not in str(compile("FROM PATTERN (e1=A+ -> e2=B[v > e1[`last`].v])"))


# --- running -------------------------------------------------------------------------------------------------

ROWS = [{"type": t, "time": i, "v": i, "k": 1} for i, t in enumerate("AABAB")]


@pytest.mark.parametrize("engine", ["auto", "reference", "compiled"])
def test_match_and_run(engine: str) -> None:
    text = "FROM PATTERN (a=A -> b=B) SELECT a.v AS a, b.v AS b INSERT INTO Pairs"
    wanted = [{"a": 0, "b": 2}, {"a": 3, "b": 4}]
    assert cepheid.match(text, ROWS, engine=engine) == wanted
    assert cepheid.run(text, ROWS, engine=engine) == {"Pairs": wanted}
    every = text.replace("(a=A -> b=B)", "(EVERY (a=A -> b=B))")
    assert cepheid.match(every, ROWS, engine=engine) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_queries_in_any_order_and_the_last_is_looked_at() -> None:
    text = """FROM PATTERN (p=Pair) SELECT p.n + 1 AS m INSERT INTO More;
              FROM PATTERN (a=A -> B) SELECT a.v AS n INSERT INTO Pair"""
    assert cepheid.run(text, ROWS) == {"More": [{"m": 1}, {"m": 4}], "Pair": [{"n": 0}, {"n": 3}]}
    assert cepheid.match(text, ROWS) == [{"n": 0}, {"n": 3}]
    assert cepheid.match(text, ROWS, stream="More") == [{"m": 1}, {"m": 4}]


def test_a_file_on_the_command_line(tmp_path: Path) -> None:
    query, data = tmp_path / "pairs.sql", tmp_path / "events.jsonl"
    query.write_text("-- pairs\nFROM PATTERN (a=A -> b=B) SELECT a.v AS a, b.v AS b INSERT INTO Pairs;\n")
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    done = CliRunner().invoke(main, ["run", str(query), str(data), "--format", "json", "--quiet"])
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["a"], row["b"]) for row in found] == [(0, 2), (3, 4)]
    for command in ("check", "explain"):
        assert CliRunner().invoke(main, [command, str(query)]).exit_code == 0


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_printed_text_reads_back(scenario: Any) -> None:
    """A program prints as text of the language, which means the same."""
    program = compile(scenario.query)
    assert parse_query(str(program)) == program.declarations


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("FROM PATTERN (A -> B)", True),
        ("  /* x */ -- y\n from\n sequence(A, B)", True),
        ("FROM PATERN (A)", True),
        ("From as f -> B", False),
        ("From -> B", False),
        ("From where (x > 1)", False),
        ("pattern P = A -> B", False),
        ("", False),
    ],
)
def test_which_text_is_one(text: str, is_one: bool) -> None:
    assert is_from_pattern(text) is is_one


# --- random events -------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(some_events(max_size=9, types=("A", "B", "C")), st.booleans())
def test_two_steps_are_what_the_words_say(events: list[Event], every: bool) -> None:
    """One start is held: the first, or with EVERY the newest; a B ends it."""
    held, wanted = None, []
    for event in events:
        if event.type == "A" and (every or held is None):
            held = event.fields["id"]
        elif event.type == "B" and held is not None:
            wanted.append({"a": held, "b": event.fields["id"]})
            held = None
    steps = "EVERY (a=A -> b=B)" if every else "a=A -> b=B"
    rows = [dict(e.fields) for e in events]
    found = cepheid.match(f"FROM PATTERN ({steps}) SELECT a.id AS a, b.id AS b", rows, engine="reference")
    assert found == wanted


@st.composite
def twins(draw: st.DrawFn) -> tuple[str, str]:
    """A query in both languages."""
    ours, theirs = [], []
    length, taken = draw(st.integers(1, 3)), False  # taken: a step that cannot be left out
    for i in range(length):
        kind, name = draw(st.sampled_from("ABC")), f"e{i}"
        test = draw(st.sampled_from(["", "", "[v > 0]", "[v >= e0.v]" if i else ""]))
        optional = ["?", "*", "{,2}"] if i < length - 1 else []
        count = draw(st.sampled_from(["", "", "", "+", "{2}", "{1,2}", *optional]))
        bound = draw(st.sampled_from(["", "", " within 3s"])) if i else ""
        if taken and draw(st.integers(0, 3)) == 0:
            ours.append(f"not X[v > e0.v] and {name}={kind}{test}{bound}")
            theirs += ["NOT X[v > e0.v]", f"{kind}{test} as {name}{bound}"]
        elif draw(st.integers(0, 4)) == 0:
            word = draw(st.sampled_from(["and", "or"]))
            ours.append(f"{name}={kind}{test} {word} {name}b=C[v < 2]")
            theirs.append(f"{word.upper()}({kind}{test} as {name}, C[v < 2] as {name}b)")
            taken = True
        else:
            ours.append(f"{name}={kind}{test}{count}{bound}")
            theirs.append(f"{kind}{test}{count} as {name}{bound}")
            taken = taken or count not in optional
    mode = draw(st.sampled_from(["pattern", "every", "sequence"]))
    whole = draw(st.sampled_from(["", "4s"])) if not any("within" in part for part in ours) else ""
    ends = (f" within {whole}", f" .within({whole})") if whole else ("", "")
    key = draw(st.sampled_from(["", "k"]))
    ends = (f"{ends[0]} partition by k", f"{ends[1]} .partition_by(k)") if key else ends
    body = " -> ".join(theirs)
    if mode == "sequence":
        strict = ".strict() .longest() .skip(past_last)"
        return f"from sequence ({', '.join(ours)}){ends[0]}", f"{body}{ends[1]} {strict}"
    inside = " -> ".join(ours)
    if mode == "every":
        return f"from pattern (every ({inside})){ends[0]}", f"every ({body}){ends[1]}"
    return f"from pattern ({inside}){ends[0]}", f"every first ({body}){ends[1]}"


@settings(max_examples=120)
@given(twins(), some_events(max_size=10))
def test_both_languages_find_the_same(queries: tuple[str, str], events: list[Event]) -> None:
    ours, theirs = queries
    rows = [dict(e.fields) for e in events]
    assert declarations_of(ours) == declarations_of(theirs)
    assert cepheid.match(ours, rows, engine="reference") == cepheid.match(theirs, rows, engine="reference")


@settings(max_examples=60)
@given(twins(), some_events(max_size=10))
def test_both_engines_find_the_same(queries: tuple[str, str], events: list[Event]) -> None:
    rows = [dict(e.fields) for e in events]
    found = [cepheid.match(queries[0], rows, engine=engine) for engine in ("reference", "compiled")]
    assert found[0] == found[1]
