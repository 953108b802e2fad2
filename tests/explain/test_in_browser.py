"""The page of the debugger in a real Chromium: step, jump, filter, read it wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_browser import NARROW, WIDE, contrast, watched

from cepheid.engines.program import compile
from cepheid.explain.debug_page import debug_page
from cepheid.explain.recorder import trace
from cepheid.testing.scenarios import read_events

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

QUERY = "A as a -> B[v > a.v] as b -> C as c unless X within 20s partition by u"
EVENTS = (
    "A1@0{u: ann, v: 3} A2@1{u: bob, v: 3} B1@2{u: ann, v: 2} B2@3{u: ann, v: 9} "
    "X1@4{u: bob} C1@5{u: ann} Z1@6{u: ann} A3@7{u: bob, v: 1} Z2@60{u: ann}"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "steps.html"
    page = debug_page(trace(compile(QUERY).last.plan, read_events(EVENTS)), "orders over events")
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    with watched(browser, file) as opened:
        yield opened


def step(page: Any) -> int:
    return int(page.locator("#where").inner_text().split()[1])


def lit(page: Any) -> dict[str, str]:
    """The states with open runs, and how many."""
    nodes = page.locator("#automaton .state.on").all()
    return {n.locator("text").nth(1).text_content(): n.locator(".count").text_content() for n in nodes}


def test_step_forward_and_back(page: Any) -> None:
    assert step(page) == 1
    assert page.locator("#happened").inner_text() == "run 0: began with A1 as a"
    assert lit(page) == {"a": "1"}
    assert page.locator("#back").is_disabled()
    page.click("#next")
    page.click("#next")
    assert step(page) == 3
    assert "`b.v > a.v`: 2 > 3 is false" in page.locator("#happened").inner_text()
    assert lit(page) == {"a": "2"}
    page.keyboard.press("ArrowLeft")
    assert step(page) == 2


def test_jump_to_the_next_change(page: Any) -> None:
    """From A2 (2) over B1, which only passes (3), to B2 (4), where the run forks; then X1 kills bob's run (5)."""
    page.click("#next")
    page.click("#jump")
    assert step(page) == 4
    assert page.locator("#happened li.good").get_attribute("data-kind") == "forked"
    assert lit(page) == {"a": "2", "b": "1"}
    assert page.locator("#automaton .way.on").count() == 1
    page.keyboard.press("j")
    assert page.locator("#happened li.bad").inner_text() == "run 1: killed by `unless X` (by X1)"
    page.click("#jump")
    assert "matched: a = A1, b = B2, c = C1" in page.locator("#happened").inner_text()
    assert page.locator("#drawn .mark.match").count() == 1


def test_slider_and_threads(page: Any) -> None:
    page.locator("#slider").evaluate("s => { s.value = 6; s.dispatchEvent(new Event('input')); }")
    assert step(page) == 6
    assert page.locator("#drawn line.thread").count() >= 4
    assert page.locator("#open tr").count() == 2
    page.locator("#drawn .hit[data-step='2']").click()
    assert step(page) == 3


def test_filter_by_partition(page: Any) -> None:
    page.select_option("#filter", label='u = "bob"')
    assert step(page) == 2
    page.click("#next")
    assert step(page) == 5
    assert page.locator("#open tr").count() == 0
    assert "run 0" not in page.locator("#drawn").inner_text()
    page.keyboard.press("f")
    assert page.locator("#filter").input_value() == "-1"


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "light"), (NARROW, "dark")])
def test_readable(browser: Any, file: Path, size: dict[str, int], scheme: str) -> None:
    """Nothing sticks out, nothing is too small or too faint to read, every control can be reached."""
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri())
    page.keyboard.press("j")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for control in ("#back", "#next", "#jump", "#filter", "#slider"):
        box = page.locator(control).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size["width"]
        assert box["height"] >= 16
    sizes = page.evaluate(
        "[...document.querySelectorAll('h1,h2,pre,li,td,th,button,select,#event,#where,svg text')]"
        ".filter(e => e.textContent.trim()).map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12
    ink, card = (
        page.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}")
        for where, what in (("#happened li", "color"), ("section", "backgroundColor"))
    )
    assert contrast(ink, card) >= 4.5
    page.click("#theme")
    turned = page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
    assert turned != card
    context.close()
