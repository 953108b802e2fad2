"""What could be written at a place marked with a bar: in whole, unfinished and wrong texts."""

from __future__ import annotations

import pytest
from editor_texts import pattern_texts

from cepheid.editor.completing import completions
from cepheid.editor.declared import read_declared

DECLARED = "event Login { user: string, ip: string, n: int }\nevent Logout { user: string }\n"


def offered(text: str) -> dict[str, list[str]]:
    """The completions at the bar, by kind."""
    offset = text.index("|")
    found: dict[str, list[str]] = {}
    for item in completions(read_declared(text.replace("|", "", 1)), offset):
        found.setdefault(item.kind, []).append(item.label)
    return found


def test_declarations_at_the_start() -> None:
    assert set(offered("|")["keyword"]) >= {"event", "pattern", "stream"}
    assert set(offered(DECLARED + "|")["keyword"]) >= {"event", "pattern", "stream"}


def test_types_after_a_colon() -> None:
    assert "string" in offered("event A { x: |")["type"]
    assert "decimal" in offered("event A { x: [|] }")["type"]
    assert offered("event A { |") == {}


def test_steps_where_a_step_belongs() -> None:
    found = offered(DECLARED + "pattern P = Login -> Logout\nstream S = |")
    assert found["event"] == ["Login", "Logout"]
    assert found["pattern"] == ["P"]
    assert {"all", "every", "not", "and", "or"} <= set(found["keyword"])
    assert offered(DECLARED + "stream T = Login\nstream S = Login -> |")["stream"] == ["T"]
    assert offered("A -> B -> |")["event"] == ["A", "B"]


def test_after_a_step_what_may_follow_it() -> None:
    found = offered("stream S = A |")
    assert {"as", "where", "within", "unless", "until", "partition by"} <= set(found["keyword"])
    assert "event" not in found
    assert "between" in offered("stream S = A as a -> B as b unless X |")["keyword"]
    assert offered("stream S = A as a -> B as b unless X between |")["alias"] == ["a", "b"]


def test_a_new_name_is_the_writers() -> None:
    assert offered("stream S = A as |") == {}
    assert offered("stream |") == {}


def test_fields_of_the_own_event_and_names_before() -> None:
    found = offered(DECLARED + "stream S = Login as l -> Logout[|]")
    assert found["field"] == ["user", "time", "type"]
    assert found["alias"] == ["l"]
    assert "lower" in found["function"]
    assert {"not", "null", "case"} <= set(found["keyword"])
    assert offered(DECLARED + "stream S = Login where |")["field"][:3] == ["user", "ip", "n"]


def test_after_a_value_no_other_value() -> None:
    found = offered(DECLARED + "stream S = Login[n |]")
    assert {"and", "or", "in", "is null", "like"} <= set(found["keyword"])
    assert not {"function", "field"} & set(found)


@pytest.mark.parametrize(
    "text",
    [
        "stream S = Login as l -> Logout[user == l.|",
        "stream S = Login as l -> Logout[user == l.|]",
        "stream S = Login as l -> Logout .where(l.|",
        "stream S = Login as l -> Logout .emit(u: l.|)",
        "stream S = Login as l -> Logout .emit(u: lower(l.|",
        "stream S = Login as l -> Logout[user == l.us|",
        "stream B = A[[ ->\nstream S = Login as l -> Logout[user == l.|",
        "stream S = Login as l -> Logout[user == l.|\nstream T = Login -> -> Logout",
    ],
)
def test_fields_after_a_dot(text: str) -> None:
    assert offered(DECLARED + text) == {"field": ["user", "ip", "n", "time", "type"]}


def test_the_length_of_a_closure() -> None:
    assert "LEN" in offered(DECLARED + "stream S = all Login as l -> Logout .emit(n: l.|)")["field"]
    assert "LEN" in offered(DECLARED + "stream S = Login{2,5} as l -> Logout .emit(n: l.|)")["field"]
    assert "LEN" not in offered(DECLARED + "stream S = Login as l -> Logout .emit(n: l.|)")["field"]


def test_columns_of_streams() -> None:
    text = (
        DECLARED + "stream A = Login as l .emit(who: l.user, at: l.time)\nstream B = A as a -> A[who == a.|]"
    )
    assert offered(text)["field"] == ["who", "at", "time", "type"]
    text = DECLARED + "stream A = Login as l -> all Logout as o\nstream B = A as a -> A[a.|]"
    assert offered(text)["field"] == ["match_id", "start", "end", "l", "o", "time", "type"]


def test_operators_after_a_dot_behind_a_pattern() -> None:
    found = offered("stream S = A as a -> B as b .|")
    assert {"within", "partition_by", "emit", "stnm", "longest", "skip"} <= set(found["operator"])
    assert "within" in offered("A -> B .wi|")["operator"]
    assert "emit" in offered("stream S = (A -> B) .stnm() .|")["operator"]


def test_words_of_operators() -> None:
    assert offered("A as a -> B as b .skip(|)")["value"] == [
        "none",
        "to_next",
        "past_last",
        "to_first",
        "to_last",
    ]
    assert "max_runs" in offered("A -> B .limit(|")["value"]


def test_aliases_of_a_pattern_used_by_name() -> None:
    text = DECLARED + "pattern P = Login as l -> Logout as o\nstream S = P .emit(|"
    assert offered(text)["alias"] == ["l", "o"]
    assert offered(text.replace("|", "u: o.|"))["field"] == ["user", "time", "type"]


def test_durations() -> None:
    assert "5s" in offered("A -> B within |")["value"]


@pytest.mark.parametrize(
    "text", ["A # |", "A // x |", "A /* |", "A[x == '|", 'A[x == "a|"]', "A[x == 'a' and y == '|"]
)
def test_nothing_in_comments_and_strings(text: str) -> None:
    assert offered(text) == {}


def test_after_a_mistake_before_it() -> None:
    """The grammar gives up at the double arrow; the step being written does not suffer."""
    found = offered(DECLARED + "stream S = Login -> -> Login as l -> Logout[|")
    assert found["field"] == ["user", "time", "type"]
    assert found["alias"] == ["l"]


def test_quoted_names_are_written_with_their_quotes() -> None:
    text = "event `http.request` { `status code`: int }\nstream S = `http.request`[|]"
    items = completions(read_declared(text.replace("|", "")), text.index("|"))
    assert next(i.insert for i in items if i.kind == "field") == "`status code`"
    assert "status code" in offered(text.replace("|", "`sta|"))["field"]


def test_every_place_of_every_text_has_an_answer() -> None:
    for text in pattern_texts()[::25]:
        declared = read_declared(text)
        for offset in range(0, len(text) + 1, 5):
            completions(declared, offset)
