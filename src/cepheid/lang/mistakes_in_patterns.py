"""Mistakes in patterns: arrows, steps and what belongs to them, clauses and operators."""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.errors import nearest
from cepheid.lang.scene import BEFORE_A_STEP, KEYWORDS, Answer, Scene
from cepheid.lang.words import Word
from cepheid.pattern.duration import UNITS

_ARROWS = {"=>", "==>", "~>", "→", "⇒", "⟶", ">", "-"}
_OPERATORS = [
    "within",
    "partition_by",
    "where",
    "stam",
    "stnm",
    "strict",
    "each",
    "longest",
    "subsets",
    "skip",
    "timeouts",
    "limit",
    "emit",
    "trend_aggregate",
    "forecast",
    "increasing",
    "decreasing",
]
_BEFORE_A_NAME = {"after", "as", "between"}
_FOREIGN = {
    "followed": "steps follow each other with an arrow: `A -> B`",
    "followedby": "steps follow each other with an arrow: `A -> B`",
    "then": "steps follow each other with an arrow: `A -> B`",
    "seq": "write the steps with arrows: `A as a -> B as b`",
    "select": "the columns of the answer come at the end: `A as a -> B as b .emit(user: a.user)`",
    "return": "the columns of the answer come at the end: `A as a -> B as b .emit(user: a.user)`",
    "from": "write `A as a -> B as b`; a query in SQL begins with FROM PATTERN (...) or FROM SEQUENCE (...)",
    "group": "write `partition by user` after the pattern",
    "having": "a condition begins with `where`",
    "if": "a condition begins with `where`",
    "when": "a condition begins with `where`",
    "filter": "a condition begins with `where`",
    "in": "a bound on time is written `within 5m`",
    "for": "a bound on time is written `within 5m`",
}

# Arrows, and what is written in their place.


def wrong_arrow(scene: Scene) -> Answer:
    here = scene.here
    if here.kind != "sign" or not (here.text in _ARROWS or here.text.startswith("--")):
        return None
    if here.text == "-" and scene.before.end == here.start and scene.after.start == here.end:
        return None  # a name with a minus sign
    if here.text == "--":
        return scene.mistake("wrong_comment", "`--` begins no comment", "comments begin with # or //")
    if scene.wants_value and here.text == "=>" and scene.position > here.start:
        return scene.mistake(
            "wrong_comparison", "there is no `=>`", "at least is written >=, the next step ->"
        )
    chained = here.text in (">", "-") and scene.in_condition
    split = scene.position > here.start  # `=>`: its first half was taken for the `=` of a name
    if not chained and (scene.after_step or split):
        return scene.mistake("wrong_arrow", f"the arrow between steps is `->`, not `{here.text}`", "write ->")
    return None


def missing_within(scene: Scene) -> Answer:
    """`A -> B 5m`, and `A -> within 5m`, where `within` was taken for a type."""
    here, before = scene.here, scene.before
    if here.kind != "duration" or not scene.after_step or scene.in_condition:
        return None
    if before.lower == "within":
        return scene.mistake(
            "missing_step", "before `within` a step is missing", f"write -> A within {here.text}", before
        )
    return scene.mistake(
        "missing_within", f"before `{here.text}` the word `within` is missing", f"write within {here.text}"
    )


def comma_for_arrow(scene: Scene) -> Answer:
    if not scene.after_step or scene.here.text not in (",", ";"):
        return None
    if scene.here.text == ";" and scene.after.kind == "end":
        return scene.mistake("extra_semicolon", "a bare pattern ends without `;`", "leave it out")
    return scene.mistake(
        "comma_for_arrow",
        f"between steps stands an arrow, not `{scene.here.text}`",
        "write -> for one after the other, or AND(A, B) for any order",
    )


def logic_between_steps(scene: Scene) -> Answer:
    here = scene.here
    if here.text in ("&", "|"):
        word, twice = ("and", "&&") if here.text == "&" else ("or", "||")
        if scene.in_condition:
            return scene.mistake(
                "single_sign", f"there is no single `{here.text}`", f"write `{word}` or `{twice}`"
            )
    signs = {"&": "AND", "&&": "AND", "and": "AND", "|": "OR", "||": "OR", "or": "OR"}
    if here.lower in signs and scene.after_step and not scene.in_condition:
        word = signs[here.lower]
        left, right = scene.operand(-1), scene.operand(1)
        example = f"{word}({left}, {right})" if left and right else f"{word}(A, B)"
        return scene.mistake(
            "logic_between_steps",
            f"`{here.text}` cannot join steps",
            f"it stands before them: write {example}",
        )
    return None


