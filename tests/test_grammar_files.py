"""Where the tables of grammars are kept, and what is done where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Lark

from cepheid.lang.reading import load_grammar

QUERY = "A as a -> NOT X[v > a.v] -> all B as b .within(5m)"


def parser() -> Lark:
    return load_grammar("cepheid.lang", "grammar.lark", ["program", "query", "expression"])


def test_kept_tables_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, kept = (parser().parse(QUERY, start="query") for _ in range(2))
    assert made == kept
    assert len(list((tmp_path / "cepheid" / "grammars").iterdir())) == 1


@pytest.mark.parametrize("broken", [b"", b"no tables", b"0" * 64 + b"\nno tables"])
def test_a_broken_file_is_made_again(broken: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = parser().parse(QUERY, start="query")
    (file,) = (tmp_path / "cepheid" / "grammars").iterdir()
    file.write_bytes(broken)
    assert parser().parse(QUERY, start="query") == made


def test_without_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert parser().parse(QUERY, start="query")
