"""`cepheid debug` in the terminal: one step on the screen, keys to go on."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import click
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cepheid.explain.event_words import clock, event_name, fields_text, key_text
from cepheid.explain.happening_words import BAD, GOOD, Words, mood_of
from cepheid.explain.happenings import Trace, TracedRun
from cepheid.explain.stepping import Cursor
from cepheid.explain.words import Names
from cepheid.pattern.text import column_name

KEYS = "n next  p back  j next change  f partition  a number goes there  q quit"
_MOST_RUNS = 12
_STYLES = {GOOD: "green", BAD: "red"}


class Screen:
    """Draws one step."""

    def __init__(self, trace: Trace, console: Console, id_column: str = "id") -> None:
        self.trace = trace
        self.console = console
        self.id_column = id_column
        self.words = Words(trace, id_column)
        self.names = Names(trace.plan)
        self.key_names = [column_name(e) for e in trace.plan.key]

    def draw(self, cursor: Cursor) -> None:
        self.console.print(Group(*self._parts(cursor)))

    def _parts(self, cursor: Cursor) -> Iterator[RenderableType]:
        yield Panel(self._happened(cursor), title=self._title(cursor), title_align="left", expand=False)
        yield self._places(cursor)
        yield self._runs(cursor)

    def _title(self, cursor: Cursor) -> Text:
        frame = cursor.frame
        where = f"step {frame.number + 1} of {len(self.trace.frames)}  {clock(frame.time)}"
        key = key_text(self.key_names, frame.key)
        only = "  (this partition only)" if cursor.key is not None else ""
        return Text(f"{where}{f'  {key}' if key else ''}{only}", "bold")

    def _happened(self, cursor: Cursor) -> Text:
        frame = cursor.frame
        lines = Text(self._event(cursor))
        for happened in frame.happened:
            lines.append(f"\n{self.words.happening(happened, frame)}", _STYLES.get(mood_of(happened), ""))
        if not frame.happened:
            lines.append("\nnothing: no run waits for such an event", "dim")
        return lines

    def _event(self, cursor: Cursor) -> str:
        event = cursor.frame.event
        if event is None:
            return "time passes" if cursor.frame.kind == "time" else "the input ends"
        fields = fields_text(event, ("type", "time", self.id_column))
        name = event_name(event, self.id_column)
        kind = "" if name.startswith(event.type) else f" {event.type}"
        return f"{name}{kind}{f'  {fields}' if fields else ''}"

    def _places(self, cursor: Cursor) -> Text:
        """The automaton in a line, with how many runs are where."""
        open_runs = self.trace.open_at(cursor.at, cursor.key)
        line = Text()
        for state in self.names.reached()[1:]:
            count = sum(run.state == state for run in open_runs)
            line.append("  " if line else "")
            line.append(f"{self.names.states[state]}: {count}", "bold green" if count else "dim")
        return line

    def _runs(self, cursor: Cursor) -> RenderableType:
        runs = self.trace.open_at(cursor.at, cursor.key)
        if not runs:
            return Text("no open runs", "dim")
        table = Table("run", "holds", "waits for", box=None, pad_edge=False, header_style="bold")
        for run in runs[-_MOST_RUNS:]:
            table.add_row(str(run.number), self.words.held(run), self._waits(run))
        if len(runs) > _MOST_RUNS:
            table.add_row("", f"... and {len(runs) - _MOST_RUNS} older ones", "")
        return table

    def _waits(self, run: TracedRun) -> str:
        edges = self.trace.plan.automaton.out[run.state]
        steps = dict.fromkeys(self.names.positions[e.position] for e in edges)
        return " or ".join(steps) or "time"


def debug(trace: Trace, to: int | None, id_column: str = "id") -> None:
    """Steps through a trace; with `to`, prints one step. Keys come from the terminal, or as text from a pipe."""
    if not trace.frames:
        click.echo("there are no events to step through")
        return
    console = Console(highlight=False)
    screen = Screen(trace, console, id_column)
    cursor = Cursor(trace)
    if to is not None:
        screen.draw(cursor.to(to))
        return
    typed = sys.stdin.isatty()
    _draw(screen, cursor, typed)
    for key in _keys(typed):
        if key == "q":
            return
        cursor = moved(cursor, key)
        _draw(screen, cursor, typed)


def _draw(screen: Screen, cursor: Cursor, typed: bool) -> None:
    if typed:
        screen.console.clear()
    screen.draw(cursor)
    screen.console.print(KEYS if typed else "", style="dim")


def moved(cursor: Cursor, key: str) -> Cursor:
    if key.isdigit():
        return cursor.to(int(key))
    moves = {"n": cursor.next, "p": cursor.previous, "j": cursor.next_change, "f": cursor.filtered}
    return moves[key]() if key in moves else cursor


def _keys(typed: bool) -> Iterator[str]:
    if not typed:
        yield from re.findall(r"\d+|[a-z]", sys.stdin.read())
        return
    number = ""
    while True:
        char = click.getchar()
        if char.isdigit():
            number += char
        elif char in ("\r", "\n") and number:
            yield number
            number = ""
        else:
            yield {"\x1b[C": "n", "\x1b[D": "p", "\x03": "q", "\x04": "q"}.get(char, char.lower())
            number = ""
