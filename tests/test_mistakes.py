"""What a newcomer gets wrong, and every word of what the library says about it: place, caret, hint."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

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
    said: str


def _told(path: Path) -> list[Mistake]:
    """`events`: the query begins with the declarations above."""
    cases = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Mistake(c["code"], EVENTS * c.get("events", False) + c["query"], c["said"]) for c in cases]


FILES = sorted((Path(__file__).parent / "mistakes").glob("*.yaml"))
MISTAKES = [mistake for path in FILES for mistake in _told(path)]


def mistake_in(query: object, schema: Schema | None = None) -> CepheidError:
    with pytest.raises(CepheidError) as caught:
        compile(query, schema)
    return caught.value


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: f"{m.code}: {m.query.splitlines()[-1:]}")
def test_message(mistake: Mistake) -> None:
    error = mistake_in(mistake.query)
    assert str(error) == mistake.said
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
