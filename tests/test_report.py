"""The HTML report: complete in itself, right in its numbers, safe with whatever the events hold."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest

from cepheid.explain.census import Reached
from cepheid.explain.charts import Line
from cepheid.explain.report import Chart, Dot, RunReport, SampleMatch, StreamReport, render_report

S = 1_000_000
VOID = {"meta", "link", "br", "img", "line", "circle", "rect", "path"}


class Page(HTMLParser):
    """Counts tags and checks that every one is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def stream(**changes: object) -> StreamReport:
    sample = SampleMatch("card-1", (Dot("probe", 0, "Payment"), Dot("probe", 10 * S), Dot("hit", 60 * S)))
    fields: dict[str, object] = {
        "name": "Fraud",
        "pattern": "stream Fraud = A as a -> B[v > a.v] as b",
        "count": 3,
        "times": [0, 10 * S, 3600 * S],
        "columns": ["who", "amount"],
        "rows": [["ann", 12.5], ["bob", None]],
        "samples": [sample],
    }
    return StreamReport(**{**fields, **changes})  # type: ignore[arg-type]


def report(*streams: StreamReport, **changes: object) -> str:
    fields: dict[str, object] = {"title": "A run", "streams": streams, "events": 4000, "elapsed": 2.0}
    return render_report(RunReport(**{**fields, **changes}))  # type: ignore[arg-type]


def test_well_formed() -> None:
    page = Page(report(stream(), stream(name="Other")))
    assert page.open == []
    assert page.tags.count("section") == 2


def test_nothing_is_fetched_from_elsewhere() -> None:
    page = report(stream())
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!#)", page)
    assert "http" not in page
    assert "@import" not in page
    assert "url(" not in page
    assert "<script" not in page


def test_light_dark_and_small_screens() -> None:
    page = report(stream())
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_totals() -> None:
    page = report(stream(), facts=[("late", 1200), ("bad rows", 0)], warnings=["no event of type `C` came"])
    for value, name in (
        ("4,000", "events"),
        ("3", "matches"),
        ("1,200", "late"),
        ("2,000", "events a second"),
    ):
        assert f"<b>{value}</b><span>{name}</span>" in page
    assert "bad rows" not in page
    assert "no event of type `C` came" in page


def test_bars_count_matches() -> None:
    page = report(stream())
    assert page.count("<rect") == 2  # the first two fall into one
    assert "<title>2 from 1970-01-01 00:00:00</title>" in page
    assert "00:30" in page  # on the axis


def test_samples_show_each_event_as_a_dot() -> None:
    page = report(stream())
    assert page.count("<circle") == 3
    assert "<b>probe</b> × 2" in page
    assert "<b>hit</b> +1m" in page
    assert "<title>probe +0s Payment</title>" in page


FUNNEL = [Reached("a", 40, (("expired", 25), ("killed", 5))), Reached("b", 10), Reached("match", 4)]


def test_the_funnel() -> None:
    page = report(stream(funnel=FUNNEL))
    for step, starts, share in (("a", "40", "100%"), ("b", "10", "25%"), ("match", "4", "10%")):
        assert f"<b>{step}</b>" in page
        assert f"{starts} <small>{share}</small>" in page
    assert "width:25.00%" in page
    assert "25 expired, 5 killed" in page
    assert "How far runs came" not in report(stream(funnel=[Reached("a", 0)]))


def test_open_runs_over_time() -> None:
    """Half of the span at 4 of 4, then a quarter of that: steps, not slopes, and on to the end."""
    line = Line("a", [(0, 4), (1800 * S, 1)])
    page = report(stream(open_runs=[line], open_now="open when the input ended: 1 after a"))
    assert 'd="M0.00,0.00H50.00V75.00H100"' in page
    assert "<b>a</b> at most 4" in page
    assert "open when the input ended: 1 after a" in page
    assert "<path" not in report(stream(open_runs=[Line("a", [(0, 0)])]))


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        ([0, 0, 0], "half of them at once, 95 of 100 at once, all at once"),
        # Of ten the fifth, the tenth (95 of 100 is nine and a half), the tenth.
        (
            [0, 0, 0, 0, S, S, S, S, S, 90 * S],
            "half of them within 1s, 95 of 100 within 1m 30s, all within 1m 30s",
        ),
    ],
)
def test_how_long_until_a_match_is_certain(waits: list[int], told: str) -> None:
    assert f"after its last event: {told}" in report(stream(waits=waits))


