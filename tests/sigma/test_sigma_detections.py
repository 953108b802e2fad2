"""Detections by hand: a rule's detection, events that fit it and events that do not."""

from __future__ import annotations

import pytest

pytest.importorskip("sigma.collection", reason="needs the extra sigma")

from typing import Any

import yaml
from sigma_cases import found, numbered, rule_text

import cepheid

CASES: dict[str, tuple[str, list[Any], list[Any]]] = {
    # name: (detection, values of `f` that fit, values that do not)
    "text has no case": ("s: {f: Admin}", ["admin", "ADMIN", "Admin"], ["admins", "", None]),
    "text is the whole value": ("s: {f: dmi}", ["dmi"], ["admin", "dmi "]),
    "a list is an or": ("s: {f: [a, b]}", ["a", "B"], ["ab", "c", None]),
    "the star is any text": (
        "s: {f: 'C:\\Temp\\\\*.exe'}",
        ["c:\\temp\\x.EXE", "C:\\Temp\\.exe"],
        ["c:\\temp\\x.exe1"],
    ),
    "the question mark is one character": ("s: {f: 'prog?.exe'}", ["progA.exe"], ["prog.exe", "progAB.exe"]),
    "a star alone is any value": ("s: {f: '*'}", ["", "x", 7], [None]),
    "an escaped star is a star": ("s: {f: 'a\\*b'}", ["a*b", "A*B"], ["axb", "a\\*b"]),
    "two backslashes before a star": ("s: {f: 'a\\\\*'}", ["a\\", "a\\b"], ["a*", "ab"]),
    "percent and underscore are themselves": ("s: {f: '*_1%?'}", ["x_1%y", "_1%y"], ["xa1%y", "x_1y"]),
    "contains": ("s: {f|contains: min}", ["admin", "MIN", "min"], ["mi", None]),
    "startswith": ("s: {f|startswith: ad}", ["admin", "AD"], ["bad", None]),
    "endswith": ("s: {f|endswith: .exe}", ["a.exe", ".EXE"], ["a.exe ", "exe"]),
    "contains all": ("s: {f|contains|all: [a, b]}", ["ab", "b-a"], ["a", "b"]),
    "contains with a wildcard inside": ("s: {f|contains: 'a*b'}", ["xaxxbx"], ["ba"]),
    "cased": ("s: {f|cased: Admin}", ["Admin"], ["admin", "ADMIN"]),
    "contains cased": ("s: {f|contains|cased: Min}", ["adMin"], ["admin"]),
    "a number": ("s: {f: 4624}", [4624, "4624", 4624.0], [46240, "4624a", "x", None]),
    "a broken number": ("s: {f: 1.5}", [1.5, "1.5"], [1, "1"]),
    "numbers in a list": ("s: {f: [1, 2]}", [1, "2"], [3, "12"]),
    "a large number by its digits": ("s: {f: '9007199254740993'}", [9007199254740993], [9007199254740992]),
    "text that says a number is text": ("s: {f: '7'}", [7, "7"], ["07", 70]),
    "true": ("s: {f: true}", [True, "true", "True"], [False, "yes", None]),
    "null": ("s: {f: null}", [None], ["", "null", 0]),
    "the empty text": ("s: {f: ''}", [""], [None, " "]),
    "text or null": ("s: {f: ['', null]}", ["", None], ["x"]),
    "exists": ("s: {f|exists: true}", ["", 0, "x"], [None]),
    "exists not": ("s: {f|exists: false}", [None], ["", "x"]),
    "lt": ("s: {f|lt: 10}", [9, "9.5", -1], [10, "11", "x", None]),
    "gte": ("s: {f|gte: 10}", [10, "10"], [9.99, "x", None]),
    "gt and lte": ("s: {f|gt: 1, g: 1}\n  condition: s", [], [2]),
    "a regular expression finds": ("s: {f|re: 'a.c'}", ["xabcx", "a-c"], ["ABC", "ac"]),
    "a regular expression with an anchor": ("s: {f|re: '^ab?$'}", ["a", "ab"], ["abb", "xa"]),
    "a regular expression without case": ("s: {f|re|i: 'a.c'}", ["ABC"], ["ac"]),
    "the dot and the line": ("s: {f|re|s: 'a.c'}", ["a\nc"], ["ac"]),
    "the dot without s": ("s: {f|re: 'a.c'}", ["abc"], ["a\nc"]),
    "the line with m": ("s: {f|re|m: '^b$'}", ["a\nb\nc"], ["ab"]),
    "a network": ("s: {f|cidr: 10.0.0.0/8}", ["10.1.2.3"], ["110.1.2.3", "x", None]),
    "networks": ("s: {f|cidr: [10.0.0.0/8, 'fe80::/10']}", ["10.1.2.3", "FE80::1"], ["::1"]),
    "neq": ("s: {f|neq: [a, b]}", ["c", None], ["a", "B"]),
    "not": ("s: {f: a}\n  condition: not s", ["b", "", None, 1], ["a", "A"]),
    "not contains, of nothing": ("s: {f|contains: a}\n  condition: not s", [None, "b"], ["xax"]),
    "not less, of nothing": ("s: {f|lt: 5}\n  condition: not s", [None, 5, "x"], [4]),
    "base64": ("s: {f|base64: foo}", ["Zm9v"], ["foo"]),
    "base64offset contains": (
        "s: {f|base64offset|contains: 'foobar'}",
        ["Zm9vYmFy", "xxZvb2Jhcg"],
        ["foobar"],
    ),
    "windash": ("s: {f|windash|contains: ' -exec '}", ["a -exec b", "a /EXEC b"], ["a exec b"]),
    "wide and base64": ("s: {f|wide|base64: ab}", ["YQBiAA=="], ["ab"]),
    "the hour of a time": ("s: {f|hour: 10}", ["2024-05-03T10:20:30Z"], ["2024-05-03T11:00:00Z", "x", None]),
    "a list of maps is an or": ("s: [{f: a}, {f: b}]", ["a", "b"], ["c"]),
    "two maps of a list": ("s: [{f|startswith: a, f|endswith: b}, {f: c}]", ["ab", "axb", "c"], ["a", "b"]),
    "all of a pattern": (
        "s1: {f|contains: a}\n  s2: {f|contains: b}\n  condition: all of s*",
        ["ab"],
        ["a", "b"],
    ),
    "one of a pattern": ("s1: {f: a}\n  s2: {f: b}\n  x: {f: c}\n  condition: 1 of s*", ["a", "b"], ["c"]),
    "them without underscores": ("s: {f: a}\n  _x: {f: b}\n  condition: 1 of them", ["a"], ["b"]),
    "binding of and, or, not": (
        "a: {f: a}\n  b: {f: b}\n  c: {f: c}\n  condition: a or b and not c",
        ["a", "b"],
        ["c", "x"],
    ),
    "parentheses": (
        "a: {f|contains: a}\n  b: {f|contains: b}\n  condition: a and not (a and b)",
        ["a"],
        ["ab", "b"],
    ),
    "several conditions are alternatives": ("a: {f: a}\n  b: {f: b}\n  condition: [a, b]", ["a", "b"], ["c"]),
}


