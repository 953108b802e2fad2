"""What the editor says of a word is what the documents say."""

from __future__ import annotations

import re

from editor_texts import ROOT

from cepheid.editor.knowledge import AGGREGATES, KEYWORDS, MEANINGS, OPERATORS, function_told
from cepheid.errors import CepheidError
from cepheid.lang.parser import parse_query
from cepheid.pattern.expr import AGGREGATES as OVER_CLOSURES
from cepheid.pattern.expr import MATCH_FUNCTIONS
from cepheid.pattern.functions import FUNCTIONS
from cepheid.pattern.text import _RESERVED

ROW = re.compile(r"^\| `(\w+)\(.*?\)` \| (.*?) \| `.*` \| `.*` \|$", re.MULTILINE)


def test_functions_mean_what_the_document_says() -> None:
    rows = dict(ROW.findall((ROOT / "docs" / "language.md").read_text(encoding="utf-8")))
    assert rows == MEANINGS
    assert set(MEANINGS) == set(FUNCTIONS)


def test_no_function_is_left_out() -> None:
    assert set(AGGREGATES) >= {*OVER_CLOSURES, *MATCH_FUNCTIONS}
    assert all(function_told(name) for name in (*FUNCTIONS, *AGGREGATES))


def test_every_keyword_is_told() -> None:
    assert set(KEYWORDS) == _RESERVED


def test_usages_of_operators_can_be_read() -> None:
    for name, (usage, _) in OPERATORS.items():
        if "..." in usage:
            continue
        text = f"{usage} as b" if usage.startswith("all ") else f"A as a -> all B as b {usage}"
        try:
            parse_query(text)
        except CepheidError as error:
            raise AssertionError(f"{name}: {usage}") from error
