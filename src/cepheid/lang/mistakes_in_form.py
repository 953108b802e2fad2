"""Mistakes in the outer form: texts and brackets that do not end, declarations."""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.errors import SyntaxMistake
from cepheid.lang.scene import DECLARATIONS, Answer, Scene
from cepheid.lang.words import CLOSING, OPENING, Word, open_brackets

# Texts and brackets that do not end.


def empty_text(scene: Scene) -> Answer:
    if scene.words:
        return None
    return SyntaxMistake(
        "the query is empty", code="empty_query", hint="write a pattern, for example `A as a -> B as b`"
    )


def unclosed_text(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if here.kind == "open_comment":
        return scene.mistake("unclosed_comment", "this comment does not end", "close it with */")
    if here.kind == "open_quote":
        return scene.mistake(
            "unclosed_string", "this name in back quotes does not end", "close it with a back quote"
        )
    if here.kind == "open_string":
        return _open_string(scene, here)
    glued = before.kind == "string" and before.end == here.start
    if glued and (here.kind in ("name", "number", "duration") or here.kind == "string"):
        mark = before.text[0]
        return scene.mistake(
            "unclosed_string",
            f"after this string {scene.shown()} follows directly: its end is misplaced",
            f"close the string where it ends; inside it a quote is written \\{mark}",
            before,
        )
    return None


def _open_string(scene: Scene, string: Word) -> SyntaxMistake:
    mark = string.text[0]
    return scene.mistake(
        "unclosed_string",
        "this string does not end",
        f"close it with {mark}",
        Word("sign", mark, string.start),
    )


_TERMINALS = {")": "RPAR", "]": "RSQB", "}": "RBRACE"}


def unclosed_bracket(scene: Scene) -> Answer:
    """A bracket that is never closed, seen at the end or at a word that belongs outside it."""
    never = open_brackets(scene.words)
    opened = [w for w in scene.opened if w in never]
    if not opened or opened[-1] is not scene.opened[-1]:
        return None
    bracket = opened[-1]
    close = CLOSING[bracket.text]
    if _TERMINALS[close] not in scene.allowed or not (scene.at_end or _belongs_outside(scene)):
        return None
    return _not_closed(scene, bracket)


def _not_closed(scene: Scene, bracket: Word) -> SyntaxMistake:
    close = CLOSING[bracket.text]
    where = f"after {scene.shown(scene.before)}" if scene.before is not bracket else "after it"
    return scene.mistake(
        "unclosed_bracket", f"this `{bracket.text}` is not closed", f"write `{close}` {where}", bracket
    )


def _belongs_outside(scene: Scene) -> bool:
    here = scene.here
    if here.lower in ("->", "within", "partition", "unless") or scene.declares(scene.at):
        return True
    if here.lower in ("as", "where", "until"):
        return not scene.in_operator
    return here.text == "." and scene.after.kind == "name" and scene.word(2).text == "("


def extra_bracket(scene: Scene) -> Answer:
    here = scene.here
    if here.text not in OPENING or here.kind != "sign":
        return None
    opened = scene.opened
    if not opened:
        return scene.mistake(
            "extra_bracket",
            f"this `{here.text}` closes nothing",
            f"leave it out, or open it before with `{OPENING[here.text]}`",
        )
    last = opened[-1]
    if last.text == OPENING[here.text]:
        return None
    if any(w.text == OPENING[here.text] for w in opened):
        return _not_closed(scene, last)
    return scene.mistake(
        "wrong_bracket",
        f"this `{here.text}` cannot close `{last.text}`",
        f"write `{CLOSING[last.text]}`",
    )


# Declarations.


def bad_declaration(scene: Scene) -> Answer:
    before, here = scene.before, scene.here
    if before.lower in DECLARATIONS and scene.wants_name:
        sign = "{ ... }" if before.lower == "event" else "= ..."
        return scene.mistake(
            "missing_name", f"the {before.lower} has no name", f"write {before.lower} Name {sign}", before
        )
    keyword = scene.word(-2)
    if keyword.lower == "event" and before.text == "{" and here.kind == "name":
        return scene.mistake("missing_name", "the event has no name", "write event Name { ... }", keyword)
    if scene.allowed == {"EQUALS"} and keyword.lower in DECLARATIONS:
        written = f"{keyword.lower} {before.text} = "
        if here.text == "->":
            return scene.mistake(
                "missing_name",
                f"the {keyword.lower} has no name",
                f"write {keyword.lower} Name = {before.text} -> ...",
                keyword,
            )
        if here.text in ("==", ":=", ":"):
            return scene.mistake(
                "wrong_equals", f"a declaration takes `=`, not `{here.text}`", f"write {written}..."
            )
        return scene.mistake(
            "missing_equals", f"after {scene.shown(before)} a `=` is missing", f"write {written}..."
        )
    if scene.allowed == {"LBRACE"} and keyword.lower == "event":
        return scene.mistake(
            "missing_braces",
            "the fields of an event stand in braces",
            f"write event {before.text} {{ user: string, amount: float }}",
        )
    return None


def declaration_typo(scene: Scene) -> Answer:
    """`stram X = ...`: two names and a `=` or a brace."""
    starts = [scene.at] if scene.allowed & {"STREAM", "ARROW"} else []
    if scene.at == 1:
        starts.append(0)
    for start in starts:
        words = [scene.word(start + i - scene.at) for i in range(3)]
        if [w.kind for w in words[:2]] != ["name", "name"] or words[2].text not in ("=", "{"):
            continue
        close = get_close_matches(words[0].lower, DECLARATIONS, n=1, cutoff=0.6)
        if close or words[0].text.islower():
            hint = f"did you mean `{close[0]}`?" if close else None
            return scene.mistake(
                "unknown_keyword",
                f"`{words[0].text}` begins no declaration",
                hint or "a declaration begins with event, pattern or stream",
                words[0],
            )
    if scene.allowed and scene.allowed <= {"EVENT", "PATTERN", "STREAM", "SEMICOLON", "$END"}:
        return scene.mistake(
            "not_a_declaration",
            f"{scene.shown()} begins no declaration",
            "in a program every pattern has a name: write `stream Name = A -> B`",
        )
    return None


def bad_event_body(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if scene.allowed == {"COLON"}:
        return scene.mistake(
            "missing_colon",
            f"after the field {scene.shown(before)} a colon is missing",
            f"write {before.text}: {here.text if here.kind == 'name' else 'string'}",
        )
    in_body = bool(scene.opened) and scene.opened[-1].text == "{" and not scene.allowed & {"INT"}
    if not in_body:
        return None
    if "COMMA" in scene.allowed:
        if here.kind in ("name", "quoted"):
            return scene.mistake(
                "missing_comma",
                f"before the field {scene.shown()} a comma is missing",
                "fields are separated by commas",
            )
        if here.text == ";":
            return scene.mistake("wrong_separator", "fields are separated by commas, not `;`", "write ,")
    if before.text == ":":
        name = scene.word(-2).text
        return scene.mistake("missing_type", f"the field `{name}` has no type", f"write {name}: string")
    return None