def detection(text: str) -> dict[str, Any]:
    read = yaml.safe_load("  " + text)
    return read if "condition" in read else {**read, "condition": "s"}


@pytest.mark.parametrize("name", CASES)
def test_a_value_fits_or_does_not(name: str) -> None:
    text, fitting, others = CASES[name]
    events = numbered([{"f": value, "g": 0} for value in [*fitting, *others]])
    assert found(rule_text(detection(text)), events, "rule") == [[n] for n in range(len(fitting))]


def test_fields_are_compared_without_case() -> None:
    events = numbered([{"f": "A", "g": "a"}, {"f": "a", "g": "b"}, {"f": None, "g": None}])
    assert found(rule_text(detection("s: {f|fieldref: g}")), events, "rule") == [[0]]
    events = numbered([{"f": "C:\\x", "g": "c:"}, {"f": "d:\\x", "g": "c:"}])
    assert found(rule_text(detection("s: {f|fieldref|startswith: g}")), events, "rule") == [[0]]


def test_fields_inside_fields_and_fields_with_dots() -> None:
    text = rule_text(detection("s: {process.name: cmd}"))
    nested = [{"time": 0, "n": 0, "process": {"name": "CMD"}}, {"time": 1, "n": 1, "process": {"name": "x"}}]
    assert found(text, nested, "rule") == [[0]]
    flat = [{"time": 0, "n": 0, "process.name": "CMD"}]
    assert found(text, flat, "rule", flat=True) == [[0]]
    renamed = [{"time": 0, "n": 0, "exe": "CMD"}]
    assert found(text, renamed, "rule", fields={"process.name": "exe"}) == [[0]]
    odd = [{"time": 0, "n": 0, "process name": "CMD"}]
    assert found(text, odd, "rule", fields={"process.name": "`process name`"}) == [[0]]


