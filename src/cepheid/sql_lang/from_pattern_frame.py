"""Mistakes in the frame of a FROM PATTERN query and in its steps."""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.lang.scene import Answer, Scene
from cepheid.lang.words import CLOSING, open_brackets
from cepheid.sql_lang.from_pattern_clauses import MODES

_EXAMPLE = "FROM PATTERN (e1=A -> e2=B)"

# The frame: FROM PATTERN ( ... ), and where it ends.


def wrong_mode(scene: Scene) -> Answer:
    if not {"PATTERN", "SEQUENCE"} <= scene.allowed:
        return None
    close = get_close_matches(scene.here.lower, MODES, n=1)
    hint = f"did you mean {close[0].upper()}?" if close else f"write {_EXAMPLE}"
    return scene.mistake("unknown_keyword", "after FROM stands PATTERN or SEQUENCE", hint)


def no_parentheses(scene: Scene) -> Answer:
    before = scene.before
    if scene.allowed != {"LPAR"} or before.lower not in MODES:
        return None
    word = before.text.upper()
    return scene.mistake(
        "missing_parentheses", f"the {word} stands in parentheses", f"write FROM {word} (...)"
    )


def empty_parentheses(scene: Scene) -> Answer:
    opened = scene.before
    if opened.text != "(" or scene.here.text != ")" or scene.word(-2).lower not in MODES:
        return None
    return scene.mistake(
        "missing_step", "there is nothing in the parentheses", f"write for example {_EXAMPLE}"
    )


def unclosed(scene: Scene) -> Answer:
    """A bracket that is still open where the next clause begins."""
    here = scene.here
    clause = here.lower in ("partition", "select", "insert", "from") and here.kind == "name"
    if not (clause or here.text in (";", "->")) or not scene.opened:
        return None
    bracket = scene.opened[-1]
    in_filter = bracket.text == "["  # no arrow and no clause can stand there
    if not in_filter and (here.text == "->" or bracket not in open_brackets(scene.words)):
        return None
    close = CLOSING[bracket.text]
    return scene.mistake(
        "unclosed_bracket",
        f"this `{bracket.text}` is not closed",
        f"write `{close}` before {scene.shown()}",
        bracket,
    )


def no_semicolon(scene: Scene) -> Answer:
    if scene.here.lower != "from" or scene.opened or "SEMICOLON" not in scene.allowed:
        return None
    return scene.mistake("missing_semicolon", "between two queries a `;` is missing", "write `;` before FROM")


def new_query(scene: Scene) -> Answer:
    if "FROM" not in scene.allowed or scene.at_end:
        return None
    return scene.mistake("missing_from", f"{scene.shown()} begins no query", f"write {_EXAMPLE}")


# Steps.


def name_after_type(scene: Scene) -> Answer:
    if scene.here.lower != "as" or not scene.after_step or scene.in_condition:
        return None
    name = scene.after.text or "e1"
    return scene.mistake(
        "misplaced_name",
        "the name of a step stands before its type",
        f"write {name}={scene.operand(-1) or 'A'}",
    )


def no_arrow(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if not scene.after_step or scene.in_condition or here.kind not in ("name", "quoted"):
        return None
    return scene.mistake(
        "missing_arrow",
        f"between {scene.shown(before)} and {scene.shown()} an arrow is missing",
        f"write `-> {here.text}` for the next step, `e1=A` for a name",
    )


def wrong_sign(scene: Scene) -> Answer:
    """Between steps: `&` for `and`; after a step: its condition in parentheses, or too late."""
    here, before = scene.here, scene.before
    if not scene.after_step or scene.in_condition:
        return None
    words = {"&": "and", "&&": "and", "|": "or", "||": "or"}
    if here.text in words:
        word = words[here.text]
        return scene.mistake("wrong_word", f"steps are joined by a word, not `{here.text}`", f"write {word}")
    if here.text == "(" and before.kind in ("name", "quoted"):
        return scene.mistake(
            "misplaced_condition",
            "the condition of a step stands in square brackets",
            f"write {before.text}[...]",
        )
    if here.text == "[":
        return scene.mistake(
            "misplaced_condition",
            "a condition in brackets belongs directly after the type of the event",
            "write e1=A[x > 1]{2}",
        )
    return None
