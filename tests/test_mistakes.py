"""What a newcomer gets wrong, and every word of what the library says about it: place, caret, hint."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import cepheid.lang
from cepheid.engines.program import compile
from cepheid.errors import CepheidError, PatternMistake, Place, SyntaxMistake
from cepheid.lang.parser import parse_expression
from cepheid.pattern.types import INT, STRING, Schema, struct_of

EVENTS = """\
event Login { user: string, ip: string, tries: int }
event Pay { user: string, amount: float }
"""


@dataclass(frozen=True)
class Mistake:
    code: str
    query: str
    said: str  # between two line breaks, for the sake of the eye


MISTAKES = [
    # Arrows and steps.
    Mistake(
        "missing_arrow",
        "A B",
        """
query, line 1, column 3: before `B` an arrow is missing
  1 | A B
    |   ^
  hint: write `-> B` for the next step
""",
    ),
    Mistake(
        "missing_arrow",
        "A as a B as b",
        """
query, line 1, column 8: before `B` an arrow is missing
  1 | A as a B as b
    |        ^
  hint: write `-> B` for the next step
""",
    ),
    Mistake(
        "missing_arrow",
        "A a -> B b",
        """
query, line 1, column 3: between `A` and `a` something is missing
  1 | A a -> B b
    |   ^
  hint: to name the step write `A as a`, for the next step `-> a`
""",
    ),
    Mistake(
        "missing_arrow",
        "A as a\n-> B as b\n   C as c",
        """
query, line 3, column 4: before `C` an arrow is missing
  3 |    C as c
    |    ^
  hint: write `-> C` for the next step
""",
    ),
    Mistake(
        "missing_arrow",
        "stream S = A -> B\nC -> D",
        """
query, line 2, column 1: before `C` an arrow is missing
  2 | C -> D
    | ^
  hint: write `-> C` for the next step; a pattern of its own has a name: `stream Name = C ...`
""",
    ),
    Mistake(
        "wrong_arrow",
        "A => B",
        """
query, line 1, column 3: the arrow between steps is `->`, not `=>`
  1 | A => B
    |   ^^
  hint: write ->
""",
    ),
    Mistake(
        "wrong_arrow",
        "A → B",
        """
query, line 1, column 3: the arrow between steps is `->`, not `→`
  1 | A → B
    |   ^
  hint: write ->
""",
    ),
    Mistake(
        "wrong_arrow",
        "A --> B",
        """
query, line 1, column 3: the arrow between steps is `->`, not `-->`
  1 | A --> B
    |   ^^^
  hint: write ->
""",
    ),
    Mistake(
        "wrong_arrow",
        "A > B",
        """
query, line 1, column 3: the arrow between steps is `->`, not `>`
  1 | A > B
    |   ^
  hint: write ->
""",
    ),
    Mistake(
        "wrong_arrow",
        "A - B",
        """
query, line 1, column 3: the arrow between steps is `->`, not `-`
  1 | A - B
    |   ^
  hint: write ->
""",
    ),
    Mistake(
        "wrong_arrow",
        "A where x > 1 => B",
        """
query, line 1, column 15: the arrow between steps is `->`, not `=>`
  1 | A where x > 1 => B
    |               ^^
  hint: write ->
""",
    ),
    Mistake(
        "comma_for_arrow",
        "A, B",
        """
query, line 1, column 2: between steps stands an arrow, not `,`
  1 | A, B
    |  ^
  hint: write -> for one after the other, or AND(A, B) for any order
""",
    ),
    Mistake(
        "comma_for_arrow",
        "A; B",
        """
query, line 1, column 2: between steps stands an arrow, not `;`
  1 | A; B
    |  ^
  hint: write -> for one after the other, or AND(A, B) for any order
""",
    ),
    Mistake(
        "extra_semicolon",
        "A -> B;",
        """
query, line 1, column 7: a bare pattern ends without `;`
  1 | A -> B;
    |       ^
  hint: leave it out
""",
    ),
    Mistake(
        "logic_between_steps",
        "A & B",
        """
query, line 1, column 3: `&` cannot join steps
  1 | A & B
    |   ^
  hint: it stands before them: write AND(A, B)
""",
    ),
    Mistake(
        "logic_between_steps",
        "A or B",
        """
query, line 1, column 3: `or` cannot join steps
  1 | A or B
    |   ^^
  hint: it stands before them: write OR(A, B)
""",
    ),
    Mistake(
        "missing_step",
        "A ->",
        """
query, line 1, column 5: after `->` a step is missing
  1 | A ->
    |     ^
  hint: write the type of an event after it
""",
    ),
    Mistake(
        "missing_step",
        "-> B",
        """
query, line 1, column 1: a pattern begins with a step
  1 | -> B
    | ^^
  hint: write for example `A as a -> B as b`
""",
    ),
    Mistake(
        "missing_step",
        "A -> -> B",
        """
query, line 1, column 6: after `->` a step is missing
  1 | A -> -> B
    |      ^^
  hint: write the type of an event after it
""",
    ),
    Mistake(
        "missing_step",
        "AND(A,)",
        """
query, line 1, column 7: after `,` a step is missing
  1 | AND(A,)
    |       ^
  hint: AND and OR take steps
""",
    ),
    Mistake(
        "missing_step",
        "()",
        """
query, line 1, column 2: after `(` a step is missing
  1 | ()
    |  ^
  hint: write for example (A -> B)
""",
    ),
    Mistake(
        "missing_step",
        "A -> within 5m",
        """
query, line 1, column 6: before `within` a step is missing
  1 | A -> within 5m
    |      ^^^^^^
  hint: write -> A within 5m
""",
    ),
    Mistake(
        "wrong_not",
        "A -> !B",
        """
query, line 1, column 6: absence is written NOT
  1 | A -> !B
    |      ^
  hint: write NOT B
""",
    ),
    Mistake(
        "quoted_type",
        'A -> "B"',
        """
query, line 1, column 6: the type of an event stands without quotes
  1 | A -> "B"
    |      ^^^
  hint: write B
""",
    ),
    Mistake(
        "bad_name",
        "A -> 2B",
        """
query, line 1, column 6: a name cannot begin with a digit: `2B`
  1 | A -> 2B
    |      ^^
  hint: write it in back quotes: `2B`
""",
    ),
    Mistake(
        "bad_name",
        "login-failed -> B",
        """
query, line 1, column 6: a name has no minus sign
  1 | login-failed -> B
    |      ^
  hint: write `->` for the next step, or the name in back quotes: `login-failed`
""",
    ),
    Mistake(
        "operator_parentheses",
        "app.Login -> B",
        """
query, line 1, column 4: `.Login` is no operator: it has no parentheses
  1 | app.Login -> B
    |    ^^^^^^
  hint: an event type with a dot in its name is written in back quotes: `app.Login`
""",
    ),
    Mistake(
        "keyword_as_name",
        "all -> B",
        """
query, line 1, column 1: after `all` a step is missing
  1 | all -> B
    | ^^^
  hint: write `all A`; an event type of that name stands in back quotes: `all`
""",
    ),
    Mistake(
        "keyword_as_name",
        "every -> B",
        """
query, line 1, column 1: after `every` a step is missing
  1 | every -> B
    | ^^^^^
  hint: write `every (A -> B)`; an event type of that name stands in back quotes: `every`
""",
    ),
    Mistake(
        "missing_parentheses",
        "AND -> B",
        """
query, line 1, column 1: AND takes its operands in parentheses
  1 | AND -> B
    | ^^^
  hint: write AND(A, B); an event type of that name stands in back quotes: `AND`
""",
    ),
    # The parts of a step.
    Mistake(
        "missing_alias",
        "A as",
        """
