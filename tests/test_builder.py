"""The Python builder gives exactly the model that the text gives, and refuses the same mistakes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from cepheid.errors import PatternMistake
from cepheid.lang.parser import parse_pattern
from cepheid.pattern.builder import (
    Part,
    all_,
    and_,
    as_pattern,
    as_stream,
    avg,
    case,
    collect,
    count,
    distinct_count,
    event,
    every,
    field,
    first,
    func,
    group,
    if_,
    last,
    lit,
    max_,
    min_,
    not_,
    not_next,
    or_,
    seq,
    stddev,
    sum_,
    whole,
)
from cepheid.pattern.expr import Binary, Call, Field, Literal, Opaque, Unary
from cepheid.pattern.model import Absence, Closure, Link, Pattern, Sequence, Step, Stream

A, B, C, D, X = (event(name) for name in "ABCDX")
a, b, c, d, x = (event(name.upper()).as_(name) for name in "abcdx")
bs = b.one_or_more()
NAMED = a >> bs >> c

PATTERNS: list[tuple[Part, str]] = [
    # steps
    (A, "A"),
    (a, "A as a"),
    (event("login.failed").as_("select all"), "`login.failed` as `select all`"),
    (A.where(field("v") > 3), "A[v > 3]"),
    (a.where(a.v > 3), "A as a where a.v > 3"),
    (a.where(a.v > 3, a.w < 2).where(a.u == 1), "A as a where a.v > 3 where a.w < 2 where a.u == 1"),
    (a.where((a.v > 3) & (a.w < 2)), "A[a.v > 3 and a.w < 2] as a"),
    (a >> b.where(b.user == a.user), "A as a -> B[b.user == a.user] as b"),
    (a >> B.where(field("a", "v") == field("v")), "A as a -> B[a.v == v]"),
    # arrows
    (A >> B >> C, "A -> B -> C"),
    (seq(A, B, C), "A -> B -> C"),
    (seq(A), "A"),
    (A.next(B), "A -> next B"),
    (A.first(B).any(C), "A -> first B -> any C"),
    (A.any(all_(B)), "A -> any all B"),
    (A >> (B >> C), "A -> (B -> C)"),
    (group(A >> B) >> C, "(A -> B) -> C"),
    (group(A >> B), "(A -> B)"),
    (A >> group(B), "A -> (B)"),
    # closures
    (A.one_or_more(), "A+"),
    (all_(A), "all A"),
    (all_(A.times(2, 4)), "all A{2,4}"),
    (A.zero_or_more() >> B.optional(), "A* -> B?"),
    (A.times(3), "A{3}"),
    (A.times(2, 4), "A{2,4}"),
    (A.times(2, None), "A{2,}"),
    (A.times(0, 4), "A{,4}"),
    (all_(b.where(b.v > 1)), "all B[b.v > 1] as b"),
    (B.one_or_more().as_("b").where(field("v") > 1), "B+ as b where v > 1"),
    ((A >> B).times(2), "(A -> B){2}"),
    (C >> (A >> B).times(1, 2) >> D, "C -> (A -> B){1,2} -> D"),
    (group(A.one_or_more()).times(2), "(A+){2}"),
    (all_(group(A.one_or_more())), "all (A+)"),
    (A >> all_(B).unbroken() >> C, "A -> all next B -> C"),
    (A >> all_(B).combinations() >> C, "A -> all any B -> C"),
    (A >> B.times(2, 3).greedy() >> C, "A -> all greedy B{2,3} -> C"),
    (A >> (B >> C).one_or_more().unbroken(), "A -> all next (B -> C)"),
    (a >> all_(b).until(field("v") > a.v) >> c, "A as a -> all B as b until v > a.v -> C as c"),
    (all_(b).increasing("price"), "all B as b .increasing(price)"),
    (all_(b).decreasing(b.quote.price).until(b.v == 1), "all B.decreasing(quote.price) as b until b.v == 1"),
    # bounds
    ((A >> B).within("5s"), "A -> B within 5s"),
    ((A >> B).within(timedelta(minutes=5)), 'A -> B within "5 minutes"'),
    (A.one_or_more().within("5s"), "A+ within 5s"),
    (A >> B.at_most("5s") >> C, "A -> B within 5s -> C"),
    (A >> B.at_most("5s") >> C.at_most("3s"), "A -> B within 5s -> C within 3s"),
    ((A >> B.at_most("5s") >> C).within("1m"), "A -> B within 5s -> C .within(1m)"),
    (A >> B.optional().at_most("5s") >> C, "A -> B? within 5s -> C"),
    (A >> B.at_most("5s").optional() >> C, "A -> B? within 5s -> C"),
    (A >> all_(B).gap("5s") >> C, "A -> all B within 5s -> C"),
    (A >> all_(B).at_most("5s") >> C, "A -> all B within 5s -> C"),
    (A >> all_(B.at_most("5s")) >> C, "A -> all B within 5s -> C"),
    (A >> all_(B).gap("5s"), "A -> (all B) within 5s"),
    (all_(B).gap("5s"), "(all B) within 5s"),
    (A >> and_(B, C).at_most("5s") >> D, "A -> AND(B, C) within 5s -> D"),
    (A >> and_(B, C).within("5s") >> D, "A -> (AND(B, C)) within 5s -> D"),
    (A >> (B >> C).within("5s") >> D, "A -> (B -> C) within 5s -> D"),
    (group(A >> B).within("5s") >> C.at_most("2s"), "(A -> B) within 5s -> C within 2s"),
    (A >> (B >> C).within("5s"), "A -> (B -> C) within 5s"),
    (group((A >> B).within("3s")), "(A -> B) within 3s"),
    (group((A >> B).within("3s")).within("5s"), "((A -> B) within 3s) within 5s"),
    ((A >> B).within("5s").times(2), "((A -> B) within 5s){2}"),
    # and, or, absence
    (and_(A, B), "AND(A, B)"),
    (or_(a, b >> c) >> D, "OR(A as a, B as b -> C as c) -> D"),
    (and_(A, (B >> C).within("5s")), "AND(A, B -> C within 5s)"),
    (and_(A, all_(B).within("5s")), "AND(A, all B within 5s)"),
    (A >> and_(B, or_(C, D)).one_or_more(), "A -> (AND(B, OR(C, D)))+"),
    (A >> not_(X) >> B, "A -> NOT X -> B"),
    (a >> not_(x.where(x.v > a.v)) >> B, "A as a -> NOT X as x where x.v > a.v -> B"),
    (A >> not_(X).where(field("v") == 1) >> B, "A -> NOT(X where v == 1) -> B"),
    (A >> not_(X).at_most("5s") >> B, "A -> NOT X within 5s -> B"),
    (not_(X).at_most("5s") >> B, "NOT X within 5s -> B"),
    ((A >> not_(X)).within("5s"), "A -> NOT X within 5s"),
    (A >> not_(X).at_most("5s"), "A -> (NOT X) within 5s"),
    (A >> not_next(X) >> B, "A -> NOT next X -> B"),
    # every
    (every(A >> B), "every (A -> B)"),
    (every(A >> B, keep="first").within("5s"), "every first (A -> B) within 5s"),
    (every((A >> B).within("5s")), "every (A -> B within 5s)"),
    (every(A), "every (A)"),
    # clauses
    ((A >> B).partition_by("user"), "A -> B partition by user"),
    (
        (A >> B).partition_by("user", func.lower(field("city"))).partition_by(field("geo").cell),
        "A -> B .partition_by(user, lower(city)) .partition_by(geo.cell)",
    ),
    (
        (a >> b).where(b.v > a.v).where(b.w > 1, a.w > 1),
        "A as a -> B as b .where(b.v > a.v) .where(b.w > 1, a.w > 1)",
    ),
    (
        (a >> b).partition_by("user").where(field("user") == 7),
        "A as a -> B as b .partition_by(user) .where(user == 7)",
    ),
    ((a >> b).where(a.v < b.v) >> c, "(A as a -> B as b) where a.v < b.v -> C as c"),
    (and_((a >> b).where(a.v == 1), c), "AND(A as a -> B as b, C as c) .where(a.v == 1)"),
    (whole(a).where(a.v > 1), "A as a .where(a.v > 1)"),
    (NAMED.unless(X, between=(a, c)), "A as a -> all B as b -> C as c unless X between a and c"),
    (NAMED.unless(X, between=("a", "c")), "A as a -> all B as b -> C as c unless X between a and c"),
    (
        NAMED.unless(x.where(x.v > a.v), after=a).unless(D),
        "A as a -> all B as b -> C as c unless X as x where x.v > a.v after a unless D",
    ),
    ((A >> B).stam(), "A -> B .stam()"),
    ((A >> B).stnm(), "A -> B .stnm()"),
    ((A >> B).strict(), "A -> B .strict()"),
    (NAMED.each(), "A as a -> all B as b -> C as c .each()"),
    (NAMED.each(eager=True), "A as a -> all B as b -> C as c .each(eager: true)"),
    (NAMED.longest(), "A as a -> all B as b -> C as c .longest()"),
    (NAMED.subsets(), "A as a -> all B as b -> C as c .subsets()"),
    ((A >> B).skip("past_last"), "A -> B .skip(past_last)"),
    ((A >> B).skip("none"), "A -> B .skip(none)"),
    (NAMED.skip(to_first=bs), "A as a -> all B as b -> C as c .skip(to_first(b))"),
    (NAMED.skip(to_last="b"), "A as a -> all B as b -> C as c .skip(to_last(b))"),
    (
        (A >> B).limit(max_runs=10, max_matches=20, on_limit="evict_oldest").limit(max_buffer=5).timeouts(),
        "A -> B .limit(max_runs: 10, max_matches: 20, on_limit: evict_oldest) .limit(max_buffer: 5)"
        " .timeouts()",
    ),
]

v, w, s = field("v"), field("w"), field("s")
CONDITIONS: list[tuple[Any, str]] = [
    (v == 1, "v == 1"),
    (v != "x", 'v != "x"'),
    (~(v < 1.5) | (w <= 2) & (v >= w), "not v < 1.5 or w <= 2 and v >= w"),
    ((~(v < 1.5) | (w <= 2)) & (v >= w), "(not v < 1.5 or w <= 2) and v >= w"),
    (v + 1 - w * 2 / 3 % 4 > 0, "v + 1 - w * 2 / 3 % 4 > 0"),
    (1 + (2 - (3 * (4 / (5 % v)))) > 0, "1 + (2 - 3 * (4 / (5 % v))) > 0"),
    (v**2**w < 2**v, "v ** 2 ** w < 2 ** v"),
    (-v < -3, "-v < -3"),
    (-(v + w) == -lit(4), "-(v + w) == -4"),
    (v + w * 2 < w, "v + w * 2 < w"),
    (s.lower < s.upper, "s.lower < s.upper"),
    (field("where") == s["like"], "`where` == s.`like`"),
    (v.is_null() & w.is_not_null(), "v is null and w is not null"),
    (v.is_in([1, 2, None]), "v in (1, 2, null)"),
    (v.not_in(("a", w)), 'v not in ("a", w)'),
    (s.like("a%") | s.not_like("_b"), 's like "a%" or s not like "_b"'),
    (v - w > timedelta(minutes=5), "v - w > 5m"),
    (v > -timedelta(seconds=1), "v > -1s"),
    (v > datetime(2024, 5, 1, 12, tzinfo=UTC), 'v > timestamp("2024-05-01T12:00:00+00:00")'),
    (v >= date(2024, 5, 1), 'v >= timestamp("2024-05-01")'),
    (v == lit(None), "v == null"),
    (v == False, "v == false"),  # noqa: E712
    (func.lower(s) == func.concat("a", s, 1), 'lower(s) == concat("a", s, 1)'),
    (if_(v > 1, "x", w) == "x", 'if(v > 1, "x", w) == "x"'),
    (
        case((v > 10, "big"), (v > 3, "mid"), otherwise="small") == s,
        'case when v > 10 then "big" when v > 3 then "mid" else "small" end == s',
    ),
    (case((v > 10, 1)) == 1, "case when v > 10 then 1 end == 1"),
    (func.IF(v > 1, 1, 2) == 1, "if(v > 1, 1, 2) == 1"),
    (lit(True) & v.ok, "true and v.ok"),
]

OVER_MATCH: list[tuple[Any, str]] = [
    (bs.LEN > 2, "b.LEN > 2"),
    (count(bs) > 2, "count(b) > 2"),
    (func.count(bs) > count("b"), "count(b) > count(b)"),
    (bs[0].id == a.id, "b[0].id == a.id"),
    (bs[bs.LEN - 1].id.inner == a.id, "b[b.LEN - 1].id.inner == a.id"),
    (bs[-1].id == last(bs).id, "last(b).id == last(b).id"),
    (func.first(bs) == first(bs), "first(b) == first(b)"),
    (first("b")["a b"] == 1, "first(b).`a b` == 1"),
    (sum_(bs.v) + avg(bs.v) > 1, "sum(b.v) + avg(b.v) > 1"),
    (max_(bs.v) - min_(bs.o.v) > stddev(bs.v), "max(b.v) - min(b.o.v) > stddev(b.v)"),
    (distinct_count(bs.v) == func.sum(bs.v), "distinct_count(b.v) == sum(b.v)"),
    (func.length(collect(bs.v)) == 2, "length(collect(b.v)) == 2"),
    (bs.v > a["where"], "b.v > a.`where`"),
    (func.match_id() != "", 'match_id() != ""'),
    (c.time - a.time < timedelta(days=1), "c.time - a.time < 1d"),
    (field("user") == field("a", "user"), "user == a.user"),
]


def parsed(text: str) -> Pattern:
    return parse_pattern(text).pattern


@pytest.mark.parametrize(("built", "text"), PATTERNS, ids=[text for _, text in PATTERNS])
def test_a_built_pattern_is_the_parsed_one(built: Part, text: str) -> None:
    assert built.build() == parsed(text)
    assert parsed(str(built)) == built.build()


@pytest.mark.parametrize(("built", "text"), CONDITIONS, ids=[text for _, text in CONDITIONS])
def test_a_built_condition_is_the_parsed_one(built: Any, text: str) -> None:
    pattern = A.where(built)
    assert pattern.build() == parsed(f"A[{text}]")
    assert parsed(str(pattern)) == pattern.build()


@pytest.mark.parametrize(("built", "text"), OVER_MATCH, ids=[text for _, text in OVER_MATCH])
def test_a_built_condition_over_the_match_is_the_parsed_one(built: Any, text: str) -> None:
    pattern = NAMED.partition_by("user").where(built)
    assert pattern.build() == parsed(f"A as a -> B+ as b -> C as c .partition_by(user) .where({text})")
    assert parsed(str(pattern)) == pattern.build()


def test_a_stream_is_the_parsed_one() -> None:
    built = (
        NAMED.partition_by("user")
        .stnm()
        .named("Alert")
        .emit(a.id, field("user"), n=bs.LEN, **{"total sum": sum_(bs.v), "one": 1})
    )
    columns = "a.id, user, n: b.LEN, `total sum`: sum(b.v), one: 1"
    text = f"A as a -> B+ as b -> C as c .partition_by(user) .stnm() .emit({columns})"
    assert built == parse_pattern(text, name="Alert")
    assert (built.name, built.pattern.name) == ("Alert", "Alert")
    assert (A >> B).emit(one=1).name == "matches"


def test_every_way_to_hand_over_a_pattern() -> None:
    model = (A >> B).build()
    stream = as_stream(A >> B, "S")
    assert as_pattern(A >> B) == as_pattern(model) == as_pattern(stream) == model
    assert stream == Stream("S", model)
    assert as_stream(stream, "other") is stream
    assert as_stream((A >> B).named("mine"), "S").name == "mine"
    assert as_stream(model).name == "matches"
    assert as_stream(model, "S").pattern.name == "S"


# Python functions.


def test_a_lambda_gets_the_steps_it_names() -> None:
    def test(b: Any, a: Any) -> bool:
        return bool(b["v"] > a["v"])

    step = (a >> b.where(test)).build().root.children()[1]
    assert isinstance(step, Step)
    assert step.where == Opaque(test, ("b", "a"), "test")


def test_a_lambda_that_names_no_step_gets_the_event() -> None:
    limit = 5
    test = lambda e, most=limit: e["v"] > most  # noqa: E731
    assert A.where(test).build() == Pattern(Step("A", Opaque(test, (), "lambda")))
    pattern = (a >> all_(b).until(test)).where(lambda a, b: True).build()
    assert "<python lambda>" in str(pattern)
    closure = pattern.root.children()[1]
    assert isinstance(closure, Closure)
    assert closure.until == Opaque(test, (), "lambda")


def test_a_lambda_can_be_one_of_several_conditions() -> None:
    test = lambda a: a["v"] > 1  # noqa: E731
    assert a.where((a.v > 1) & test).build().root == Step(
        "A", Binary("and", Binary(">", Field("a", ("v",)), Literal(1)), Opaque(test, ("a",))), "a"
    )
    assert a.where(a.v > 1, test).build() == a.where((a.v > 1) & test).build()


def test_a_lambda_can_compute_a_column() -> None:
    total = lambda a, b: 1  # noqa: E731
    (output,) = (a >> b).emit(total=total).outputs or ()
    assert output.expr == Opaque(total, ("a", "b"))


# Mistakes.

MISTAKES: list[tuple[str, Callable[[], object]]] = [
    ("too_few_operands", lambda: and_()),
    ("too_few_operands", lambda: or_(A)),
    ("not_form", lambda: not_(A >> B)),
    ("not_form", lambda: not_(A.one_or_more())),
    ("not_form", lambda: not_(not_(A))),
    ("not_form", lambda: not_(A).one_or_more()),
    ("not_form", lambda: not_(and_(A, B))),
    ("guard_form", lambda: (A >> B).unless(C >> D)),
    ("guard_form", lambda: (A >> B).unless(C.optional())),
    ("every_nested", lambda: every(every(A >> B))),
    ("every_nested", lambda: every(A >> B) >> C),
    ("every_nested", lambda: and_(every(A >> B), C)),
    ("every_nested", lambda: every(A >> B).times(2)),
    ("clause_inside", lambda: (A >> B).partition_by("u") >> C),
    ("clause_inside", lambda: A >> (B >> C).unless(X)),
    ("misplaced_operator", lambda: (A >> B).stnm() >> C),
    ("misplaced_operator", lambda: A >> (B >> C).longest()),
    ("misplaced_operator", lambda: and_((A >> B).skip("to_next"), C)),
    ("bad_bounds", lambda: A.times(3, 2)),
    ("bad_bounds", lambda: A.times(0)),
    ("bad_bounds", lambda: A.times(-1, None)),
    ("bad_bounds", lambda: A.times("2")),  # type: ignore[arg-type]
    ("two_quantifiers", lambda: A.one_or_more().optional()),
    ("two_loops", lambda: A.one_or_more().unbroken().greedy()),
    ("not_a_closure", lambda: A.unbroken()),
    ("not_a_closure", lambda: A.until(field("v") == 1)),
    ("not_a_closure", lambda: A.increasing("v")),
    ("not_a_closure", lambda: A.gap("5s")),
    ("not_a_closure", lambda: (A >> B).decreasing("v")),
    ("group_suffix", lambda: (A >> B).times(2).until(field("v") == 1)),
    ("group_suffix", lambda: (A >> B).times(2).increasing("v")),
    ("bad_argument", lambda: A.one_or_more().increasing(field("v") + 1)),  # type: ignore[arg-type]
    ("two_aliases", lambda: a.as_("b")),
    ("bound_on_first_step", lambda: A.at_most("5s") >> B),
    ("bound_on_first_step", lambda: A.at_most("5s").build()),
    ("bound_on_first_step", lambda: A.at_most("5s").within("5s")),
    ("bound_on_first_step", lambda: and_(A.at_most("5s"), B)),
    ("bound_on_first_step", lambda: and_(A, B).at_most("5s") >> C),
    ("bound_on_one_step", lambda: A >> B.within("5s") >> C),
    ("bound_on_sequence", lambda: A >> (B >> C).at_most("5s")),
    ("bad_duration", lambda: (A >> B).within("5 parsecs")),
    ("bad_duration", lambda: (A >> B).within(5)),  # type: ignore[arg-type]
    ("bad_duration", lambda: (A >> B).within(timedelta(seconds=-1))),
    ("bad_argument", lambda: (A >> B).skip("past_lost")),
    ("bad_argument", lambda: (A >> B).skip()),
    ("bad_argument", lambda: (A >> B).skip("none", to_first="b")),
    ("bad_argument", lambda: (A >> B).limit(max_runs=0)),
    ("bad_argument", lambda: (A >> B).limit(on_limit="panic")),
    ("bad_argument", lambda: (A >> B).partition_by()),
    ("bad_argument", lambda: (A >> B).partition_by(lambda e: 1)),  # type: ignore[arg-type]
    ("bad_argument", lambda: (A >> B).emit()),
    ("bad_argument", lambda: (a >> b).emit(a.v, v=b.v)),
    ("bad_argument", lambda: (a >> b).emit(a.v + 1)),  # type: ignore[arg-type]
    ("bad_argument", lambda: (a >> b).unless(X, between=(a, b), after=a)),
    ("bad_argument", lambda: every(A, keep="none")),
    ("bad_argument", lambda: seq()),
    ("bad_argument", lambda: b[-2]),
    ("bad_argument", lambda: a.v[0]),  # type: ignore[index]
    ("bad_argument", lambda: v.is_in("abc")),
    ("bad_argument", lambda: A.where(lambda: True)),
    ("bad_argument", lambda: A.where(lambda *e: True)),
    ("bad_argument", lambda: A.where(lambda *, e: True)),
    ("bad_aggregate", lambda: sum_(field("v"))),
    ("bad_aggregate", lambda: func.max(b.v, b.w)),
    ("bad_aggregate", lambda: avg(b[0].v)),
    ("not_a_pattern", lambda: A >> "B"),  # type: ignore[operator]
    ("not_a_pattern", lambda: as_pattern("A -> B")),
    ("not_a_pattern", lambda: and_(A, v)),  # type: ignore[arg-type]
    ("bad_name", lambda: event("")),
    ("bad_name", lambda: A.as_("a`b")),
    ("bad_name", lambda: b["LEN"]),
    ("unnamed_step", lambda: A.user),
    ("unnamed_step", lambda: (A >> B).skip(to_first=B)),
    ("unknown_alias", lambda: (a >> B.where(field("v") > c.v)).build()),
    ("unknown_alias", lambda: (a >> b).where(count(c) > 1).build()),
    ("unknown_alias", lambda: (a >> b).emit(v=c.v)),
    ("unknown_alias", lambda: (a >> b).where(field("zz", "v") > 1).build()),
    ("unknown_alias", lambda: (a >> b.where(lambda bb, a: True)).build()),
    ("unknown_alias", lambda: (a >> b).where(lambda e: True).build()),
    ("unknown_alias", lambda: (a >> b).unless(X.where(c.v == 1)).build()),
    ("which_event", lambda: (a >> b).where(field("v") > 1).build()),
    ("which_event", lambda: (A >> B).emit(v=field("v"))),
    ("whole_event", lambda: a.where(field("a") == 1).build()),
    ("whole_event", lambda: (a >> b).emit(a=a.v + b)),
    ("whole_event", lambda: a == b),
    ("whole_event", lambda: a != b),
    ("whole_event", lambda: a < b),
    ("whole_event", lambda: a.v == b),
    ("whole_event", lambda: func.lower(a)),
    ("compare_with_null", lambda: a.v == None),  # noqa: E711
    ("truth_value", lambda: a.v == 1 and a.w == 2),
    ("truth_value", lambda: not a.v),
    ("truth_value", lambda: 1 < a.v < 2),
    ("not_a_condition", lambda: a.v == 1 & a.w == 2),  # type: ignore[operator]
    ("not_a_condition", lambda: A.where(True)),  # type: ignore[arg-type]
    ("not_a_condition", lambda: A.where(a.limit == 5)),  # type: ignore[arg-type, comparison-overlap]
    ("not_a_condition", lambda: (a.v == 1) & (a.limit == 5)),  # type: ignore[operator, comparison-overlap]
    ("not_a_condition", lambda: A.where("v > 1")),  # type: ignore[arg-type]
    ("not_a_value", lambda: a.v == b.limit),
    ("not_a_value", lambda: a.v == {1}),
    ("unknown_operator", lambda: a.optionl()),
]


@pytest.mark.parametrize(
    ("code", "make"), MISTAKES, ids=[f"{i}-{code}" for i, (code, _) in enumerate(MISTAKES)]
)
def test_mistakes(code: str, make: Callable[[], object]) -> None:
    with pytest.raises(PatternMistake) as caught:
        make()
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "make"),
    [
        ("AND(A)", lambda: and_(A)),
        ("NOT (A -> B) -> C", lambda: not_(A >> B)),
        ("every (A -> B) -> C", lambda: every(A >> B) >> C),
        ("A{3,2}", lambda: A.times(3, 2)),
        ("A within 5s -> B -> C", lambda: A.at_most("5s") >> B >> C),
        ("(A -> B partition by u) -> C", lambda: (A >> B).partition_by("u") >> C),
        ("A .stnm() -> B", lambda: whole(A).stnm() >> B),
        ("A until v == 1", lambda: A.until(v == 1)),
        ("(A -> B)+ until v == 1", lambda: (A >> B).one_or_more().until(v == 1)),
        ("A as a as b", lambda: A.as_("a").as_("b")),
        ("A -> B unless (C -> D)", lambda: (A >> B).unless(C >> D)),
        ("all next greedy A", lambda: all_(A).unbroken().greedy()),
        ("A as a -> B as b .where(sum(v) > 1)", lambda: sum_(v)),
        ("A as a -> B as b .where(v > 1)", lambda: (a >> b).where(v > 1).build()),
        ("A as a -> B as b .where(count(c) > 1)", lambda: (a >> b).where(count("c") > 1).build()),
        ("A as a where a == 1", lambda: a.where(field("a") == 1).build()),
        ("A -> B .skip(past_lost)", lambda: (A >> B).skip("past_lost")),
        ("A -> B .limit(max_runs: 0)", lambda: (A >> B).limit(max_runs=0)),
        ("A -> B within 5 -> C", lambda: A >> B.at_most(5) >> C),  # type: ignore[arg-type]
        ("A -> B .emit()", lambda: (A >> B).emit()),
    ],
)
def test_mistakes_have_the_codes_of_the_text(text: str, make: Callable[[], object]) -> None:
    with pytest.raises(PatternMistake) as in_text:
        parse_pattern(text)
    with pytest.raises(PatternMistake) as in_python:
        make()
    assert in_python.value.code == in_text.value.code


def test_the_message_about_truth_values_says_what_to_write() -> None:
    with pytest.raises(PatternMistake) as caught:
        bool(a.v == 1)
    assert str(caught.value) == (
        "`a.v == 1` is still to be tested; Python cannot take its truth value\n"
        "  hint: write (p) & (q), (p) | (q), ~(p) for and, or, not; and (x < y) & (y < z) for x < y < z"
    )


# Builder objects.


def test_methods_change_nothing_in_place() -> None:
    base = a >> b
    before = str(base)
    for changed in (base.within("5s"), base.stnm(), base >> c, base.times(2), base.where(a.v == 1)):
        assert str(changed) != before
    a.where(a.v == 1), a.one_or_more(), a.at_most("5s"), all_(b).until(b.v == 1)
    assert (str(base), str(a)) == (before, "A as a")
    for thing in (base, a, a.v, a.v == 1, not_(A)):
        with pytest.raises(AttributeError):
            thing.anything = 1  # type: ignore[union-attr]


def test_a_part_can_be_used_in_many_patterns() -> None:
    head = a >> b.where(b.v > a.v)
    assert str(head >> c) == "A as a -> B[b.v > a.v] as b -> C as c"
    assert str(head >> d) == "A as a -> B[b.v > a.v] as b -> D as d"
    assert str(head.within("5s")) == "A as a -> B[b.v > a.v] as b .within(5s)"
    assert str(X >> head) == "X -> (A as a -> B[b.v > a.v] as b)"
    assert str(or_(head, c)) == "OR(A as a -> B[b.v > a.v] as b, C as c)"


def test_clauses_said_twice_take_the_last() -> None:
    base = (A >> B).within("5m").each(eager=True)
    assert base.within("1m").longest().build() == parsed("A -> B .within(1m) .longest()")


def test_builder_objects_copy_and_pickle() -> None:
    for part in (a >> bs.where(bs.v > a.v), (A >> not_(X)).within("5s")):
        assert pickle.loads(pickle.dumps(part)).build() == part.build()
        assert copy.deepcopy(part).build() == copy.copy(part).build() == part.build()
    assert repr(pickle.loads(pickle.dumps(a.v > 1))) == "<a.v > 1>"


def test_steps_are_no_containers_and_can_be_keys() -> None:
    for thing in (a, a.v):
        with pytest.raises(TypeError):
            list(thing)  # type: ignore[call-overload]
    assert {a: 1, b: 2}[a] == 1
    assert a in (a, b)


def test_repr_shows_what_is_written_even_if_it_is_not_complete() -> None:
    assert repr(b.where(b.v > a.v)) == "<B[b.v > a.v] as b>"
    assert repr(B.at_most("5s")) == "<B>"
    assert repr(func.lower(a.s)) == "<lower(a.s)>"


def test_numbers_of_numpy_are_numbers() -> None:
    assert repr(v > np.float64(1.5)) == "<v > 1.5>"
    assert repr(v > np.int64(3)) == "<v > 3>"
    assert repr(v > float("nan")) == "<v > null>"
    assert parsed(str(A.where(v < float("inf")))) == A.where(v < float("inf")).build()


def test_expressions_of_the_model_are_taken_as_they_are() -> None:
    test = Unary("not", Call("lower", (Field(None, ("s",)),)))
    assert A.where(test).build() == Pattern(Step("A", test))


def test_a_bound_on_the_last_step_alone() -> None:
    pattern = (A >> B >> C.at_most("5s")).build()
    links = (Link(Step("A")), Link(Step("B")), Link(Step("C"), within=5_000_000))
    assert pattern == Pattern(Sequence(links))
    assert str(pattern) == "A -> B -> (C within 5s)"
    assert (A >> not_(X).at_most("5s")).build().root.children()[1] == Absence(Step("X"), 5_000_000)
