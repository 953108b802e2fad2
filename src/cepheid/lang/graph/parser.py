"""Text in, graph patterns out."""

from __future__ import annotations

from functools import cache

from lark import Lark

from cepheid.errors import SyntaxMistake
from cepheid.lang.graph.declarations import read_declarations
from cepheid.lang.graph.mistakes import explain_graph_mistake
from cepheid.lang.reading import load_grammar, read_tree
from cepheid.lang.source import Source
from cepheid.pattern.graph_pattern import GraphPattern


@cache
def _parser() -> Lark:
    return load_grammar("cepheid.lang.graph", "graph.lark", ["patterns"])


def parse_graph_patterns(text: str, source: str = "query") -> tuple[GraphPattern, ...]:
    """All graph patterns of a text, private ones too, in the order they stand there."""
    tree = read_tree(_parser(), text, "patterns", source, explain_graph_mistake)
    if not tree.children:
        raise SyntaxMistake(
            "there is no graph pattern in the text",
            code="empty_query",
            hint='write for example graph pattern late { stage sent { .kind = "sent" } }',
        )
    return read_declarations(tree, Source(text, source))
