"""`graph pattern ...`: the text language of patterns over a temporal graph."""

from cepheid.lang.graph.parser import parse_graph_patterns

__all__ = ["parse_graph_patterns"]
