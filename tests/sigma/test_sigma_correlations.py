"""Correlations by hand: what is a match, which events it has, where the next one may begin."""

from __future__ import annotations

import pytest

pytest.importorskip("sigma.collection", reason="needs the extra sigma")

from typing import Any

import yaml
from sigma_cases import correlation_text, found, numbers, program_text

import cepheid

RULES = {name: {"s": {"k": name}, "condition": "s"} for name in ("a", "b", "c")}


def events(text: str, **fields: Any) -> list[dict[str, Any]]:
    """`a0 b3 a5/ann`: kind, time, group; values by number in `fields`."""
    rows = []
    for n, word in enumerate(text.split()):
        head, _, group = word.partition("/")
        row = {"n": n, "k": head[0], "time": int(head[1:]), "g": group or None}
        rows.append({**row, **{name: values[n] for name, values in fields.items()}})
    return rows


def matches(correlation: str, happened: list[dict[str, Any]]) -> list[list[int]]:
    return found(program_text(RULES, yaml.safe_load(correlation)), happened, "correlation")


def test_event_count_is_there_with_the_event_that_reaches_it() -> None:
    # 0..2 make three; the next count begins after 2, and 3 4 5 are three again. 6 is alone.
    rule = "{type: event_count, rules: [a], timespan: 10s, condition: {gte: 3}}"
    assert matches(rule, events("a0 a1 a2 a3 a4 a5 a6")) == [[0, 1, 2], [3, 4, 5]]


def test_event_count_slides() -> None:
    # From 0 to 11 is too long; 1 4 3 are within ten seconds.
    rule = "{type: event_count, rules: [a], timespan: 10s, condition: {gte: 3}}"
    assert matches(rule, events("a0 a5 b6 a11")) == []
    assert matches(rule, events("a0 a5 a11 a12")) == [[1, 2, 3]]


def test_the_bound_itself_still_counts() -> None:
    rule = "{type: event_count, rules: [a], timespan: 10s, condition: {gt: 1}}"
    assert matches(rule, events("a0 a10")) == [[0, 1]]
    assert matches(rule, events("a0 a11")) == []


def test_groups_are_counted_on_their_own() -> None:
    rule = "{type: event_count, rules: [a], group-by: [g], timespan: 10s, condition: {gte: 2}}"
    assert matches(rule, events("a0/x a1/y a2/x a3/y")) == [[0, 2], [1, 3]]
    # Events without the field are a group, too.
    assert matches(rule, events("a0 a1/y a2")) == [[0, 2]]


def test_events_of_any_of_the_rules_are_counted_once() -> None:
    rule = "{type: event_count, rules: [a, b], timespan: 10s, condition: {gte: 2}}"
    assert matches(rule, events("a0 c1 b2")) == [[0, 2]]
    both = {"p": {"s": {"k": "a"}, "condition": "s"}, "q": {"s": {"k": ["a", "b"]}, "condition": "s"}}
    correlation = yaml.safe_load("{type: event_count, rules: [p, q], timespan: 10s, condition: {gte: 2}}")
    assert found(program_text(both, correlation), events("a0"), "correlation") == []


def test_fewer_events_are_known_when_the_window_is_over() -> None:
    # 0 and 1 open a window until 10: two events. 2 opens one with three; 5 one with one.
    rule = "{type: event_count, rules: [a], timespan: 10s, condition: {lte: 2}}"
    assert matches(rule, events("a0 a1 a11 a12 a13 a30")) == [[0, 1], [5]]
    assert matches(rule.replace("lte: 2", "eq: 3"), events("a0 a1 a11 a12 a13 a30")) == [[2, 3, 4]]
    assert matches(rule.replace("lte: 2", "lt: 2"), events("a0 a1 a11 a12 a13 a30")) == [[5]]
    assert matches(rule.replace("lte: 2", "neq: 2"), events("a0 a1 a11 a12 a13 a30")) == [[2, 3, 4], [5]]


