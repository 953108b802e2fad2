"""What is wrong with a text of graph patterns that cannot be read: rules of its own, then the language's."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from lark.exceptions import UnexpectedInput

from cepheid.errors import Place, SyntaxMistake
from cepheid.lang import mistakes_in_conditions as conditions
from cepheid.lang import mistakes_in_form as form
from cepheid.lang.mistakes import Rule, explain_by
from cepheid.lang.scene import COMPARISONS, Answer, Scene
from cepheid.pattern.graph_pattern import Allen

_DECLARATION = "write graph pattern name { ... }"
_ITEMS = ("stage", "concurrent", "unless", "let", "where", "deadline", "within", "meta")
_RELATIONS = tuple(kind.value for kind in Allen)
# The keywords by the terminals of the grammar, as a message shows them.
_KEYWORDS = {
    "GRAPH": "`graph pattern`",
    "PRIVATE": "`private`",
    "PATTERN": "`pattern`",
    "STAGE": "`stage`",
    "CONCURRENT": "`concurrent`",
    "UNLESS": "`unless`",
    "LET": "`let`",
    "WHERE": "`where`",
    "DEADLINE": "`deadline`",
    "WITHIN": "`within`",
    "META": "`meta`",
    "OF": "`of`",
    "BETWEEN": "`between`",
    "AFTER": "`after`",
    "GLOBAL": "`global`",
    "AND": "`and`",
    "OR": "`or`",
    "IN": "`in`",
    "LIKE": "`like`",
    "BY": "`by`",
    "THEN": "`then`",
    "XOR": "`xor`",
    "VBAR": "`|`",
    "SHARING": "`sharing`",
    "ALL": "`all`",
    "AS": "`as`",
    "TICKS": "`ticks`",
    "ALLEN": "a relation such as `before`",
    "VARIABLE": "a variable such as ?x",
    "DOT": "a clause such as `.kind`",
    "DOTS": "`..`",
}


def explain_graph_mistake(
    problem: UnexpectedInput, text: str, place: Place, allowed: Iterable[str]
) -> SyntaxMistake:
    """The mistake behind a surprise; the first rule that knows it answers."""
    return explain_by(_RULES, _KEYWORDS, problem, text, place, allowed)


def no_declaration(scene: Scene) -> Answer:
    if not scene.allowed or not scene.allowed <= {"GRAPH", "PRIVATE", "SEMICOLON", "PATTERN", "$END"}:
        return None
    here = scene.here
    if scene.before.lower == "graph" or (scene.before.lower == "private" and here.lower == "pattern"):
        return scene.mistake("not_a_declaration", "the two words are `graph pattern`", _DECLARATION)
    if here.lower in ("stage", "unless", "concurrent", "let", "where"):
        return scene.mistake(
            "not_a_declaration",
            f"`{here.text}` stands inside of a graph pattern",
            _DECLARATION,
        )
    if here.lower in ("pattern", "event", "stream"):
        return scene.mistake(
            "not_a_declaration",
            f"`{here.text}` is of the language of events, and these are graph patterns",
            _DECLARATION,
        )
    return scene.mistake("not_a_declaration", f"{scene.shown()} begins no graph pattern", _DECLARATION)


def no_name(scene: Scene) -> Answer:
    before = scene.before
    if not scene.wants_name:
        return None
    if before.lower in ("pattern", "stage"):
        what = "graph pattern" if before.lower == "pattern" else "stage"
        return scene.mistake(
            "missing_name", f"the {what} has no name", f"write {what} name {{ ... }}", before
        )
    if before.lower in ("between", "after") or (before.lower == "and" and scene.word(-3).lower == "between"):
        return scene.mistake(
            "missing_name",
            f"after {scene.shown(before)} the name of a stage is missing",
            "write unless between enter and harm { ... }, or unless after enter { ... }",
        )
    if before.text == ".":
        return scene.mistake("missing_name", "after the dot a label is missing", 'write .kind = "login"')
    if before.lower in _RELATIONS:
        return scene.mistake(
            "missing_name",
            f"after {scene.shown(before)} the name of a stage is missing",
            f"write a {before.lower} b",
        )
    return None


def no_braces(scene: Scene) -> Answer:
    """`stage a .kind = ...`."""
    if scene.allowed - {"OF", "EQUALS", "BETWEEN", "AFTER", "GLOBAL"} != {"LBRACE"}:
        return None
    return scene.mistake(
        "missing_braces",
        f"after {scene.shown(scene.before)} braces are missing",
        'write { .kind = "login", .actor -> ?who }',
    )


def _in_clauses(scene: Scene) -> bool:
    """Directly inside the braces of a stage or an `unless`."""
    opened = [w for w in scene.opened if w.text == "{"]
    if not opened or scene.opened[-1].text != "{":
        return False
    before = scene.words[: scene.words.index(opened[-1])]
    for word in reversed(before):
        if word.lower in ("stage", "unless"):
            return True
        if word.lower in ("pattern", "concurrent") or word.text in "{}=":
            return False
    return False


def label_without_dot(scene: Scene) -> Answer:
    here = scene.here
    if not _in_clauses(scene) or "DOT" not in scene.allowed or here.kind not in ("name", "quoted"):
        return None
    if scene.in_condition or scene.before.text not in ("{", ",", "not"):
        return None
    return scene.mistake("missing_dot", "a label begins with a dot", f"write .{here.text}")


def clause_separator(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if not _in_clauses(scene) or "COMMA" not in scene.allowed:
        return None
    if here.text == ";":
        return scene.mistake("wrong_separator", "clauses are separated by commas, not `;`", "write ,")
    begins = here.text in (".", "?") or here.lower == "not"
    if begins and before.text not in (",", "{"):
        return scene.mistake(
            "missing_comma", "before this a comma is missing", "clauses are separated by commas"
        )
    if here.lower in ("and", "&&"):
        return scene.mistake(
            "missing_comma", "clauses are separated by commas", f"write , instead of {here.text}"
        )
    if here.lower == "or":
        return scene.mistake(
            "or_of_clauses",
            "clauses hold together, and cannot be joined by `or`",
            "several values of one label: .kind in (1, 2), or .amount[value < 1 or value > 9]",
        )
    if here.text in (":", ":="):
        return scene.mistake("wrong_equals", f"`{here.text}` compares nothing", f"write .{before.text} = ...")
    if here.lower == "is":
        return scene.mistake(
            "wrong_is",
            "the target of an edge is never null",
            f"write .{before.text}, there is one, or not .{before.text}",
        )
    return None


def no_value(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if not _in_clauses(scene) or not scene.wants_value or (here.kind == "other" and here.text not in "$@"):
        return None
    if here.kind == "other":
        return scene.mistake("unknown_character", "a variable begins with a question mark", "write ?x")
    return scene.mistake(
        "missing_value",
        f"after {scene.shown(before)} a value is missing",
        "write a text in quotes, a number or a variable such as ?x",
    )


def two_comparisons(scene: Scene) -> Answer:
    """`.amount = 1 < 2`."""
    if not _in_clauses(scene) or scene.here.text not in COMPARISONS or "COMMA" not in scene.allowed:
        return None
    return scene.mistake(
        "chained_comparison",
        "a clause compares once",
        "write .amount between 1 and 5, or .amount[value > 1 and value < 5]",
    )


def variable_without_mark(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if scene.allowed - {"ALL"} != {"VARIABLE"}:
        return None
    if here.kind == "name":
        return scene.mistake("missing_mark", "a variable begins with a question mark", f"write ?{here.text}")
    if here.kind in ("string", "number"):
        return scene.mistake(
            "missing_variable", "an arrow leads to a variable", f"a value is compared: write = {here.text}"
        )
    return scene.mistake("missing_variable", f"after {scene.shown(before)} a variable is missing", "write ?x")


def property_in_expression(scene: Scene) -> Answer:
    """`where ?guest.mood = ...`."""
    here, before = scene.here, scene.before
    if here.text != "." or scene.word(-2).text != "?" or not scene.in_condition:
        return None
    name, label = before.text, scene.after.text or "label"
    return scene.mistake(
        "property_in_expression",
        "an expression knows values, not what is said of a node",
        f"bind it in a clause of a stage: ?{name}.{label} -> ?{label}, and write ?{label} here",
    )


def item_typo(scene: Scene) -> Answer:
    """`unles after a {`: read as a relation, and the surprise comes at the brace."""
    first = scene.word(-3)
    if scene.here.text != "{" or "BY" not in scene.allowed or first.kind != "name":
        return None
    close = get_close_matches(first.lower, _ITEMS, n=1, cutoff=0.7)
    if not close:
        return None
    return scene.mistake(
        "unknown_keyword", f"`{first.text}` begins nothing", f"did you mean `{close[0]}`?", first
    )


def unknown_relation(scene: Scene) -> Answer:
    here = scene.here
    if scene.allowed != {"ALLEN"}:
        return None
    first = scene.before
    item = get_close_matches(first.lower, _ITEMS, n=1, cutoff=0.7)
    if item and (here.kind == "name" or here.text in ("{", "?")):
        return scene.mistake(
            "unknown_keyword", f"`{first.text}` begins nothing", f"did you mean `{item[0]}`?", first
        )
    close = get_close_matches(here.lower, _RELATIONS, n=1, cutoff=0.6)
    hint = f"did you mean `{close[0]}`?" if close else "the relations are " + ", ".join(_RELATIONS)
    return scene.mistake("unknown_relation", f"{scene.shown()} is no relation of two stages", hint)


def bad_option(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if before.lower == "deadline" or scene.allowed == {"TICKS"}:
        number = (
            "".join(c for c in (here if before.lower == "deadline" else before).text if c.isdigit()) or "5"
        )
        return scene.mistake(
            "bad_deadline",
            "a deadline counts ticks",
            f"write deadline {number} ticks; a bound in time is written within {number}m",
        )
    if (before.lower == "within" or before.lower == "by") and "DURATION" in scene.allowed:
        example = "within 30m" if before.lower == "within" else "by 5m..10m"
        return scene.mistake(
            "missing_duration", f"after `{before.text}` a duration is missing", f"write {example}"
        )
    return None


def bad_composition(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if "SHARING" in scene.allowed or {"THEN", "AS"} & scene.allowed:
        if here.text == "->":
            return scene.mistake("wrong_arrow", "patterns follow each other by `then`", "write then")
        if here.lower in ("xor", "|", "or"):
            return scene.mistake(
                "mixed_choice",
                f"{scene.shown()} cannot stand here",
                "put one choice into parentheses; `or` is written |",
            )
        if here.text == "," or here.kind == "name":
            return scene.mistake(
                "missing_then", f"before {scene.shown()} something is missing", "write then, | or xor"
            )
    if {"LPAR", "LBRACE", "NAME"} <= scene.allowed and "NUMBER" not in scene.allowed:
        return scene.mistake(
            "missing_part",
            f"after {scene.shown(before)} a graph pattern is missing",
            "write its name, or { stage ... }",
        )
    if before.text == "*" and scene.allowed == {"INT"}:
        return scene.mistake(
            "bad_count", "after `*` the number of rounds is missing", "write * 3, * 2..4 or * 2.."
        )
    return None


_RULES: tuple[Rule, ...] = (
    form.empty_text,
    form.unclosed_text,
    form.extra_bracket,
    no_declaration,
    no_name,
    variable_without_mark,
    property_in_expression,
    no_braces,
    label_without_dot,
    clause_separator,
    two_comparisons,
    form.unclosed_bracket,
    item_typo,
    unknown_relation,
    bad_option,
    bad_composition,
    no_value,
    conditions.other_signs,
    conditions.chained_comparison,
    conditions.other_words,
    conditions.missing_value,
    conditions.bad_arguments,
    conditions.missing_operator,
    conditions.unknown_character,
)
