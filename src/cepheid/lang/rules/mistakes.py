"""What is wrong with a text of rules that cannot be read: the form of rules, then the language's conditions."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from lark.exceptions import UnexpectedInput

from cepheid.errors import Place, SyntaxMistake
from cepheid.lang import mistakes_in_conditions as conditions
from cepheid.lang import mistakes_in_form as form
from cepheid.lang.mistakes import Rule, explain_by
from cepheid.lang.rules import mistakes_in_actions as actions
from cepheid.lang.rules import mistakes_in_when as when
from cepheid.lang.scene import Answer, Scene

_RULE = "write rule Name { when { ... } then { ... } }"
_STATEMENTS = ("rule", "fact", "event")
# The keywords by the terminals of the grammar, as a message shows them.
_KEYWORDS = {
    "RULE": "`rule`",
    "FACT": "`fact`",
    "EVENT": "`event`",
    "PRIORITY": "`priority`",
    "WHEN": "`when`",
    "THEN": "`then`",
    "CHANGE": "`change`",
    "TO": "`to`",
    "KEY": "`key`",
    "NEW": "`new`",
    "ASSERT": "`assert`",
    "MODIFY": "`modify`",
    "RETRACT": "`retract`",
    "EMIT": "`emit`",
    "AFTER": "`after[m, M]`",
    "BEFORE": "`before[m, M]`",
    "INF": "`inf`",
    "AND": "`and`",
    "OR": "`or`",
    "IN": "`in`",
    "IS": "`is null`",
    "LIKE": "`like`",
    "VARIABLE": "a variable such as ?x",
    "DOT": "`.`",
}


def explain_rule_mistake(
    problem: UnexpectedInput, text: str, place: Place, allowed: Iterable[str]
) -> SyntaxMistake:
    """The mistake behind a surprise; the first rule that knows it answers."""
    return explain_by(_RULES, _KEYWORDS, problem, text, place, allowed)


def no_statement(scene: Scene) -> Answer:
    if not scene.allowed or not scene.allowed <= {"RULE", "FACT", "EVENT", "SEMICOLON", "$END"}:
        return None
    here = scene.here
    close = get_close_matches(here.lower, _STATEMENTS, n=1, cutoff=0.6)
    if close and here.kind == "name":
        return scene.mistake(
            "unknown_keyword", f"`{here.text}` begins nothing", f"did you mean `{close[0]}`?"
        )
    if here.lower in ("pattern", "stream", "graph"):
        return scene.mistake(
            "not_a_rule",
            f"`{here.text}` is of the language of patterns, and these are rules",
            f"{_RULE}; patterns are given beside the rules",
        )
    return scene.mistake("not_a_rule", f"{scene.shown()} begins no rule", _RULE)


def no_name(scene: Scene) -> Answer:
    before = scene.before
    if not scene.wants_name and not (
        before.lower in ("assert", "event") and scene.allowed <= {"NAME", "QUOTED", "NEW", "EVENT", "CHANGE"}
    ):
        return None
    examples = {
        "rule": ("the rule has no name", _RULE),
        "fact": ("the type has no name", "write fact Name(id string key, state string)"),
        "event": ("the type has no name", "write event Name(...)"),
        "new": ("the type has no name", "write assert new Name(...)"),
        "assert": ("the type has no name", "write assert new Name(...)"),
        "emit": ("the stream has no name", "write emit Name(...)"),
        ".": ("after the dot a field is missing", "write ?x.field"),
    }
    if before.lower not in examples:
        return None
    message, hint = examples[before.lower]
    return scene.mistake("missing_name", message, hint, None if before.text == "." else before)


def head_of_rule(scene: Scene) -> Answer:
    """Between the name of a rule and its braces."""
    here, before = scene.here, scene.before
    if scene.allowed == {"PRIORITY", "LBRACE"}:
        if here.lower in ("salience", "prio") or get_close_matches(here.lower, ["priority"], cutoff=0.7):
            return scene.mistake(
                "unknown_keyword", f"there is no `{here.text}`", "write priority 10; the higher comes first"
            )
        return scene.mistake("missing_braces", f"after {scene.shown(before)} braces are missing", f"{_RULE}")
    if before.lower == "priority" or (before.text in ("=", "-") and "INT" in scene.allowed):
        return (
            scene.mistake("bad_priority", "a priority is a whole number", "write priority 10, or priority -1")
            if scene.word(-1 if before.lower == "priority" else -2).lower in ("priority", "=")
            else None
        )
    return None


def parts_of_rule(scene: Scene) -> Answer:
    """`when` and `then`, and the braces after them."""
    before = scene.before
    if scene.allowed == {"WHEN"}:
        return scene.mistake(
            "missing_when",
            f"{scene.shown()} stands where `when` should",
            "a rule has two parts: when { ... } then { ... }",
        )
    if scene.allowed == {"THEN"}:
        return scene.mistake(
            "missing_then", f"{scene.shown()} stands where `then` should", "write then { emit Name(?x); }"
        )
    if scene.allowed == {"LBRACE"} and before.lower in ("when", "then"):
        return scene.mistake(
            "missing_braces",
            f"after `{before.text}` braces are missing",
            f"write {before.lower} {{ ... }}",
        )
    if scene.allowed == {"RBRACE"}:
        return scene.mistake(
            "after_then",
            f"{scene.shown()} stands after `then {{ ... }}`, where the rule ends",
            "write } and begin a new rule",
        )
    return None


def bad_declaration(scene: Scene) -> Answer:
    """`fact T(id string key, state string)`."""
    here, before = scene.here, scene.before
    keyword = scene.word(-2).lower
    if scene.allowed == {"LPAR", "LBRACE"} and keyword in ("fact", "event"):
        return scene.mistake(
            "missing_parentheses",
            "the fields of a type stand in parentheses",
            f"write {keyword} {before.text}(id string key, state string)",
        )
    if not scene.allowed & {"KEY"} and "LSQB" not in scene.allowed:
        return None
    in_fields = bool(scene.opened) and _declares_fields(scene)
    if not in_fields:
        return None
    if "KEY" in scene.allowed and here.kind in ("name", "quoted"):
        return scene.mistake(
            "missing_comma",
            f"before {scene.shown()} a comma is missing",
            "fields are separated by commas; the identity is marked by `key`",
        )
    if here.text == ";":
        return scene.mistake("wrong_separator", "fields are separated by commas, not `;`", "write ,")
    if "LSQB" in scene.allowed:
        name = before.text if before.text != ":" else scene.word(-2).text
        return scene.mistake("missing_type", f"the field `{name}` has no type", f"write {name} string")
    return None


def _declares_fields(scene: Scene) -> bool:
    index = scene.words.index(scene.opened[-1])
    return index > 1 and scene.words[index - 2].lower in ("fact", "event") and len(scene.opened) == 1


def wrong_mark(scene: Scene) -> Answer:
    if scene.here.text not in ("$", "@"):
        return None
    return scene.mistake(
        "unknown_character",
        "a variable begins with a question mark",
        f"write ?{scene.after.text if scene.after.kind == 'name' else 'x'}",
    )


def unclosed_bracket(scene: Scene) -> Answer:
    """The innermost open bracket is closed nowhere, and the surprise is past its place."""
    if not scene.opened:
        return None
    bracket = scene.opened[-1]
    seen = scene.before.lower in ("event", "rule") or scene.here.text in ("{", "}", ";")
    if not (scene.at_end or seen) or not when.never_closed(scene, bracket):
        return None
    close = {"(": ")", "[": "]", "{": "}"}[bracket.text]
    return scene.mistake(
        "unclosed_bracket", f"this `{bracket.text}` is not closed", f"write `{close}` where it ends", bracket
    )


_RULES: tuple[Rule, ...] = (
    form.unclosed_text,
    form.extra_bracket,
    no_statement,
    wrong_mark,
    unclosed_bracket,
    when.time_without_variable,
    no_name,
    head_of_rule,
    parts_of_rule,
    bad_declaration,
    when.change_without_to,
    when.begins_no_condition,
    when.after_variable,
    when.after_type,
    actions.after_type,
    actions.begins_no_action,
    actions.after_verb,
    actions.assignments,
    when.bounds_of_time,
    when.relation_of_time,
    when.bound_and_tested,
    when.between_conditions,
    when.between_tests,
    actions.between_actions,
    actions.between_arguments,
    conditions.other_signs,
    conditions.chained_comparison,
    conditions.other_words,
    conditions.missing_value,
    conditions.bad_arguments,
    conditions.missing_operator,
    conditions.unknown_character,
)
