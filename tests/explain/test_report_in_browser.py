"""The report's page in a real Chromium: of a run and of a stream, read wide and narrow, light and dark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from in_browser import NARROW, WIDE, contrast, watched

from cepheid.cli import main
from cepheid.engines.spark.progress import FILE

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

QUERY = """\
stream Shipped = Order as o -> Payment[amount >= o.amount] as p -> Shipment as s
    unless Cancel between o and s within 50m partition by customer
stream Forgotten = Order as o -> NOT Payment within 10m partition by customer
"""
EVENTS = [  # minute, type, customer, amount
    (0, "Order", "ann", 60),
    (1, "Order", "bob with a very long name that fits no column", 60),
    (4, "Payment", "ann", 60),
    (20, "Shipment", "ann", None),
    (25, "Order", "cat", 80),
    (26, "Payment", "cat", 85),
    (27, "Cancel", "cat", None),
    (90, "Order", "dan", 10),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("report")
    (folder / "q.cep").write_text(QUERY)
    rows = [{"time": m * 60, "type": t, "customer": c, "amount": a} for m, t, c, a in EVENTS]
    (folder / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / FILE).write_text("".join(json.dumps(line(n)) + "\n" for n in range(30)))
    commands = {
        "run": ["report", str(folder / "q.cep"), str(folder / "e.jsonl"), "--title", "Orders"],
        "stream": ["report", str(folder)],
    }
    for name, command in commands.items():
        result = CliRunner().invoke(main, [*command, "--out", str(folder / f"{name}.html")])
        assert result.exit_code == 0, result.output
    return {name: folder / f"{name}.html" for name in commands}


def line(number: int) -> dict[str, Any]:
    """Micro-batch after micro-batch: 100 events and two matches each, more and more runs open."""
    sums = {"events": 100, "late": 0, "too_late": 1, "dead_letters": 1, "timeouts": {}}
    totals = {name: n * (number + 1) if isinstance(n, int) else n for name, n in sums.items()}
    return {
        **sums,
        "matches": {"Trip": 2},
        "totals": {**totals, "matches": {"Trip": 2 * (number + 1)}},
        "at": 1_700_000_000.0 + 10 * number,
        "batch": number,
        "seconds": 1.5,
        "open": {"Trip": {"l": 3 * number, "d": number}, "Lost": {"l": 4}},
        "keys": number,
        "waiting": 7,
        "watermark": 1_699_999_940.0 + 10 * number,
        "query": "parcels",
        "started": 1_700_000_000.0,
        "host": "elsewhere",
        "pid": 1,
    }


def funnel(page: Any, section: str) -> list[list[str]]:
    """Of each step: its name, and how many starts reached it."""
    names = page.locator(f"{section} .funnel > b").all_inner_texts()
    numbers = page.locator(f"{section} .funnel > span:nth-of-type(even)").all_inner_texts()
    return [[name, number.split()[0]] for name, number in zip(names, numbers, strict=True)]


def test_a_run(browser: Any, pages: dict[str, Path]) -> None:
    """Four orders: ann's was paid and shipped, bob's forgotten, cat's paid and cancelled, dan's is open."""
    with watched(browser, pages["run"]) as page:
        assert page.locator("h1").inner_text() == "Orders"
        assert funnel(page, "#s1") == [["o", "4"], ["p", "2"], ["s", "1"], ["match", "1"]]
        assert funnel(page, "#s2") == [["o", "4"], ["match", "1"]]
        # 48 parts of 90 minutes: 0 and 1 are in one, and so are 25 and 26.
        assert page.locator("#run svg.bars rect").count() == 6
        assert page.locator("#s1 svg.lines path").count() == 2
        assert "open when the input ended: 1 after o" in page.locator("#s1").inner_text()
        assert "all within 10m" in page.locator("#s2").inner_text()
        assert page.locator("#s1 .sample circle").count() == 3
        assert page.locator("#unknown").count() == 0
        page.locator("nav a").nth(1).click()
        top = page.evaluate("document.querySelector('#s2').getBoundingClientRect().top")
        assert top < WIDE["height"]


def test_a_stream(browser: Any, pages: dict[str, Path]) -> None:
    with watched(browser, pages["stream"]) as page:
        totals = dict(
            zip(*(page.locator(f".totals {e}").all_inner_texts() for e in ("span", "b")), strict=True)
        )
        assert totals["events"] == "3,000"
        assert totals["matches"] == "60"
        assert totals["micro-batches"] == "30"
        assert totals["dead letters"] == "30"
        titles = [t.lower() for t in page.locator("#run h3").all_inner_texts()]
        assert titles == ["throughput", "latency", "watermark", "state", "late events, in all"]
        assert "l at most 87" in page.locator("#s1 .legend").inner_text()
        assert "d at most 29" in page.locator("#s1 .legend").inner_text()
        assert "How many runs reached each step" in page.locator("#unknown").inner_text()


@pytest.mark.parametrize("name", ["run", "stream"])
@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "light"), (NARROW, "dark")])
def test_readable(browser: Any, pages: dict[str, Path], name: str, size: dict[str, int], scheme: str) -> None:
    """Nothing sticks out, nothing is too small or too faint to read, no labels of an axis lie on each other."""
    with watched(browser, pages[name], size, scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        sizes = page.evaluate(
            "[...document.querySelectorAll('h1,h2,h3,p,b,span,td,th,pre,small,footer')]"
            ".filter(e => e.textContent.trim()).map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 12
        card = page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
        for what in ("h2", "h3", ".note", ".ticks span", ".legend span"):
            if page.locator(what).count():
                color = page.evaluate(f"getComputedStyle(document.querySelector('{what}')).color")
                assert contrast(color, card) >= 4.5, what
        assert page.evaluate(OVERLAPPING) == 0
        for chart in page.locator("svg.bars, svg.lines").all():
            box = chart.bounding_box()
            assert box["width"] > 0.8 * min(size["width"] - 60, 900)
            assert box["height"] >= 48


OVERLAPPING = """
[...document.querySelectorAll('.ticks')].map(ticks => {
  const boxes = [...ticks.children].map(e => e.getBoundingClientRect());
  return boxes.slice(1).filter((box, i) => box.left < boxes[i].right).length;
}).reduce((a, b) => a + b, 0)
"""
