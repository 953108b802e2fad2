"""Mistakes in the lines of `when`."""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.lang.mistakes_in_conditions import missing_operator
from cepheid.lang.scene import COMPARISONS, Answer, Scene
from cepheid.lang.words import CLOSING, OPENING, Word

_TIMES = ("after", "before")
_OTHER_RELATIONS = ("during", "meets", "overlaps", "within", "finishes", "starts", "coincides", "includes")
_VALUES = ("name", "quoted", "number", "string", "duration")


def never_closed(scene: Scene, bracket: Word) -> bool:
    """Is its partner missing: does another bracket close first, or none?"""
    stack: list[str] = []
    for word in scene.words[scene.words.index(bracket) :]:
        if word.kind != "sign":
            continue
        if word.text in CLOSING:
            stack.append(word.text)
        elif word.text in OPENING:
            if stack[-1] != OPENING[word.text]:
                return len(stack) == 1
            stack.pop()
            if not stack:
                return False
    return True


def in_when(scene: Scene) -> bool:
    """Directly inside the braces of `when`."""
    return _block(scene) == "when" and scene.opened[-1].text == "{"


def in_tests(scene: Scene) -> bool:
    """Directly inside the parentheses of a condition."""
    return _block(scene) == "when" and len(scene.opened) == 3 and scene.opened[-1].text == "("


def _block(scene: Scene) -> str:
    if len(scene.opened) < 2:
        return ""
    index = scene.words.index(scene.opened[1])
    return scene.words[index - 1].lower if index else ""


def begins_no_condition(scene: Scene) -> Answer:
    here = scene.here
    if not in_when(scene) or scene.before.text not in ("{", ";") or "NOT" not in scene.allowed:
        return None
    if here.lower == "then":
        return None
    return scene.mistake(
        "not_a_condition",
        f"{scene.shown()} begins no condition",
        "write ?x: Type(tests), ?x: event Type(tests), or not in front; tests stand inside the parentheses",
    )


def after_variable(scene: Scene) -> Answer:
    """`?e Equipment(...)`."""
    if scene.allowed != {"COLON"} or not in_when(scene):
        return None
    name = scene.before.text
    assigned = scene.here.text == "=" and scene.word(2).text == "("
    if not assigned and (scene.here.text in (".", *COMPARISONS) or scene.here.lower in _TIMES):
        return scene.mistake(
            "test_alone",
            "a test stands inside the parentheses of a condition",
            f"write it into the condition that comes last of those it speaks of: T(...; ?{name} ...)",
        )
    return scene.mistake(
        "missing_colon",
        f"after ?{name} a colon is missing",
        f"write ?{name}: {scene.here.text or 'Type'}(...)",
    )


def after_type(scene: Scene) -> Answer:
    """A condition whose type has no parentheses, or a misspelt word before the type."""
    if scene.allowed != {"LPAR"} or not in_when(scene):
        return None
    here, before = scene.here, scene.before
    if here.kind in ("name", "quoted", "sign"):
        close = get_close_matches(before.lower, ("event", "not", "change"), n=1, cutoff=0.6)
        if before.lower in ("no", "exists", "forall", "every") or (close and here.text != ";"):
            hint = f"did you mean `{close[0]}`?" if close else "a condition is Type(...) or not Type(...)"
            return scene.mistake("unknown_keyword", f"`{before.text}` begins nothing", hint, before)
    return scene.mistake(
        "missing_parentheses",
        f"after {scene.shown(before)} parentheses are missing",
        f"write {before.text}(), or with tests {before.text}(state == ON)",
    )


def change_without_to(scene: Scene) -> Answer:
    if scene.allowed != {"TO"}:
        return None
    return scene.mistake(
        "missing_to", "a change needs `to`", "write event change ?e: T(state == ON) to (state == OFF)"
    )


# Time.


