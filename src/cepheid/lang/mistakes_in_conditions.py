"""Mistakes in conditions and arguments."""

from __future__ import annotations

from cepheid.errors import SyntaxMistake
from cepheid.lang.scene import COMPARISONS, Answer, Scene

_LOOKALIKES = {
    "“": 'quotes are straight: "text"',
    "”": 'quotes are straight: "text"',
    "„": 'quotes are straight: "text"',
    "‘": "quotes are straight: 'text'",
    "’": "quotes are straight: 'text'",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !=",
    "−": "write the minus sign of the keyboard: -",
    "–": "write the minus sign of the keyboard: -",
    "—": "write the minus sign of the keyboard: -",
    "×": "write *",
    "÷": "write /",
    "∧": "write `and`",
    "∨": "write `or`",
    "¬": "write `not`",
    "^": "a power is written x ** 2",
    "$": "fields and steps are named without a sign: a.user",
    "@": "fields and steps are named without a sign: a.user",
}

# Conditions.


def chained_comparison(scene: Scene) -> Answer:
    here = scene.here
    if here.text not in COMPARISONS or "DIVIDE" not in scene.allowed or "COMPARE" in scene.allowed:
        return None
    middle, right = scene.operand(-1), scene.operand(1)
    earlier = _comparison_before(scene)
    hint = "join them with `and`"
    if middle and right and earlier is not None:
        left = scene.operand(earlier - scene.at - 1)
        first = scene.words[earlier].text
        if left:
            hint = f"write {left} {first} {middle} and {middle} {here.text} {right}"
    return scene.mistake("chained_comparison", "comparisons cannot be chained", hint)


def _comparison_before(scene: Scene) -> int | None:
    for index in range(scene.at - 1, -1, -1):
        if scene.words[index].text in COMPARISONS:
            return index
    return None


def other_signs(scene: Scene) -> Answer:
    """Comparisons as other languages write them."""
    here, before = scene.here, scene.before
    known = {"===": "==", "!==": "!=", "=<": "<=", ":=": "="}
    if here.text in known:
        return scene.mistake("wrong_comparison", f"there is no `{here.text}`", f"write {known[here.text]}")
    if here.text == "==" and scene.after_step and not scene.in_condition:
        right = scene.operand(1) or "A"
        return scene.mistake(
            "wrong_equals",
            "`==` compares, and here is nothing to compare",
            f"to name a step write `{right} as {before.text}`; a condition begins with `where`",
        )
    glued = f"{before.text}{here.text}"
    if here.text == "=" and glued in ("<=", ">=", "!=", "=="):
        return scene.mistake("wrong_comparison", f"`{glued}` is written in one", f"write {glued}")
    if here.text == "!" and scene.after.text == "=":
        return scene.mistake("wrong_comparison", "`!=` is written in one", "write !=")
    return None


def other_words(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if before.lower in ("is", "not") and "NULL" in scene.allowed and not scene.wants_value:
        negated = before.lower == "not"
        left = scene.operand(-3 if negated else -2)
        if here.lower in ("none", "nil", "missing", "undefined"):
            written = "is not null" if negated else "is null"
            return scene.mistake("python_word", f"there is no `{here.text}`", f"write {written}")
        sign = "!=" if negated else "=="
        return scene.mistake(
            "wrong_is", "`is` only asks for null", f"write {left or 'x'} {sign} {_operand_here(scene) or '5'}"
        )
    if here.lower == "between" and scene.in_condition:
        return _between(scene, scene.operand(-1), 1)
    if before.lower == "between" and scene.wants_name and here.kind in ("number", "string", "duration"):
        return _between(scene, scene.operand(-2), 0)
    if before.lower == "in" and scene.allowed == {"LPAR", "LSQB"}:
        items = _list_after(scene)
        return scene.mistake(
            "in_without_list", "`in` takes a list in parentheses", f"write in ({items or '1, 2'})"
        )
    if here.lower == "if" and scene.in_condition:
        return scene.mistake("python_word", "there is no `x if y else z`", "write if(y, x, z)")
    return None


def _operand_here(scene: Scene) -> str:
    return scene.here.text if scene.here.kind in ("name", "number", "string", "duration") else ""


def _between(scene: Scene, value: str, offset: int) -> SyntaxMistake:
    low, high = scene.word(offset), scene.word(offset + 2)
    hint = "write x >= 1 and x <= 5"
    if value and low.text and scene.word(offset + 1).lower == "and" and high.text:
        hint = f"write {value} >= {low.text} and {value} <= {high.text}"
    word = scene.here if offset else scene.before
    return scene.mistake("between", "conditions have no `between`", hint, word)


def _list_after(scene: Scene) -> str:
    items, offset = [], 0
    while scene.word(offset).kind in ("number", "string", "duration", "name"):
        items.append(scene.word(offset).text)
        if scene.word(offset + 1).text != ",":
            break
        offset += 2
    return ", ".join(items)


def missing_value(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if (before.lower == "case" and scene.allowed == {"WHEN"}) or (
        before.lower == "not" and scene.wants_value and here.text in COMPARISONS
    ):
        return scene.mistake(
            "keyword_as_name",
            f"`{before.text}` is a word of the language",
            f"a field of that name stands in back quotes: `{before.text}`",
            before,
        )
    if not scene.wants_value:
        return None
    if before.lower in ("where", "until") or (before.text == "[" and here.text in ("]", "")):
        example = (
            "write A[amount > 100]" if before.text == "[" else f"write for example {before.text} amount > 100"
        )
        return scene.mistake("missing_condition", f"after `{before.text}` a condition is missing", example)
    if before.lower == "by":
        return scene.mistake(
            "missing_value", "after `partition by` a field is missing", "write partition by user"
        )
    if here.kind == "other":
        return None
    if here.kind in ("sign", "end") or here.lower in ("and", "or", "as"):
        return scene.mistake(
            "missing_value",
            f"after {scene.shown(before)} a value is missing",
            "write a field, a number or a text in quotes",
        )
    return None


def bad_arguments(scene: Scene) -> Answer:
    """Inside the parentheses of an operator or a function."""
    here, before = scene.here, scene.before
    if "COMMA" not in scene.allowed or not scene.opened:
        return None
    if here.lower == "as" and scene.in_operator:
        name = scene.after.text or "name"
        value = scene.operand(-1) or "..."
        return scene.mistake(
            "wrong_column", "a column's name stands before its value", f"write {name}: {value}"
        )
    if here.kind in ("name", "quoted", "number", "string", "duration"):
        return scene.mistake(
            "missing_comma",
            f"between {scene.shown(before)} and {scene.shown()} a comma is missing",
            f"write a comma before {scene.shown()}",
        )
    return None


def missing_operator(scene: Scene) -> Answer:
    """Two values side by side."""
    here, before = scene.here, scene.before
    values = ("name", "quoted", "number", "string", "duration")
    if not scene.in_condition or here.kind not in values or before.kind not in values:
        return None
    return scene.mistake(
        "missing_operator",
        f"between {scene.shown(before)} and {scene.shown()} something is missing",
        "write a comparison such as `==`, or `and`, or `or`",
    )


def unknown_character(scene: Scene) -> Answer:
    here = scene.here
    if here.kind != "other":
        return None
    hint = _LOOKALIKES.get(here.text) or "outside of quotes the language does not use it; leave it out"
    return scene.mistake("unknown_character", f"`{here.text}` is not a sign of the language", hint)
