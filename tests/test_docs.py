"""What the documents show is what happens: see doc_examples.py for the blocks that are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_examples import documents, examples
from sybil.example import SybilFailure

import cepheid
from cepheid.pattern.expr import AGGREGATES, MATCH_FUNCTIONS
from cepheid.pattern.functions import FUNCTIONS
from cepheid.testing.scenarios import load_scenarios

ROOT = Path(__file__).parent.parent
DOCUMENTS = documents(ROOT)
RUN = {"python", "cep", "graph", "rules", "console", "matches"}
SHOWN = {
    "sh",
    "json",
    "csv",
    "mermaid",
    "py",
    "yaml",
}  # json, csv, py and yaml only as files that other examples use


# Its examples leave pages that a browser looks at: tests/explain/test_newcomer.py runs them.
RUN_ELSEWHERE = {"newcomer.md"}
# Documents about an extra: without it they are only read.
NEEDS = {"sigma.md": ("sigma.collection", "needs the extra sigma")}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix().removeprefix("docs/")


@pytest.mark.parametrize("path", [d for d in DOCUMENTS if d.name not in RUN_ELSEWHERE], ids=_name)
def test_examples(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All examples of a document, in one namespace and one folder of its own."""
    if path.name in NEEDS:
        module, reason = NEEDS[path.name]
        pytest.importorskip(module, reason=reason)
    monkeypatch.chdir(tmp_path)
    failures = []
    for example in examples(path):
        try:
            example.evaluate()
        except SybilFailure as failure:
            failures.append(f"{path.name}:{example.line}\n{failure.result}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_no_block_is_left_out(path: Path) -> None:
    """A block in a language nobody runs could say anything."""
    text = path.read_text(encoding="utf-8")
    fences = re.findall(r"^( *)```(.*)\n(.*)", text, re.MULTILINE)
    for indent, language, first in fences[::2]:
        assert indent == "", f"{path.name}: an indented block: {first}"
        assert language in RUN | SHOWN, f"{path.name}: ```{language} before {first!r}"
        assert language != "python" or first.startswith(">>>"), f"{path.name}: not a doctest: {first!r}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:")):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name) if name else path
        assert file.exists(), f"{path.name}: {target}"
        if anchor:
            assert anchor in _anchors(file), f"{path.name}: {target}"


def _anchors(path: Path) -> set[str]:
    """The anchors GitHub makes of headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_the_number_of_scenarios_is_true() -> None:
    said = re.search(r"(\d+) hand-derived scenarios", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert said is not None
    assert int(said[1]) == len(list(load_scenarios(ROOT / "tests" / "scenarios")))


# The tables of functions: `signature` | meaning | `example` | `value`.

ROW = re.compile(r"^\| `(\w+\(.*?\))` \| .* \| `(.*)` \| `(.*)` \|$", re.MULTILINE)
LANGUAGE = ROOT / "docs" / "language.md"


def test_every_function_is_documented() -> None:
    rows = ROW.findall(LANGUAGE.read_text(encoding="utf-8"))
    signatures = [signature for signature, _, _ in rows]
    assert sorted(signatures) == sorted(f.signature() for f in FUNCTIONS.values())


def test_every_aggregate_and_match_function_is_documented() -> None:
    text = LANGUAGE.read_text(encoding="utf-8")
    for name in (*AGGREGATES, *MATCH_FUNCTIONS):
        assert f"`{name}(" in text, name


def test_examples_of_functions() -> None:
    event = {"type": "E", "time": "2024-05-03T10:20:30.5Z"}
    for _, expression, value in ROW.findall(LANGUAGE.read_text(encoding="utf-8")):
        query = f"E as e .emit(got: {expression}, wanted: {value})"
        (row,) = cepheid.match(query, [event])
        assert row["got"] == row["wanted"], f"{expression} is {row['got']!r}"
        assert type(row["got"]) is type(row["wanted"]), f"{expression} is {row['got']!r}"
