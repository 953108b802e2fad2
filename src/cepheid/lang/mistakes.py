"""Turns a parser's surprise into what a newcomer needs: what is wrong, where, what to write.

Each rule looks at the words around the surprise and at what could have stood there. The first that knows the
situation answers; the last one says in plain words what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from lark.exceptions import UnexpectedInput, UnexpectedToken

from cepheid.errors import Place, SyntaxMistake, nearest
from cepheid.lang.words import CLOSING, OPENING, Word, open_brackets, split_words
from cepheid.pattern.duration import UNITS

_END = "$END"
_DECLARATIONS = ("event", "pattern", "stream")
_ARROWS = {"=>", "==>", "~>", "→", "⇒", "⟶", ">"}
_COMPARISONS = {"==", "=", "!=", "<>", "<", "<=", ">", ">="}
_OPERATORS = (
    "within partition_by where stam stnm strict each longest subsets skip timeouts limit emit "
    "trend_aggregate forecast increasing decreasing"
).split()
# Words that announce a step: no event type can be called so without back quotes.
_BEFORE_A_STEP = {"all", "any", "every", "first", "greedy", "next", "not"}
_BEFORE_A_NAME = {"after", "as", "between"}
_FOREIGN = {
    "followed": "steps follow each other with an arrow: `A -> B`",
    "followedby": "steps follow each other with an arrow: `A -> B`",
    "then": "steps follow each other with an arrow: `A -> B`",
    "seq": "write the steps with arrows: `A as a -> B as b`",
    "select": "the columns of the answer come at the end: `A as a -> B as b .emit(user: a.user)`",
    "return": "the columns of the answer come at the end: `A as a -> B as b .emit(user: a.user)`",
    "group": "write `partition by user` after the pattern",
    "having": "a condition begins with `where`",
    "if": "a condition begins with `where`",
    "when": "a condition begins with `where`",
    "filter": "a condition begins with `where`",
    "in": "a bound on time is written `within 5m`",
    "for": "a bound on time is written `within 5m`",
}
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


def explain_mistake(
    problem: UnexpectedInput, text: str, place: Place, allowed: Iterable[str] = ()
) -> SyntaxMistake:
    """The mistake behind a surprise. `allowed`: the terminals that could stand there, before any look ahead."""
    words = split_words(text)
    at = _position(problem, words)
    scene = _Scene(words, at, problem.pos_in_stream or 0, frozenset(allowed), text, place.source)
    for rule in _RULES:
        mistake = rule(scene)
        if mistake is not None:
            return mistake
    return _anything_else(scene)


def _position(problem: UnexpectedInput, words: list[Word]) -> int:
    """The word the surprise is in; one past the last for the end of the text."""
    if isinstance(problem, UnexpectedToken) and problem.token.type == _END:
        return len(words)
    start = problem.pos_in_stream or 0
    return next((i for i, w in enumerate(words) if start < w.end), len(words))


@dataclass(frozen=True)
class _Scene:
    """Where the parser was surprised."""

    words: list[Word]
    at: int
    position: int
    allowed: frozenset[str]
    text: str
    source: str

    def word(self, offset: int = 0) -> Word:
        """A word by its distance from the surprise; an empty one outside the text."""
        index = self.at + offset
        if 0 <= index < len(self.words):
            return self.words[index]
        end = self.words[-1].end if self.words else 0
        return Word("end", "", end if index > 0 else 0)

    @property
    def here(self) -> Word:
        return self.word()

    @property
    def before(self) -> Word:
        return self.word(-1)

    @property
    def after(self) -> Word:
        return self.word(1)

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.words)

    @property
    def opened(self) -> list[Word]:
        return open_brackets(self.words[: self.at])

    @property
    def wants_step(self) -> bool:
        return "EVERY" in self.allowed

    @property
    def wants_value(self) -> bool:
        return {"NUMBER", "CASE"} <= self.allowed

    @property
    def wants_name(self) -> bool:
        return self.allowed == {"NAME", "QUOTED"}

    @property
    def in_condition(self) -> bool:
        """After a value or a whole condition."""
        return "__ANON_2" in self.allowed

    @property
    def after_step(self) -> bool:
        return "ARROW" in self.allowed

    @property
    def inside_call(self) -> Word | None:
        """The name before the innermost open parenthesis, `within` in `.within(`."""
        if not self.opened or self.opened[-1].text != "(":
            return None
        index = self.words.index(self.opened[-1])
        return self.words[index - 1] if index and self.words[index - 1].kind == "name" else None

    @property
    def in_operator(self) -> bool:
        """Directly inside the parentheses of `.emit(`, `.where(` and the like."""
        call = self.inside_call
        if call is None:
            return False
        index = self.words.index(call)
        return index > 0 and self.words[index - 1].text == "."

    def shown(self, word: Word | None = None) -> str:
        """A word as it is quoted in a message."""
        word = self.here if word is None else word
        if word.kind == "quoted":
            return word.text
        return f"`{word.text}`" if word.kind != "end" else "the end"

    def mistake(self, code: str, message: str, hint: str | None = None, at: Word | None = None) -> SyntaxMistake:
        word = self.here if at is None else at
        text = word.text.split("\n")[0]
        line = self.text.count("\n", 0, word.start) + 1
        column = word.start - (self.text.rfind("\n", 0, word.start) + 1) + 1
        place = Place(line, column, line, column + max(len(text), 1), self.text, self.source)
        return SyntaxMistake(message, code=code, place=place, hint=hint)


_Answer = SyntaxMistake | None

# Texts and brackets that do not end.


def _empty(scene: _Scene) -> _Answer:
    if scene.words:
        return None
    return scene.mistake("empty_query", "there is nothing here", "write a pattern, for example `A as a -> B as b`")


def _open_text(scene: _Scene) -> _Answer:
    here, before = scene.here, scene.before
    if here.kind == "open_comment":
        return scene.mistake("unclosed_comment", "this comment does not end", "close it with */")
    if here.kind == "open_quote":
        return scene.mistake("unclosed_string", "this name in back quotes does not end", "close it with a back quote")
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


def _open_string(scene: _Scene, string: Word) -> SyntaxMistake:
    mark = string.text[0]
    return scene.mistake(
        "unclosed_string",
        "this string does not end",
        f"close it with {mark}",
        Word("sign", mark, string.start),
    )


_TERMINALS = {")": "RPAR", "]": "RSQB", "}": "RBRACE"}


def _unclosed(scene: _Scene) -> _Answer:
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


def _not_closed(scene: _Scene, bracket: Word) -> SyntaxMistake:
    close = CLOSING[bracket.text]
    where = f"after {scene.shown(scene.before)}" if scene.before is not bracket else "after it"
    return scene.mistake(
        "unclosed_bracket", f"this `{bracket.text}` is not closed", f"write `{close}` {where}", bracket
    )


def _belongs_outside(scene: _Scene) -> bool:
    here = scene.here
    if here.lower in ("->", "within", "partition", "unless") or _declares(scene, scene.at):
        return True
    if here.lower in ("as", "where", "until"):
        return not scene.in_operator
    return here.text == "." and scene.after.kind == "name" and scene.word(2).text == "("


def _declares(scene: _Scene, index: int) -> bool:
    words = scene.words[index : index + 3]
    if len(words) < 3 or words[0].lower not in _DECLARATIONS:
        return False
    return words[1].kind in ("name", "quoted") and words[2].text in ("=", "{")


def _extra_bracket(scene: _Scene) -> _Answer:
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


def _declaration(scene: _Scene) -> _Answer:
    before, here = scene.before, scene.here
    if before.lower in _DECLARATIONS and scene.wants_name:
        sign = "{ ... }" if before.lower == "event" else "= ..."
        return scene.mistake(
            "missing_name", f"the {before.lower} has no name", f"write {before.lower} Name {sign}", before
        )
    keyword = scene.word(-2)
    if scene.allowed == {"EQUALS"} and keyword.lower in _DECLARATIONS:
        written = f"{keyword.lower} {before.text} = "
        if here.text == "->":
            return scene.mistake(
                "missing_name",
                f"the {keyword.lower} has no name",
                f"write {keyword.lower} Name = {before.text} -> ...",
                keyword,
            )
        if here.text in ("==", ":=", ":"):
            return scene.mistake("wrong_equals", f"a declaration takes `=`, not `{here.text}`", f"write {written}...")
        return scene.mistake("missing_equals", f"after {scene.shown(before)} a `=` is missing", f"write {written}...")
    if scene.allowed == {"LBRACE"} and keyword.lower == "event":
        return scene.mistake(
            "missing_braces",
            "the fields of an event stand in braces",
            f"write event {before.text} {{ user: string, amount: float }}",
        )
    return None


def _declaration_typo(scene: _Scene) -> _Answer:
    """`stram X = ...`: two names and a `=` or a brace."""
    starts = [scene.at] if scene.allowed & {"STREAM", "ARROW"} else []
    if scene.at == 1:
        starts.append(0)
    for start in starts:
        words = [scene.word(start + i - scene.at) for i in range(3)]
        if [w.kind for w in words[:2]] != ["name", "name"] or words[2].text not in ("=", "{"):
            continue
        close = get_close_matches(words[0].lower, _DECLARATIONS, n=1, cutoff=0.6)
        if close or words[0].text.islower():
            hint = f"did you mean `{close[0]}`?" if close else None
            return scene.mistake(
                "unknown_keyword",
                f"`{words[0].text}` begins no declaration",
                hint or "a declaration begins with event, pattern or stream",
                words[0],
            )
    if scene.allowed and scene.allowed <= {"EVENT", "PATTERN", "STREAM", "SEMICOLON", _END}:
        return scene.mistake(
            "not_a_declaration",
            f"{scene.shown()} begins no declaration",
            "in a program every pattern has a name: write `stream Name = A -> B`",
        )
    return None


def _event_body(scene: _Scene) -> _Answer:
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
                "missing_comma", f"before the field {scene.shown()} a comma is missing", "fields are separated by commas"
            )
        if here.text == ";":
            return scene.mistake("wrong_separator", "fields are separated by commas, not `;`", "write ,")
    if before.text == ":":
        name = scene.word(-2).text
        return scene.mistake("missing_type", f"the field `{name}` has no type", f"write {name}: string")
    return None


# Arrows, and what is written in their place.


def _wrong_arrow(scene: _Scene) -> _Answer:
    here = scene.here
    if here.kind != "sign" or not (here.text in _ARROWS or here.text.startswith("--")):
        return None
    if here.text == "--":
        return scene.mistake("wrong_comment", "`--` begins no comment", "comments begin with # or //")
    if scene.wants_value and here.text == "=>" and scene.position > here.start:
        return scene.mistake("wrong_comparison", "there is no `=>`", "at least is written >=, the next step ->")
    chained = here.text == ">" and scene.in_condition
    split = scene.position > here.start  # `=>`: its first half was taken for the `=` of a name
    if not chained and (scene.after_step or split):
        return scene.mistake("wrong_arrow", f"the arrow between steps is `->`, not `{here.text}`", "write ->")
    return None


def _comma_for_arrow(scene: _Scene) -> _Answer:
    if not scene.after_step or scene.here.text not in (",", ";"):
        return None
    if scene.here.text == ";" and scene.after.kind == "end":
        return scene.mistake("extra_semicolon", "a bare pattern ends without `;`", "leave it out")
    return scene.mistake(
        "comma_for_arrow",
        f"between steps stands an arrow, not `{scene.here.text}`",
        "write -> for one after the other, or AND(A, B) for any order",
    )


def _logic_between_steps(scene: _Scene) -> _Answer:
    here = scene.here
    if here.text in ("&", "|"):
        word, twice = ("and", "&&") if here.text == "&" else ("or", "||")
        if scene.in_condition:
            return scene.mistake("single_sign", f"there is no single `{here.text}`", f"write `{word}` or `{twice}`")
    signs = {"&": "AND", "&&": "AND", "and": "AND", "|": "OR", "||": "OR", "or": "OR"}
    if here.lower in signs and scene.after_step and not scene.in_condition:
        word = signs[here.lower]
        left, right = _operand(scene, -1), _operand(scene, 1)
        example = f"{word}({left}, {right})" if left and right else f"{word}(A, B)"
        return scene.mistake(
            "logic_between_steps", f"`{here.text}` cannot join steps", f"it stands before them: write {example}"
        )
    return None


def _missing_arrow(scene: _Scene) -> _Answer:
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
    if here.kind == "name" and here.text[0].islower() and nameless and here.lower not in _BEFORE_A_STEP:
        return scene.mistake(
            "missing_arrow",
            f"between {scene.shown(before)} and {scene.shown()} something is missing",
            f"to name the step write `{before.text} as {here.text}`, for the next step `-> {here.text}`",
        )
    if scene.in_condition and here.kind == "name" and here.text[0].islower() and here.lower not in _BEFORE_A_STEP:
        return scene.mistake(
            "missing_operator",
            f"between {scene.shown(before)} and {scene.shown()} something is missing",
            "write a comparison such as `==`, `and`, `or`; for the next step `->`",
        )
    hint = f"write `-> {here.text}` for the next step"
    if "STREAM" in scene.allowed and "\n" in scene.text[before.end : here.start]:
        hint += f"; a pattern of its own has a name: `stream Name = {here.text} ...`"
    return scene.mistake("missing_arrow", f"before {scene.shown()} an arrow is missing", hint)


def _in_parentheses(scene: _Scene) -> str:
    end = scene.text.find(")", scene.here.end)
    inside = scene.text[scene.here.end : end].strip()
    return inside if end >= 0 and inside and not set(inside) & set("(,\n") else "..."


def _missing_step(scene: _Scene) -> _Answer:
    here, before = scene.here, scene.before
    if not scene.wants_step and not (before.lower in _BEFORE_A_STEP and "QUOTED" in scene.allowed):
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
    if before.lower in _BEFORE_A_STEP:
        example = "every (A -> B)" if before.lower == "every" else f"{before.text} A"
        return scene.mistake(
            "keyword_as_name",
            f"after `{before.text}` a step is missing",
            f"write `{example}`; an event type called {before.text} is written in back quotes: `{before.text}`",
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


def _run_of_letters(scene: _Scene) -> str:
    end = scene.here.end
    while end < len(scene.text) and (scene.text[end].isalnum() or scene.text[end] == "_"):
        end += 1
    return scene.text[scene.here.start : end]


def _as_name(text: str) -> str:
    return text if text.isidentifier() else f"`{text}`"


# The parts of a step and the clauses after it.


def _missing_after_keyword(scene: _Scene) -> _Answer:
    here, before = scene.here, scene.before
    word = before.lower
    if scene.wants_name and word in _BEFORE_A_NAME and before.kind == "name":
        if here.kind == "string":
            return scene.mistake("missing_alias", "a name stands without quotes", f"write {before.text} {here.text[1:-1]}")
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
        return scene.mistake("missing_step", "after `unless` an event is missing", "write for example unless X between a and b")
    if scene.allowed == {"AND"} and scene.word(-2).lower == "between":
        return scene.mistake(
            "missing_and", "`between` takes two names of steps", f"write between {before.text} and b, or `after {before.text}`"
        )
    if scene.allowed == {"BY"}:
        return scene.mistake("missing_by", "after `partition` the word `by` is missing", f"write partition by {here.text or 'user'}")
    if before.text == "=" and scene.wants_name:
        return scene.mistake("missing_step", "after `=` a step is missing", "write a=A[x > 1], or `A as a`")
    if scene.allowed == {"LPAR"} and word in ("and", "or"):
        return scene.mistake(
            "missing_parentheses",
            f"{word.upper()} takes its operands in parentheses",
            f"write {word.upper()}(A, B); an event type called {before.text} is written in back quotes: `{before.text}`",
            before,
        )
    return None


def _unit(scene: _Scene) -> _Answer:
    here, before = scene.here, scene.before
    second = scene.word(-2)
    timed = second.lower == "within" or (second.text == "(" and scene.inside_call is not None and
                                         scene.inside_call.lower == "within")
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


def _operator_parentheses(scene: _Scene) -> _Answer:
    here, name = scene.here, scene.after
    if here.text != "." or not scene.allowed & {"OP", "ARROW"}:
        return None
    if name.kind != "name":
        return scene.mistake("missing_operator", "after the dot an operator is missing", "write for example .within(5m)")
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


def _keyword_typo(scene: _Scene) -> _Answer:
    here, after = scene.here, scene.after
    if here.kind != "name" or scene.wants_name:
        return None
    known = [w.lower() for w in _WORDS if w in scene.allowed]
    close = _close_to(here.lower, known)
    if here.lower.startswith("partition") and "PARTITION" in scene.allowed:
        return scene.mistake(
            "unknown_keyword", f"`{here.text}` is not a word of the language", "write `partition by user` or `.partition_by(user)`"
        )
    if close:
        return scene.mistake("unknown_keyword", f"`{here.text}` is not a word of the language", f"did you mean {_WORDS[close.upper()]}?")
    foreign = _FOREIGN.get(here.lower)
    if foreign and scene.after_step and after.kind != "end":
        return scene.mistake("unknown_keyword", f"`{here.text}` is not a word of the language", foreign)
    return None


def _close_to(word: str, known: list[str]) -> str | None:
    """The keyword a word was meant to be: nearly the same letters, or two of them swapped."""
    swapped = [k for k in known if len(k) > 2 and sorted(k) == sorted(word)]
    close = swapped or get_close_matches(word, known, n=1, cutoff=0.75)
    return close[0] if close and len(word) > 2 else None


def _foreign_start(scene: _Scene) -> _Answer:
    """`SELECT ...`, `SEQ(...)`: another language."""
    first = scene.words[0]
    if scene.at in (1, 2) and first.lower in ("select", "seq", "from"):
        hint = _FOREIGN.get(first.lower, "a query begins with its pattern: `A as a -> B as b`")
        return scene.mistake("other_language", f"`{first.text}` is not a word of the language", hint, first)
    return None


def _counts(scene: _Scene) -> _Answer:
    """Inside the braces of a quantifier."""
    if not scene.opened or scene.opened[-1].text != "{" or not scene.allowed & {"INT", "COMMA", "RBRACE"}:
        return None
    if _declares(scene, scene.words.index(scene.opened[-1]) - 2):
        return None
    return scene.mistake(
        "bad_count", "in the braces stand one or two whole numbers", "write {3}, {2,5}, {2,} or {,5}", _near(scene)
    )


def _misplaced(scene: _Scene) -> _Answer:
    """What is right in another place."""
    here, before = scene.here, scene.before
    if here.text in ("+", "*", "?", "{") and scene.after_step:
        named = scene.word(-2).lower == "as"
        step = scene.word(-3).text if named else "A"
        alias = f" as {before.text}" if named else ""
        count = here.text if here.text != "{" else "{...}"
        if before.text in ("+", "*", "?", "}"):
            return scene.mistake("two_quantifiers", "a step has one quantifier", "keep one, for example `A{2,5}`")
        return scene.mistake(
            "misplaced_quantifier",
            f"`{here.text}` belongs directly after the type of the event",
            f"write {step}{count}{alias}" if step != "]" else f"write A[...]{count}{alias}",
        )
    if here.text == "[" and scene.after_step:
        return scene.mistake(
            "misplaced_condition",
            "a condition in brackets belongs directly after the type of the event",
            "write A[x > 1] as a, or `A as a where x > 1`",
        )
    if here.lower in ("as", "where", "until") and here.kind == "name" and not scene.opened:
        if here.lower == "where" and not scene.after_step:
            return scene.mistake(
                "misplaced_clause", "here a `where` comes too late", "write .where(...), or put it after its step"
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
            "bad_name", "a name has no minus sign", f"write `->` for the next step, or the name in back quotes: `{whole}`"
        )
    return None


# Conditions.


def _chained(scene: _Scene) -> _Answer:
    here = scene.here
    if here.text not in _COMPARISONS or "DIVIDE" not in scene.allowed or "COMPARE" in scene.allowed:
        return None
    middle, right = _operand(scene, -1), _operand(scene, 1)
    earlier = _comparison_before(scene)
    hint = "join them with `and`"
    if middle and right and earlier is not None:
        left = _operand(scene, earlier - scene.at - 1)
        first = scene.words[earlier].text
        if left:
            hint = f"write {left} {first} {middle} and {middle} {here.text} {right}"
    return scene.mistake("chained_comparison", "comparisons cannot be chained", hint)


def _comparison_before(scene: _Scene) -> int | None:
    for index in range(scene.at - 1, -1, -1):
        if scene.words[index].text in _COMPARISONS:
            return index
    return None


def _operand(scene: _Scene, offset: int) -> str:
    """The number, text or path at a distance from the surprise: read backwards before it, forwards after it."""
    step = 1 if offset > 0 else -1
    parts = [scene.word(offset)]
    if parts[0].kind not in ("name", "quoted", "number", "string", "duration"):
        return ""
    while scene.word(offset + step).text == "." and scene.word(offset + 2 * step).kind in ("name", "quoted"):
        if step > 0 and scene.word(offset + 3).text == "(":
            break  # an operator
        parts += [scene.word(offset + step), scene.word(offset + 2 * step)]
        offset += 2 * step
    return "".join(w.text for w in (parts if step > 0 else reversed(parts)))


def _signs(scene: _Scene) -> _Answer:
    """Comparisons as other languages write them."""
    here, before = scene.here, scene.before
    known = {"===": "==", "!==": "!=", "=<": "<=", ":=": "="}
    if here.text in known:
        return scene.mistake("wrong_comparison", f"there is no `{here.text}`", f"write {known[here.text]}")
    if here.text == "==" and scene.after_step and not scene.in_condition:
        right = _operand(scene, 1) or "A"
        return scene.mistake(
            "wrong_equals",
            "`==` compares, and here is nothing to compare",
            f"a step is named by `{before.text}={right}` or `{right} as {before.text}`; a condition begins with where",
        )
    glued = f"{before.text}{here.text}"
    if here.text == "=" and glued in ("<=", ">=", "!=", "=="):
        return scene.mistake("wrong_comparison", f"`{glued}` is written in one", f"write {glued}")
    if here.text == "!" and scene.after.text == "=":
        return scene.mistake("wrong_comparison", "`!=` is written in one", "write !=")
    return None


def _foreign_words(scene: _Scene) -> _Answer:
    here, before = scene.here, scene.before
    if before.lower in ("is", "not") and "NULL" in scene.allowed and not scene.wants_value:
        negated = before.lower == "not"
        left = _operand(scene, -3 if negated else -2)
        if here.lower in ("none", "nil", "missing", "undefined"):
            written = "is not null" if negated else "is null"
            return scene.mistake("python_word", f"there is no `{here.text}`", f"write {written}")
        sign = "!=" if negated else "=="
        return scene.mistake(
            "wrong_is", "`is` only asks for null", f"write {left or 'x'} {sign} {_operand_here(scene) or '5'}"
        )
    if here.lower == "between" and scene.in_condition:
        return _between(scene, _operand(scene, -1), 1)
    if before.lower == "between" and scene.wants_name and here.kind in ("number", "string", "duration"):
        return _between(scene, _operand(scene, -2), 0)
    if before.lower == "in" and scene.allowed == {"LPAR", "LSQB"}:
        items = _list_after(scene)
        return scene.mistake("in_without_list", "`in` takes a list in parentheses", f"write in ({items or '1, 2'})")
    if here.lower == "if" and scene.in_condition:
        return scene.mistake("python_word", "there is no `x if y else z`", "write if(y, x, z)")
    return None


def _operand_here(scene: _Scene) -> str:
    return scene.here.text if scene.here.kind in ("name", "number", "string", "duration") else ""


def _between(scene: _Scene, value: str, offset: int) -> SyntaxMistake:
    low, high = scene.word(offset), scene.word(offset + 2)
    hint = "write x >= 1 and x <= 5"
    if value and low.text and scene.word(offset + 1).lower == "and" and high.text:
        hint = f"write {value} >= {low.text} and {value} <= {high.text}"
    word = scene.here if offset else scene.before
    return scene.mistake("between", "conditions have no `between`", hint, word)


def _list_after(scene: _Scene) -> str:
    items, offset = [], 0
    while scene.word(offset).kind in ("number", "string", "duration", "name"):
        items.append(scene.word(offset).text)
        if scene.word(offset + 1).text != ",":
            break
        offset += 2
    return ", ".join(items)


def _missing_value(scene: _Scene) -> _Answer:
    here, before = scene.here, scene.before
    if (before.lower == "case" and scene.allowed == {"WHEN"}) or (
        before.lower == "not" and scene.wants_value and here.text in _COMPARISONS
    ):
        return scene.mistake(
            "keyword_as_name",
            f"`{before.text}` is a word of the language",
            f"a field called {before.text} is written in back quotes: `{before.text}`",
            before,
        )
    if not scene.wants_value:
        return None
    if before.lower in ("where", "until") or (before.text == "[" and here.text == "]"):
        example = "write A[amount > 100]" if before.text == "[" else f"write for example {before.text} amount > 100"
        return scene.mistake("missing_condition", f"after `{before.text}` a condition is missing", example)
    if before.lower == "by":
        return scene.mistake(
            "missing_value", "after `partition by` a field is missing", "write partition by user", _near(scene)
        )
    if here.kind == "other":
        return None
    if here.text == "->" or here.text in (")", "]", ",") or scene.at_end or here.lower in ("and", "or", "as"):
        return scene.mistake(
            "missing_value",
            f"after {scene.shown(before)} a value is missing",
            "write a field, a number or a text in quotes",
        )
    return None


def _arguments(scene: _Scene) -> _Answer:
    """Inside the parentheses of an operator or a function."""
    here, before = scene.here, scene.before
    if "COMMA" not in scene.allowed or not scene.opened:
        return None
    if here.lower == "as" and scene.in_operator:
        name = scene.after.text or "name"
        value = _operand(scene, -1) or "..."
        return scene.mistake("wrong_column", "a column's name stands before its value", f"write {name}: {value}")
    if here.kind in ("name", "quoted", "number", "string", "duration"):
        return scene.mistake(
            "missing_comma", f"between {scene.shown(before)} and {scene.shown()} a comma is missing", f"write a comma before {scene.shown()}"
        )
    return None


def _character(scene: _Scene) -> _Answer:
    here = scene.here
    if here.kind != "other":
        return None
    hint = _LOOKALIKES.get(here.text) or "outside of quotes the language does not use it; leave it out"
    return scene.mistake("unknown_character", f"`{here.text}` is not a sign of the language", hint)


# What is left: say what could stand there.

_WORDS = {
    "AS": "`as`",
    "WHERE": "`where`",
    "UNTIL": "`until`",
    "WITHIN": "`within`",
    "PARTITION": "`partition by`",
    "UNLESS": "`unless`",
    "BETWEEN": "`between`",
    "AFTER": "`after`",
    "BY": "`by`",
    "AND": "`and`",
    "OR": "`or`",
    "IN": "`in`",
    "IS": "`is null`",
    "LIKE": "`like`",
    "WHEN": "`when`",
    "THEN": "`then`",
    "ELSE": "`else`",
    "END": "`end`",
    "EVENT": "`event`",
    "PATTERN": "`pattern`",
    "STREAM": "`stream`",
}
_SIGNS = {
    "ARROW": "an arrow `->`",
    "COLON": "a colon `:`",
    "COMMA": "a comma",
    "EQUALS": "`=`",
    "LPAR": "`(`",
    "LSQB": "`[`",
    "LBRACE": "`{`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "SEMICOLON": "`;`",
    "NULL": "`null`",
    "NOT": "`not`",
    "INT": "a whole number",
}
_VALUE = frozenset("BANG CASE DURATION FALSE INT LPAR MINUS NAME NOT NULL NUMBER QUOTED STRING TRUE".split())
_STEP = frozenset("ALL AND ANY EVERY FIRST LPAR NAME NEXT NOT OR QUOTED".split())
_CALCULATION = frozenset("COMPARE DIVIDE EQUALS MINUS MODULO PLUS POWER TIMES IN IS LIKE NOT LPAR LSQB DOT".split())
_COUNTING = frozenset("PLUS TIMES QMARK LBRACE".split())


def _anything_else(scene: _Scene) -> SyntaxMistake:
    what = "the text ends too early" if scene.at_end else f"{scene.shown()} cannot stand here"
    possible = _in_words(scene)
    hint = "here could stand " + _either(possible) if possible else None
    return scene.mistake("syntax", what, hint)


def _in_words(scene: _Scene) -> list[str]:
    """What could stand there, as a user calls it."""
    left = set(scene.allowed)
    found: list[str] = []
    if scene.wants_step:
        found.append("a step")
        left -= _STEP
    elif scene.wants_value:
        found.append("a value")
        left -= _VALUE
    elif "DURATION" in left:
        found.append("a duration such as 5m")
        left -= _VALUE
    elif "NAME" in left:
        found.append("a name")
        left -= {"NAME", "QUOTED"}
    if scene.in_condition:
        if "DIVIDE" in left:
            found.append("a calculation or comparison such as `+` or `>`")
            left -= _CALCULATION
    elif scene.after_step:
        if "QMARK" in left:
            found.append("a quantifier such as `+` or `{2,5}`")
        if "LSQB" in left:
            found.append("a condition in `[ ]`")
        left -= {*_COUNTING, "LSQB", "EQUALS"}
    found += [words for name, words in {**_SIGNS, **_WORDS}.items() if name in left]
    if "OP" in left:
        found.append("an operator such as `.within(5m)`")
    if _END in left:
        found.append("the end")
    return found


def _either(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " or " + parts[-1]


_RULES: tuple[Callable[[_Scene], _Answer], ...] = (
    _empty,
    _open_text,
    _extra_bracket,
    _unclosed,
    _foreign_start,
    _declaration,
    _declaration_typo,
    _event_body,
    _signs,
    _wrong_arrow,
    _chained,
    _foreign_words,
    _counts,
    _missing_after_keyword,
    _unit,
    _operator_parentheses,
    _missing_value,
    _missing_step,
    _keyword_typo,
    _logic_between_steps,
    _comma_for_arrow,
    _misplaced,
    _missing_arrow,
    _arguments,
    _character,
)
