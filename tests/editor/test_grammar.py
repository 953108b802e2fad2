"""The colours of VS Code: every text of the project, by VS Code's own engine, against what the words are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor_texts import ROOT, texts

from cepheid.editor.declared import read_declared
from cepheid.editor.knowledge import AGGREGATES, KEYWORDS, OPERATORS
from cepheid.editor.roles import Role
from cepheid.editor.statements import Language, language_of
from cepheid.lang.operators import OPERATOR_NAMES
from cepheid.lang.words import split_words
from cepheid.pattern.functions import FUNCTIONS
from cepheid.pattern.types import BY_NAME

VSCODE = ROOT / "editors" / "vscode"
GRAMMAR = VSCODE / "syntaxes" / "cepheid.tmLanguage.json"
Token = tuple[int, int, list[str]]


def grammar() -> dict[str, Any]:
    return json.loads(GRAMMAR.read_text(encoding="utf-8"))


def expressions(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (node[key] for key in ("match", "begin", "end") if key in node)
        for value in node.values():
            yield from expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


def test_every_expression_is_one() -> None:
    found = list(expressions(grammar()))
    assert len(found) > 20
    for expression in found:
        re.compile(expression)


def test_every_include_leads_somewhere() -> None:
    read = grammar()
    names = set(re.findall(r'"include": "#([^"]+)"', GRAMMAR.read_text(encoding="utf-8")))
    assert names == set(read["repository"])


def words_in(name: str) -> set[str]:
    return set(
        re.findall(
            r"[a-z_0-9]{2,}",
            re.sub(r"\\.|\(\?i:|\(\?<!.*?\)", " ", json.dumps(grammar()["repository"][name]["match"])),
        )
    )


def test_the_words_are_those_of_the_language() -> None:
    assert set(OPERATORS) == set(OPERATOR_NAMES)
    assert words_in("operators") == set(OPERATORS)
    assert words_in("functions") == {*FUNCTIONS, *AGGREGATES, "to_first", "to_last"} - {"like"}
    shown = (
        words_in("clause-words") | words_in("pattern-words") | words_in("logic-words") | words_in("constants")
    )
    assert shown | {"event", "pattern", "stream"} == set(KEYWORDS)
    types = json.dumps(grammar()["repository"]["event-body"])
    assert all(re.search(rf"[|:]{name}[|)]", types) for name in BY_NAME)


def test_the_extension_names_its_files() -> None:
    package = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))
    (language,), (colours,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    assert (VSCODE / language["configuration"]).exists()
    assert (VSCODE / colours["path"]) == GRAMMAR
    assert language["extensions"] == [".cep", ".graph"]
    assert colours["scopeName"] == grammar()["scopeName"]
    assert (VSCODE / package["main"]).exists()
    json.loads((VSCODE / language["configuration"]).read_text(encoding="utf-8"))


# --- by the real engine -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the engine is installed; it is fetched once if it can be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    if (VSCODE / "node_modules" / "vscode-textmate").exists():
        return VSCODE / "node_modules"
    folder = tmp_path_factory.mktemp("textmate")
    wanted = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    command += [f"{name}@{version}" for name, version in wanted.items()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("npm does not answer")
    if done.returncode != 0:
        pytest.skip(f"npm cannot install the TextMate engine: {done.stderr[-200:]}")
    return folder / "node_modules"


@pytest.fixture(scope="module")
def tokens(modules: Path) -> dict[str, list[Token]]:
    """The tokens of every text."""
    all_texts = texts()
    done = subprocess.run(
        ["node", str(Path(__file__).parent / "tokenize.js"), str(modules), str(GRAMMAR)],
        input=json.dumps(all_texts),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(all_texts, json.loads(done.stdout), strict=True))


def scopes_at(found: list[Token], offset: int) -> str:
    return next((scopes[-1] for start, end, scopes in found if start <= offset < end), "")


BY_KIND = {
    "string": "string.quoted",
    "duration": "constant.numeric.duration",
    "number": "constant.numeric",
}
BY_ROLE = {
    Role.KEYWORD: ("keyword.", "storage.", "constant.language"),
    Role.FUNCTION: ("support.function",),
    Role.OPERATOR: ("support.function.operator",),
    Role.ALIAS: ("variable.other", "source.cepheid", "keyword.operator"),
    Role.DECLARED: ("entity.name.type",),
    Role.FIELD_DECLARED: ("variable.other.property",),
    Role.TYPE: ("support.type",),
    Role.STEP_TYPE: ("source.cepheid", "variable.other.quoted"),
    Role.ALIAS_USE: ("source.cepheid", "variable.other.quoted"),
    Role.FIELD: ("source.cepheid", "variable.other.quoted"),
}


def test_literals_have_their_colours(tokens: dict[str, list[Token]]) -> None:
    seen = 0
    for text, found in tokens.items():
        for word in split_words(text):
            wanted = BY_KIND.get(word.kind)
            if wanted is not None:
                seen += 1
                assert scopes_at(found, word.start).startswith(wanted), f"{word.text} in {text}"
    assert seen > 500


def test_comments_have_their_colours(tokens: dict[str, list[Token]]) -> None:
    seen = 0
    for text, found in tokens.items():
        inside = [(w.start, w.end) for w in split_words(text)]
        for comment in re.finditer(r"#[^\n]*|//[^\n]*|/\*.*?\*/", text, re.DOTALL):
            if not any(start <= comment.start() < end for start, end in inside):
                seen += 1
                assert scopes_at(found, comment.start()).startswith("comment."), text
    assert seen > 20


def test_words_have_the_colours_of_their_roles(tokens: dict[str, list[Token]]) -> None:
    """What the language server takes a word for, the colours take it for, too."""
    seen = dict.fromkeys(BY_ROLE, 0)
    for text, found in tokens.items():
        if language_of(text) is not Language.PATTERNS:
            continue
        for reading in read_declared(text).readings:
            for marked in reading.marked:
                wanted = BY_ROLE.get(marked.role)
                if marked.role is Role.FUNCTION and marked.word.lower not in {*FUNCTIONS, *AGGREGATES}:
                    continue  # a mistake, or a word of a later version
                if wanted is not None:
                    seen[marked.role] += 1
                    scope = scopes_at(found, marked.word.start)
                    assert scope.startswith(wanted), (
                        f"{marked.word.text} ({marked.role}) is {scope} in {text}"
                    )
    assert min(seen.values()) > 5, seen


def test_graph_patterns_have_their_colours(tokens: dict[str, list[Token]]) -> None:
    wanted = {
        "stage": "storage.type",
        "graph": "storage.type",
        "private": "storage.modifier",
        "let": "keyword.other.graph",
    }
    seen: set[str] = set()
    for text, found in tokens.items():
        if language_of(text) is not Language.GRAPH:
            continue
        words = split_words(text)
        for before, word in zip([None, *words], words, strict=False):
            if before is not None and before.text == "?":
                assert scopes_at(found, word.start).startswith("variable.parameter"), text
            elif (
                word.kind == "name"
                and word.text in wanted
                and (before is None or before.text not in (".", "stage"))
            ):
                seen.add(word.text)
                assert scopes_at(found, word.start).startswith(wanted[word.text]), f"{word.text} in {text}"
    assert seen >= {"stage", "graph"}
