"""The page of the debugger: complete in itself, safe with whatever events hold. In a browser: test_in_browser.py."""

from __future__ import annotations

import json
import re

from cepheid.engines.program import compile
from cepheid.explain.debug_page import debug_page
from cepheid.explain.drawing import draw
from cepheid.explain.recorder import trace
from cepheid.testing.scenarios import read_events


def page(query: str, events: str, title: str = "t") -> str:
    return debug_page(trace(compile(query).last.plan, read_events(events)), title)


def data_of(text: str) -> dict[str, object]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_nothing_is_fetched() -> None:
    text = page("A as a -> B as b", "A1 B1")
    assert not re.search(r"""(src|href)=["'](?!data:)|@import|url\((?!#)|fetch\(|XMLHttpRequest""", text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_what_events_hold_cannot_leave_the_data() -> None:
    evil = "</script><script>alert(1)</script>"
    events = f'A1{{v: "{evil}"}} B1'
    text = page("A as a -> B as b", events, title="<b>&")
    assert evil not in text
    assert evil in json.dumps(data_of(text))
    assert "<b>&" not in text


def test_steps_and_runs() -> None:
    data = data_of(page("A as a -> B[v > 3] as b within 5s", "A1 B1{v: 1} B2{v: 4} C1@30"))
    assert [f["kind"] for f in data["frames"]] == ["event", "event", "event", "time", "event"]  # type: ignore[union-attr,index]
    assert [f["changes"] for f in data["frames"]] == [True, False, True, True, False]  # type: ignore[union-attr,index]
    assert [(r["held"], r["born"], r["gone"], r["matched"]) for r in data["runs"]] == [  # type: ignore[union-attr,index]
        ("a = A1", 0, 3, False),
        ("a = A1, b = B2", 2, 2, True),
    ]


def test_the_drawing_has_every_state_once() -> None:
    drawing = draw(compile("A as a -> all B as b -> AND(C as c, D as d) -> E").last.plan)
    places = [(s.x, s.y) for s in drawing.states]
    assert len(places) == len(set(places)) == len({s.number for s in drawing.states})
    assert all(0 < s.x < drawing.width and 0 < s.y < drawing.height for s in drawing.states)
    assert any(e.source == e.target for e in drawing.edges)  # the loop of b