query, line 1, column 5: after `as` a name is missing
  1 | A as
    |     ^
  hint: write as a
""",
    ),
    Mistake(
        "missing_alias",
        "A as -> B",
        """
query, line 1, column 6: after `as` a name is missing
  1 | A as -> B
    |      ^^
  hint: write as a
""",
    ),
    Mistake(
        "missing_alias",
        'A as "x"',
        """
query, line 1, column 6: a name stands without quotes
  1 | A as "x"
    |      ^^^
  hint: write as x
""",
    ),
    Mistake(
        "missing_condition",
        "A where",
        """
query, line 1, column 8: after `where` a condition is missing
  1 | A where
    |        ^
  hint: write for example where amount > 100
""",
    ),
    Mistake(
        "missing_condition",
        "A where -> B",
        """
query, line 1, column 9: after `where` a condition is missing
  1 | A where -> B
    |         ^^
  hint: write for example where amount > 100
""",
    ),
    Mistake(
        "missing_condition",
        "A[] -> B",
        """
query, line 1, column 3: after `[` a condition is missing
  1 | A[] -> B
    |   ^
  hint: write A[amount > 100]
""",
    ),
    Mistake(
        "misplaced_condition",
        "A as a[x > 1]",
        """
query, line 1, column 7: a condition in brackets belongs directly after the type of the event
  1 | A as a[x > 1]
    |       ^
  hint: write A[x > 1] as a, or `A as a where x > 1`
""",
    ),
    Mistake(
        "misplaced_condition",
        "A(x > 1) -> B",
        """
query, line 1, column 2: the condition of a step stands in square brackets
  1 | A(x > 1) -> B
    |  ^
  hint: write A[x > 1]
""",
    ),
    Mistake(
        "quantifier_without_step",
        "+ -> B",
        """
query, line 1, column 1: `+` counts events, but there is no step before it
  1 | + -> B
    | ^
  hint: write the step first: `A+`, `A{2,5}`
""",
    ),
    Mistake(
        "misplaced_quantifier",
        "A as a+ -> B",
        """
query, line 1, column 7: `+` belongs directly after the type of the event
  1 | A as a+ -> B
    |       ^
  hint: write A+ as a
""",
    ),
    Mistake(
        "two_quantifiers",
        "A+? -> B",
        """
query, line 1, column 3: a step has one quantifier
  1 | A+? -> B
    |   ^
  hint: keep one, for example `A{2,5}`
""",
    ),
    Mistake(
        "bad_count",
        "A{} -> B",
        """
query, line 1, column 3: in the braces stand one or two whole numbers
  1 | A{} -> B
    |   ^
  hint: write {3}, {2,5}, {2,} or {,5}
""",
    ),
    Mistake(
        "bad_count",
        "A{2..5}",
        """
query, line 1, column 4: in the braces stand one or two whole numbers
  1 | A{2..5}
    |    ^
  hint: write {3}, {2,5}, {2,} or {,5}
""",
    ),
    Mistake(
        "wrong_equals",
        "a == A -> B",
        """
query, line 1, column 3: `==` compares, and here is nothing to compare
  1 | a == A -> B
    |   ^^
  hint: to name a step write `A as a`; a condition begins with `where`
""",
    ),
    # Clauses and operators.
    Mistake(
        "missing_duration",
        "A -> B within",
        """
query, line 1, column 14: after `within` a duration is missing
  1 | A -> B within
    |              ^
  hint: write for example within 5m, within 30s or within "2 hours"
""",
    ),
    Mistake(
        "missing_duration",
        "A -> B within -> C",
        """
query, line 1, column 15: after `within` a duration is missing
  1 | A -> B within -> C
    |               ^^
  hint: write for example within 5m, within 30s or within "2 hours"
""",
    ),
    Mistake(
        "missing_within",
        "A -> B 5m",
        """
query, line 1, column 8: before `5m` the word `within` is missing
  1 | A -> B 5m
    |        ^^
  hint: write within 5m
""",
    ),
    Mistake(
        "bad_duration",
        "A -> B within 5",
        """
query, line 1, column 15: `5` has no unit of time
  1 | A -> B within 5
    |               ^
  hint: write 5s or 5m
""",
    ),
    Mistake(
        "bad_duration",
        "A -> B within 5 minuts",
        """
query, line 1, column 17: `minuts` is not a unit of time
  1 | A -> B within 5 minuts
    |                 ^^^^^^
  hint: did you mean `minutes` or `minute`?
""",
    ),
    Mistake(
        "bad_duration",
        "A -> B within 5 m",
        """
query, line 1, column 17: between `5` and its unit stands a blank
  1 | A -> B within 5 m
    |                 ^
  hint: write 5m, in one word
""",
    ),
    Mistake(
        "bad_duration",
        "A -> B within 5mn",
        """
query, line 1, column 15: `mn` is not a unit of time
  1 | A -> B within 5mn
    |               ^^^
  hint: did you mean `min` or `mins`?
""",
    ),
    Mistake(
        "bad_duration",
        "A -> B within 1h 30m",
        """
query, line 1, column 18: a duration of several parts stands in quotes
  1 | A -> B within 1h 30m
    |                  ^^^
  hint: write "1h 30m"
""",
    ),
    Mistake(
        "bad_duration",
        'A -> B .within("5 fortnights")',
        """
query, line 1, column 16: `fortnights` is not a unit of time
  1 | A -> B .within("5 fortnights")
    |                ^^^^^^^^^^^^^^
  hint: the units are us, ms, s, m, h, d, w
""",
    ),
    Mistake(
        "bad_argument",
        "A -> B .within(5)",
        """
query, line 1, column 16: `5` has no unit of time
  1 | A -> B .within(5)
    |                ^
  hint: write .within(5s)
""",
    ),
    Mistake(
        "unknown_keyword",
        "A -> B wihtin 5m",
        """
query, line 1, column 8: `wihtin` is not a word of the language
  1 | A -> B wihtin 5m
    |        ^^^^^^
  hint: did you mean `within`?
""",
    ),
    Mistake(
        "unknown_keyword",
        "A -> B partion by x",
        """
query, line 1, column 8: `partion` is not a word of the language
  1 | A -> B partion by x
    |        ^^^^^^^
  hint: did you mean `partition by`?
""",
    ),
    Mistake(
        "unknown_keyword",
        "A -> B partition_by x",
        """
query, line 1, column 8: `partition_by` is not a word of the language
  1 | A -> B partition_by x
    |        ^^^^^^^^^^^^
  hint: write `partition by user` or `.partition_by(user)`
""",
    ),
    Mistake(
        "unknown_keyword",
        "A -> B group by x",
        """
query, line 1, column 8: `group` is not a word of the language
  1 | A -> B group by x
    |        ^^^^^
  hint: write `partition by user` after the pattern
""",
    ),
    Mistake(
        "unknown_keyword",
        "A followed by B",
        """
query, line 1, column 3: `followed` is not a word of the language
  1 | A followed by B
    |   ^^^^^^^^
  hint: steps follow each other with an arrow: `A -> B`
""",
    ),
    Mistake(
        "missing_by",
        "A -> B partition user",
        """
query, line 1, column 18: after `partition` the word `by` is missing
  1 | A -> B partition user
    |                  ^^^^
  hint: write partition by user
""",
    ),
    Mistake(
        "missing_value",
        "A -> B partition by",
        """
query, line 1, column 20: after `partition by` a field is missing
  1 | A -> B partition by
    |                    ^
  hint: write partition by user
""",
    ),
    Mistake(
        "missing_step",
        "A -> B unless",
        """
query, line 1, column 14: after `unless` an event is missing
  1 | A -> B unless
    |              ^
  hint: write for example unless X between a and b
