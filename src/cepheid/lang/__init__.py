"""The text language: `grammar.lark`, tree to model, mistakes with their place and a hint."""

from cepheid.lang.parser import parse_expression, parse_program, parse_query

__all__ = ["parse_expression", "parse_program", "parse_query"]
