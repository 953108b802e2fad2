"""Mistakes in the clauses of a FROM PATTERN query, from WITHIN to INSERT INTO."""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.errors import SyntaxMistake
from cepheid.lang.scene import Answer, Scene
from cepheid.lang.words import Word

MODES = ("pattern", "sequence")
_CLAUSES = ("within", "partition", "where", "select", "insert", "from")
_ORDER = "FROM PATTERN (...) WITHIN ... PARTITION BY ... WHERE ... SELECT ... INSERT INTO ..."
# The keywords by the terminals of the grammar, as a message shows them.
KEYWORDS = {
    "FROM": "`FROM`",
    "PATTERN": "`PATTERN`",
    "SEQUENCE": "`SEQUENCE`",
    "WITHIN": "`WITHIN`",
    "FOR": "`FOR`",
    "INTERVAL": "`INTERVAL`",
    "PARTITION": "`PARTITION BY`",
    "BY": "`BY`",
    "WHERE": "`WHERE`",
    "SELECT": "`SELECT`",
    "AS": "`AS`",
    "INSERT": "`INSERT INTO`",
    "INTO": "`INTO`",
    "AND": "`and`",
    "OR": "`or`",
    "IN": "`in`",
    "IS": "`is null`",
    "LIKE": "`like`",
    "WHEN": "`when`",
    "THEN": "`then`",
    "ELSE": "`else`",
    "END": "`end`",
}
_FOREIGN = {
    "group": "write PARTITION BY user, before SELECT",
    "having": "a condition on the whole match is WHERE, before SELECT",
    "define": "conditions stand at their steps: `e1=A[x > 1]`, or in WHERE",
    "measures": "the columns are those of SELECT",
    "emit": "the columns are those of SELECT",
    "unless": "write `-> not X ->` between the steps",
    "until": "write what ends it as the next step",
}


def empty_clause(scene: Scene) -> Answer:
    """`SELECT INSERT INTO X`: the word after was taken for a name, and the surprise comes one word later."""
    for offset in (-1, 0):
        before, here = scene.word(offset - 1), scene.word(offset)
        ends = here.kind == "end" or here.text == ";" or (here.kind == "name" and _begins(scene, offset))
        if not ends:
            continue
        if before.lower == "select" or (before.text == "," and _inside(scene, "select")):
            return _missing(scene, "missing_column", before, "a column", "SELECT e1.user, count(e1) AS n")
        if before.lower == "by" or (before.text == "," and _inside(scene, "partition")):
            return _missing(scene, "missing_value", before, "a field", "PARTITION BY user")
        if before.lower == "where":
            return _missing(scene, "missing_condition", before, "a condition", "WHERE e2.amount > 100")
    return None


def _begins(scene: Scene, offset: int) -> bool:
    """Is this word the beginning of a clause, as far as the word after it tells?"""
    follows = {"insert": ("into",), "partition": ("by",), "from": MODES}
    here, after = scene.word(offset), scene.word(offset + 1)
    return (here.lower in follows and after.lower in follows[here.lower]) or (
        here.lower == "select" and (offset < 0 or after.kind in ("name", "quoted"))
    )


def _inside(scene: Scene, clause: str) -> bool:
    """Is this the clause the surprise is in?"""
    if scene.opened:
        return False
    words = [w.lower for w in scene.words[: scene.at] if w.kind == "name" and w.lower in _CLAUSES]
    if words and words[-1] in ("insert", "from"):  # the one that was taken for a name
        words.pop()
    return bool(words) and words[-1] == clause


def _missing(scene: Scene, code: str, word: Word, what: str, example: str) -> SyntaxMistake:
    return scene.mistake(
        code, f"after {scene.shown(word)} {what} is missing", f"write for example {example}", word
    )


def after_keyword(scene: Scene) -> Answer:
    here, before = scene.here, scene.before
    if scene.allowed == {"INTO"}:
        name = here.text if here.kind == "name" else "Alerts"
        return scene.mistake(
            "missing_into", "after INSERT the word INTO is missing", f"write INSERT INTO {name}"
        )
    if before.lower == "into" and scene.wants_name:
        return scene.mistake(
            "missing_name", "the name of the output stream is missing", "write INSERT INTO Alerts"
        )
    if before.lower == "as" and scene.wants_name:
        return scene.mistake("missing_name", "after AS a name is missing", "write count(e1) AS attempts")
    if before.lower in ("within", "for", "interval") and "DURATION" in scene.allowed:
        return scene.mistake(
            "missing_duration",
            f"after {scene.shown(before)} a duration is missing",
            "write for example 10 minutes, 5s or INTERVAL '5' SECOND",
        )
    if before.text == "=" and scene.wants_name and not scene.in_condition:
        return scene.mistake("missing_step", "after `=` the type of an event is missing", "write e1=A[x > 1]")
    return None


def misplaced_clause(scene: Scene) -> Answer:
    here = scene.here
    if here.kind != "name" or here.lower not in _CLAUSES[:-1] or here.lower.upper() in scene.allowed:
        return None
    if scene.opened and here.lower == "where":
        return scene.mistake(
            "misplaced_condition", "the condition of a step stands in square brackets", "write e1=A[x > 1]"
        )
    if scene.opened or scene.wants_value or scene.wants_step:
        return None
    return scene.mistake("misplaced_clause", f"`{here.text}` comes too late here", f"the order is {_ORDER}")


def column_without_as(scene: Scene) -> Answer:
    here = scene.here
    if not scene.in_condition or "AS" not in scene.allowed or here.kind not in ("name", "quoted"):
        return None
    if _near_keyword(scene) is not None or here.lower in _FOREIGN:
        return None
    if scene.after.text in (".", "(", "["):
        return scene.mistake("missing_comma", f"before {scene.shown()} a comma is missing", "write a comma")
    return scene.mistake(
        "missing_as", f"before the name {scene.shown()} the word AS is missing", f"write AS {here.text}"
    )


def star_in_call(scene: Scene) -> Answer:
    if scene.here.text != "*" or scene.before.text != "(" or scene.inside_call is None:
        return None
    call = scene.inside_call.text
    return scene.mistake("missing_value", f"`{call}(*)` does not say of what", f"write {call}(e1)")


def keyword_typo(scene: Scene) -> Answer:
    here = scene.here
    if here.kind != "name" or scene.wants_name or scene.wants_value:
        return None
    close = _near_keyword(scene)
    if close is not None:
        shown = KEYWORDS[close.upper()]
        return scene.mistake(
            "unknown_keyword", f"`{here.text}` is not a word of the query", f"did you mean {shown}?"
        )
    if here.lower in _FOREIGN and scene.after.kind != "end":
        return scene.mistake(
            "unknown_keyword", f"`{here.text}` is not a word of the query", _FOREIGN[here.lower]
        )
    return None


def _near_keyword(scene: Scene) -> str | None:
    known = [w.lower() for w in KEYWORDS if w in scene.allowed and len(w) > 2]
    close = get_close_matches(scene.here.lower, known, n=1, cutoff=0.75)
    return close[0] if close else None


def nothing_more(scene: Scene) -> Answer:
    if scene.allowed != {"SEMICOLON", "$END"}:
        return None
    return scene.mistake(
        "syntax", f"after INSERT INTO the query ends, but here stands {scene.shown()}", "write `;`"
    )
