"""What each word of a statement is: a step's type, an alias, a field, a function. Read forward, word by word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cepheid.editor.statements import Statement, plain
from cepheid.lang.operators import OPERATOR_NAMES
from cepheid.lang.words import Word


class Role(Enum):
    DECLARED = "declared"  # the name of the statement itself
    KEYWORD = "keyword"
    STEP_TYPE = "step type"
    ALIAS = "alias"  # where a step gets its name
    ALIAS_USE = "alias use"
    FIELD = "field"
    FUNCTION = "function"
    OPERATOR = "operator"
    COLUMN = "column"  # of .emit
    FIELD_DECLARED = "declared field"
    TYPE = "type"


@dataclass
class Step:
    """A step as far as it is written."""

    type: Word
    alias: Word | None = None
    repeated: bool = False

    @property
    def name(self) -> str | None:
        return None if self.alias is None else plain(self.alias)


@dataclass(frozen=True)
class Marked:
    """A word with its role; `step` is the step whose field or alias it is, `path` the names before it."""

    word: Word
    role: Role
    step: Step | None = None
    path: tuple[str, ...] = ()
    operator: str = ""  # whose arguments it is among


@dataclass
class _Frame:
    """What a bracket, or a clause without one, holds."""

    kind: str  # steps, condition, arguments, values, clause, count
    step: Step | None = None
    operator: str = ""
    expects_step: bool = False


@dataclass
class Reading:
    """Everything that was found in a statement."""

    marked: list[Marked] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    borrowed: list[Step] = field(default_factory=list)  # of patterns that are used by name

    def at(self, offset: int) -> Marked | None:
        """The marked word that the offset is in, or directly behind."""
        return next((m for m in self.marked if m.word.start <= offset <= m.word.end), None)

    def named(self, alias: str) -> Step | None:
        return next((s for s in (*self.steps, *self.borrowed) if s.name == alias), None)


_LOGIC = {
    "and",
    "or",
    "not",
    "in",
    "is",
    "like",
    "null",
    "true",
    "false",
    "case",
    "when",
    "then",
    "else",
    "end",
}
_STEP_WORDS = {"all", "any", "next", "first", "greedy", "every", "not", "and", "or"}
_CLAUSES = {"as", "within", "partition", "unless", "until", "where", "between", "after"}


def read_roles(statement: Statement, patterns: Mapping[str, Statement] | None = None) -> Reading:
    """The roles of a statement's words; `patterns` are those it may use by name.

    It is read twice: which names are aliases is known only at its end.
    """
    first = _Reader(statement, {}).read()
    borrowed = _borrowed(first, patterns or {}, {statement.title})
    known = {s.name: s for s in (*borrowed, *first.steps) if s.name is not None}
    reading = _Reader(statement, known).read()
    reading.borrowed = borrowed
    return reading


def _borrowed(reading: Reading, patterns: Mapping[str, Statement], seen: set[str]) -> list[Step]:
    """The steps of the patterns among its steps, and of theirs."""
    found: list[Step] = []
    for step in reading.steps:
        used = patterns.get(plain(step.type))
        if used is not None and used.title not in seen:
            seen.add(used.title)
            inner = _Reader(used, {}).read()
            found += [*_borrowed(inner, patterns, seen), *inner.steps]
    return found


class _Reader:
    def __init__(self, statement: Statement, known: dict[str, Step]) -> None:
        self.words = statement.words
        self.statement = statement
        self.known = known
        self.found = Reading()
        self.frames = [_Frame("steps", expects_step=True)]
        self.at = 0

    def read(self) -> Reading:
        if self.statement.kind == "event":
            self._event()
            return self.found
        if self.statement.name is not None:
            self._mark(0, Role.KEYWORD)
            self._mark(1, Role.DECLARED)
            self.at = 3 if self._word(2).text == "=" else 2
        while self.at < len(self.words):
            self._next()
            self.at += 1
        return self.found

    # Events: `event E { name: type, ... }`.

    def _event(self) -> None:
        self._mark(0, Role.KEYWORD)
        self._mark(1, Role.DECLARED)
        for i in range(2, len(self.words)):
            if self.words[i].kind not in ("name", "quoted"):
                continue
            before = self._word(i - 1).text
            if before in (":", "["):
                self._mark(i, Role.TYPE)
            elif before in ("{", ","):
                self._mark(i, Role.FIELD_DECLARED)

    # Patterns.

    def _next(self) -> None:
        word, frame = self.words[self.at], self.frames[-1]
        if frame.kind == "clause" and self._clause_ends(word):
            self.frames.pop()
            frame = self.frames[-1]
        if word.kind == "sign":
            self._sign(word, frame)
        elif word.kind in ("name", "quoted"):
            if frame.kind == "steps":
                self._in_steps(word, frame)
            elif frame.kind != "count":
                self._in_expression(word, frame)

    def _clause_ends(self, word: Word) -> bool:
        if word.kind == "name":
            return word.lower in _CLAUSES and self._word(self.at - 1).text != "."
        if word.text == ".":
            return self._is_operator(self.at)
        return word.text in ("->", ")", "]", "}", ";") or (
            word.text == "," and self.frames[-1].operator != "partition"
        )

    def _is_operator(self, dot: int) -> bool:
        """`.within(`; while the name is being written a dot after a step is one, too."""
        name, bracket = self._word(dot + 1), self._word(dot + 2)
        return plain(name).lower() in OPERATOR_NAMES and bracket.text == "("

    def _sign(self, word: Word, frame: _Frame) -> None:
        if word.text in ("(", "[", "{"):
            self._open(word, frame)
        elif word.text in (")", "]", "}"):
            if len(self.frames) > 1:
                self.frames.pop()
        elif frame.kind == "steps":
            if word.text in ("->", ","):
                frame.expects_step = True
            elif word.text in ("+", "*") and self.found.steps:
                self.found.steps[-1].repeated = True

    def _open(self, word: Word, frame: _Frame) -> None:
        before = self._word(self.at - 1)
        if word.text == "{":
            if self.found.steps and frame.kind == "steps":
                self.found.steps[-1].repeated = True
            self.frames.append(_Frame("count"))
        elif frame.kind != "steps":
            self.frames.append(_Frame("values", frame.step, frame.operator))
        elif word.text == "[":
            self.frames.append(_Frame("condition", self._last_step()))
        elif self._word(self.at - 2).text == ".":
            name = plain(before).lower()
            owner = self._last_step() if name in ("increasing", "decreasing") else None
            self.frames.append(_Frame("arguments", owner, name))
        else:
            self.frames.append(_Frame("steps", expects_step=True))

    def _in_steps(self, word: Word, frame: _Frame) -> None:
        before = self._word(self.at - 1)
        if before.text == ".":
            self._mark(self.at, Role.OPERATOR)
        elif before.lower == "as" and before.kind == "name":
            self._bind(word)
        elif before.lower in ("between", "after") or (before.lower == "and" and not frame.expects_step):
            self._use(word)
        elif word.kind == "name" and word.lower in _CLAUSES:
            self._clause(word, frame)
        elif word.kind == "name" and word.lower in (*_STEP_WORDS, "by"):
            self._mark(self.at, Role.KEYWORD)
        elif frame.expects_step:
            self._step(word, frame)

    def _clause(self, word: Word, frame: _Frame) -> None:
        self._mark(self.at, Role.KEYWORD)
        frame.expects_step = word.lower == "unless"
        if word.lower in ("where", "until"):
            self.frames.append(_Frame("clause", self._last_step(), word.lower))
        elif word.lower == "partition":
            if self._word(self.at + 1).lower == "by":
                self.at += 1
                self._mark(self.at, Role.KEYWORD)
            self.frames.append(_Frame("clause", None, "partition"))

    def _step(self, word: Word, frame: _Frame) -> None:
        if self._word(self.at + 1).text == "=" and self._word(self.at + 2).kind in ("name", "quoted"):
            alias = word
            self.at += 2
            self.found.steps.append(Step(self.words[self.at], alias))
            self.found.marked.append(Marked(alias, Role.ALIAS, self.found.steps[-1]))
        else:
            self.found.steps.append(Step(word))
        step = self.found.steps[-1]
        step.repeated = self._word(self.at - 1).lower in ("all", "greedy") or self._loops()
        self.found.marked.append(Marked(self.words[self.at], Role.STEP_TYPE, step))
        frame.expects_step = False

    def _loops(self) -> bool:
        """`all next B`, `all any B`."""
        return self._word(self.at - 1).lower in ("next", "any") and self._word(self.at - 2).lower == "all"

    def _bind(self, word: Word) -> None:
        step = self._last_step()
        if step is not None:
            step.alias = word
        self.found.marked.append(Marked(word, Role.ALIAS, step))

    def _use(self, word: Word) -> None:
        step = self.known.get(plain(word)) or self.found.named(plain(word))
        self.found.marked.append(Marked(word, Role.ALIAS_USE, step))

    # Expressions.

    def _in_expression(self, word: Word, frame: _Frame) -> None:
        before, after = self._word(self.at - 1), self._word(self.at + 1)
        if before.text == ".":
            self._path_part(word, frame)
        elif word.kind == "name" and word.lower in _LOGIC:
            self._mark(self.at, Role.KEYWORD)
        elif after.text == "(" and word.kind == "name":
            self._mark(self.at, Role.FUNCTION)
        elif after.text == ":" and frame.kind == "arguments":
            self._mark(self.at, Role.COLUMN)
        elif plain(word) in self.known and (
            after.text in (".", "[") or frame.kind in ("arguments", "values")
        ):
            self._use(word)
        else:
            self.found.marked.append(Marked(word, Role.FIELD, frame.step, operator=frame.operator))

    def _path_part(self, word: Word, frame: _Frame) -> None:
        """A name after a dot: of the alias, or of the field of the own event, that the path begins with."""
        at = self.at
        names: list[str] = []
        while self._word(at - 1).text == "." and self._word(at - 2).kind in ("name", "quoted"):
            at -= 2
            names.insert(0, plain(self._word(at)))
        head = names[0] if names else ""
        if head in self.known:
            self.found.marked.append(Marked(word, Role.FIELD, self.known[head], tuple(names[1:])))
        else:
            self.found.marked.append(Marked(word, Role.FIELD, frame.step, tuple(names)))

    def _last_step(self) -> Step | None:
        return self.found.steps[-1] if self.found.steps else None

    def _mark(self, index: int, role: Role) -> None:
        if index < len(self.words):
            self.found.marked.append(Marked(self.words[index], role))

    def _word(self, index: int) -> Word:
        return self.words[index] if 0 <= index < len(self.words) else Word("end", "", 0)