def missing_arrow(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    starts = here.kind in ("name", "quoted") or here.text == "("
    if not scene.after_step or not starts:
        return None
    if here.text == "(" and before.kind in ("name", "quoted") and before.end == here.start:
        return scene.mistake(
            "misplaced_condition",
            "the condition of a step stands in square brackets",
            f"write {before.text}[{_in_parentheses(scene)}]",
        )
    nameless = before.kind == "name" and before.text[:1].isupper() and scene.word(-2).lower != "as"
    if here.kind == "name" and here.text[0].islower() and nameless and here.lower not in BEFORE_A_STEP:
        return scene.mistake(
            "missing_arrow",
            f"between {scene.shown(before)} and {scene.shown()} something is missing",
            f"to name the step write `{before.text} as {here.text}`, for the next step `-> {here.text}`",
        )
    if (
        scene.in_condition
        and here.kind == "name"
        and here.text[0].islower()
        and here.lower not in BEFORE_A_STEP
    ):
        return scene.mistake(
            "missing_operator",
            f"between {scene.shown(before)} and {scene.shown()} something is missing",
            "write a comparison such as `==`, `and`, `or`; for the next step `->`",
        )
    hint = f"write `-> {here.text}` for the next step"
    if scene.declares(scene.at - 1) and scene.word(-2).text == "=":
        return scene.mistake(
            "missing_step",
            "before this declaration a pattern is missing",
            f"write {scene.word(-3).text} = A -> B",
            before,
        )
    if "STREAM" in scene.allowed and "\n" in scene.text[before.end : here.start]:
        hint += f"; a pattern of its own has a name: `stream Name = {here.text} ...`"
    return scene.mistake("missing_arrow", f"before {scene.shown()} an arrow is missing", hint)


def _in_parentheses(scene: Scene) -> str:
    end = scene.text.find(")", scene.here.end)
    inside = scene.text[scene.here.end : end].strip()
    return inside if end >= 0 and inside and not set(inside) & set("(,\n") else "..."


def missing_step(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if not scene.wants_step and not (before.lower in BEFORE_A_STEP and "QUOTED" in scene.allowed):
        return None
    if here.kind == "string":
        return scene.mistake(
            "quoted_type", "the type of an event stands without quotes", f"write {_as_name(here.text[1:-1])}"
        )
    if here.kind in ("duration", "number"):
        word = _run_of_letters(scene)
        return scene.mistake(
            "bad_name", f"a name cannot begin with a digit: `{word}`", f"write it in back quotes: `{word}`"
        )
    if here.text in ("+", "*", "?", "{"):
        return scene.mistake(
            "quantifier_without_step",
            f"`{here.text}` counts events, but there is no step before it",
            "write the step first: `A+`, `A{2,5}`",
        )
    if here.text == "!":
        return scene.mistake("wrong_not", "absence is written NOT", f"write NOT {scene.after.text}")
    if before.lower in BEFORE_A_STEP:
        example = "every (A -> B)" if before.lower == "every" else f"{before.text} A"
        return scene.mistake(
            "keyword_as_name",
            f"after `{before.text}` a step is missing",
            f"write `{example}`; an event type of that name stands in back quotes: `{before.text}`",
            before,
        )
    if before.kind == "end" or before.text == "=":
        message = "a pattern begins with a step" if not scene.at_end else "the pattern is missing"
        return scene.mistake("missing_step", message, "write for example `A as a -> B as b`")
    what = "AND and OR take steps" if before.text in ("(", ",") else "write the type of an event after it"
    if before.text == "(" and scene.inside_call is None:
        what = "write for example (A -> B)"
    message = f"after {scene.shown(before)} a step is missing"
    return scene.mistake("missing_step", message, what)


def _run_of_letters(scene: Scene) -> str:
    end = scene.here.end
    while end < len(scene.text) and (scene.text[end].isalnum() or scene.text[end] == "_"):
        end += 1
    return scene.text[scene.here.start : end]


def _as_name(text: str) -> str:
    return text if text.isidentifier() else f"`{text}`"


# The parts of a step and the clauses after it.


def missing_after_keyword(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    word = before.lower
    if scene.wants_name and word in _BEFORE_A_NAME and before.kind == "name":
        if here.kind == "string":
            return scene.mistake(
                "missing_alias", "a name stands without quotes", f"write {before.text} {here.text[1:-1]}"
            )
        what = "the name of a step" if word != "as" else "a name"
        example = f"write {'as' if word == 'as' else word} a"
        return scene.mistake("missing_alias", f"after `{before.text}` {what} is missing", example)
    if word == "within" and "DURATION" in scene.allowed:
        return scene.mistake(
            "missing_duration",
            "after `within` a duration is missing",
            'write for example within 5m, within 30s or within "2 hours"',
        )
    if word == "unless" and "QUOTED" in scene.allowed and here.kind != "string":
        return scene.mistake(
            "missing_step", "after `unless` an event is missing", "write for example unless X between a and b"
        )
    if scene.allowed == {"AND"} and scene.word(-2).lower == "between":
        return scene.mistake(
            "missing_and",
            "`between` takes two names of steps",
            f"write between {before.text} and b, or `after {before.text}`",
        )
    if scene.allowed == {"BY"}:
        return scene.mistake(
            "missing_by",
            "after `partition` the word `by` is missing",
            f"write partition by {here.text or 'user'}",
        )
    if before.text == "=" and scene.wants_name:
        return scene.mistake("missing_step", "after `=` a step is missing", "write a=A[x > 1], or `A as a`")
    if scene.allowed == {"LPAR"} and word in ("and", "or"):
        return scene.mistake(
            "missing_parentheses",
            f"{word.upper()} takes its operands in parentheses",
            f"write {word.upper()}(A, B); an event type of that name stands in back quotes: `{before.text}`",
            before,
        )
    return None


def bad_unit(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    second = scene.word(-2)
    timed = second.lower == "within" or (
        second.text == "(" and scene.inside_call is not None and scene.inside_call.lower == "within"
    )
    if not timed:
        return None
    if before.kind == "number" and here.kind == "name":
        if here.lower in UNITS:
            hint: str | None = f"write {before.text}{UNITS[here.lower]}, in one word"
            return scene.mistake("bad_duration", f"between `{before.text}` and its unit stands a blank", hint)
        if close := nearest(here.text, list(UNITS)):
            return scene.mistake("bad_duration", f"`{here.text}` is not a unit of time", close)
    if before.kind == here.kind == "duration":
        return scene.mistake(
            "bad_duration",
            "a duration of several parts stands in quotes",
            f'write "{before.text} {here.text}"',
        )
    return None


def operator_parentheses(scene: Scene) -> Answer:
    here, name = scene.here, scene.after
    if here.text != "." or not scene.allowed & {"OP", "ARROW"}:
        return None
    if name.kind != "name":
        return scene.mistake(
            "missing_operator", "after the dot an operator is missing", "write for example .within(5m)"
        )
    if scene.word(2).text == "(":
        return None
    operator = Word("name", scene.text[here.start : name.end], here.start)
    example = {
        "within": ".within(5m)",
        "partition_by": ".partition_by(user)",
        "where": ".where(a.x > b.x)",
        "skip": ".skip(past_last)",
        "emit": ".emit(user: a.user)",
    }
    close = get_close_matches(name.lower, _OPERATORS, n=1, cutoff=0.7)
    if close:
        wanted = close[0]
        return scene.mistake(
            "operator_parentheses",
            f"the operator `.{name.text}` has no parentheses",
            f"write {example.get(wanted, f'.{wanted}()')}",
            operator,
        )
    whole = f"{scene.before.text}.{name.text}"
    return scene.mistake(
        "operator_parentheses",
        f"`.{name.text}` is no operator: it has no parentheses",
        f"an event type with a dot in its name is written in back quotes: `{whole}`",
        operator,
    )


def keyword_typo(scene: Scene) -> Answer:
    here, after = scene.here, scene.after
    if here.kind != "name" or scene.wants_name:
        return None
    known = [w.lower() for w in KEYWORDS if w in scene.allowed]
    close = _close_to(here.lower, known)
    if here.lower.startswith("partition") and "PARTITION" in scene.allowed:
        return scene.mistake(
            "unknown_keyword",
            f"`{here.text}` is not a word of the language",
            "write `partition by user` or `.partition_by(user)`",
        )
    if close:
        return scene.mistake(
            "unknown_keyword",
            f"`{here.text}` is not a word of the language",
            f"did you mean {KEYWORDS[close.upper()]}?",
        )
    foreign = _FOREIGN.get(here.lower)
    if foreign and scene.after_step and after.kind != "end":
        return scene.mistake("unknown_keyword", f"`{here.text}` is not a word of the language", foreign)
    return None


def _close_to(word: str, known: list[str]) -> str | None:
    """The keyword a word was meant to be: nearly the same letters, or two of them swapped."""
    swapped = [k for k in known if len(k) > 2 and sorted(k) == sorted(word)]
    close = swapped or get_close_matches(word, known, n=1, cutoff=0.75)
    return close[0] if close and len(word) > 2 else None


def other_language(scene: Scene) -> Answer:
    """`SELECT ...`, `SEQ(...)`: another language."""
    first = scene.words[0]
    if scene.at in (1, 2) and first.lower in ("select", "seq", "from"):
        hint = _FOREIGN.get(first.lower, "a query begins with its pattern: `A as a -> B as b`")
        return scene.mistake("other_language", f"`{first.text}` is not a word of the language", hint, first)
    return None


def bad_count(scene: Scene) -> Answer:
    """Inside the braces of a quantifier."""
    if not scene.opened or scene.opened[-1].text != "{" or not scene.allowed & {"INT", "COMMA", "RBRACE"}:
        return None
    if scene.declares(scene.words.index(scene.opened[-1]) - 2):
        return None
    return scene.mistake(
        "bad_count", "in the braces stand one or two whole numbers", "write {3}, {2,5}, {2,} or {,5}"
    )


def misplaced(scene: Scene) -> Answer:
    """What is right in another place."""
    here, before = scene.here, scene.before
    if here.text in ("+", "*", "?", "{") and scene.after_step:
        named = scene.word(-2).lower == "as"
        step = scene.word(-3).text if named else "A"
        alias = f" as {before.text}" if named else ""
        count = here.text if here.text != "{" else "{...}"
        if before.text in ("+", "*", "?", "}"):
            return scene.mistake(
                "two_quantifiers", "a step has one quantifier", "keep one, for example `A{2,5}`"
            )
        return scene.mistake(
            "misplaced_quantifier",
            f"`{here.text}` belongs directly after the type of the event",
            f"write {step}{count}{alias}" if step != "]" else f"write A[...]{count}{alias}",
        )
    if here.text == "!" and scene.after_step and scene.after.kind == "name":
        return scene.mistake("wrong_not", "absence is written -> NOT", f"write -> NOT {scene.after.text}")
    if here.text == "[" and scene.after_step:
        return scene.mistake(
            "misplaced_condition",
            "a condition in brackets belongs directly after the type of the event",
            "write A[x > 1] as a, or `A as a where x > 1`",
        )
    if here.lower in ("as", "where", "until") and here.kind == "name" and not scene.opened:
        if here.lower == "where" and not scene.after_step:
            return scene.mistake(
                "misplaced_clause",
                "here a `where` comes too late",
                "write .where(...), or put it after its step",
            )
        if scene.allowed & {"PARTITION", "ARROW"}:
            return scene.mistake(
                "misplaced_clause",
                f"`{here.text}` belongs to a step and stands before `within`, `partition by` and `unless`",
                "put it directly after its step",
            )
    if here.text == "->" and "PARTITION" in scene.allowed and not scene.after_step:
        return scene.mistake(
            "misplaced_clause",
            "the pattern goes on after a clause that belongs to the whole",
            "put `within`, `partition by` and `unless` after the last step",
        )
    if here.text == "-" and scene.after_step and before.kind == "name" and scene.after.kind == "name":
        whole = f"{before.text}-{scene.after.text}"
        return scene.mistake(
            "bad_name",
            "a name has no minus sign",
            f"write `->` for the next step, or the name in back quotes: `{whole}`",
        )
    return None
