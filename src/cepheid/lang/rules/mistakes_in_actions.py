"""Mistakes in the lines of `then`."""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.lang.rules.mistakes_in_when import _block
from cepheid.lang.scene import Answer, Scene

_VERBS = ("assert", "modify", "retract", "emit")
_OTHER_VERBS = {
    "insert": "assert new T(...)",
    "create": "assert new T(...)",
    "add": "assert new T(...)",
    "new": "assert new T(...)",
    "update": "modify ?x { field = value; }",
    "set": "modify ?x { field = value; }",
    "change": "modify ?x { field = value; }",
    "delete": "retract ?x",
    "remove": "retract ?x",
    "send": "emit T(...), or assert event T(...)",
    "raise": "emit T(...), or assert event T(...)",
    "print": "emit T(...)",
    "event": "assert event T(...)",
}


def _in_then(scene: Scene) -> bool:
    return _block(scene) == "then" and len(scene.opened) == 2


def begins_no_action(scene: Scene) -> Answer:
    here = scene.here
    if "ASSERT" not in scene.allowed or not _in_then(scene):
        return None
    if here.lower in _OTHER_VERBS:
        return scene.mistake(
            "unknown_action", f"`{here.text}` is no action", f"write {_OTHER_VERBS[here.lower]}"
        )
    close = get_close_matches(here.lower, _VERBS, n=1, cutoff=0.6) if here.kind == "name" else []
    hint = f"did you mean `{close[0]}`?" if close else "an action is assert, modify, retract or emit"
    return scene.mistake("unknown_action", f"{scene.shown()} begins no action", hint)


def after_type(scene: Scene) -> Answer:
    if scene.allowed != {"LPAR"} or not _in_then(scene):
        return None
    before = scene.before
    return scene.mistake(
        "missing_parentheses",
        f"after {scene.shown(before)} parentheses are missing",
        f"write {before.text}(?x), or {before.text}(field = ?x.field)",
    )


def after_verb(scene: Scene) -> Answer:
    """`retract e`, `modify ?e state = ON`."""
    here, before = scene.here, scene.before
    if before.lower in ("retract", "modify") and scene.allowed == {"VARIABLE"}:
        if here.kind == "name":
            return scene.mistake(
                "missing_mark", "a variable begins with a question mark", f"write ?{here.text}"
            )
        return scene.mistake(
            "missing_variable", f"after `{before.text}` a variable is missing", f"write {before.lower} ?x"
        )
    if scene.allowed == {"LBRACE"} and _in_then(scene):
        return scene.mistake(
            "missing_braces",
            "what is modified stands in braces",
            f"write modify ?{before.text} {{ state = ON; }}",
        )
    return None


def assignments(scene: Scene) -> Answer:
    """Inside the braces of `modify`."""
    here, before = scene.here, scene.before
    if _block(scene) != "then" or len(scene.opened) != 3 or scene.opened[-1].text != "{":
        return None
    if scene.allowed == {"EQUALS", "COLON"}:
        if here.text == ".":
            return scene.mistake(
                "field_of_object",
                "inside of `modify` the fields of the fact stand without it",
                f"write {scene.after.text or 'state'} = ...",
            )
        return scene.mistake(
            "wrong_equals", f"a field is set by `=`, not by {scene.shown()}", f"write {before.text} = ..."
        )
    if scene.wants_name or scene.allowed == {"NAME", "QUOTED", "RBRACE"}:
        return scene.mistake(
            "missing_name", f"{scene.shown()} is no field", "write field = value; for each field"
        )
    begins = here.kind in ("name", "quoted") and scene.after.text in ("=", ":", "==")
    if begins and {"SEMICOLON", "RBRACE"} <= scene.allowed:
        return scene.mistake(
            "missing_semicolon", "before this a semicolon is missing", "assignments are separated by ;"
        )
    return None


def between_actions(scene: Scene) -> Answer:
    here = scene.here
    if not _in_then(scene) or "SEMICOLON" not in scene.allowed:
        return None
    if here.text == ",":
        return scene.mistake(
            "wrong_separator", "actions are separated by semicolons", "write ; and begin a new action"
        )
    if here.kind in ("name", "quoted"):
        return scene.mistake(
            "missing_semicolon", "before this a semicolon is missing", "each action ends with ;"
        )
    return None


def between_arguments(scene: Scene) -> Answer:
    here = scene.here
    if _block(scene) != "then" or len(scene.opened) != 3 or scene.opened[-1].text != "(":
        return None
    if here.text == ";" and "COMMA" in scene.allowed:
        return scene.mistake("wrong_separator", "values are separated by commas, not `;`", "write ,")
    if here.text == "==" and "BARS" not in scene.allowed:
        return scene.mistake("wrong_equals", "a field is given by `=`", f"write {scene.before.text} = ...")
    return None