def test_a_field_called_like_a_hit_is_still_a_field() -> None:
    events = numbered([{"hit": "a"}, {"hit": "b"}])
    program = cepheid.sigma_patterns(rule_text(detection("s: {hit: a}")))
    assert str(program) == 'stream rule = Log[lower(string(hit)) == "a"] as hit_\n'
    assert found(rule_text(detection("s: {hit: a}")), events, "rule") == [[0]]


def test_a_column_of_types_says_nothing() -> None:
    """Rules know log sources, not types: an event that has one is looked at all the same."""
    program = cepheid.sigma_patterns(rule_text(detection("s: {type: ssh, f: a}")))
    rows = [{"time": 0, "type": "ssh", "f": "a"}, {"time": 1, "type": "web", "f": "a"}]
    assert [row["hit"]["type"] for row in cepheid.run(program, rows)["rule"]] == ["ssh"]
    live = cepheid.Session(program)
    found_live = [item.row["hit"]["type"] for row in rows for item in live.feed(row)]
    assert found_live + [item.row["hit"]["type"] for item in live.end()] == ["ssh"]


def test_keywords_are_looked_for_in_the_fields_that_are_named() -> None:
    text = rule_text(detection("s: [evil, 'a*b', 4711]"))
    events = numbered([{"m": "so EVIL"}, {"m": "x a-b x"}, {"m": "ba"}, {"m": "id 4711."}, {"o": "evil"}, {}])
    assert found(text, events, "rule", keywords=["m"]) == [[0], [1], [3]]
    assert found(text, events, "rule", keywords=["m", "o"]) == [[0], [1], [3], [4]]


def test_keywords_that_must_all_be_there() -> None:
    text = rule_text(detection("s: {'|all': [a, b]}"))
    events = numbered([{"m": "ab"}, {"m": "a"}, {"m": "b"}])
    assert found(text, events, "rule", keywords="m") == [[0]]


def test_the_log_source_may_be_a_field() -> None:
    rule = yaml.safe_load(rule_text(detection("s: {f: a}")))
    rule["logsource"] = {"product": "windows", "service": "security"}
    events = numbered([{"f": "a", "os": "Windows"}, {"f": "a", "os": "linux"}])
    assert found(yaml.safe_dump(rule), events, "rule") == [[0], [1]]
    assert found(yaml.safe_dump(rule), events, "rule", logsource={"product": "os"}) == [[0]]


def test_filters_are_applied() -> None:
    text = rule_text(detection("s: {f|startswith: a}")) + yaml.safe_dump_all(
        [
            {
                "title": "no",
                "logsource": {"product": "any"},
                "filter": {"rules": ["rule"], "x": {"f": "ab"}, "condition": "not x"},
            }
        ],
        explicit_start=True,
    )
    events = numbered([{"f": "a"}, {"f": "ab"}])
    assert found(text, events, "rule") == [[0]]


def test_a_global_part_is_part_of_every_rule_after_it() -> None:
    text = "action: global\nlogsource: {product: any}\ndetection: {condition: s}\n---\n"
    text += "title: one\ndetection: {s: {f: a}}\n---\ntitle: two\ndetection: {s: {f: b}}\n"
    events = numbered([{"f": "a"}, {"f": "b"}])
    assert found(text, events, "one") == [[0]]
    assert found(text, events, "two") == [[1]]


def test_many_values_make_no_deep_condition() -> None:
    text = rule_text({"s": {"f|contains": [f"word{i}" for i in range(600)]}, "condition": "s"})
    assert found(text, numbered([{"f": "a word599!"}, {"f": "word"}]), "rule") == [[0]]


@pytest.mark.parametrize("name", ["contains", "a network", "not", "the star is any text"])
def test_the_text_that_is_printed_reads_back(name: str) -> None:
    program = cepheid.sigma_patterns(rule_text(detection(CASES[name][0])))
    assert cepheid.compile(str(program)).declarations == program.declarations