def test_other_events_do_not_end_a_window() -> None:
    rule = "{type: event_count, rules: [a], timespan: 10s, condition: {eq: 2}}"
    assert matches(rule, events("a0 b1 c2 a3 b20")) == [[0, 3]]


def test_value_count() -> None:
    # u u v is two values; the match holds all of them since the last one. Null is no value.
    rule = "{type: value_count, rules: [a], timespan: 10s, condition: {gte: 2, field: v}}"
    happened = events("a0 a1 a2 a3 a4 a5", v=["u", "u", None, "v", "v", "w"])
    assert matches(rule, happened) == [[0, 1, 3], [4, 5]]


def test_value_count_in_groups_and_in_time() -> None:
    rule = "{type: value_count, rules: [a], group-by: [g], timespan: 10s, condition: {gt: 1, field: v}}"
    happened = events("a0/x a1/y a2/x a13/y", v=["u", "u", "v", "w"])
    assert matches(rule, happened) == [[0, 2]]


def test_value_count_with_few_values() -> None:
    rule = "{type: value_count, rules: [a], timespan: 10s, condition: {eq: 1, field: v}}"
    assert matches(rule, events("a0 a1 a20 a21", v=["u", "v", "u", "u"])) == [[2, 3]]


def test_value_sum_and_value_avg() -> None:
    rule = "{type: value_sum, rules: [a], timespan: 10s, condition: {gte: 6, field: v}}"
    assert matches(rule, events("a0 a1 a2 a20", v=[1, "2", 3, 5])) == [[0, 1, 2]]
    rule = "{type: value_avg, rules: [a], timespan: 10s, condition: {lt: 2.5, field: v}}"
    assert matches(rule, events("a0 a1 a20", v=[1, 3, 5])) == [[0, 1]]


def test_temporal_in_any_order() -> None:
    rule = "{type: temporal, rules: [a, b, c], timespan: 10s}"
    assert matches(rule, events("c0 a1 b2")) == [[0, 1, 2]]
    assert matches(rule, events("c0 a1 b11")) == []
    # The first of the events that are in time, and then from the beginning.
    assert matches(rule, events("a0 a1 b2 c3 c4 b5")) == [[0, 2, 3]]


def test_temporal_begins_with_any_event_that_is_in_time() -> None:
    rule = "{type: temporal, rules: [a, b], timespan: 5s}"
    assert matches(rule, events("a0 a4 b6")) == [[1, 2]]


def test_temporal_in_groups() -> None:
    rule = "{type: temporal, rules: [a, b], group-by: [g], timespan: 5s}"
    assert matches(rule, events("a0/x b1/y b2/x a3/y")) == [[0, 2], [1, 3]]


def test_one_event_may_fit_two_rules_of_temporal() -> None:
    rules = {"p": {"s": {"k": "a"}, "condition": "s"}, "q": {"s": {"g": "x"}, "condition": "s"}}
    correlation = yaml.safe_load("{type: temporal, rules: [p, q], timespan: 5s}")
    program = cepheid.sigma_patterns(program_text(rules, correlation))
    (match,) = cepheid.run(program, events("a0/x"), type="")["correlation"]
    assert (match["p"]["n"], match["q"]["n"]) == (0, 0)


def test_temporal_with_some_of_the_rules() -> None:
    rule = "{type: temporal, rules: [a, b, c], timespan: 5s, condition: {gte: 2}}"
    assert matches(rule, events("a0 c1 b9 a20")) == [[0, 1]]


def test_temporal_ordered() -> None:
    rule = "{type: temporal_ordered, rules: [a, b], timespan: 10s}"
    assert matches(rule, events("b0 a1 b2 b3 a4 b5")) == [[1, 2], [4, 5]]
    assert matches(rule, events("a0 b11")) == []
    assert matches(rule.replace("[a, b]", "[a, b, a]"), events("a0 b1 b2 a3")) == [[0, 1, 3]]


