"""The examples of a document, read and run: what README.md and docs/ show is what happens.

| block | what is done with it |
|---|---|
| `python` | run as a doctest; every block of a document shares one namespace |
| `cep` | compiled: a program, or bare patterns, one a line; `# error: CODE` (or `--`) says how one is refused |
| `graph` | the same of graph patterns: each block is read by itself |
| `rules` | the same of rules |
| `console` | its `$` lines are run in the document's own folder and their output is compared |
| `matches` | a query, then lines `events => matches`, on every engine of the golden scenarios |

A block after `<!-- file: NAME -->` is also written to that file in the document's folder. In expected output
`...` stands for anything. A plain `cepheid run` of a console block is run in this process.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from click.testing import CliRunner
from engines import ENGINES
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

import cepheid
from cepheid.cli import main
from cepheid.engines.program import compile
from cepheid.errors import CepheidError
from cepheid.testing.scenarios import read_scenario

OUTPUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PLAIN_RUN = re.compile(
    r"cepheid run [\w.-]+\.cep [\w.-]+\.(csv|jsonl)( --(time|type|now|format) [\w:-]+| --quiet)*"
)
FILE = re.compile(r"^<!-- file: (?P<name>[\w.-]+) -->\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def documents(root: Path) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def examples(path: Path) -> Iterable[Example]:
    """The examples of a document in their order."""
    parsers: list[Callable[[Document], Iterable[Region]]] = [
        PythonCodeBlockParser(doctest_optionflags=OUTPUT),
        files,
        CodeBlockParser("cep", compile_block),
        CodeBlockParser("graph", read_graph_patterns),
        CodeBlockParser("rules", read_rules),
        CodeBlockParser("console", run_commands),
        CodeBlockParser("matches", find_matches),
    ]
    return Sybil(parsers=parsers, pattern="*.md", path=str(path.parent)).parse(path).examples()


# Files.


def files(document: Document) -> Iterable[Region]:
    """The place is the comment's, so a file is there before the block itself is looked at."""
    for found in FILE.finditer(document.text):
        end = found.start() + len("<!-- file: ")
        yield Region(found.start(), end, (found["name"], found["text"]), write_file)


def write_file(example: Example) -> None:
    name, text = example.parsed
    Path(name).write_text(text, encoding="utf-8")


# Patterns.


def compile_block(example: Example) -> str | None:
    """A program, or bare patterns that each begin a line; `# error: CODE` in one says how it is refused."""
    text = str(example.parsed)
    program = re.search(r"^(event|pattern|stream)\b", text, re.MULTILINE)
    queries = [text] if program else re.split(r"\n(?=\S)", text)
    problems = [_compile(query) for query in queries]
    return "\n".join(p for p in problems if p) or None


def read_graph_patterns(example: Example) -> str | None:
    return _compile(str(example.parsed), cepheid.graph_patterns)


def read_rules(example: Example) -> str | None:
    return _compile(str(example.parsed), cepheid.Rules)


def _compile(query: str, compile: Callable[[str], object] = compile) -> str | None:
    refused = re.search(r"(?:#|--) error: (\w+)", query)
    wanted, got = refused[1] if refused else "no error", "no error"
    try:
        compile(query)
    except CepheidError as error:
        got = error.code
        query = str(error)
    return None if got == wanted else f"wanted {wanted}, got {got}: {query}"


# Commands.


def run_commands(example: Example) -> str | None:
    parts = re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)
    problems = [_run(part) for part in parts if part.strip()]
    return "\n".join(p for p in problems if p) or None


def _run(part: str) -> str | None:
    command, _, wanted = part.partition("\n")
    while command.endswith("\\"):
        more, _, wanted = wanted.partition("\n")
        command = command[:-1] + more.strip()
    got = _output_here(command) if PLAIN_RUN.fullmatch(command) else _output_of(command)
    if doctest.OutputChecker().check_output(_lines(wanted), _lines(got), doctest.ELLIPSIS):
        return None
    return f"$ {command}\n--- wanted\n{_lines(wanted)}--- got\n{_lines(got)}"


def _output_here(command: str) -> str:
    """A plain `cepheid run` needs no process of its own: starting one takes longer than most runs."""
    with mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        return CliRunner().invoke(main, command.split()[1:]).output


def _output_of(command: str) -> str:
    """With the tools of this Python, and with the package that the tests themselves have imported."""
    tools, package = Path(sys.executable).parent, Path(cepheid.__file__).parent.parent
    env = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(package),
        "PYTHONUTF8": "1",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    if shutil.which("cepheid", path=str(tools)) is None:  # run from the sources, nothing is installed
        command = f'cepheid() {{ "{sys.executable}" -m cepheid "$@"; }}\n{command}'
    done = subprocess.run(
        command,
        shell=True,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    return done.stdout


def _lines(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").split("\n"))


# Matches: a query, and below it lines `events; setting value => what is found`.


@dataclass(frozen=True)
class Case:
    """One line of a `matches` block."""

    query: str
    given: str  # events and settings, as written
    wanted: str

    def entry(self) -> dict[str, Any]:
        """The line as a scenario is written."""
        events, *settings = (part.strip() for part in self.given.split(";"))
        entry: dict[str, Any] = {"name": "example", "query": self.query, "events": events}
        entry.update(_setting(s) for s in settings)
        if "disorder" in entry:
            entry["arrival"] = re.findall(
                r"[^\W\d]\w*?\d*(?=[@{\s]|$)", re.sub(r"@\S+|\{[^}]*\}", "", events)
            )
        return entry


def read_cases(block: str) -> list[Case]:
    lines = [line for line in block.splitlines() if line.strip()]
    query = "\n".join(line for line in lines if "=>" not in line)
    halves = [line.partition("=>") for line in lines if "=>" in line]
    return [Case(query, left.strip(), " ".join(right.split())) for left, _, right in halves]


def find_matches(example: Example) -> str | None:
    cases = read_cases(str(example.parsed))
    if not cases:
        return "there is no line with =>"
    problems = [_find(case, engine) for case in cases for engine in ENGINES]
    return "\n".join(p for p in problems if p) or None


def _find(case: Case, engine: str) -> str | None:
    got = _found(case.entry(), engine)
    if case.wanted == got:
        return None
    return f"{case.query}\n  {case.given}\n  wanted {case.wanted}\n  got    {got}   ({engine})"


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition(" ")
    return name, yaml.safe_load(value)


def _found(entry: dict[str, Any], engine: str) -> str:
    """What an engine found, spelt as the documents spell it."""
    try:
        outcome = ENGINES[engine](read_scenario(entry))
    except CepheidError as error:
        return f"error {error.code}"
    rows = shows_rows(entry["query"])
    found = [shown_row(r) for r in outcome.rows] if rows else [shown_match(m) for m in outcome.matches]
    parts = [" ".join(found) or "none"]
    for word, matches in (
        ("late", outcome.late),
        ("pending", outcome.pending),
        ("timeout", outcome.timeouts),
    ):
        parts += [" ".join([word, *map(shown_match, matches)])] if matches else []
    parts += [" ".join(["too late", *outcome.dead_letters])] if outcome.dead_letters else []
    return "; ".join(parts)


def shows_rows(query: str) -> bool:
    """Is a match shown by its columns, or by its events?"""
    return re.search(r"\.emit\(|\bselect\b", query, re.IGNORECASE) is not None


def shown_match(labels: tuple[str, ...]) -> str:
    return f"({','.join(labels)})"


def shown_row(row: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {_value(value)}" for name, value in row.items()) + "}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