""",
    ),
    Mistake(
        "missing_alias",
        "A -> B unless X after",
        """
query, line 1, column 22: after `after` the name of a step is missing
  1 | A -> B unless X after
    |                      ^
  hint: write after a
""",
    ),
    Mistake(
        "missing_and",
        "A as a -> B unless X between a",
        """
query, line 1, column 31: `between` takes two names of steps
  1 | A as a -> B unless X between a
    |                               ^
  hint: write between a and b, or `after a`
""",
    ),
    Mistake(
        "misplaced_clause",
        "A -> B within 5m where x > 1",
        """
query, line 1, column 18: `where` belongs to a step and stands before `within`, `partition by` and `unless`
  1 | A -> B within 5m where x > 1
    |                  ^^^^^
  hint: put it directly after its step
""",
    ),
    Mistake(
        "misplaced_clause",
        "A -> B partition by u -> C",
        """
query, line 1, column 23: the pattern goes on after a clause that belongs to the whole
  1 | A -> B partition by u -> C
    |                       ^^
  hint: put `within`, `partition by` and `unless` after the last step
""",
    ),
    Mistake(
        "operator_parentheses",
        "A -> B .stnm",
        """
query, line 1, column 8: the operator `.stnm` has no parentheses
  1 | A -> B .stnm
    |        ^^^^^
  hint: write .stnm()
""",
    ),
    Mistake(
        "operator_parentheses",
        "A -> B .within 5m",
        """
query, line 1, column 8: the operator `.within` has no parentheses
  1 | A -> B .within 5m
    |        ^^^^^^^
  hint: write .within(5m)
""",
    ),
    Mistake(
        "missing_operator",
        "A -> B .",
        """
query, line 1, column 8: after the dot an operator is missing
  1 | A -> B .
    |        ^
  hint: write for example .within(5m)
""",
    ),
    Mistake(
        "wrong_column",
        "A as a -> B as b .emit(a.x as y)",
        """
query, line 1, column 28: a column's name stands before its value
  1 | A as a -> B as b .emit(a.x as y)
    |                            ^^
  hint: write y: a.x
""",
    ),
    Mistake(
        "missing_comma",
        "A as a -> B as b .emit(x: a.x y: b.x)",
        """
query, line 1, column 31: between `x` and `y` a comma is missing
  1 | A as a -> B as b .emit(x: a.x y: b.x)
    |                               ^
  hint: write a comma before `y`
""",
    ),
    Mistake(
        "bad_argument",
        "A as a .emit(x = a.x)",
        """
query, line 1, column 14: this column has no name
  1 | A as a .emit(x = a.x)
    |              ^^^^^^^
  hint: a name is followed by a colon: write x: a.x
""",
    ),
    Mistake(
        "missing_value",
        "A as a .emit(x: )",
        """
query, line 1, column 17: after `:` a value is missing
  1 | A as a .emit(x: )
    |                 ^
  hint: write a field, a number or a text in quotes
""",
    ),
    # Brackets, texts and characters.
    Mistake(
        "empty_query",
        "",
        """
the query is empty
  hint: write a pattern, for example `A as a -> B as b`
""",
    ),
    Mistake(
        "empty_query",
        "# nothing yet\n",
        """
the query is empty
  hint: write a pattern, for example `A as a -> B as b`
""",
    ),
    Mistake(
        "unclosed_bracket",
        "A -> (B -> C",
        """