def time_without_variable(scene: Scene) -> Answer:
    """`after[1,5] ?a` and `c after[1,5] ?a`."""
    here = scene.here
    word = scene.word(-3)
    if word.lower in _TIMES and scene.word(-2).text == "[" and here.text == ",":
        return scene.mistake(
            "missing_variable",
            f"before `{word.text}` an event is missing",
            f"write ?this {word.lower}[...] ?a",
            word,
        )
    if here.lower in _TIMES and scene.before.kind in ("name", "quoted") and "BARS" in scene.allowed:
        name = scene.before.text
        if scene.word(-2).text == ".":
            return scene.mistake(
                "time_of_field",
                "events are compared by their times, and not by a field",
                f"write ?this {here.lower}[1, 5] ?a",
            )
        return scene.mistake(
            "missing_mark",
            "a variable begins with a question mark",
            f"write ?{name} {here.lower}[1, 5] ?a",
            scene.before,
        )
    return None


def bounds_of_time(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if before.lower in _TIMES and scene.allowed == {"LSQB"}:
        return scene.mistake(
            "missing_bounds",
            f"after `{before.text}` its bounds are missing",
            f"write {before.lower}[0, inf], or {before.lower}[1, 5]",
        )
    if "INF" in scene.allowed or scene.allowed in ({"COMMA"}, {"RSQB"}):
        if not scene.opened or scene.opened[-1].text != "[":
            return None
        return scene.mistake(
            "bad_bound",
            f"{scene.shown()} cannot stand here: a test of time has two bounds",
            "write after[1, 5], after[-10, 10], after[0, inf] or after[5m, 1h]",
        )
    if before.text == "]" and scene.allowed == {"VARIABLE"}:
        if here.kind == "name":
            return scene.mistake(
                "missing_mark", "a variable begins with a question mark", f"write ?{here.text}"
            )
        return scene.mistake("missing_variable", "after the bounds an event is missing", "write ?a")
    return None


def relation_of_time(scene: Scene) -> Answer:
    here = scene.here
    if not {"AFTER", "BEFORE"} <= scene.allowed or here.kind != "name":
        return None
    close = get_close_matches(here.lower, _TIMES, n=1, cutoff=0.6)
    if not close and here.lower not in _OTHER_RELATIONS:
        return None
    hint = f"did you mean `{close[0]}`?" if close else "write after[m, M] or before[m, M], joined by and, or"
    return scene.mistake("unknown_relation", f"there is no `{here.text}` of two events", hint)


# Between tests and between conditions.


def bound_and_tested(scene: Scene) -> Answer:
    """`?s: state == ON`."""
    here = scene.here
    if not in_tests(scene) or here.text not in COMPARISONS or "COMPARE" in scene.allowed:
        return None
    if not {"SEMICOLON", "DIVIDE"} <= scene.allowed or "BARS" in scene.allowed:
        return None
    value, right = scene.operand(-1) or "x", scene.operand(1) or "..."
    return scene.mistake(
        "bound_and_tested",
        "a variable is bound to a value, not to a test",
        f"say both: ?name: {value}; {value} {here.text} {right}",
    )


def between_conditions(scene: Scene) -> Answer:
    here = scene.here
    if not in_when(scene) or "SEMICOLON" not in scene.allowed or scene.before.text != ")":
        return None
    if here.text == "," or here.lower in ("and", "&&"):
        return scene.mistake(
            "wrong_separator", "conditions are separated by semicolons", f"write ; instead of {here.text}"
        )
    if here.lower in ("or", "||"):
        return scene.mistake(
            "or_of_conditions",
            "conditions hold together, and cannot be joined by `or`",
            "write two rules, or `or` between tests of one condition",
        )
    if here.kind in ("name", "quoted") or here.text in ("?", "!"):
        return scene.mistake(
            "missing_semicolon", "before this a semicolon is missing", "each condition ends with ;"
        )
    return None


def between_tests(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if not in_tests(scene) or not {"SEMICOLON", "COMMA"} <= scene.allowed:
        return None
    if here.text == ":":
        return scene.mistake(
            "missing_mark", "a variable begins with a question mark", f"write ?{before.text}: ..."
        )
    begins = here.kind in _VALUES or here.text in ("?", "!") or here.lower == "not"
    if begins and before.kind != "sign" and here.lower not in ("between", "if", "is", "like", "in"):
        if here.kind == "name" and scene.after.text not in (*COMPARISONS, "after", "before", ".", ":"):
            return missing_operator(scene)
        return scene.mistake(
            "missing_semicolon", "before this a semicolon is missing", "tests are separated by ; or ,"
        )
    return None