def test_events_over_time_and_other_charts() -> None:
    page = report(
        stream(times=[]),
        arrivals=[(0, 10), (3600 * S, 5)],
        charts=[Chart("Throughput", [Line("events a second", [(0, 3.5)])], " /s"), Chart("None", [])],
    )
    assert page.count("<rect") == 2
    assert "Events over time" in page
    assert "<h3>Throughput</h3>" in page
    assert "at most 3.5 /s" in page
    assert "<h3>None</h3>" not in page


def test_what_is_not_known_is_said() -> None:
    assert "Not known of this run" not in report(stream())
    page = report(stream(), unknown=["how many runs were open"])
    assert "Not known of this run" in page
    assert "how many runs were open" in page


def test_sums_where_single_matches_are_not_known() -> None:
    page = report(stream(times=[], counts=[(0, 7), (3600 * S, 1)], pattern=""))
    assert "<title>7 from 1970-01-01 00:00:00</title>" in page
    assert "<h3>Pattern</h3>" not in page


def test_an_absence_shows_how_long_was_waited() -> None:
    page = report(stream(samples=[SampleMatch("p1", (Dot("p", 0),), end=120 * S)]))
    assert "certain after 2m" in page
    assert 'class="wait"' in page


def test_rows_are_the_first_ones() -> None:
    page = report(stream())
    assert "The first 2 matches" in page
    assert '<td class="n">12.5</td>' in page
    assert "<h3>Matches</h3>" in report(stream(count=2))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (datetime(2026, 3, 2, 10, 0, 0, tzinfo=UTC), "2026-03-02 10:00:00"),
        (datetime(2026, 3, 2, 10, 0, 0, 500_000, tzinfo=UTC), "2026-03-02 10:00:00.5"),
        (timedelta(hours=1, minutes=2), "1h 2m"),
        (timedelta(seconds=-5), "-5s"),
        (True, "true"),
        (None, ""),
        ([1, 2], "[1, 2]"),
    ],
)
def test_cells(value: object, shown: str) -> None:
    assert f">{shown}</td>" in report(stream(columns=["x"], rows=[[value]]))


def test_everything_is_escaped() -> None:
    evil = "<script>alert(1)</script>"
    sample = SampleMatch(evil, (Dot(evil, 0, evil),))
    page = report(
        stream(
            name=evil,
            pattern=evil,
            columns=[evil],
            rows=[[evil]],
            samples=[sample],
            notes=[evil],
            funnel=[Reached(evil, 1, ((evil, 1),))],
            open_runs=[Line(evil, [(0, 1)])],
            open_now=evil,
        ),
        stream(),
        title=evil,
        source=evil,
        warnings=[evil],
        unknown=[evil],
        charts=[Chart(evil, [Line(evil, [(0, 1)])], evil)],
    )
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 20


def test_a_run_that_found_nothing() -> None:
    page = Page(report(stream(count=0, times=[], rows=[], samples=[]), elapsed=0.0, events=0))
    assert page.open == []
    assert "rect" not in page.tags


def test_one_match_only() -> None:
    assert report(stream(count=1, times=[5 * S])).count("<rect") == 1


def test_times_no_calendar_has() -> None:
    assert "us" in report(stream(times=[-(10**18), 10**18]))


def test_a_long_run_has_days_on_its_axis() -> None:
    page = report(stream(times=[0, 10 * 86400 * S]))
    assert "03 Jan" in page
