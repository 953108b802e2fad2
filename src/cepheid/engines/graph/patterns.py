"""Graph patterns however they are given: text, built in Python, or several of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cepheid.errors import PatternMistake
from cepheid.graph.threads import ReadyPattern
from cepheid.lang.graph import parse_graph_patterns
from cepheid.pattern.graph_builder import GraphDraft
from cepheid.pattern.graph_pattern import GraphPattern


def graph_patterns(text: str, source: str = "query") -> tuple[GraphPattern, ...]:
    """The graph patterns of a text, private ones too. Mistakes are told with their place.

    Args:
        text: One or more graph patterns.
        source: What the text is called in messages.

    >>> [p.name for p in graph_patterns('graph pattern late { stage sent { .kind = "sent" } }')]
    ['late']
    """
    found = parse_graph_patterns(text, source)
    for pattern in found:
        if not pattern.private:  # what is private may need the variables of what it becomes a part of
            ReadyPattern(pattern)
    return found


def ready_patterns(given: Any) -> list[ReadyPattern]:
    """Those that can be looked for, each with a name of its own."""
    patterns = [pattern for pattern in _patterns(given) if not pattern.private]
    if not patterns:
        raise PatternMistake(
            "there is no graph pattern to look for",
            code="no_pattern",
            hint="a `private` one is only there for others to be made of",
        )
    seen: set[str] = set()
    for pattern in patterns:
        if pattern.name in seen:
            raise PatternMistake(
                f"there are two graph patterns called `{pattern.name}`",
                code="duplicate_name",
                place=pattern.place,
                hint="rename one of them",
            )
        seen.add(pattern.name)
    return [ReadyPattern(pattern) for pattern in patterns]


def _patterns(given: Any) -> Iterable[GraphPattern]:
    if isinstance(given, str):
        return parse_graph_patterns(given)
    if isinstance(given, GraphPattern):
        return [given]
    if isinstance(given, GraphDraft):
        return [given.build()]
    if isinstance(given, Iterable):
        return [pattern for one in given for pattern in _patterns(one)]
    raise PatternMistake(
        f"a {type(given).__name__} is no graph pattern",
        code="not_a_pattern",
        hint='give text, or graph_pattern("late").stage(...), or a list of them',
    )
