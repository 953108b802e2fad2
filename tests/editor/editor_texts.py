"""Every text of the language that the project has: documents, golden scenarios, the demonstration, examples."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from doc_examples import documents

from cepheid.editor.statements import Language, language_of
from cepheid.testing.scenarios import load_scenarios

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^```(cep|graph|matches)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def texts() -> tuple[str, ...]:
    """Right and wrong ones."""
    found = [s.query for s in load_scenarios(ROOT / "tests" / "scenarios") if isinstance(s.query, str)]
    for path in documents(ROOT):
        for language, block in _BLOCK.findall(path.read_text(encoding="utf-8")):
            if language == "matches":
                block = "\n".join(line for line in block.splitlines() if "=>" not in line)
            found += _queries(block) if language != "graph" else [block]
    found.append((ROOT / "src" / "cepheid" / "demo" / "fraud.cep").read_text(encoding="utf-8"))
    found += [p.read_text(encoding="utf-8") for p in sorted((ROOT / "examples").rglob("*.graph"))]
    return tuple(text for text in dict.fromkeys(found) if language_of(text) is not Language.QUERIES)


def _queries(block: str) -> list[str]:
    """A program, or bare patterns that each begin a line."""
    if re.search(r"^\s*(--.*\n\s*)*from\b", block, re.IGNORECASE):
        return [block]
    program = re.search(r"^(event|pattern|stream)\b", block, re.MULTILINE)
    return [block] if program else re.split(r"\n(?=\S)", block)


def pattern_texts() -> list[str]:
    return [text for text in texts() if language_of(text) is Language.PATTERNS]
