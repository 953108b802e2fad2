"""A forgiving scanner: it cuts any text into words, also where the language itself would give up."""

from __future__ import annotations

import re
from dataclasses import dataclass

CLOSING = {"(": ")", "[": "]", "{": "}"}
OPENING = {close: opening for opening, close in CLOSING.items()}

_UNITS = r"(?i:microseconds?|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?|weeks?)\b"
_WORD = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
    |(?P<open_comment>/\*.*)
    |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<open_string>["'][^\n]*)
    |(?P<quoted>`[^`\n]+`)
    |(?P<open_quote>`[^\n]*)
    |(?P<duration>\d+(?:\.\d+)?(?![eE][+-]?\d)(?:[A-Za-z]+|\s+"""
    + _UNITS
    + r"""))
    |(?P<number>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>\.\.\.|-{2,}>|->|={1,2}>|~>|[→⇒⟶]|===|!==|==|!=|<>|<=|>=|=<|:=|--|\*\*|\|\||&&|[-+*/%<>=!?.,:;(){}\[\]|&])
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Word:
    """A piece of the text and where it stands."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def lower(self) -> str:
        return self.text.lower()


def split_words(text: str) -> list[Word]:
    """The words of a text; blanks and comments are left out.

    >>> [w.text for w in split_words('A => B[x > "a b"] # so')]
    ['A', '=>', 'B', '[', 'x', '>', '"a b"', ']']
    """
    found = []
    for part in _WORD.finditer(text):
        if part.lastgroup and part.lastgroup != "skip":
            found.append(Word(part.lastgroup, part.group().rstrip(), part.start()))
    return found


def open_brackets(words: list[Word]) -> list[Word]:
    """The brackets that are open after these words, outermost first.

    >>> [w.text for w in open_brackets(split_words("(A -> B[x"))]
    ['(', '[']
    """
    stack: list[Word] = []
    for word in words:
        if word.kind != "sign":
            continue
        if word.text in CLOSING:
            stack.append(word)
        elif word.text in OPENING and any(w.text == OPENING[word.text] for w in stack):
            while stack.pop().text != OPENING[word.text]:
                pass
    return stack
