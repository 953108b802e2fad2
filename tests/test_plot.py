"""Matches as plots: the specification, the drawing, what they are made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid
from cepheid.errors import InputMistake
from cepheid.explain.plot import MIME, Plot, PlottedMatch

QUERY = "A as a -> B as b within 10s partition by u"
ROWS = [
    {"type": kind, "time": time, "u": user}
    for kind, time, user in (("A", 0, "ann"), ("A", 1, "bob"), ("B", 4, "ann"), ("B", 9, "bob"))
]


def parts(plot: Plot) -> list[Any]:
    return list(ElementTree.fromstring(plot.to_svg()).iter())


def test_a_timeline() -> None:
    plot = cepheid.match(QUERY, ROWS).plot()
    spec = plot.to_dict()
    assert [(v["label"], v["start"], v["end"], v["took"]) for v in spec["data"]["values"]] == [
        ("ann", "1970-01-01T00:00:00Z", "1970-01-01T00:00:04Z", "4s"),
        ("bob", "1970-01-01T00:00:01Z", "1970-01-01T00:00:09Z", "8s"),
    ]
    rule, point = spec["layer"]
    assert rule["encoding"]["x"]["field"] == "start"
    assert rule["encoding"]["x2"]["field"] == point["encoding"]["x"]["field"] == "end"
    json.dumps(spec)
    lines = [e for e in parts(plot) if e.tag.endswith("line")]
    assert len(lines) == 2
    # From 0 to 9 s over 480 of 640: ann ends at 4/9 of it.
    assert [round(float(lines[0].get(n))) for n in ("x1", "x2")] == [150, round(150 + 480 * 4 / 9)]


def test_counts() -> None:
    """Two end in the first second of ten, one in the last: with 48 parts of a bit more than 0.2 s."""
    rows = [{"start": 0, "end": end} for end in (0, 0.1, 10)]
    values = cepheid.plot(rows, "counts").to_dict()["data"]["values"]
    assert [v["matches"] for v in values] == [2, 1]
    assert values[0]["from"] == "1970-01-01T00:00:00Z"
    assert len([e for e in parts(cepheid.plot(rows, "counts")) if e.tag.endswith("rect")]) == 2


@pytest.mark.parametrize("frame", [list, pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_any_frame(frame: Any) -> None:
    found = cepheid.run(QUERY, frame(ROWS))
    values = found.plot().to_dict()["data"]["values"]
    assert [v["label"] for v in values] == ["ann", "bob"]
    assert values == cepheid.plot(found["matches"], by="u").to_dict()["data"]["values"]


def test_several_streams_have_colours_and_names() -> None:
    found = cepheid.run(f"stream One = {QUERY}\nstream Two = A as a partition by u", ROWS)
    texts = [e.text for e in parts(found.plot()) if e.tag.endswith("text")]
    assert "One" in texts
    assert "Two" in texts
    fills = {e.get("fill") for e in parts(found.plot("counts")) if e.tag.endswith("rect")}
    assert len(fills) == 2


def test_what_a_notebook_is_given() -> None:
    plot = cepheid.match(QUERY, ROWS).plot()
    bundle = plot._repr_mimebundle_()
    assert bundle[MIME] == plot.to_dict()
    assert bundle["text/html"] == plot._repr_html_()
    assert bundle["text/plain"] == "<timeline of 2 matches>"
    assert "src=" not in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_names_are_no_html() -> None:
    plot = Plot("timeline", (PlottedMatch("<s>", "<b>", 0, 1),))
    assert "<b>" not in plot._repr_html_()
    assert "<s>" not in plot._repr_html_()
    assert "<s>" not in Plot("counts", plot.matches)._repr_html_()


def test_many_matches_are_cut_and_it_says_so() -> None:
    plot = cepheid.plot([{"start": i, "end": i} for i in range(300)])
    assert repr(plot) == "<timeline of the first 200 of 300 matches>"
    assert len(plot.to_dict()["data"]["values"]) == 200
    assert sum(v["matches"] for v in Plot("counts", plot.matches).to_dict()["data"]["values"]) == 300


@pytest.mark.parametrize("kind", ["timeline", "counts"])
def test_no_match_and_one(kind: str) -> None:
    assert cepheid.plot([], kind).to_dict()["data"]["values"] == []
    assert parts(cepheid.plot([], kind))
    assert parts(cepheid.plot([{"start": 5, "end": 5}], kind))


def test_saving(tmp_path: Path) -> None:
    plot = cepheid.match(QUERY, ROWS).plot()
    for name in ("p.json", "p.svg", "p.html"):
        plot.save(tmp_path / name)
    assert json.loads((tmp_path / "p.json").read_text()) == plot.to_dict()
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")
    with pytest.raises(InputMistake, match=r"cannot be saved as .png"):
        plot.save(tmp_path / "p.png")


def test_mistakes() -> None:
    with pytest.raises(InputMistake, match="have no column `start`"):
        cepheid.match(f"{QUERY} .emit(v: a.u)", ROWS).plot()
    with pytest.raises(InputMistake, match="there is no plot 'pie'"):
        cepheid.match(QUERY, ROWS).plot("pie")
    found = cepheid.match(f"{QUERY} .emit(who: a.u, t1: match_start(), t2: match_end())", ROWS)
    labels = [v["label"] for v in found.plot(start="t1", end="t2").to_dict()["data"]["values"]]
    assert labels == ["ann", "bob"]


def test_matches_are_a_list_as_before() -> None:
    found = cepheid.match(f"{QUERY} .emit(u)", ROWS)
    assert found == [{"u": "ann"}, {"u": "bob"}]
    assert repr(found) == "[{'u': 'ann'}, {'u': 'bob'}]"
    assert "<td>ann</td>" in found._repr_html_()
    assert "<td>ann</td>" in cepheid.run(f"{QUERY} .emit(u)", ROWS)._repr_html_()


def test_patterns_in_a_notebook() -> None:
    built = cepheid.event("A").where(cepheid.field("v") < 3).as_("a") >> cepheid.event("B").as_("b")
    assert built._repr_html_() == '<pre class="cepheid-pattern">A[v &lt; 3] as a -&gt; B as b</pre>'
    assert "-&gt;" in cepheid.compile(QUERY).last.stream._repr_html_()
    assert "-&gt;" in cepheid.compile(QUERY).last.stream.pattern._repr_html_()
