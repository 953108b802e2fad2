"""Turns a parser's surprise into what a newcomer needs: what is wrong, where, what to write.

Each rule looks at the words around the surprise and at what could have stood there. The first that knows the
situation answers; the last one says in plain words what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lark.exceptions import UnexpectedInput, UnexpectedToken

from cepheid.errors import Place, SyntaxMistake
from cepheid.lang import mistakes_in_conditions as conditions
from cepheid.lang import mistakes_in_form as form
from cepheid.lang import mistakes_in_patterns as patterns
from cepheid.lang.scene import KEYWORDS, Answer, Scene
from cepheid.lang.words import Word, split_words

_END = "$END"


Rule = Callable[[Scene], Answer]
Explain = Callable[[UnexpectedInput, str, Place, Iterable[str]], SyntaxMistake]


def explain_mistake(
    problem: UnexpectedInput, text: str, place: Place, allowed: Iterable[str] = ()
) -> SyntaxMistake:
    """The mistake behind a surprise. `allowed`: the terminals that could stand there."""
    return explain_by(_RULES, KEYWORDS, problem, text, place, allowed)


def explain_by(
    rules: Iterable[Rule],
    keywords: Mapping[str, str],
    problem: UnexpectedInput,
    text: str,
    place: Place,
    allowed: Iterable[str],
) -> SyntaxMistake:
    """The answer of the first rule that has one. `keywords`: terminals and how a message shows them."""
    words = split_words(text)
    at = _position(problem, words)
    scene = Scene(words, at, _start(problem), frozenset(allowed), text, place.source)
    for rule in rules:
        mistake = rule(scene)
        if mistake is not None:
            return mistake
    return _anything_else(scene, keywords)


def _position(problem: UnexpectedInput, words: list[Word]) -> int:
    """The word the surprise is in; one past the last for the end of the text."""
    if isinstance(problem, UnexpectedToken) and problem.token.type == _END:
        return len(words)
    start = _start(problem)
    return next((i for i, w in enumerate(words) if start < w.end), len(words))


def _start(problem: UnexpectedInput) -> int:
    start: int = getattr(problem, "pos_in_stream", None) or 0
    return start


# What is left: say what could stand there.

_SIGNS = {
    "ARROW": "an arrow `->`",
    "COLON": "a colon `:`",
    "COMMA": "a comma",
    "EQUALS": "`=`",
    "LPAR": "`(`",
    "LSQB": "`[`",
    "LBRACE": "`{`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "SEMICOLON": "`;`",
    "NULL": "`null`",
    "NOT": "`not`",
    "INT": "a whole number",
}
_VALUE = frozenset(
    [
        "BANG",
        "CASE",
        "DURATION",
        "FALSE",
        "INT",
        "LPAR",
        "MINUS",
        "NAME",
        "NOT",
        "NULL",
        "NUMBER",
        "QUOTED",
        "STRING",
        "TRUE",
    ]
)
_STEP = frozenset(["ALL", "AND", "ANY", "EVERY", "FIRST", "LPAR", "NAME", "NEXT", "NOT", "OR", "QUOTED"])
_CALCULATION = frozenset(
    [
        "COMPARE",
        "DIVIDE",
        "EQUALS",
        "MINUS",
        "MODULO",
        "PLUS",
        "POWER",
        "TIMES",
        "IN",
        "IS",
        "LIKE",
        "NOT",
        "LPAR",
        "LSQB",
        "DOT",
    ]
)
_COUNTING = frozenset(["PLUS", "TIMES", "QMARK", "LBRACE"])


def _anything_else(scene: Scene, keywords: Mapping[str, str]) -> SyntaxMistake:
    what = "the text ends too early" if scene.at_end else f"{scene.shown()} cannot stand here"
    possible = _in_words(scene, keywords)
    hint = "here could stand " + _either(possible) if possible else None
    return scene.mistake("syntax", what, hint)


def _in_words(scene: Scene, keywords: Mapping[str, str]) -> list[str]:
    """What could stand there, as a user calls it."""
    left = set(scene.allowed)
    found: list[str] = []
    if scene.wants_step:
        found.append("a step")
        left -= _STEP
    elif scene.wants_value:
        found.append("a value")
        left -= _VALUE
    elif "DURATION" in left:
        found.append("a duration such as 5m")
        left -= _VALUE
    elif "NAME" in left:
        found.append("a name")
        left -= {"NAME", "QUOTED"}
    if scene.in_condition:
        if "DIVIDE" in left:
            found.append("a calculation or comparison such as `+` or `>`")
            left -= _CALCULATION
    elif scene.after_step:
        if "QMARK" in left:
            found.append("a quantifier such as `+` or `{2,5}`")
        if "LSQB" in left:
            found.append("a condition in `[ ]`")
        left -= {*_COUNTING, "LSQB", "EQUALS"}
    found += [words for name, words in {**_SIGNS, **keywords}.items() if name in left]
    if "OP" in left:
        found.append("an operator such as `.within(5m)`")
    if _END in left:
        found.append("the end")
    return found


def _either(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " or " + parts[-1]


_RULES: tuple[Rule, ...] = (
    form.empty_text,
    form.unclosed_text,
    form.extra_bracket,
    form.unclosed_bracket,
    patterns.other_language,
    form.bad_declaration,
    form.declaration_typo,
    form.bad_event_body,
    conditions.other_signs,
    patterns.wrong_arrow,
    conditions.chained_comparison,
    conditions.other_words,
    patterns.bad_count,
    patterns.missing_after_keyword,
    patterns.bad_unit,
    patterns.operator_parentheses,
    conditions.missing_value,
    patterns.missing_step,
    patterns.keyword_typo,
    patterns.missing_within,
    patterns.logic_between_steps,
    patterns.comma_for_arrow,
    patterns.misplaced,
    patterns.missing_arrow,
    conditions.bad_arguments,
    conditions.missing_operator,
    conditions.unknown_character,
)