query, line 1, column 6: this `(` is not closed
  1 | A -> (B -> C
    |      ^
  hint: write `)` after `C`
""",
    ),
    Mistake(
        "unclosed_bracket",
        "A[x > 1 -> B",
        """
query, line 1, column 2: this `[` is not closed
  1 | A[x > 1 -> B
    |  ^
  hint: write `]` after `1`
""",
    ),
    Mistake(
        "unclosed_bracket",
        "A{2",
        """
query, line 1, column 2: this `{` is not closed
  1 | A{2
    |  ^
  hint: write `}` after `2`
""",
    ),
    Mistake(
        "unclosed_bracket",
        "A -> B .within(5m .stnm()",
        """
query, line 1, column 15: this `(` is not closed
  1 | A -> B .within(5m .stnm()
    |               ^
  hint: write `)` after `5m`
""",
    ),
    Mistake(
        "unclosed_bracket",
        "(A[x > 1) -> B",
        """
query, line 1, column 3: this `[` is not closed
  1 | (A[x > 1) -> B
    |   ^
  hint: write `]` after `1`
""",
    ),
    Mistake(
        "wrong_bracket",
        "A[x > 1) -> B",
        """
query, line 1, column 8: this `)` cannot close `[`
  1 | A[x > 1) -> B
    |        ^
  hint: write `]`
""",
    ),
    Mistake(
        "extra_bracket",
        "A -> B)",
        """
query, line 1, column 7: this `)` closes nothing
  1 | A -> B)
    |       ^
  hint: leave it out, or open it before with `(`
""",
    ),
    Mistake(
        "unclosed_string",
        'A where x == "abc',
        """
query, line 1, column 14: this string does not end
  1 | A where x == "abc
    |              ^
  hint: close it with "
""",
    ),
    Mistake(
        "unclosed_string",
        "A where x == 'O'Brien'",
        r"""
query, line 1, column 14: after this string `Brien` follows directly: its end is misplaced
  1 | A where x == 'O'Brien'
    |              ^^^
  hint: close the string where it ends; inside it a quote is written \'
""",
    ),
    Mistake(
        "unclosed_string",
        'A where x == "abc -> B where y == "def"',
        r"""
query, line 1, column 14: after this string `def` follows directly: its end is misplaced
  1 | A where x == "abc -> B where y == "def"
    |              ^^^^^^^^^^^^^^^^^^^^^^
  hint: close the string where it ends; inside it a quote is written \"
""",
    ),
    Mistake(
        "unclosed_string",
        "A where `x > 1",
        """
query, line 1, column 9: this name in back quotes does not end
  1 | A where `x > 1
    |         ^^^^^^
  hint: close it with a back quote
""",
    ),
    Mistake(
        "unclosed_comment",
        "A -> B /* the rest",
        """
query, line 1, column 8: this comment does not end
  1 | A -> B /* the rest
    |        ^^^^^^^^^^^
  hint: close it with */
""",
    ),
    Mistake(
        "wrong_comment",
        "A -> B -- the rest",
        """
query, line 1, column 8: `--` begins no comment
  1 | A -> B -- the rest
    |        ^^
  hint: comments begin with # or //
""",
    ),
    Mistake(
        "unknown_character",
        "A where x ~ 5",
        """
query, line 1, column 11: `~` is not a sign of the language
  1 | A where x ~ 5
    |           ^
  hint: outside of quotes the language does not use it; leave it out
""",
    ),
    Mistake(
        "unknown_character",
        "A where x ≥ 5",
        """
query, line 1, column 11: `≥` is not a sign of the language
  1 | A where x ≥ 5
    |           ^
  hint: write >=
""",
    ),
    Mistake(
        "unknown_character",
        "A where x == “a”",
        """
query, line 1, column 14: `“` is not a sign of the language
  1 | A where x == “a”
    |              ^
  hint: quotes are straight: "text"
""",
    ),
    Mistake(
        "syntax",
        "A where a..b",
        """
query, line 1, column 11: `.` cannot stand here
  1 | A where a..b
    |           ^
  hint: here could stand a name
""",
    ),
    Mistake(
        "bad_string",
        "A where x == '\\x'",
        r"""
query, line 1, column 14: a broken escape in this string
  1 | A where x == '\x'
    |              ^^^^
  hint: a backslash itself is written \\
""",
    ),
    # Declarations.
    Mistake(
        "missing_equals",
        "stream S A -> B",
        """
query, line 1, column 10: after `S` a `=` is missing
  1 | stream S A -> B
    |          ^
  hint: write stream S = ...
""",
    ),
    Mistake(
        "wrong_equals",
        "stream S == A -> B",
        """
query, line 1, column 10: a declaration takes `=`, not `==`
  1 | stream S == A -> B
    |          ^^
  hint: write stream S = ...
""",
    ),
    Mistake(
        "missing_name",
        "stream A -> B",
        """
query, line 1, column 1: the stream has no name
  1 | stream A -> B
    | ^^^^^^
  hint: write stream Name = A -> ...
""",
    ),
    Mistake(
        "missing_name",
        "stream S = A\nstream = B",
        """
query, line 2, column 1: the stream has no name
  2 | stream = B
    | ^^^^^^
  hint: write stream Name = ...
""",
    ),
    Mistake(
        "missing_step",
        "stream S =",
        """
query, line 1, column 11: the pattern is missing
  1 | stream S =
    |           ^
  hint: write for example `A as a -> B as b`
""",
    ),
    Mistake(
        "missing_step",
        "pattern P =\nstream S = P",
        """
query, line 2, column 1: before this declaration a pattern is missing
  2 | stream S = P
    | ^^^^^^
  hint: write P = A -> B
""",
    ),
    Mistake(
        "unknown_keyword",
        "stram X = A -> B",
        """
query, line 1, column 1: `stram` begins no declaration
  1 | stram X = A -> B
    | ^^^^^
  hint: did you mean `stream`?
""",
    ),
    Mistake(
        "unknown_keyword",
        "query X = A -> B",
        """
query, line 1, column 1: `query` begins no declaration
  1 | query X = A -> B
    | ^^^^^
  hint: a declaration begins with event, pattern or stream
""",
    ),
    Mistake(
        "not_a_declaration",
        "stream S = A;\nA -> B",
        """
query, line 2, column 1: `A` begins no declaration
  2 | A -> B
    | ^
  hint: in a program every pattern has a name: write `stream Name = A -> B`
""",
    ),
    Mistake(
        "missing_braces",
        "event E x: int",
        """
query, line 1, column 9: the fields of an event stand in braces
  1 | event E x: int
    |         ^
  hint: write event E { user: string, amount: float }
""",
    ),
    Mistake(
        "missing_name",
        "event { x: int }",
        """
query, line 1, column 1: the event has no name
  1 | event { x: int }
    | ^^^^^
  hint: write event Name { ... }
""",
    ),
    Mistake(
        "missing_colon",
        "event E { x int }",
        """
query, line 1, column 13: after the field `x` a colon is missing
  1 | event E { x int }
    |             ^^^
  hint: write x: int
""",
    ),
    Mistake(
        "missing_comma",
        "event E { x: int y: int }",
        """
query, line 1, column 18: before the field `y` a comma is missing
  1 | event E { x: int y: int }
    |                  ^
  hint: fields are separated by commas
""",
    ),
    Mistake(
        "wrong_separator",
        "event E { x: int; y: int }",
        """
query, line 1, column 17: fields are separated by commas, not `;`
  1 | event E { x: int; y: int }
    |                 ^
  hint: write ,
""",
    ),
    Mistake(
        "missing_type",
        "event E { x: }",
        """
query, line 1, column 14: the field `x` has no type
  1 | event E { x: }
    |              ^
  hint: write x: string
""",
    ),
    Mistake(
        "other_language",
        "SELECT * FROM A",
        """
query, line 1, column 1: `SELECT` is not a word of the language
  1 | SELECT * FROM A
    | ^^^^^^
  hint: the columns of the answer come at the end: `A as a -> B as b .emit(user: a.user)`
""",
    ),
    Mistake(
        "nothing_to_run",
        "pattern P = A -> B",
        """
there is no stream to run
  hint: a pattern alone does not run: add `stream P = P`
""",
    ),
    Mistake(
        "nothing_to_run",
        "event E { x: int }",
        """
there is no stream to run
  hint: add one, for example `stream Pairs = A as a -> B as b`
""",
    ),
    # Conditions.
    Mistake(
        "wrong_comparison",
        "A where x => 5",
        """
query, line 1, column 11: there is no `=>`
  1 | A where x => 5
    |           ^^
  hint: at least is written >=, the next step ->
""",
    ),
    Mistake(
        "wrong_comparison",
        "A where x === 1",
        """
query, line 1, column 11: there is no `===`
  1 | A where x === 1
    |           ^^^
  hint: write ==
""",
    ),
    Mistake(
        "wrong_comparison",
        "A where x > = 1",
        """
query, line 1, column 13: `>=` is written in one
  1 | A where x > = 1
    |             ^
  hint: write >=
""",
    ),
    Mistake(
        "chained_comparison",
        "A where 1 < x < 5",
        """
query, line 1, column 15: comparisons cannot be chained
  1 | A where 1 < x < 5
    |               ^
  hint: write 1 < x and x < 5
""",
    ),
    Mistake(
        "chained_comparison",
        "A where a.x == b.x == 5",
        """
query, line 1, column 20: comparisons cannot be chained
  1 | A where a.x == b.x == 5
    |                    ^^
  hint: write a.x == b.x and b.x == 5
""",
    ),
    Mistake(
        "python_word",
        "A where x is None",
        """
query, line 1, column 14: there is no `None`
  1 | A where x is None
    |              ^^^^
  hint: write is null
""",
    ),
    Mistake(
        "python_word",
        "A where x is not None",
        """
query, line 1, column 18: there is no `None`
  1 | A where x is not None
    |                  ^^^^
  hint: write is not null
""",
    ),
    Mistake(
        "python_word",
        "A where x == None",
        """
query, line 1, column 14: there is no `None`
  1 | A where x == None
    |              ^^^^
  hint: write `x is null` or `x is not null`; a field of that name stands in back quotes: `None`
""",
    ),
    Mistake(
        "wrong_is",
        "A where x is 5",
        """
query, line 1, column 14: `is` only asks for null
  1 | A where x is 5
    |              ^
  hint: write x == 5
""",
    ),
    Mistake(
        "between",
        "A where x between 1 and 5",
        """
query, line 1, column 11: conditions have no `between`
  1 | A where x between 1 and 5
    |           ^^^^^^^
  hint: write x >= 1 and x <= 5
""",
    ),
    Mistake(
        "between",
        "A -> B unless X where v between 1 and 5",
        """
query, line 1, column 25: conditions have no `between`
  1 | A -> B unless X where v between 1 and 5
    |                         ^^^^^^^
  hint: write v >= 1 and v <= 5
""",
    ),
    Mistake(
        "in_without_list",
        "A where x in 1, 2",
        """
query, line 1, column 14: `in` takes a list in parentheses
  1 | A where x in 1, 2
    |              ^
  hint: write in (1, 2)
""",
    ),
    Mistake(
        "single_sign",
        "A where x & y",
        """
query, line 1, column 11: there is no single `&`
  1 | A where x & y
    |           ^
  hint: write `and` or `&&`
""",
    ),
    Mistake(
        "unknown_keyword",
        "A where x > 1 adn y > 2",
        """
query, line 1, column 15: `adn` is not a word of the language
  1 | A where x > 1 adn y > 2
    |               ^^^
  hint: did you mean `and`?
""",
    ),
    Mistake(
        "missing_operator",
        "A where x y",
        """
query, line 1, column 11: between `x` and `y` something is missing
  1 | A where x y
    |           ^
  hint: write a comparison such as `==`, `and`, `or`; for the next step `->`
""",
    ),
    Mistake(
        "missing_value",
        "A where x >",
        """
query, line 1, column 12: after `>` a value is missing
  1 | A where x >
    |            ^
  hint: write a field, a number or a text in quotes
""",
    ),
    Mistake(
        "missing_value",
        "A[x > ] -> B",
        """
query, line 1, column 7: after `>` a value is missing
  1 | A[x > ] -> B
    |       ^
  hint: write a field, a number or a text in quotes
""",
    ),
    Mistake(
        "keyword_as_name",
        "A where case > 5",
        """
query, line 1, column 9: `case` is a word of the language
  1 | A where case > 5
    |         ^^^^
  hint: a field of that name stands in back quotes: `case`
""",
    ),
    Mistake(
        "python_word",
        "A where x if y else z",
        """
query, line 1, column 11: there is no `x if y else z`
  1 | A where x if y else z
    |           ^^
  hint: write if(y, x, z)
""",
    ),
    Mistake(
        "bad_duration",
        "A where 5x > 1",
        """
query, line 1, column 9: `x` is not a unit of time
  1 | A where 5x > 1
    |         ^^
  hint: the units are us, ms, s, m, h, d, w
""",
    ),
    # Names.
    Mistake(
        "unknown_alias",
        "A as a -> B as b .where(c.x > 1)",
        """
query, line 1, column 25: no step is called `c`
  1 | A as a -> B as b .where(c.x > 1)
    |                         ^^^
  hint: the names here are a, b
""",
    ),
    Mistake(
        "unknown_alias",
        "A as first -> B as second .emit(x: frist.x)",
        """
query, line 1, column 36: no step is called `frist`
  1 | A as first -> B as second .emit(x: frist.x)
    |                                    ^^^^^^^
  hint: did you mean `first`?
""",
    ),
    Mistake(
        "unknown_alias",
        "A as a -> B[c.x > 1] as b",
        """
query, line 1, column 13: no step is called `c`
  1 | A as a -> B[c.x > 1] as b
    |             ^^^
  hint: the names here are a, b; for a field inside a field name the step and write a.c.x
""",
    ),
    Mistake(
        "not_bound_yet",
        "A where b.x > 1 as a -> B as b",
        """
query, line 1, column 9: `b` is not bound yet here
  1 | A where b.x > 1 as a -> B as b
    |         ^^^
  hint: a step sees the steps before it: put the condition on the later step or in .where(...)
""",
    ),
    Mistake(
        "duplicate_alias",
        "A as a -> B as a",
        """
query, line 1, column 13: two steps are called `a`
  1 | A as a -> B as a
    |             ^^^^
  hint: give one of them another name
""",
    ),
    Mistake(
        "two_aliases",
        "A as a as b",
        """
query, line 1, column 8: this step has two names
  1 | A as a as b
    |        ^^^^
  hint: keep one
""",
    ),
    Mistake(
        "unknown_alias",
        "A as a -> NOT X as x -> B as b .emit(v: x.v)",
        """
query, line 1, column 41: `x` stands under a NOT: there is no such event to look at
  1 | A as a -> NOT X as x -> B as b .emit(v: x.v)
    |                                         ^^^
  hint: only the condition of that NOT itself can name it
""",
    ),
    Mistake(
        "not_bound_yet",
        "A as a -> NOT X as x -> B[x.v > 1]",
        """
query, line 1, column 27: `x` stands under a NOT: there is no such event to look at
  1 | A as a -> NOT X as x -> B[x.v > 1]
    |                           ^^^
  hint: only the condition of that NOT itself can name it
""",
    ),
    Mistake(
        "unknown_alias",
        "A as a -> B as b unless X between a and z",
        """
query, line 1, column 41: no step is called `z`
  1 | A as a -> B as b unless X between a and z
    |                                         ^
  hint: the names here are a, b
""",
    ),
    Mistake(
        "unknown_alias",
        "A as a -> B as b .skip(to_first(z))",
        """
query, line 1, column 24: no step is called `z`
  1 | A as a -> B as b .skip(to_first(z))
    |                        ^^^^^^^^^^^
  hint: the names here are a, b
""",
    ),
    Mistake(
        "skip_target",
        "A as a -> B as b .skip(to_first(a))",
        """
query, line 1, column 24: skip(to_first(a)) would go on at the match's own first event
  1 | A as a -> B as b .skip(to_first(a))
    |                        ^^^^^^^^^^^
  hint: skip to a later step, or use to_next
""",
    ),
    Mistake(
        "which_event",
        "A as a -> B as b .emit(user)",
        """
query, line 1, column 24: `user`: of which event?
  1 | A as a -> B as b .emit(user)
    |                        ^^^^
  hint: write a.user
""",
    ),
    Mistake(
        "which_event",
        "A as a -> B as b .partition_by(usr) .emit(user)",
        """
query, line 1, column 43: `user`: of which event?
  1 | A as a -> B as b .partition_by(usr) .emit(user)
    |                                           ^^^^
  hint: write a.user; or did you mean `usr`?
""",
    ),
    Mistake(
        "whole_event",
        "A as a -> B as b .emit(x: a + 1)",
        """
query, line 1, column 27: `a` is a whole event, not a value
  1 | A as a -> B as b .emit(x: a + 1)
    |                           ^
  hint: name a field of it, for example a.user
""",
    ),
    Mistake(
        "whole_event",
        "A as a -> B[a > 5] as b",
        """
query, line 1, column 13: `a` is a whole event, not a value
  1 | A as a -> B[a > 5] as b
    |             ^
  hint: name a field of it, for example a.user
""",
    ),
    Mistake(
        "bad_argument",
        "A as a -> B as b .emit(a.x + 1)",
        """
query, line 1, column 24: this column has no name
  1 | A as a -> B as b .emit(a.x + 1)
    |                        ^^^^^^^
  hint: write name: a.x + 1
""",
    ),
    Mistake(
        "bad_argument",
        "A as a -> B as b .emit(x: a.x, x: b.x)",
        """
query, line 1, column 32: two columns are called `x`
  1 | A as a -> B as b .emit(x: a.x, x: b.x)
    |                                ^^^^^^
  hint: give each its own name, for example x_2: b.x
""",
    ),
    Mistake(
        "unknown_alias",
        "A as a -> all B as b .emit(n: count(c))",
        """
query, line 1, column 31: no step is called `c`
  1 | A as a -> all B as b .emit(n: count(c))
    |                               ^^^^^^^^
  hint: the names here are a, b
""",
    ),
    # Types, with declared events.
    Mistake(
        "unknown_field",
        EVENTS + "stream S = Login as l -> Pay[amout > 5] as p",
        """
query, line 3, column 30: `Pay` has no field `amout`
  3 | stream S = Login as l -> Pay[amout > 5] as p
    |                              ^^^^^
  hint: did you mean `amount`?
""",
    ),
    Mistake(
        "unknown_field",
        EVENTS + "stream S = Login as l -> Pay as p .emit(who: l.usr)",
        """
query, line 3, column 46: `Login` has no field `usr`
  3 | stream S = Login as l -> Pay as p .emit(who: l.usr)
    |                                              ^^^^^
  hint: did you mean `user`?
""",
    ),
    Mistake(
        "unknown_field",
        EVENTS + "stream S = Login as l -> Pay partition by ip",
        """
query, line 3, column 43: `Pay` has no field `ip`
  3 | stream S = Login as l -> Pay partition by ip
    |                                           ^^
  hint: its fields are time, type, user, amount
""",
    ),
    Mistake(
        "unknown_field",
        EVENTS + "stream S = Login[user == bob] as l",
        """
query, line 3, column 26: `Login` has no field `bob`
  3 | stream S = Login[user == bob] as l
    |                          ^^^
  hint: its fields are time, type, user, ip, tries; a text stands in quotes: "bob"
""",
    ),
    Mistake(
        "unknown_alias",
        EVENTS + "stream S = Login as l -> Pay[user == Login.user] as p",
        """
query, line 3, column 38: `Login` is a type of event, not the name of a step
  3 | stream S = Login as l -> Pay[user == Login.user] as p
    |                                      ^^^^^^^^^^
  hint: write l.user
""",
    ),
    Mistake(
        "type_clash",
        EVENTS + 'stream S = Login as l -> Pay[l.tries > "3"] as p',
        """
query, line 3, column 30: `l.tries` is an int, `"3"` a string: they cannot be compared
  3 | stream S = Login as l -> Pay[l.tries > "3"] as p
    |                              ^^^^^^^^^^^^^
  hint: convert one of them: float(x), int(x) or string(x)
""",
    ),
    Mistake(
        "type_clash",
        EVENTS + "stream S = Login as l -> Pay[user + 1 > 2] as p",
        """
query, line 3, column 30: `user` is a string, `1` an int: they cannot be added
  3 | stream S = Login as l -> Pay[user + 1 > 2] as p
    |                              ^^^^^^^^
  hint: strings are joined by concat(a, b); string(x) makes one
""",
    ),
    Mistake(
        "not_a_condition",
        EVENTS + "stream S = Login[tries] as l -> Pay",
        """
query, line 3, column 18: `tries` is an int, not a condition
  3 | stream S = Login[tries] as l -> Pay
    |                  ^^^^^
  hint: write for example `tries != 0`
""",
    ),
    Mistake(
        "type_clash",
        EVENTS + "stream S = Login as l -> all Pay as p .emit(total: sum(p.user))",
        """
query, line 3, column 52: `p.user` is a string: `sum` cannot be taken of it
  3 | stream S = Login as l -> all Pay as p .emit(total: sum(p.user))
    |                                                    ^^^^^^^^^^^
  hint: sum takes numbers and durations
""",
    ),
    Mistake(
        "unknown_type",
        "event E { x: strng }\nstream S = E",
        """
query, line 1, column 14: there is no type `strng`
  1 | event E { x: strng }
    |              ^^^^^
  hint: did you mean `string` or `str`?
""",
    ),
    Mistake(
        "duplicate_field",
        "event E { x: int, x: string }\nstream S = E",
        """
query, line 1, column 19: `E` has two fields called `x`
  1 | event E { x: int, x: string }
    |                   ^
  hint: leave one of them out
""",
    ),
    Mistake(
        "duplicate_name",
        "event E { x: int }\nevent E { y: int }\nstream S = E",
        """
query, line 2, column 7: there are two events called `E`
  2 | event E { y: int }
    |       ^
  hint: rename one of them
""",
    ),
    # Functions.
    Mistake(
        "unknown_function",
        "A where lenght(x) > 5",
        """
query, line 1, column 9: there is no function `lenght`
  1 | A where lenght(x) > 5
    |         ^^^^^^^^^
  hint: did you mean `length`?
""",
    ),
    Mistake(
        "wrong_arguments",
        'A where upper(x, y) == "a"',
        """
query, line 1, column 9: `upper` takes 1 argument, not 2
  1 | A where upper(x, y) == "a"
    |         ^^^^^^^^^^^
  hint: upper(string)
""",
    ),
    Mistake(
        "bad_regex",
        'A where regexp_like(x, "(a")',
        r"""
query, line 1, column 24: `(a` is not a regular expression: missing ): (a
  1 | A where regexp_like(x, "(a")
    |                        ^^^^
  hint: parentheses come in pairs; a parenthesis itself is written \(
""",
    ),
    Mistake(
        "no_fields",
        "A where upper(x).y > 1",
        """
query, line 1, column 9: `upper(...)` has no fields
  1 | A where upper(x).y > 1
    |         ^^^^^^^^^^
  hint: only first(b).f and last(b).f
""",
    ),
    Mistake(
        "bad_aggregate",
        "A as a -> all B as b .where(sum(b) > 5)",
        """
query, line 1, column 29: `sum` takes one field of a named step
  1 | A as a -> all B as b .where(sum(b) > 5)
    |                             ^^^^^^
  hint: write sum(b.price), where b is the name of a step
""",
    ),
    Mistake(
        "bad_aggregate",
        "A as a .emit(m: max(a.x, 5))",
        """
query, line 1, column 17: `max` takes one field of a named step
  1 | A as a .emit(m: max(a.x, 5))
    |                 ^^^^^^^^^^^
  hint: for several values use greatest(...)
""",
    ),
    Mistake(
        "type_clash",
        'A -> all B as b -> C[b["x"].v > 1]',
        """
query, line 1, column 24: `"x"` is a string, not a position
  1 | A -> all B as b -> C[b["x"].v > 1]
    |                        ^^^
  hint: positions are whole numbers from 0: b[0], b[b.LEN - 1]
""",
    ),
    # Meaning.
    Mistake(
        "absence_without_bound",
        "A as a -> NOT X",
        """
query, line 1, column 11: NOT at the end needs a bound: until when must it not come?
  1 | A as a -> NOT X
    |           ^^^^^
  hint: write -> NOT X within 5m
""",
    ),
    Mistake(
        "absence_without_bound",
        "NOT X -> A",
        """
query, line 1, column 1: NOT at the start needs a bound: how long before the next step?
  1 | NOT X -> A
    | ^^^^^
  hint: write NOT X within 5m -> ...
""",
    ),
    Mistake(
        "only_absence",
        "NOT X within 5m",
        """
query, line 1, column 1: a pattern of nothing but NOT has no event to start from
  1 | NOT X within 5m
    | ^^^^^
  hint: say after what it must not come: A -> NOT X within 5m
""",
    ),
    Mistake(
        "not_form",
        "A -> NOT (B -> C) -> D",
        """
query, line 1, column 10: NOT takes one event
  1 | A -> NOT (B -> C) -> D
    |          ^^^^^^^^
  hint: write NOT X; for several, one after the other: `-> NOT X -> NOT Y ->`
""",
    ),
    Mistake(
        "absence_operand",
        "A -> AND(NOT X, B)",
        """
query, line 1, column 10: NOT at the edge of an operand of AND
  1 | A -> AND(NOT X, B)
    |          ^^^^^
  hint: inside an operand put it between two events; for the whole use `unless X`
""",
    ),
    Mistake(
        "too_few_operands",
        "AND(A)",
        """
query, line 1, column 1: AND needs two or more operands
  1 | AND(A)
    | ^^^^^^
  hint: write AND(A, B)
""",
    ),
    Mistake(
        "every_strict",
        "every (A -> B) .strict()",
        """
query, line 1, column 16: `every` cannot be strict
  1 | every (A -> B) .strict()
    |                ^^^^^^^^^
  hint: leave out .strict(), or leave out `every`
""",
    ),
    Mistake(
        "every_nested",
        "A -> every (B -> C)",
        """
query, line 1, column 6: `every` inside a pattern
  1 | A -> every (B -> C)
    |      ^^^^^^^^^^^^^^
  hint: it goes around the whole pattern: `every (A -> B)`
""",
    ),
    Mistake(
        "every_nested",
        "every (every (A -> B))",
        """
query, line 1, column 8: `every` inside a pattern
  1 | every (every (A -> B))
    |        ^^^^^^^^^^^^^^
  hint: it goes around the whole pattern: `every (A -> B)`
""",
    ),
    Mistake(
        "every_parentheses",
        "every A -> B",
        """
query, line 1, column 1: `every` needs parentheses around its pattern
  1 | every A -> B
    | ^^^^^^^
  hint: write every (A -> B)
""",
    ),
    Mistake(
        "two_bounds",
        "A -> B within 5m partition by x within 6m",
        """
query, line 1, column 33: the whole pattern has two bounds
  1 | A -> B within 5m partition by x within 6m
    |                                 ^^^^^^^^^
  hint: keep one `within` for the whole; steps may have their own
""",
    ),
    Mistake(
        "bound_on_first_step",
        "A within 5m -> B",
        """
query, line 1, column 3: a `within` on the first step bounds nothing: there is no event before it
  1 | A within 5m -> B
    |   ^^^^^^^^^
  hint: put it after the step it bounds, or at the end for the whole pattern
""",
    ),
    Mistake(
        "bad_bounds",
        "A{3,2} -> B",
        """
query, line 1, column 2: {3,2} can never be reached
  1 | A{3,2} -> B
    |  ^^^^^
  hint: the smaller number comes first: {2,3}
""",
    ),
    Mistake(
        "bad_bounds",
        "A{0} -> B",
        """
query, line 1, column 2: a step that takes no event means nothing
  1 | A{0} -> B
    |  ^^^
  hint: write for example {1}, {0,3} or {2,}
""",
    ),
    Mistake(
        "not_a_closure",
        "A until x > 1 -> B",
        """
query, line 1, column 3: `until` belongs to a closure, and this step takes one event
  1 | A until x > 1 -> B
    |   ^^^^^^^^^^^
  hint: write `all A`, so that it takes every one
""",
    ),
    Mistake(
        "not_a_closure",
        "A -> B.increasing(x) as b",
        """
query, line 1, column 7: `.increasing` belongs to a closure, and this step takes one event
  1 | A -> B.increasing(x) as b
    |       ^^^^^^^^^^^^^^
  hint: write `all B`, so that it takes every one
""",
    ),
    Mistake(
        "not_a_closure",
        "A -> (B -> C) .increasing(x)",
        """
query, line 1, column 15: `.increasing` belongs to a closure
  1 | A -> (B -> C) .increasing(x)
    |               ^^^^^^^^^^^^^^
  hint: write it on the step: `all T.increasing(f) as x`
""",
    ),
    Mistake(
        "bad_argument",
        "A -> all B.increasing() as b",
        """
query, line 1, column 11: `.increasing` takes one field
  1 | A -> all B.increasing() as b
    |           ^^^^^^^^^^^^^
  hint: write .increasing(price)
""",
    ),
    Mistake(
        "misplaced_operator",
        "A .stnm() -> B",
        """
query, line 1, column 3: `.stnm(...)` stands in the middle of the pattern
  1 | A .stnm() -> B
    |   ^^^^^^^
  hint: operators come after the last step: `A -> B .stnm(...)`
""",
    ),
    Mistake(
        "two_loops",
        "A -> all next any B",
        """
query, line 1, column 6: `next any`: a closure goes on in one way
  1 | A -> all next any B
    |      ^^^^^^^^^^^^^^
  hint: choose one of next, any, greedy
""",
    ),
    Mistake(
        "arrow_on_first_step",
        "next A -> B",
        """
query, line 1, column 1: `next` says how a step is reached from the one before; here is none before
  1 | next A -> B
    | ^^^^
  hint: leave it out
""",
    ),
    Mistake(
        "group_suffix",
        "(A -> B) as x",
        """
query, line 1, column 10: a group cannot have a name
  1 | (A -> B) as x
    |          ^^^^
  hint: name and test the steps inside it
""",
    ),
    Mistake(
        "group_suffix",
        "AND(A, B) as x",
        """
query, line 1, column 11: AND cannot have a name of its own
  1 | AND(A, B) as x
    |           ^^^^
  hint: name the steps inside it
""",
    ),
    Mistake(
        "clause_inside",
        "A -> (B partition by x) -> C",
        """
query, line 1, column 9: a part of a pattern cannot have `partition by` or `unless` of its own
  1 | A -> (B partition by x) -> C
    |         ^^^^^^^^^^^^^^
  hint: put it after the whole pattern
""",
    ),
    Mistake(
        "guard_form",
        "A as a -> B as b unless (X -> Y)",
        """
query, line 1, column 25: `unless` takes one event
  1 | A as a -> B as b unless (X -> Y)
    |                         ^^^^^^^^
  hint: write `unless X between a and c`; several guards may stand one after the other
""",
    ),
    Mistake(
        "unknown_operator",
        "A -> B .stmn()",
        """
query, line 1, column 8: there is no operator `.stmn`
  1 | A -> B .stmn()
    |        ^^^^^
  hint: did you mean `stnm` or `stam`?
""",
    ),
    Mistake(
        "bad_argument",
        "A -> B .stnm(5)",
        """
query, line 1, column 14: `.stnm()` takes nothing
  1 | A -> B .stnm(5)
    |              ^
  hint: write .stnm()
""",
    ),
    Mistake(
        "bad_argument",
        "A as a -> B as b .skip(past)",
        """
query, line 1, column 24: there is no such way to skip
  1 | A as a -> B as b .skip(past)
    |                        ^^^^
  hint: did you mean `past_last`?
""",
    ),
    Mistake(
        "bad_argument",
        "A -> B .limit(max_run: 5)",
        """
query, line 1, column 15: `.limit` does not take this
  1 | A -> B .limit(max_run: 5)
    |               ^^^^^^^^^^
  hint: did you mean `max_runs`?
""",
    ),
    Mistake(
        "no_trends",
        "A -> B .stnm() .trend_aggregate(n: count_trends())",
        """
query, line 1, column 16: trends cannot be aggregated here: under stnm a match uses its events up
  1 | A -> B .stnm() .trend_aggregate(n: count_trends())
    |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a trend is one match under subsets, with .stam() or .strict(): leave the other operator out
""",
    ),
    Mistake(
        "not_decidable",
        "A -> B+ as b -> C .where(sum(b.v) > 3) .trend_aggregate(n: count_trends())",
        """
query, line 1, column 26: `sum(b.v) > 3` needs all events of `b` at once: trends cannot be aggregated without listing
  1 | A -> B+ as b -> C .where(sum(b.v) > 3) .trend_aggregate(n: count_trends())
    |                          ^^^^^^^^^^^^
  hint: use the event before (b.f), first(b), last(b) or count(b), or list the matches by .subsets()
""",
    ),
    Mistake(
        "unknown_alias",
        "A as a -> all B as b .trend_aggregate(n: sum_trends(c.v))",
        """
query, line 1, column 42: no step is called `c`
  1 | A as a -> all B as b .trend_aggregate(n: sum_trends(c.v))
    |                                          ^^^^^^^^^^^^^^^
  hint: the names here are a, b
""",
    ),
    Mistake(
        "wrong_arguments",
        "A as a -> all B as b .trend_aggregate(n: sum_trends(b))",
        """
query, line 1, column 42: `sum_trends` got other arguments than it takes
  1 | A as a -> all B as b .trend_aggregate(n: sum_trends(b))
    |                                          ^^^^^^^^^^^^^
  hint: write sum_trends(b.price)
""",
    ),
    Mistake(
        "bad_argument",
        "A as a -> all B as b .trend_aggregate(n: count_trends(), rows: finale)",
        """
query, line 1, column 64: there is no such way to give rows
  1 | A as a -> all B as b .trend_aggregate(n: count_trends(), rows: finale)
    |                                                                ^^^^^^
  hint: did you mean `final`?
""",
    ),
    Mistake(
        "no_horizon",
        "A -> B .forecast(confidence: 0.7)",
        """
query, line 1, column 8: how far ahead is to be looked? The forecast has no horizon, and the pattern no bound
  1 | A -> B .forecast(confidence: 0.7)
    |        ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write .forecast(horizon: 2m), .forecast(horizon: 20) for events, or .within(5m)
""",
    ),
    Mistake(
        "not_forecast",
        "A -> NOT B within 5s .forecast(horizon: 5s)",
        """
query, line 1, column 22: a pattern that ends with NOT is completed by time, not by an event: it cannot be forecast
  1 | A -> NOT B within 5s .forecast(horizon: 5s)
    |                      ^^^^^^^^^^^^^^^^^^^^^^
  hint: leave out .forecast; a pending absence says when it becomes certain
""",
    ),
    Mistake(
        "bad_argument",
        "A -> B .forecast(horizon: 5s, confidence: 2)",
        """
query, line 1, column 43: `confidence` of a forecast is a number from 0 to 1
  1 | A -> B .forecast(horizon: 5s, confidence: 2)
    |                                           ^
  hint: write confidence: 0.5
""",
    ),
    Mistake(
        "bad_argument",
        "A -> B .forecast(horizon: x)",
        """
query, line 1, column 27: `horizon` is a duration or a number of events
  1 | A -> B .forecast(horizon: x)
    |                           ^
  hint: write horizon: 2m, or horizon: 20
""",
    ),
    Mistake(
        "which_event",
        "A as a -> B .forecast(horizon: 5s) .where(forecast_probabilty > 0.5)",
        """
query, line 1, column 43: a forecast has no `forecast_probabilty`
  1 | A as a -> B .forecast(horizon: 5s) .where(forecast_probabilty > 0.5)
    |                                           ^^^^^^^^^^^^^^^^^^^
  hint: did you mean `forecast_probability` or `forecast_until`?
""",
    ),
    Mistake(
        "which_event",
        "A as a -> B .where(forecast_probability > 0.5) .forecast(horizon: 5s)",
        """
query, line 1, column 20: `forecast_probability` is known only after `.forecast(...)`
  1 | A as a -> B .where(forecast_probability > 0.5) .forecast(horizon: 5s)
    |                    ^^^^^^^^^^^^^^^^^^^^
  hint: put `.forecast(...)` before it
""",
    ),
    Mistake(
        "bad_argument",
        "A -> B .forecast(horizon: 5s) .emit(time: forecast_time)",
        """
query, line 1, column 43: every forecast has a column `time` already
  1 | A -> B .forecast(horizon: 5s) .emit(time: forecast_time)
    |                                           ^^^^^^^^^^^^^
  hint: give it another name; forecasts begin with run_id, time, event, forecast_probability, forecast_until, """
        """forecast_until_event
""",
    ),
    Mistake(
        "stream_cycle",
        "stream S = T -> A\nstream T = S -> B",
        """
query, line 1, column 8: streams feed each other in a circle (S -> T -> S)
  1 | stream S = T -> A
    |        ^
  hint: a stream reads the events of its pattern's types: rename the stream or the type
""",
    ),
    Mistake(
        "stream_cycle",
        "stream S = S -> B",
        """
query, line 1, column 8: streams feed each other in a circle (S -> S)
  1 | stream S = S -> B
    |        ^
  hint: a stream reads the events of its pattern's types: rename the stream or the type
""",
    ),
    Mistake(
        "pattern_cycle",
        "pattern P = Q -> A\npattern Q = P -> B\nstream S = P",
        """
query, line 1, column 9: pattern `P` is made of itself (P -> Q -> P)
  1 | pattern P = Q -> A
    |         ^
  hint: if `P` is an event type there, give the pattern another name
""",
    ),
    Mistake(
        "duplicate_name",
        "stream S = A\nstream S = B",
        """
query, line 2, column 8: there are two streams called `S`
  2 | stream S = B
    |        ^
  hint: rename one of them
""",
    ),
    Mistake(
        "emit_in_pattern",
        "pattern P = A as a .emit(x: a.x)\nstream S = P",
        """
query, line 1, column 20: a pattern has no output of its own
  1 | pattern P = A as a .emit(x: a.x)
    |                    ^^^^^^^^^^^^^
  hint: write `stream P = P .emit(...)`
""",
    ),
    Mistake(
        "pattern_suffix",
        "pattern P = A -> B\nstream S = P as p",
        """
query, line 2, column 14: `P` is a pattern, not an event: it cannot have a name or a condition here
  2 | stream S = P as p
    |              ^^^^
  hint: use the names of its steps, or `.where(...)`
""",
    ),
]


def mistake_in(query: object, schema: Schema | None = None) -> CepheidError:
    with pytest.raises(CepheidError) as caught:
        compile(query, schema)
    return caught.value


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: f"{m.code}: {m.query.splitlines()[-1:]}")
def test_message(mistake: Mistake) -> None:
    error = mistake_in(mistake.query)
    assert str(error) == mistake.said[1:-1]
    assert error.code == mistake.code
    assert error.hint


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: f"{m.code}: {m.query.splitlines()[-1:]}")
def test_survives_pickling(mistake: Mistake) -> None:
    error = mistake_in(mistake.query)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.code, again.place, again.hint) == (
        str(error),
        error.code,
        error.place,
        error.hint,
    )


def test_no_query_twice() -> None:
    assert len({m.query for m in MISTAKES}) == len(MISTAKES)


def test_every_syntax_mistake_is_shown() -> None:
    folder = Path(cepheid.lang.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("mistakes*.py")]
    codes = {code for text in texts for code in re.findall(r'mistake\(\s*"(\w+)"', text)}
    assert len(codes) > 40
    assert codes <= {m.code for m in MISTAKES}


def test_never_the_parsers_own_words() -> None:
    for mistake in MISTAKES:
        hint = mistake_in(mistake.query).hint or ""
        assert not re.search(r"__ANON|\b(?:LPAR|RPAR|LSQB|QMARK|COMPARE|QUOTED|RULE)\b", hint)


def test_source_is_named() -> None:
    with pytest.raises(SyntaxMistake) as caught:
        compile("A B", source="fraud.cep")
    assert str(caught.value).startswith("fraud.cep, line 1, column 3: ")


def test_expression_on_its_own() -> None:
    with pytest.raises(SyntaxMistake) as caught:
        parse_expression("1 < x < 5")
    assert caught.value.code == "chained_comparison"
    assert caught.value.hint == "write 1 < x and x < 5"


def test_schema_from_data() -> None:
    schema = Schema((("Login", struct_of({"user": STRING, "tries": INT})),))
    error = mistake_in("Login[user > 5] as l", schema)
    assert isinstance(error, PatternMistake)
    assert (
        str(error)
        == """\
query, line 1, column 7: `user` is a string, `5` an int: they cannot be compared
  1 | Login[user > 5] as l
    |       ^^^^^^^^
  hint: convert one of them: float(x), int(x) or string(x)"""
    )
    assert mistake_in("Login[trys > 5] as l", schema).hint == "did you mean `tries`?"


def test_windows_line_ends_and_tabs() -> None:
    error = mistake_in("A as a\r\n\t-> B as b\r\n\tC as c")
    assert (
        str(error)
        == """\
query, line 3, column 2: before `C` an arrow is missing
  3 |  C as c
    |  ^
  hint: write `-> C` for the next step"""
    )


def test_unknown_stream() -> None:
    with pytest.raises(PatternMistake) as caught:
        compile("stream Alerts = A -> B")["Alert"]
    assert str(caught.value) == "there is no stream `Alert`\n  hint: did you mean `Alerts`?"


def test_place_inside_a_place() -> None:
    place = Place(1, 1, 2, 7, "A as a\n-> B b")
    assert place.find("b") == Place(2, 6, 2, 7, place.text)
    assert place.find("z") is place
