"""Turns a parser's surprise into what a newcomer needs: what is wrong, where, what to write."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from cepheid.errors import Place, SyntaxMistake, nearest

_KEYWORDS = "within partition unless where as until all not every between after and or".split()


def explain_mistake(problem: UnexpectedInput, text: str, place: Place) -> SyntaxMistake:
    return SyntaxMistake("not implemented", place=place)
