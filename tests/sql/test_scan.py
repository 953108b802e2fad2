"""SQL text cut into tokens: nothing is lost, and quotes and comments hide what is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.scan import SPARK, STANDARD, Dialect, Kind, pieces, scan
from cepheid.sql_lang.source import SqlSource

W, N, S, D, P = Kind.WORD, Kind.NAME, Kind.STRING, Kind.NUMBER, Kind.SIGN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a.b", [(W, "select"), (W, "a"), (P, "."), (W, "b")]),
        ("größe_1 _x", [(W, "größe_1"), (W, "_x")]),
        ("'it''s' 'a\\'b'", [(S, "'it''s'"), (S, "'a\\'b'")]),
        (r"r'a\' R'b'", [(S, r"r'a\'"), (S, "R'b'")]),
        ("xr'a'", [(W, "xr"), (S, "'a'")]),
        ("`a``b` `--x`", [(N, "`a``b`"), (N, "`--x`")]),
        ('"a \'b\' ""c"""', [(S, '"a \'b\' ""c"""')]),
        (
            "1 2.5 .5 1e-3 10L 3.14BD 2024_events",
            [(D, t) for t in ["1", "2.5", ".5", "1e-3", "10L", "3.14BD", "2024_events"]],
        ),
        ("a.5", [(W, "a"), (P, "."), (D, "5")]),
        ("a -- 'b\nc", [(W, "a"), (W, "c")]),
        ("a -- b\\\nc\nd", [(W, "a"), (W, "d")]),
        ("a /* b /* ' */ c */ d", [(W, "a"), (W, "d")]),
        ("a/**/b", [(W, "a"), (W, "b")]),
        ("a<=>b->c", [(W, "a"), (P, "<=>"), (W, "b"), (P, "->"), (W, "c")]),
        ("a::b||c<>d", [(W, "a"), (P, "::"), (W, "b"), (P, "||"), (W, "c"), (P, "<>"), (W, "d")]),
        (
            "{-A-}{2,}??",
            [(P, "{-"), (W, "A"), (P, "-}"), (P, "{"), (D, "2"), (P, ","), (P, "}"), (P, "?"), (P, "?")],
        ),
        ("A$|^B*?", [(W, "A"), (P, "$"), (P, "|"), (P, "^"), (W, "B"), (P, "*"), (P, "?")]),
        ("", []),
        ("  \n\t", []),
    ],
)
def test_tokens(text: str, expected: list[tuple[Kind, str]]) -> None:
    assert [(t.kind, t.text) for t in scan(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a ""b"""', [(N, '"a ""b"""')]),
        ("'C:\\' x", [(S, "'C:\\'"), (W, "x")]),
        ("E'a\\'b' x", [(S, "E'a\\'b'"), (W, "x")]),
        ("$$it's$$ $t$ a $$ b $t$", [(S, "$$it's$$"), (S, "$t$ a $$ b $t$")]),
        ("a -- b\\\nc", [(W, "a"), (W, "c")]),
    ],
)
def test_the_standard_differs(text: str, expected: list[tuple[Kind, str]]) -> None:
    assert [(t.kind, t.text) for t in scan(text, STANDARD)] == expected


def test_flags_go_one_by_one() -> None:
    mixed = Dialect(double_quotes_are_names=True, backslash_escapes=True)
    assert [t.kind for t in scan("\"a\" 'b\\'c'", mixed)] == [N, S]


def test_unquoted() -> None:
    assert [t.unquoted for t in scan('a `b``c` "d""e"')] == ["a", "b`c", 'd"e']


_FRAGMENTS = st.sampled_from(
    [
        "'",
        '"',
        "`",
        "\\",
        "--",
        "/*",
        "*/",
        "\n",
        " ",
        "a",
        "r",
        "E",
        "1",
        ".",
        "$",
        "{-",
        "-}",
        "|",
        "é",
        "(",
        ";",
    ]
)


@given(st.lists(_FRAGMENTS | st.characters(), max_size=40).map("".join), st.sampled_from([SPARK, STANDARD]))
def test_nothing_is_lost(text: str, dialect: Dialect) -> None:
    found = list(pieces(text, dialect))
    assert "".join(t.text for t in found) == text
    assert all(text[t.start : t.end] == t.text for t in found)


@pytest.mark.parametrize(
    ("text", "code", "message", "at", "hint"),
    [
        ("select 'a", "unclosed_string", "this string does not end", (1, 8), "close it with '"),
        ("select\n 'a''", "unclosed_string", "this string does not end", (2, 2), "close it with '"),
        ('x "a', "unclosed_string", "this string does not end", (1, 3), 'close it with "'),
        ("x `a", "unclosed_string", "this name in back quotes does not end", (1, 3), "close it with `"),
        ("a\n\n /* b /* */", "unclosed_comment", "this comment does not end", (3, 2), "close it with */"),
    ],
)
def test_what_does_not_end(text: str, code: str, message: str, at: tuple[int, int], hint: str) -> None:
    with pytest.raises(SyntaxMistake) as caught:
        _ = SqlSource(text).tokens
    error = caught.value
    assert error.place is not None
    assert (error.code, error.message, error.hint) == (code, message, hint)
    assert (error.place.line, error.place.column) == at


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("f(a", "unclosed_bracket", 2),
        ("f(a]", "wrong_bracket", 4),
        ("f(a))", "extra_bracket", 5),
        ("(a[b)", "unclosed_bracket", 3),
    ],
)
def test_brackets_that_do_not_fit(text: str, code: str, column: int) -> None:
    with pytest.raises(SyntaxMistake) as caught:
        _ = SqlSource(text).partners
    assert caught.value.code == code
    assert caught.value.place is not None
    assert caught.value.place.column == column


def test_brackets_find_each_other() -> None:
    source = SqlSource("(a [b {c}] {- d -} {-1: 2})")
    texts = {(source.tokens[i].text, source.tokens[j].text) for i, j in source.partners.items() if i < j}
    assert texts == {("(", ")"), ("[", "]"), ("{", "}"), ("{-", "-}"), ("{-", "}")}


def test_places_count_lines_and_columns() -> None:
    source = SqlSource("a\r\n  bc\nd", "file.sql")
    place = source.place_of(source.tokens[1])
    assert (place.line, place.column, place.end_line, place.end_column) == (2, 3, 2, 5)
    assert place.source == "file.sql"
