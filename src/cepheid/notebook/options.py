"""What stands behind `%%cepheid` on its line."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, field
from typing import Any, NoReturn

from cepheid.errors import SetupMistake

_LIMIT = 50


@dataclass(frozen=True)
class CellOptions:
    spark: str | None = None  # the name of a session
    local: bool = False
    output: str | None = None
    limit: int = _LIMIT
    events: str | None = None  # the name of a frame, for patterns
    more: dict[str, Any] = field(default_factory=dict)  # for `cepheid.match`


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SetupMistake(f"%%cepheid: {message}", code="bad_option", hint=self.format_usage().strip())


def _parser() -> _Parser:
    parser = _Parser("%%cepheid", add_help=False, allow_abbrev=False)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--spark", metavar="NAME")
    where.add_argument("--local", action="store_true")
    parser.add_argument("-o", "--output", metavar="NAME")
    parser.add_argument("--limit", type=int, default=_LIMIT, metavar="ROWS")
    parser.add_argument("--events", metavar="NAME")
    for name in ("time", "type", "time-unit", "stream"):
        parser.add_argument(f"--{name}")
    for name in ("order", "partition-by"):
        parser.add_argument(f"--{name}", action="append")
    return parser


def read_options(line: str) -> CellOptions:
    """
    >>> read_options("--events logins -o found --limit 5").output
    'found'
    """
    try:
        words = shlex.split(line)
    except ValueError as problem:
        raise SetupMistake(f"%%cepheid: {problem}", code="bad_option") from None
    given = vars(_parser().parse_args(words))
    if given["limit"] < 0:
        raise SetupMistake("%%cepheid: --limit must not be negative", code="bad_option")
    for name in ("spark", "output", "events"):
        if given[name] is not None and not given[name].isidentifier():
            raise SetupMistake(f"%%cepheid: --{name} needs the name of a variable", code="bad_option")
    own = {name: given.pop(name) for name in ("spark", "local", "output", "limit", "events")}
    return CellOptions(**own, more={name: value for name, value in given.items() if value is not None})