def test_one_event_is_not_before_itself() -> None:
    rules = {"p": {"s": {"k": "a"}, "condition": "s"}, "q": {"s": {"g": "x"}, "condition": "s"}}
    correlation = yaml.safe_load("{type: temporal_ordered, rules: [p, q], timespan: 5s}")
    assert found(program_text(rules, correlation), events("a0/x"), "correlation") == []
    assert found(program_text(rules, correlation), events("a0/x b1/x"), "correlation") == [[0, 1]]


def test_a_condition_in_words() -> None:
    rule = "{type: temporal, condition: 'a and (b or c)', timespan: 5s}"
    assert matches(rule, events("c0 a1 b20 c21")) == [[0, 1]]
    rule = "{type: temporal_ordered, rules: [a, b], condition: 'a and b', timespan: 5s}"
    assert matches(rule, events("b0 a1 b2")) == [[1, 2]]


def test_aliases_name_the_same_thing() -> None:
    rules = program_text(RULES)
    correlation = {
        "type": "temporal",
        "rules": ["a", "b"],
        "group-by": ["ip"],
        "timespan": "5s",
        "aliases": {"ip": {"a": "src", "b": "dst"}},
    }
    text = rules + "---\n" + correlation_text(correlation)
    happened = events("a0 b1 b2", src=["x", "x", "z"], dst=["y", "y", "x"])
    assert found(text, happened, "correlation") == [[0, 2]]


def test_aliases_where_events_are_counted() -> None:
    correlation = {
        "type": "event_count",
        "rules": ["a", "b"],
        "group-by": ["ip"],
        "timespan": "5s",
        "aliases": {"ip": {"a": "src", "b": "dst"}},
        "condition": {"gte": 2},
    }
    text = program_text(RULES, correlation)
    happened = events("a0 b1 b2", src=["x", "x", "z"], dst=["y", "y", "x"])
    (match,) = cepheid.run(cepheid.sigma_patterns(text), happened, type="")["correlation"]
    assert [hit["a"] and hit["a"]["n"] for hit in match["hits"]] == [0, None]
    assert [hit["b"] and hit["b"]["n"] for hit in match["hits"]] == [None, 2]
    assert (match["ip"], match["count"]) == ("x", 2)


CHAIN = """
type: temporal_ordered
rules: [many, b]
group-by: [g]
timespan: 10s
"""


def chained(inner: dict[str, Any], outer: str = CHAIN) -> str:
    return (
        program_text(RULES)
        + "---\n"
        + correlation_text(inner, "many")
        + "---\n"
        + correlation_text(yaml.safe_load(outer))
    )


def test_a_correlation_of_a_correlation() -> None:
    inner = {
        "type": "event_count",
        "rules": ["a"],
        "group-by": ["g"],
        "timespan": "5s",
        "condition": {"gte": 2},
    }
    happened = events("a0/x a1/x b2/y b3/x a4/y b5/y")
    (match,) = cepheid.run(cepheid.sigma_patterns(chained(inner)), happened, type="")["correlation"]
    assert match["g"] == "x"
    assert match["b"]["n"] == 3
    assert numbers({"hits": match["many"]["hits"]}) == [0, 1]


def test_a_field_the_inner_correlation_does_not_group_by_is_its_last_events() -> None:
    inner = {
        "type": "event_count",
        "rules": ["a"],
        "group-by": ["h"],
        "timespan": "5s",
        "condition": {"gte": 2},
    }
    happened = events("a0/x a1/y b2/x b3/y", h=["s", "s", None, None])
    (match,) = cepheid.run(cepheid.sigma_patterns(chained(inner)), happened, type="")["correlation"]
    assert (match["g"], match["b"]["n"]) == ("y", 3)


