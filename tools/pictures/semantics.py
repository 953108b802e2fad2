"""The pictures of the semantics book, drawn from what the reference matcher finds.

In docs/book a `matches` block after `<!-- picture: NAME -->` has a picture: docs/images/semantics/NAME.svg.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src"), str(ROOT)]

from doc_examples import Case, read_cases, shown_match, shown_row, shows_rows
from engines import reference_whole

from cepheid.errors import CepheidError
from cepheid.pattern.event import Event
from cepheid.testing.scenarios import Outcome, Scenario, read_scenario
from tools.pictures.timeline import Line, Mark, Timeline, picture

BOOK = ROOT / "docs" / "book"
BLOCK = re.compile(
    r"^<!-- picture: (?P<name>[\w-]+) -->\n```matches\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def pictures(book: Path = BOOK) -> Iterator[tuple[str, str]]:
    """The name and the SVG of each picture of the book."""
    for path in sorted(book.glob("*.md")):
        for block in BLOCK.finditer(path.read_text(encoding="utf-8")):
            cases = read_cases(block["text"])
            yield block["name"], picture(block["name"], cases[0].query, [_timeline(case) for case in cases])


def _timeline(case: Case) -> Timeline:
    scenario = read_scenario(case.entry())
    settings = "; ".join(part.strip() for part in case.given.split(";")[1:])
    timed = "@" in case.given
    try:
        found = reference_whole(scenario)
    except CepheidError as error:
        return Timeline(_marks(scenario, []), (), f"error {error.code}", settings, timed)
    lines = tuple(_lines(scenario, found))
    remark = "" if lines or found.dead_letters else "no match"
    return Timeline(_marks(scenario, found.dead_letters), lines, remark, settings, timed)


def _marks(scenario: Scenario, dead: list[str]) -> tuple[Mark, ...]:
    order = {event.fields["id"]: i for i, event in enumerate(scenario.arriving(), 1)}
    return tuple(
        Mark(
            label := event.fields["id"],
            event.type,
            event.time,
            _note(event),
            order[label] if scenario.streaming else None,
            label in dead,
        )
        for event in sorted(scenario.events, key=Event.place_in_order)
    )


def _note(event: Event) -> str:
    given = {k: v for k, v in event.fields.items() if k not in ("id", "type", "time")}
    return " ".join(f"{name}={'null' if value is None else value}" for name, value in given.items())


def _lines(scenario: Scenario, found: Outcome) -> Iterator[Line]:
    last = {event.fields["id"]: event.time for event in scenario.events}
    rows = shows_rows(scenario.query)
    for labels, row, end in zip(found.matches, found.rows, found.ends, strict=True):
        until = (
            end
            if any(x in last for x in labels) and end > max(last[x] for x in labels if x in last)
            else None
        )
        text = shown_row(row) if rows else shown_match(labels)
        yield Line(labels, until, text + (" late" if labels in found.late else ""))
    for labels, deadline in zip(found.pending, found.deadlines, strict=True):
        yield Line(labels, deadline, f"{shown_match(labels)} pending", certain=False)
    for labels in found.timeouts:
        yield Line(labels, None, f"{shown_match(labels)} timeout", certain=False)
    for label in found.dead_letters:
        yield Line((), None, f"{label} too late", certain=False)
