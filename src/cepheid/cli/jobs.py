"""What the command line needs to know of a job, wherever it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cepheid.engines.local.bad_rows import BadRows
from cepheid.engines.local.reading import Progress
from cepheid.engines.program import Program
from cepheid.engines.session import Counters, Found
from cepheid.pattern.types import Type


class AnyJob(Protocol):
    """A program and its events, ready to run: the local engine's job, or Spark's."""

    @property
    def program(self) -> Program: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def last_time(self) -> int | None: ...

    @property
    def bad(self) -> BadRows: ...

    @property
    def progress(self) -> Progress | None:
        """None: nobody knows how far it is."""

    def columns(self, stream: str) -> list[tuple[str, Type]]: ...

    def steps(self) -> Iterator[list[Found]]: ...

    def warnings(self) -> list[str]: ...


def stream_names(program: Program, name: str | None = None) -> list[str]:
    """The named stream, or all that the text declares."""
    if name is not None:
        return [program[name].name]
    return [s.name for s in program.declarations.streams]