def test_fields_inside_fields() -> None:
    rules = {"a": {"s": {"k.x": "a"}, "condition": "s"}, "b": {"s": {"k.x": "b"}, "condition": "s"}}
    happened = [
        {"n": n, "time": n, "k": {"x": kind}, "user": {"name": name}, "v": {"w": n}}
        for n, (kind, name) in enumerate(["a1", "a2", "b1", "a1", "a2"])
    ]

    def by_user(text: str) -> list[list[int]]:
        correlation = {**yaml.safe_load(text), "group-by": ["user.name"], "timespan": "9s"}
        return found(program_text(rules, correlation), happened, "correlation")

    assert by_user("{type: event_count, rules: [a], condition: {gte: 2}}") == [[0, 3], [1, 4]]
    assert by_user("{type: value_count, rules: [a, b], condition: {gte: 3, field: v.w}}") == [[0, 2, 3]]
    assert by_user("{type: temporal, rules: [a, b]}") == [[0, 2]]
    assert by_user("{type: temporal_ordered, rules: [b, a]}") == [[2, 3]]


def test_rules_can_be_named_by_id() -> None:
    text = yaml.safe_load(program_text({"a": RULES["a"]}))
    text["id"] = "5638f7c0-ac70-491d-8465-2a65075e0d86"
    correlation = f"{{type: event_count, rules: {text['id']}, timespan: 5s, condition: {{gte: 1}}}}"
    whole = yaml.safe_dump(text) + "---\n" + correlation_text(yaml.safe_load(correlation))
    assert found(whole, events("a0"), "correlation") == [[0]]


def test_which_rules_are_streams() -> None:
    one = "{type: event_count, rules: [a], timespan: 5s, condition: {gte: 2}, generate: %s}"
    hidden = cepheid.sigma_patterns(program_text({"a": RULES["a"]}, yaml.safe_load(one % "false")))
    shown = cepheid.sigma_patterns(program_text({"a": RULES["a"]}, yaml.safe_load(one % "true")))
    assert [s.name for s in hidden] == ["correlation"]
    assert [s.name for s in shown] == ["a", "correlation"]


def test_a_rule_may_be_called_like_anything() -> None:
    names = {"Log": RULES["a"], "end `of` x": RULES["b"]}
    happened = events("a0 b1")
    program = cepheid.sigma_patterns(program_text(names))
    assert [s.name for s in program] == ["Log 2", "end 'of' x"]
    assert cepheid.compile(str(program)).declarations == program.declarations
    assert [len(rows) for rows in cepheid.run(program, happened, type="").values()] == [1, 1]


def test_columns_of_a_match() -> None:
    rule = "{type: event_count, rules: [a], group-by: [g], timespan: 10s, condition: {gte: 2}}"
    program = cepheid.sigma_patterns(program_text(RULES, yaml.safe_load(rule)))
    (match,) = cepheid.run(program, events("a0/x a4/x"), type="")["correlation"]
    assert list(match) == ["match_id", "start", "end", "g", "count", "hits"]
    assert (match["start"].second, match["end"].second, match["g"], match["count"]) == (0, 4, "x", 2)


ALL_KINDS = [
    "{type: event_count, rules: [a, b], group-by: [g], timespan: 10s, condition: {gte: 2}}",
    "{type: event_count, rules: [a], group-by: [g], timespan: 10s, condition: {lt: 3}}",
    "{type: value_count, rules: [a, b], timespan: 10s, condition: {gte: 2, field: g}}",
    "{type: value_avg, rules: [a], timespan: 10s, condition: {gte: 2, field: n}}",
    "{type: temporal, rules: [a, b], group-by: [g], timespan: 10s}",
    "{type: temporal_ordered, rules: [a, b, c], group-by: [g], timespan: 10s}",
]


@pytest.mark.parametrize("rule", ALL_KINDS)
def test_the_text_that_is_printed_reads_back(rule: str) -> None:
    program = cepheid.sigma_patterns(program_text(RULES, yaml.safe_load(rule)))
    assert cepheid.compile(str(program)).declarations == program.declarations
