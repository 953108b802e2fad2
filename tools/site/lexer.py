"""Colours for the pattern language, graph patterns, rules, and the `matches` blocks of the documents."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["CepheidLexer"]

DECLARATIONS = ("event", "pattern", "stream", "graph", "rule", "private", "when", "then", "stage", "emit")
PATTERN = ("all", "any", "first", "next", "greedy", "until", "every", "unless", "between", "after", "before")
CLAUSES = ("within", "partition", "by", "where", "as", "from", "select", "insert", "into", "sequence")
LOGIC = ("and", "or", "not", "in", "is", "like", "case", "when", "else", "end", "if")


class CepheidLexer(RegexLexer):
    name = "Cepheid"
    aliases: ClassVar = ["cep", "matches", "graph", "rules"]
    flags = 0

    tokens: ClassVar = {
        "root": [
            (r"(#|//|--(?!>)).*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', String),
            (r"`[^`\n]+`", Name),
            (r"=>|->", Operator.Word),
            (r"\?\w+", Name.Variable),
            (r"\.\w+(?=\()", Name.Function),
            (r"(true|false|null)\b", Keyword.Constant),
            (words(DECLARATIONS + PATTERN + CLAUSES + LOGIC, prefix=r"(?<![.\w])", suffix=r"\b"), Keyword),
            (r"(?<![.\w])(NOT|AND|OR|WITHIN|PARTITION|BY|FROM|SELECT|EVERY|UNLESS)\b", Keyword),
            (r"\d+(\.\d+)?(ms|us|s|m|h|d|w)\b", Number.Integer),
            (r"\d+(\.\d+)?", Number),
            (r"[A-Z]\w*", Name.Class),
            (r"[^\W\d]\w*", Name),
            (r"[-+*/%<>=!|&]+", Operator),
            (r"[(){}\[\],.:;@?]", Punctuation),
            (r"\s+|.", Text),
        ]
    }
