"""Mistakes in rules: what is said, where, and what to do."""

from __future__ import annotations

import pytest

pytest.importorskip("sigma.collection", reason="needs the extra sigma")

import pickle
import re

import cepheid
from cepheid.errors import CepheidError

RULE = """\
title: Login
name: login
logsource: {product: linux}
detection:
  selection:
    user|contains: root
  condition: selection
"""
CORRELATION = """\
title: Many
correlation:
  type: event_count
  rules: [login]
  group-by: [host]
  timespan: 5m
  condition: {gte: 5}
"""
BOTH = RULE + "---\n" + CORRELATION

# name: (text, code, the words under the carets, the message, the hint)
CASES: dict[str, tuple[str, str, str, str, str]] = {
    "nothing": ("# a comment\n", "sigma_empty", "#", "there is no Sigma rule", "a rule has a title"),
    "not YAML": (RULE + "x: [1", "sigma_yaml", "", "this is not YAML", "indent with blanks"),
    "a list": ("- a\n- b\n", "sigma_form", "- a", "is a map of keys", "separated by `---`"),
    "a key twice": (
        RULE.replace("  condition", "  selection: {a: b}\n  condition"),
        "sigma_duplicate_key",
        "selection",
        "stands here twice",
        "one list",
    ),
    "no log source": (
        RULE.replace("logsource: {product: linux}\n", ""), "sigma", "title", "must have a log source", "product"
    ),
    "no detection": ("title: a\nlogsource: {product: a}\n", "sigma", "title", "detection", ""),
    "no condition": (RULE.replace("  condition: selection\n", ""), "sigma", "detection", "at least one condition", ""),
    "unknown detection": (
        RULE.replace("condition: selection", "condition: selecton and not x"),
        "sigma",
        "selecton",
        "'selecton' not defined",
        "did you mean `selection`?",
    ),
    "condition that is no condition": (
        RULE.replace("condition: selection", "condition: selection and ("),
        "sigma",
        "selection and (",
        "Expected",
        "",
    ),
    "nothing selected": (
        RULE.replace("condition: selection", "condition: 1 of filter_*"),
        "sigma",
        "1 of filter_*",
        "doesn't match any detection",
        "",
    ),
    "the old way to count": (
        RULE.replace("condition: selection", "condition: selection | count() > 5"),
        "sigma",
        "selection | count() > 5",
        "pipe syntax",
        "correlation rule",
    ),
    "unknown modifier": (
        RULE.replace("|contains", "|contain"),
        "sigma",
        "user|contain",
        "Unknown modifier 'contain'",
        "did you mean `contains`",
    ),
    "a modifier on the wrong value": (
        RULE.replace("user|contains: root", "user|lt: root"),
        "sigma",
        "user|lt",
        "incompatible",
        "",
    ),
    "a bad network": (RULE.replace("user|contains: root", "ip|cidr: 10.0.0.1/8"), "sigma", "ip|cidr", "CIDR", ""),
    "a bad regular expression": (
        RULE.replace("contains: root", "re: '['"), "sigma", "user|re", "is not a regular", "bracket"
    ),
    "an expression RE2 does not take": (
        RULE.replace("contains: root", "re: '(?=a)b'"),
        "sigma",
        "user|re",
        "is not a regular expression",
        "no look-ahead",
    ),
    "a placeholder": (
        RULE.replace("contains: root", "expand: '%Admins%'"),
        "sigma_unsupported",
        "user|expand",
        "the placeholder %Admins%",
        "write the values",
    ),
    "a week": (RULE.replace("contains: root", "week: 3"), "sigma_unsupported", "user|week", "the week", "hour"),
    "a number too large": (
        RULE.replace("user|contains: root", "user: 9007199254740993"),
        "sigma_unsupported",
        "user",
        "rounded",
        "quotes",
    ),
    "keywords nobody placed": (
        RULE.replace("  selection:\n    user|contains: root", "  selection: [evil]"),
        "sigma_unsupported",
        "detection",
        "in the whole event",
        "--keywords message",
    ),
    "a bad level": (RULE + "level: extreme\n", "sigma", "extreme", "extreme", ""),
    "a bad id": (RULE + "id: 17\n", "sigma_form", "17", "the id of a rule is text", "UUID"),
    "unknown correlation": (
        BOTH.replace("event_count", "event_cont"),
        "sigma",
        "event_cont",
        "no valid Sigma correlation type",
        "did you mean `event_count`",
    ),
    "no correlation type": (
        BOTH.replace("  type: event_count\n", ""), "sigma", "correlation", "without type", "types are"
    ),
    "unknown rule": (BOTH.replace("[login]", "[logn]"), "sigma", "logn", "'logn' not found", "did you mean `login`?"),
    "no rules": (BOTH.replace("  rules: [login]\n", ""), "sigma", "correlation", "without rule references", ""),
    "a bad time span": (BOTH.replace("5m", "5 minutes"), "sigma", "5 minutes", "is invalid", "30s, 5m, 1h, 7d"),
    "no time span": (BOTH.replace("  timespan: 5m\n", ""), "sigma", "correlation", "without timespan", ""),
    "two conditions": (BOTH.replace("{gte: 5}", "{gte: 5, lt: 9}"), "sigma", "condition", "exactly one", "{gte: 10}"),
    "no condition of a count": (
        BOTH.replace("  condition: {gte: 5}\n", ""), "sigma", "correlation", "without condition", ""
    ),
    "a count that is none": (BOTH.replace("gte: 5", "gte: many"), "sigma", "condition", "no valid", "{gte: 10}"),
    "a value count without a field": (
        BOTH.replace("event_count", "value_count"),
        "sigma",
        "condition",
        "without field reference",
        "",
    ),
    "a percentile": (
        BOTH.replace("event_count", "value_percentile").replace("{gte: 5}", "{gte: 5, field: n, percentile: 95}"),
        "sigma_unsupported",
        "value_percentile",
        "`value_percentile` cannot be computed",
        "value_avg",
    ),
    "a median": (
        BOTH.replace("event_count", "value_median").replace("{gte: 5}", "{gte: 5, field: n}"),
        "sigma_unsupported",
        "value_median",
        "cannot be computed",
        "value_sum",
    ),
    "several fields": (
        BOTH.replace("event_count", "value_count").replace("{gte: 5}", "{gte: 5, field: [a, b]}"),
        "sigma_unsupported",
        "field",
        "several fields",
        "one field",
    ),
    "temporal with too few": (
        BOTH.replace("event_count", "temporal").replace("gte: 5", "lt: 1"),
        "sigma_unsupported",
        "condition",
        "what never comes",
        "gte",
    ),
    "temporal with too many": (
        BOTH.replace("event_count", "temporal"),
        "sigma",
        "condition",
        "has 1 rules, so 5 of them never match",
        "gte: 1",
    ),
    "not, in words": (
        BOTH.replace("event_count", "temporal").replace("{gte: 5}", "not login"),
        "sigma_unsupported",
        "not",
        "`not` in the condition",
        "unless",
    ),
    "a rule named twice": (BOTH.replace("[login]", "[login, login]"), "sigma", "login", "named twice", "event_count"),
    "two rules of one name": (
        RULE + "---\n" + RULE, "duplicate_name", "login", "two rules have the name login", "rename"
    ),
    "an alias without a rule": (
        BOTH.replace("[host]", "[ip]\n  aliases: {ip: {logout: src}}"),
        "sigma_alias",
        "logout",
        "there is no rule `logout`",
        "the rules are login",
    ),
    "an alias that says nothing": (
        RULE + "---\n" + RULE.replace("login", "logout") + "---\n"
        + CORRELATION.replace("[login]", "[login, logout]").replace("[host]", "[ip]\n  aliases: {ip: {logout: src}}"),
        "sigma_alias",
        "ip",
        "does not say what it is in `login`",
        "add `login: FIELD`",
    ),
    "a correlation of itself": (
        BOTH.replace("title: Many\n", "title: Many\nname: many\n").replace("[login]", "[login, many]"),
        "sigma_circle",
        "rules",
        "refers to itself",
        "leave out",
    ),
    "a field nobody can tell": (
        BOTH.replace("title: Many\n", "title: Many\nname: many\n").replace("event_count", "temporal")
        .replace("  condition: {gte: 5}\n", "")
        + "---\n" + CORRELATION.replace("[login]", "[many]").replace("[host]", "[user]"),
        "sigma_unsupported",
        "group-by",
        "another correlation asks for `user`",
        "add `user`",
    ),
    "repeat": (RULE + "---\naction: repeat\ntitle: b\n", "sigma", "repeat", "no longer part of Sigma", "whole rule"),
    "an unknown action": (RULE + "---\naction: jump\n", "sigma", "action", "Unknown Sigma collection action", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_and_where(name: str) -> None:
    text, code, under, message, hint = CASES[name]
    with pytest.raises(CepheidError) as caught:
        cepheid.sigma_patterns(text, source="rule.yml")
    error = caught.value
    assert error.code == code, str(error)
    assert message in error.message, str(error)
    assert hint in (error.hint or ""), str(error)
    assert not re.search(r"\n|Traceback|object at 0x", error.message)
    assert error.place is not None
    assert error.place.source == "rule.yml"
    shown = str(error).split("\n")
    line, carets = shown[1].partition("| ")[2], shown[2].partition("| ")[2]
    start = len(carets) - len(carets.lstrip())
    if under:
        assert line[start : start + carets.count("^")] == under, str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    "option", [{"fields": {"a": "b + 1"}}, {"keywords": ["lower(x)"]}, {"logsource": {"vendor": "x"}}]
)
def test_bad_options(option: dict[str, object]) -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.sigma_patterns(RULE, **option)  # type: ignore[arg-type]
    assert caught.value.code == "bad_option"


def test_a_field_the_events_do_not_have_is_told() -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.run(cepheid.sigma_patterns(RULE), [{"time": 0, "usr": "root"}], type="")
    assert caught.value.code == "unknown_field"
    assert "did you mean `usr`" in (caught.value.hint or "")
