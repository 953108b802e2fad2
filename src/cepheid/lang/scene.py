"""Where a parser was surprised: the words around the place, and what could have stood there."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.errors import Place, SyntaxMistake
from cepheid.lang.words import Word, open_brackets

DECLARATIONS = ("event", "pattern", "stream")
COMPARISONS = {"==", "=", "!=", "<>", "<", "<=", ">", ">="}
# Words that announce a step: no event type can be called so without back quotes.
BEFORE_A_STEP = {"all", "any", "every", "first", "greedy", "next", "not"}
# The keywords by the terminals of the grammar, as a message shows them.
KEYWORDS = {
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


@dataclass(frozen=True)
class Scene:
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
        return "BARS" in self.allowed

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

    def mistake(
        self, code: str, message: str, hint: str | None = None, at: Word | None = None
    ) -> SyntaxMistake:
        word = self.here if at is None else at
        text = word.text.split("\n")[0]
        line = self.text.count("\n", 0, word.start) + 1
        column = word.start - (self.text.rfind("\n", 0, word.start) + 1) + 1
        place = Place(line, column, line, column + max(len(text), 1), self.text, self.source)
        return SyntaxMistake(message, code=code, place=place, hint=hint)

    def declares(self, index: int) -> bool:
        words = self.words[index : index + 3]
        if len(words) < 3 or words[0].lower not in DECLARATIONS:
            return False
        return words[1].kind in ("name", "quoted") and words[2].text in ("=", "{")

    def operand(self, offset: int) -> str:
        """The number, text or path at a distance from the surprise, read away from it."""
        step = 1 if offset > 0 else -1
        parts = [self.word(offset)]
        if parts[0].kind not in ("name", "quoted", "number", "string", "duration"):
            return ""
        while self.word(offset + step).text == "." and self.word(offset + 2 * step).kind in (
            "name",
            "quoted",
        ):
            if step > 0 and self.word(offset + 3).text == "(":
                break  # an operator
            parts += [self.word(offset + step), self.word(offset + 2 * step)]
            offset += 2 * step
        return "".join(w.text for w in (parts if step > 0 else reversed(parts)))


Answer = SyntaxMistake | None
