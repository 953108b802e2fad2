"""A score as a page of HTML that needs nothing else: two pictures and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cepheid.forecast.scoring import Score

_SIZE, _LEFT, _TOP = 320.0, 46.0, 12.0


def report_page(score: Score, title: str) -> str:
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    environment.filters["percent"] = percent
    environment.filters["seconds"] = seconds_text
    template = environment.get_template("report.html.j2")
    return template.render(score=score, title=title, reliability=_reliability(score), lead=_lead(score))


def write_report(score: Score, path: str | Path, title: str) -> None:
    Path(path).write_text(report_page(score, title), encoding="utf-8")


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"


def seconds_text(length: float | None) -> str:
    """
    >>> seconds_text(0.25), seconds_text(90.0), seconds_text(7200.0)
    ('250 ms', '90 s', '2 h')
    """
    if length is None:
        return "–"
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 300.0)):
        if abs(length) >= size:
            return f"{length / (60.0 if unit == 'min' else size):.3g} {unit}"
    return f"{length:.3g} s" if abs(length) >= 1 else f"{1000 * length:.3g} ms"


def _reliability(score: Score) -> dict[str, Any]:
    most = max(d.count for d in score.deciles)
    return {
        "dots": [
            {
                "x": _x(d.foretold),
                "y": _y(d.happened),
                "r": 3.0 + 6.0 * (d.count / most) ** 0.5,
                "label": f"foretold {percent(d.foretold)}, happened {percent(d.happened)}, {d.count} forecasts",
            }
            for d in score.deciles
        ],
        "line": _line([(d.foretold, d.happened) for d in score.deciles]),
        "base": _y(score.base_rate),
        **_frame(),
    }


def _lead(score: Score) -> dict[str, Any] | None:
    """Lead time to the right, precision up; one dot for each threshold."""
    rows = [
        (t.lead, t.precision, t) for t in score.thresholds if t.lead is not None and t.precision is not None
    ]
    if not rows:
        return None
    longest = max(lead for lead, _, _ in rows) or 1.0
    dots = [
        {
            "x": _x(lead / longest),
            "y": _y(precision),
            "label": f"alarm at {t.threshold}: precision {percent(precision)}, {seconds_text(lead)} ahead",
            "threshold": t.threshold,
        }
        for lead, precision, t in rows
    ]
    line = _line([(lead / longest, precision) for lead, precision, _ in rows])
    return {"dots": dots, "line": line, "longest": longest, **_frame()}


def _frame() -> dict[str, Any]:
    ticks = [(_x(k / 5), _y(k / 5), f"{k / 5:.1f}") for k in range(6)]
    return {"left": _LEFT, "top": _TOP, "size": _SIZE, "ticks": ticks}


def _line(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)


def _x(share: float) -> float:
    return _LEFT + _SIZE * share


def _y(share: float) -> float:
    return _TOP + _SIZE * (1.0 - share)
