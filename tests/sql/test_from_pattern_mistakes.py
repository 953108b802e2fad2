"""Broken FROM PATTERN queries: the code, the place, what is said and what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.engines.program import compile
from cepheid.errors import CepheidError, PatternMistake, SyntaxMistake
from cepheid.pattern.types import FLOAT, STRING, Schema, struct_of


@dataclass(frozen=True)
class Mistake:
    code: str
    query: str
    at: str  # line:column
    said: str
    hint: str


MISTAKES = [
    Mistake(
        "unknown_keyword",
        "FROM PATERN (A -> B)",
        "1:6",
        "after FROM stands PATTERN or SEQUENCE",
        "did you mean PATTERN?",
    ),
    Mistake(
        "missing_parentheses",
        "FROM PATTERN",
        "1:13",
        "the PATTERN stands in parentheses",
        "write FROM PATTERN (...)",
    ),
    Mistake(
        "missing_parentheses",
        "FROM PATTERN A -> B",
        "1:14",
        "the PATTERN stands in parentheses",
        "write FROM PATTERN (...)",
    ),
    Mistake(
        "missing_step",
        "FROM PATTERN ()",
        "1:15",
        "there is nothing in the parentheses",
        "write for example FROM PATTERN (e1=A -> e2=B)",
    ),
    Mistake(
        "unclosed_bracket",
        "FROM PATTERN (A -> B SELECT x",
        "1:14",
        "this `(` is not closed",
        "write `)` before `SELECT`",
    ),
    Mistake(
        "missing_step",
        "FROM PATTERN (A ->) SELECT *",
        "1:19",
        "after `->` a step is missing",
        "write the type of an event after it",
    ),
    Mistake(
        "wrong_arrow",
        "FROM PATTERN (A => B)",
        "1:17",
        "the arrow between steps is `->`, not `=>`",
        "write ->",
    ),
    Mistake(
        "comma_for_arrow",
        "FROM PATTERN (A, B)",
        "1:16",
        "in a PATTERN an arrow stands between steps, not a comma",
        "write ->, or FROM SEQUENCE for steps that follow each other directly",
    ),
    Mistake(
        "missing_arrow",
        "FROM PATTERN (A B)",
        "1:17",
        "between `A` and `B` an arrow is missing",
        "write `-> B` for the next step, `e1=A` for a name",
    ),
    Mistake(
        "missing_arrow",
        "FROM PATTERN (e1=A e2=B)",
        "1:20",
        "between `A` and `e2` an arrow is missing",
        "write `-> e2` for the next step, `e1=A` for a name",
    ),
    Mistake(
        "misplaced_name",
        "FROM PATTERN (A as a -> B)",
        "1:17",
        "the name of a step stands before its type",
        "write a=A",
    ),
    Mistake(
        "misplaced_condition",
        "FROM PATTERN (A where x > 1)",
        "1:17",
        "the condition of a step stands in square brackets",
        "write e1=A[x > 1]",
    ),
    Mistake(
        "misplaced_condition",
        "FROM PATTERN (A(x > 1) -> B)",
        "1:16",
        "the condition of a step stands in square brackets",
        "write A[...]",
    ),
    Mistake(
        "unclosed_bracket",
        "FROM PATTERN (A[x > 1 -> B)",
        "1:16",
        "this `[` is not closed",
        "write `]` before `->`",
    ),
    Mistake(
        "every_parentheses",
        "FROM PATTERN (EVERY A -> B)",
        "1:15",
        "`every` needs parentheses around its pattern",
        "write every (A -> B)",
    ),
    Mistake(
        "every_nested",
        "FROM PATTERN (A -> EVERY (B -> C))",
        "1:20",
        "`every` inside a pattern",
        "it goes around the whole pattern: `every (A -> B)`",
    ),
    Mistake(
        "every_strict",
        "FROM SEQUENCE (EVERY (A, B))",
        "1:16",
        "EVERY cannot stand in a SEQUENCE",
        "leave it out: a SEQUENCE may start at any event; or write FROM PATTERN",
    ),
    Mistake(
        "every_nested",
        "FROM PATTERN (EVERY (EVERY (A -> B)))",
        "1:22",
        "`every` inside a pattern",
        "it goes around the whole pattern: `every (A -> B)`",
    ),
    Mistake(
        "every_nested",
        "FROM PATTERN (EVERY (A -> B) and C)",
        "1:15",
        "`every` inside a pattern",
        "it goes around the whole pattern: `every (A -> B)`",
    ),
    Mistake(
        "absence_operand",
        "FROM PATTERN (A -> not X or e=B)",
        "1:20",
        "NOT at the edge of an operand of OR",
        "`not X and e=B` is for one event; alternatives with a NOT are queries of their own",
    ),
    Mistake(
        "absence_operand",
        "FROM PATTERN (A -> not X and B and C)",
        "1:20",
        "`not` is joined by `and` with one event",
        "write `not X and e=A -> ...`; several in a row: `not X and not Y and e=A`",
    ),
    Mistake(
        "absence_without_bound",
        "FROM PATTERN (A -> not X)",
        "1:20",
        "NOT at the end needs a bound: until when must it not come?",
        "write -> NOT X within 5m",
    ),
    Mistake(
        "missing_duration",
        "FROM PATTERN (A -> not X for)",
        "1:29",
        "after `for` a duration is missing",
        "write for example 10 minutes, 5s or INTERVAL '5' SECOND",
    ),
    Mistake(
        "bad_bounds",
        "FROM PATTERN (A{3,1} -> B)",
        "1:16",
        "{3,1} can never be reached",
        "the smaller number comes first: {1,3}",
    ),
    Mistake(
        "bad_count",
        "FROM PATTERN (A{x} -> B)",
        "1:17",
        "in the braces stand one or two whole numbers",
        "write {3}, {2,5}, {2,} or {,5}",
    ),
    Mistake(
        "missing_duration",
        "FROM PATTERN (e1=A -> e2=B) WITHIN",
        "1:35",
        "after `WITHIN` a duration is missing",
        "write for example 10 minutes, 5s or INTERVAL '5' SECOND",
    ),
    Mistake(
        "bad_duration",
        "FROM PATTERN (e1=A -> e2=B) WITHIN 5",
        "1:36",
        "`5` has no unit of time",
        "write 5s or 5m",
    ),
    Mistake(
        "bad_duration",
        "FROM PATTERN (e1=A -> e2=B) WITHIN 5 parsecs",
        "1:38",
        "`parsecs` is not a unit of time",
        "did you mean `secs` or `sec`?",
    ),
    Mistake(
        "bad_duration",
        "FROM PATTERN (e1=A -> e2=B) WITHIN 5x",
        "1:36",
        "`x` is not a unit of time",
        "the units are us, ms, s, m, h, d, w",
    ),
    Mistake(
        "bad_duration",
        "FROM PATTERN (e1=A -> e2=B) WITHIN INTERVAL '5' PARSEC",
        "1:36",
        "`PARSEC` is not a unit of time",
        "did you mean `sec` or `secs`?",
    ),
    Mistake(
        "two_clauses",
        "FROM PATTERN (e1=A -> e2=B) WITHIN 5s WITHIN 6s",
        "1:39",
        "the query has two WITHIN",
        "keep one",
    ),
    Mistake(
        "two_bounds",
        "FROM PATTERN (A -> B WITHIN 5s) WITHIN 6s",
        "1:33",
        "the whole pattern has two bounds",
        "the WITHIN at the end of the parentheses is the whole pattern's too: keep one of them",
    ),
    Mistake(
        "missing_by",
        "FROM PATTERN (e1=A -> e2=B) PARTITION userId",
        "1:39",
        "after `partition` the word `by` is missing",
        "write partition by userId",
    ),
    Mistake(
        "missing_value",
        "FROM PATTERN (e1=A -> e2=B) PARTITION BY",
        "1:39",
        "after `BY` a field is missing",
        "write for example PARTITION BY user",
    ),
    Mistake(
        "missing_value",
        "FROM PATTERN (e1=A -> e2=B) PARTITION BY SELECT e1.x",
        "1:39",
        "after `BY` a field is missing",
        "write for example PARTITION BY user",
    ),
    Mistake(
        "two_clauses",
        "FROM PATTERN (e1=A -> e2=B) PARTITION BY a PARTITION BY b",
        "1:44",
        "the query has two PARTITION BY",
        "put all of it into one PARTITION BY",
    ),
    Mistake(
        "unknown_keyword",
        "FROM PATTERN (e1=A -> e2=B) GROUP BY x",
        "1:29",
        "`GROUP` is not a word of the query",
        "write PARTITION BY user, before SELECT",
    ),
    Mistake(
        "unknown_keyword",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x HAVING e1.x > 3",
        "1:41",
        "`HAVING` is not a word of the query",
        "a condition on the whole match is WHERE, before SELECT",
    ),
    Mistake(
        "misplaced_clause",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x PARTITION BY u",
        "1:41",
        "`PARTITION` comes too late here",
        "the order is FROM PATTERN (...) WITHIN ... PARTITION BY ... WHERE ... SELECT ... INSERT INTO ...",
    ),
    Mistake(
        "misplaced_clause",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x WITHIN 5s",
        "1:41",
        "`WITHIN` comes too late here",
        "the order is FROM PATTERN (...) WITHIN ... PARTITION BY ... WHERE ... SELECT ... INSERT INTO ...",
    ),
    Mistake(
        "missing_column",
        "FROM PATTERN (e1=A -> e2=B) SELECT",
        "1:29",
        "after `SELECT` a column is missing",
        "write for example SELECT e1.user, count(e1) AS n",
    ),
    Mistake(
        "missing_column",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x, INSERT INTO Y",
        "1:40",
        "after `,` a column is missing",
        "write for example SELECT e1.user, count(e1) AS n",
    ),
    Mistake(
        "missing_comma",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x e2.y",
        "1:41",
        "before `e2` a comma is missing",
        "write a comma",
    ),
    Mistake(
        "missing_as",
        "FROM PATTERN (e1=A -> e2=B) SELECT count(e1) n",
        "1:46",
        "before the name `n` the word AS is missing",
        "write AS n",
    ),
    Mistake(
        "missing_value",
        "FROM PATTERN (e1=A -> e2=B) SELECT count(*)",
        "1:42",
        "`count(*)` does not say of what",
        "write count(e1)",
    ),
    Mistake(
        "bad_argument",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x + 1",
        "1:36",
        "this column has no name",
        "write e1.x + 1 AS name",
    ),
    Mistake(
        "bad_argument",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x, e2.x",
        "1:42",
        "two columns are called `x`",
        "give one a name: e2.x AS x_2",
    ),
    Mistake(
        "unknown_alias",
        "FROM PATTERN (e1=A -> e2=B) SELECT e3.x",
        "1:36",
        "no step is called `e3`",
        "the names here are e1, e2",
    ),
    Mistake(
        "which_event",
        "FROM PATTERN (e1=A -> e2=B) SELECT x",
        "1:36",
        "`x`: of which event?",
        "write e1.x",
    ),
    Mistake(
        "missing_into",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x INSERT Y",
        "1:48",
        "after INSERT the word INTO is missing",
        "write INSERT INTO Y",
    ),
    Mistake(
        "missing_name",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x INSERT INTO",
        "1:52",
        "the name of the output stream is missing",
        "write INSERT INTO Alerts",
    ),
    Mistake(
        "missing_name",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x AS",
        "1:43",
        "after AS a name is missing",
        "write count(e1) AS attempts",
    ),
    Mistake(
        "syntax",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x INSERT INTO Y Z",
        "1:55",
        "after INSERT INTO the query ends, but here stands `Z`",
        "write `;`",
    ),
    Mistake(
        "missing_semicolon",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x INSERT INTO Y FROM PATTERN (C)",
        "1:55",
        "between two queries a `;` is missing",
        "write `;` before FROM",
    ),
    Mistake(
        "unknown_keyword",
        "FROM PATTERN (e1=A -> e2=B) SELCT e1.x",
        "1:29",
        "`SELCT` is not a word of the query",
        "did you mean `SELECT`?",
    ),
    Mistake(
        "unknown_keyword",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x INSRT INTO y",
        "1:41",
        "`INSRT` is not a word of the query",
        "did you mean `INSERT INTO`?",
    ),
    Mistake(
        "nothing_selected",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x; FROM PATTERN (B) SELECT *",
        "1:66",
        "`*` is all events that have a name, and here none has one",
        "name the steps: `e1=A -> e2=B`",
    ),
    Mistake(
        "nothing_selected",
        "FROM PATTERN (A -> B) SELECT *",
        "1:30",
        "`*` is all events that have a name, and here none has one",
        "name the steps: `e1=A -> e2=B`",
    ),
    Mistake(
        "chained_comparison",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x > 1 > 2 AS s",
        "1:45",
        "comparisons cannot be chained",
        "write e1.x > 1 and 1 > 2",
    ),
    Mistake(
        "unclosed_string",
        "FROM PATTERN (e1=A -> e2=B) SELECT 'abc",
        "1:36",
        "this string does not end",
        "close it with '",
    ),
    Mistake(
        "unclosed_comment",
        "FROM PATTERN (e1=A -> e2=B) /* abc",
        "1:29",
        "this comment does not end",
        "close it with */",
    ),
    Mistake(
        "stream_cycle",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x INSERT INTO A",
        "1:53",
        "streams feed each other in a circle (A -> A)",
        "a stream reads the events of its pattern's types: rename the stream or the type",
    ),
    Mistake(
        "missing_condition",
        "FROM PATTERN (e1=A -> e2=B) WHERE",
        "1:29",
        "after `WHERE` a condition is missing",
        "write for example WHERE e2.amount > 100",
    ),
    Mistake(
        "not_bound_yet",
        "FROM PATTERN (e1=A[x > e2.x] -> e2=B)",
        "1:24",
        "`e2` is not bound yet here",
        "a step sees the steps before it: put the condition on the later step or in .where(...)",
    ),
    Mistake(
        "duplicate_alias",
        "FROM PATTERN (e1=A -> e1=B)",
        "1:23",
        "two steps are called `e1`",
        "give one of them another name",
    ),
    Mistake(
        "missing_step",
        "FROM PATTERN (e1= -> B)",
        "1:19",
        "after `=` the type of an event is missing",
        "write e1=A[x > 1]",
    ),
    Mistake(
        "missing_from",
        "FROM PATTERN (e1=A -> e2=B) SELECT e1.x;; SELECT e2",
        "1:43",
        "`SELECT` begins no query",
        "write FROM PATTERN (e1=A -> e2=B)",
    ),
    Mistake(
        "extra_bracket",
        "FROM PATTERN (A -> B)) SELECT x",
        "1:22",
        "this `)` closes nothing",
        "leave it out, or open it before with `(`",
    ),
    Mistake(
        "unknown_keyword",
        "FROM PATTERN (A unless X) SELECT x",
        "1:17",
        "`unless` is not a word of the query",
        "write `-> not X ->` between the steps",
    ),
    Mistake(
        "missing_step",
        "FROM PATTERN (A -> within 5s)",
        "1:20",
        "before `within` a step is missing",
        "write -> A within 5s",
    ),
    Mistake(
        "bound_on_first_step",
        "FROM PATTERN (A within 5s -> B)",
        "1:17",
        "a `within` on the first step bounds nothing: there is no event before it",
        "put it after the step it bounds, or at the end for the whole pattern",
    ),
    Mistake(
        "wrong_word",
        "FROM PATTERN (A & B)",
        "1:17",
        "steps are joined by a word, not `&`",
        "write and",
    ),
    Mistake(
        "syntax",
        "FROM PATTERN (e1=A -> e2=B) ORDER BY x",
        "1:29",
        "`ORDER` cannot stand here",
        "here could stand `;`, `WITHIN`, `PARTITION BY`, `WHERE`, `SELECT`, `INSERT INTO` or the end",
    ),
    Mistake(
        "misplaced_condition",
        "FROM PATTERN (e1=A{2}[x > 1] -> B)",
        "1:22",
        "a condition in brackets belongs directly after the type of the event",
        "write e1=A[x > 1]{2}",
    ),
    Mistake(
        "absence_operand",
        "FROM PATTERN (A -> not X for 5s or B)",
        "1:20",
        "NOT at the edge of an operand of OR",
        "`not X and e=B` is for one event; alternatives with a NOT are queries of their own",
    ),
    Mistake(
        "missing_column",
        "FROM PATTERN (A) SELECT 1 AS x, INSERT INTO Y",
        "1:31",
        "after `,` a column is missing",
        "write for example SELECT e1.user, count(e1) AS n",
    ),
    Mistake(
        "duplicate_name",
        "FROM PATTERN (e1=A -> e2=B) INSERT INTO X; FROM PATTERN (e1=A -> e2=B) INSERT INTO X",
        "1:84",
        "two queries are called `X`",
        "each has an INSERT INTO with a name of its own",
    ),
    Mistake(
        "not_form",
        "FROM PATTERN (A -> not (B -> C))",
        "1:24",
        "NOT takes one event",
        "write NOT X; for several, one after the other: `-> NOT X -> NOT Y ->`",
    ),
    Mistake(
        "unknown_keyword",
        "FROM PATTERN (e1=A -> e2=B) -- why\nSELEC e1.x -- that",
        "2:1",
        "`SELEC` is not a word of the query",
        "did you mean `SELECT`?",
    ),
    Mistake(
        "missing_value",
        "FROM PATTERN (A -> B[x = ])",
        "1:26",
        "after `=` a value is missing",
        "write a field, a number or a text in quotes",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: f"{m.code}: {m.query}")
def test_mistake(mistake: Mistake) -> None:
    with pytest.raises((SyntaxMistake, PatternMistake)) as caught:
        compile(mistake.query)
    error = caught.value
    assert error.place is not None
    at = f"{error.place.line}:{error.place.column}"
    assert (error.code, at, error.message, error.hint) == (
        mistake.code,
        mistake.at,
        mistake.said,
        mistake.hint,
    )


def test_the_line_is_shown_with_its_comments() -> None:
    with pytest.raises(SyntaxMistake) as caught:
        compile("FROM PATTERN (A -> B) -- pairs\nSELEC a /* why */ -- so", source="pairs.sql")
    assert str(caught.value) == (
        "pairs.sql, line 2, column 1: `SELEC` is not a word of the query\n"
        "  2 | SELEC a /* why */ -- so\n"
        "    | ^^^^^\n"
        "  hint: did you mean `SELECT`?"
    )


def test_names_are_checked_where_the_fields_are_known() -> None:
    pay = struct_of({"user": STRING, "amount": FLOAT})
    schema = Schema((("Pay", pay),), closed=False, common_fields=())
    for query in ("FROM PATTERN (a=Pay[amout > 1])", "FROM PATTERN (a=Pay) SELECT a.amout"):
        with pytest.raises(PatternMistake) as caught:
            compile(query, schema)
        assert caught.value.code == "unknown_field"
        assert "amount" in (caught.value.hint or "")


def mistake_in(query: str) -> CepheidError | None:
    try:
        compile(query)
    except CepheidError as error:
        return error
    return None


GOOD = """FROM PATTERN (EVERY (e1=A[v > 1 and s in ('x', 'y')]{2,3} -> not X for 5 seconds -> (e2=B or AND(e3=C, D))))
WITHIN INTERVAL '10' MINUTE PARTITION BY k, lower(s) WHERE e1[0].v < 9
SELECT k, e1[last].v AS v, count(e1), case when e2.v > 1 then 1 else 2 end AS c INSERT INTO Out;
FROM SEQUENCE (o=Out+, C?) WITHIN 5s SELECT *"""
PARTS = re.findall(r"\s+|\w+|->|[^\w\s]", GOOD)


@settings(max_examples=300)
@given(st.data())
def test_whatever_is_missing_or_too_much_is_explained(data: st.DataObject) -> None:
    """No query with a word left out, doubled or in the wrong place gives anything but a mistake with a hint."""
    parts = list(PARTS)
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(parts) - 1))
        other = data.draw(st.sampled_from(PARTS))
        parts[at : at + 1] = data.draw(
            st.sampled_from([[], [parts[at], parts[at]], [other], [other, parts[at]]])
        )
    error = mistake_in("".join(parts))
    if error is not None:
        assert error.place is not None, error
        assert error.hint, error


def test_the_query_they_are_made_of_is_good() -> None:
    assert len(compile(GOOD).streams) == 2
