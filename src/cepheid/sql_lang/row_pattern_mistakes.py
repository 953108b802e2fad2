"""What is wrong with the text of a row pattern, in words: the parser only knows where it was surprised."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.errors import PatternMistake, SyntaxMistake
from cepheid.sql_lang.cursor import Cursor, shown
from cepheid.sql_lang.scan import Kind, Token
from cepheid.sql_lang.source import CLOSING, OPENING

DEEPEST = 100  # brackets within brackets

_Said = tuple[str, str, str] | None  # code, message, hint
_Rule = Callable[[Cursor, Token, Token], _Said]


def no_parentheses(cursor: Cursor) -> SyntaxMistake:
    return cursor.source.syntax(
        "missing_parenthesis",
        "after PATTERN its parentheses are missing",
        cursor.source.place_of(cursor.before),
        "write for example `PATTERN (A B+)`",
    )


def check_depth(cursor: Cursor) -> None:
    depth = 0
    for token in cursor.source.tokens[cursor.at : cursor.stop]:
        depth += token.is_sign(*CLOSING) - token.is_sign(*OPENING)
        if depth > DEEPEST:
            raise PatternMistake(
                f"the pattern has more than {DEEPEST} brackets within each other",
                code="pattern_too_big",
                place=cursor.source.place_of(token),
                hint="leave out those that are not needed",
            )


def explain(cursor: Cursor, at: int) -> SyntaxMistake:
    """The mistake at the token with this index, or at the end."""
    look = Cursor(cursor.source, cursor.at, cursor.stop)
    look.at = at
    here, before = look.here, look.before
    for rule in _RULES:
        said = rule(look, here, before)
        if said is not None:
            code, message, hint = said
            token = before if here.kind is Kind.END and before.kind is not Kind.END else here
            place = look.source.place_of(token)
            return look.source.syntax(code, message, place, hint)
    return look.source.syntax(
        "syntax",
        f"in the pattern {look.shown()} cannot stand here",
        look.place,
        "here could stand a variable, a group in `( )`, or a quantifier such as `+` or `{2,5}`",
    )


def _no_pattern(look: Cursor, here: Token, before: Token) -> _Said:
    if here.kind is Kind.END and before.kind is Kind.END:
        return "empty_pattern", "the pattern is empty", "write `PATTERN (())` if no row is meant"
    return None


def _empty_alternative(look: Cursor, here: Token, before: Token) -> _Said:
    after_bar = before.is_sign("|") and (here.kind is Kind.END or here.is_sign(")", "|", "-}", ",", "||"))
    before_bar = here.is_sign("|") and (before.kind is Kind.END or before.is_sign("(", "{-", ","))
    if not (after_bar or before_bar or here.is_sign("||")):
        return None
    return "empty_alternative", "an alternative is empty", "write `()` for no row: `A | ()`"


def _bounds(look: Cursor, here: Token, before: Token) -> _Said:
    """Inside `{ }`, or at the end of such a quantifier."""
    opened = [t for t in look.source.tokens[look.first : look.at] if t.is_sign("{", "}")]
    if not opened or not opened[-1].is_sign("{"):
        return None
    return (
        "bad_bounds",
        f"{shown(here)} cannot stand in a quantifier",
        "write `{2}`, `{2,}`, `{,5}` or `{2,5}`; an exclusion is written `{- A -}`",
    )


def _nothing_to_repeat(look: Cursor, here: Token, before: Token) -> _Said:
    if not here.is_sign("*", "+", "?", "{"):
        return None
    if before.is_sign("*", "+", "?", "}"):
        return (
            "two_quantifiers",
            f"{shown(here)} follows directly on another quantifier",
            "put what is repeated in parentheses, as in `(A+){2}`, or leave one out",
        )
    return "nothing_to_repeat", f"before {shown(here)} there is nothing to repeat", "write for example `A+`"


def _other_signs(look: Cursor, here: Token, before: Token) -> _Said:
    if here.is_sign(",", "->", "=>") or here.word == "AND":
        return (
            "wrong_sign",
            f"{shown(here)} cannot stand between variables",
            "rows that follow on each other stand side by side: `A B`",
        )
    if here.word == "OR":
        return "wrong_sign", f"{shown(here)} cannot stand between variables", "write `A | B`"
    if here.word == "NOT" or here.is_sign("!"):
        return (
            "wrong_sign",
            f"a pattern has no {shown(here)}",
            "define a variable whose condition is NOT ..., and use that",
        )
    if here.is_sign(".", "[", "=", "<", ">") or here.kind in (Kind.STRING, Kind.NUMBER):
        return (
            "wrong_sign",
            f"{shown(here)} is no part of a pattern",
            "a pattern has variables only; their conditions stand in DEFINE",
        )
    return None


def _open_exclusion(look: Cursor, here: Token, before: Token) -> _Said:
    if not here.is_sign("}"):
        return None
    return "unclosed_bracket", "this `}` closes no quantifier", "an exclusion is closed with `-}`: `{- A -}`"


def _empty_brackets(look: Cursor, here: Token, before: Token) -> _Said:
    if before.is_sign("{-") and here.is_sign("-}"):
        return "empty_pattern", "this exclusion is empty", "write what it excludes: `{- A -}`"
    if here.is_sign(")") and before.is_sign("(") and look.peek(-2).word == "PERMUTE":
        return "empty_pattern", "PERMUTE has no parts", "write for example `PERMUTE(A, B)`"
    if here.is_sign(")", ",") and (before.is_sign(",") or look.peek(-2).word == "PERMUTE"):
        return "extra_comma", f"before {shown(here)} a part of PERMUTE is missing", "leave the comma out"
    return None


_RULES: tuple[_Rule, ...] = (
    _no_pattern,
    _bounds,
    _empty_alternative,
    _empty_brackets,
    _open_exclusion,
    _nothing_to_repeat,
    _other_signs,
)
