"""Grammar files to parsers, and a text to its tree or to the mistake in it."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from importlib import resources
from pathlib import Path

from lark import Lark, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from cepheid.errors import Place
from cepheid.lang.mistakes import Explain


def load_grammar(package: str, name: str, starts: list[str]) -> Lark:
    """A parser for a grammar file and the text all of them share.

    The shared text is put before it, not imported: imported rules and terminals would get other names, and
    trees and mistakes go by names. Its tables take longer to make than most queries to run: they are kept on disk.
    """
    text = _text("cepheid.lang", "common.lark") + _text(package, name)
    return Lark(
        text,
        parser="lalr",
        start=starts,
        propagate_positions=True,
        maybe_placeholders=True,
        cache=_kept(name, text),
    )


def _kept(name: str, text: str) -> str | bool:
    """The file of a grammar's tables; False where there is no place for one."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cepheid", "grammars")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        return False
    known = hashlib.sha256(text.encode()).hexdigest()[:12]
    return str(folder / f"{name}-{known}-python{sys.version_info[0]}.{sys.version_info[1]}")


def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def read_tree(parser: Lark, text: str, start: str, source: str, explain: Explain) -> Tree:  # type: ignore[type-arg]
    """The tree of a text, or what `explain` makes of the parser's surprise."""
    try:
        return parser.parse(text, start=start)
    except UnexpectedInput as problem:
        line, column = max(problem.line, 1), max(problem.column, 1)
        place = Place(line, column, line, _end(problem), text, source)
        raise explain(problem, text, place, _allowed(parser, problem, text, start)) from None


def _allowed(parser: Lark, problem: UnexpectedInput, text: str, start: str) -> set[str]:
    """The terminals that could stand where the parser was surprised, whatever stands there."""
    if isinstance(problem, UnexpectedToken) and problem.token.type == "$END":
        read = text
    else:
        read = text[: problem.pos_in_stream]
    partial = parser.parse_interactive(read, start=start)
    with suppress(UnexpectedInput):
        partial.exhaust_lexer()
    return set(partial.accepts())  # type: ignore[no-untyped-call]


def accepted_after(parser: Lark, text: str, start: str) -> frozenset[str] | None:
    """The terminals that could go on from a beginning of a text; None if it cannot be a beginning."""
    partial = parser.parse_interactive(text, start=start)
    try:
        partial.exhaust_lexer()
    except UnexpectedInput:
        return None
    return frozenset(partial.accepts())  # type: ignore[no-untyped-call]


def _end(problem: UnexpectedInput) -> int:
    token = getattr(problem, "token", None)
    width = len(str(token).split("\n")[0]) if token is not None else 1
    return max(problem.column, 1) + max(width, 1)
