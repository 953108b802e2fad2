"""A trace as one HTML page that needs nothing else: a slider over the steps, runs as threads, the automaton lit up."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from cepheid.explain.drawing import draw
from cepheid.explain.event_words import clock, event_name, fields_text, key_text
from cepheid.explain.happening_words import Words, ended, kind_of, mood_of
from cepheid.explain.happenings import Advanced, Frame, Matched, Trace, TracedRun
from cepheid.explain.templates import template
from cepheid.explain.words import Names, shown_pattern
from cepheid.pattern.event import Event
from cepheid.pattern.text import column_name, pattern_text
from cepheid.plan.automaton import START


def debug_page(trace: Trace, title: str, id_column: str = "id") -> str:
    """One self-contained page."""
    page: str = template("debug.html.j2").render(
        title=title,
        pattern=pattern_text(shown_pattern(trace.plan.pattern)),
        stream=trace.plan.name,
        drawing=draw(trace.plan),
        data=_json(_data(trace, id_column)),
    )
    return page


def _json(data: dict[str, Any]) -> str:
    """For a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _data(trace: Trace, id_column: str) -> dict[str, Any]:
    words, names = Words(trace, id_column), Names(trace.plan)
    key_names = [column_name(e) for e in trace.plan.key]
    keys = trace.keys()
    numbers = {key: i for i, key in enumerate(keys)}
    matched = {h.run for f in trace.frames for h in f.happened if isinstance(h, Matched)}
    return {
        "keys": [key_text(key_names, key) for key in keys],
        "frames": [_frame(f, trace, words, numbers, id_column) for f in trace.frames],
        "runs": [_run(r, trace, words, names, numbers, r.number in matched) for r in trace.runs],
        "drawing": asdict(draw(trace.plan)),
    }


def _frame(
    frame: Frame, trace: Trace, words: Words, keys: dict[tuple[Any, ...], int], id_column: str
) -> dict[str, Any]:
    return {
        "kind": frame.kind,
        "time": clock(frame.time),
        "key": keys.get(frame.key, -1),
        "event": None if frame.event is None else _event(frame.event, id_column),
        "changes": frame.changes,
        "happened": [
            {"run": h.run, "kind": kind_of(h), "mood": mood_of(h), "text": words.what(h, frame)}
            for h in frame.happened
        ],
        "lit": [_way(h.run, trace) for h in frame.happened if isinstance(h, Advanced)]
        + [[START, trace.runs[h.run].state] for h in frame.happened if kind_of(h) == "began"],
    }


def _way(run: int, trace: Trace) -> list[int]:
    taken = trace.runs[run]
    source = START if taken.parent is None else trace.runs[taken.parent].state
    return [source, taken.state]


def _event(event: Event, id_column: str) -> dict[str, str]:
    return {
        "name": event_name(event, id_column),
        "type": event.type,
        "fields": fields_text(event, ("type", "time", id_column), most=12),
    }


def _run(
    run: TracedRun, trace: Trace, words: Words, names: Names, keys: dict[tuple[Any, ...], int], matched: bool
) -> dict[str, Any]:
    edges = trace.plan.automaton.out[run.state]
    waits = dict.fromkeys(names.positions[e.position] for e in edges)
    return {
        "key": keys.get(run.key, -1),
        "parent": run.parent,
        "state": run.state,
        "at": names.states[run.state],
        "held": words.held(run),
        "waits": " or ".join(waits) or "time",
        "born": run.born,
        "gone": run.gone,
        "matched": matched,
        "moved": run.moved,
        "end": None if run.end is None else {"mood": mood_of(run.end), "text": ended(run.end)},
    }
