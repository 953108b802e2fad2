"""An explanation as notebooks show it: the automaton drawn, what is kept, what to look out for."""

from __future__ import annotations

from typing import Any

from cepheid.explain.drawing import draw
from cepheid.explain.explanation import ExplainedStream, Explanation
from cepheid.explain.state_text import state_table
from cepheid.explain.templates import template
from cepheid.explain.words import shown_pattern
from cepheid.pattern.text import pattern_text


def explanation_html(explanation: Explanation) -> str:
    streams = [_shown(explanation, stream) for stream in explanation.streams]
    page: str = template("explanation.html.j2").render(streams=streams)
    return page


def _shown(explanation: Explanation, stream: ExplainedStream) -> dict[str, Any]:
    pattern = stream.written if stream.written is not None else shown_pattern(stream.plan.pattern)
    return {
        "name": stream.name,
        "head": explanation.head(stream),
        "pattern": pattern_text(pattern),
        "warnings": stream.warnings,
        "drawing": draw(stream.plan),
        "state": state_table(stream.state, stream.load, stream.sample),
        "text": str(stream),
    }
