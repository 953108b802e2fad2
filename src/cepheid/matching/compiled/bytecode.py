"""Cross-event tests as instructions for the machine. What has no instruction is `Unsupported`.

Whatever looks at one event alone and has no instruction (a function of its fields, a path into a struct) becomes a
column of its own, worked out before the kernel runs. The machine only does what ties events together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar

from cepheid.matching.compiled.decimal_words import word_of
from cepheid.matching.compiled.kernel import machine as m
from cepheid.matching.compiled.kernel.decimals import TOO_LARGE
from cepheid.matching.compiled.kernel.words import FIRST_COLUMN
from cepheid.matching.compiled.machine_calls import call
from cepheid.matching.compiled.machine_types import (
    INTS,
    NUMBER,
    QUOTIENT,
    TEXTS,
    compared_as,
    comparison,
    conversion,
    one_of,
)
from cepheid.matching.compiled.tables import aliases_of
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import (
    Aggregate,
    Binary,
    Call,
    Case,
    Element,
    Expr,
    Field,
    In,
    IsNull,
    Key,
    Length,
    Literal,
    Opaque,
    Unary,
    rewrite,
    walk,
)
from cepheid.pattern.functions import find_function
from cepheid.pattern.model import Step
from cepheid.pattern.text import expr_text
from cepheid.pattern.times import EPOCH
from cepheid.pattern.types import (
    BOOL,
    BYTES,
    DATE,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
)
from cepheid.pattern.values import as_utc, clean
from cepheid.plan.check_types import Scope, infer
from cepheid.plan.plan import Plan

_COMPARISONS = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INT_ARITHMETIC = {"+": m.ADD_INT, "-": m.SUBTRACT_INT, "*": m.MULTIPLY_INT, "%": m.REMAINDER_INT}
_FLOAT_ARITHMETIC = {
    "+": m.ADD_FLOAT,
    "-": m.SUBTRACT_FLOAT,
    "*": m.MULTIPLY_FLOAT,
    "/": m.DIVIDE_FLOAT,
    "%": m.REMAINDER_FLOAT,
    "**": m.POWER_FLOAT,
}
_DECIMAL_ARITHMETIC = {
    "+": m.ADD_DECIMAL,
    "-": m.SUBTRACT_DECIMAL,
    "*": m.MULTIPLY_DECIMAL,
    "/": m.DIVIDE_DECIMAL,
    "%": m.REMAINDER_DECIMAL,
}
_CHOICES = ("least", "greatest", "coalesce", "ifnull")
# Of one event too: the machine can give up where a number has no room, a column cannot.
_INSTRUCTIONS = ("abs", "sign", "nullif", "floor", "ceil", "int")
_FLOATS = (INT, FLOAT, DECIMAL, QUOTIENT, NUMBER)  # with a double they make a double


@dataclass(frozen=True)
class Column:
    """A value of every event: an expression over its fields alone."""

    expr: Expr
    type: Type
    place: int  # among the columns of its kind
    number: int  # among all


@dataclass
class Columns:
    """The columns that tests read, each once; and the constants they compare with."""

    event: Type  # what is known of the events' fields
    found: dict[object, Column] = field(default_factory=dict)
    constants: list[float] = field(default_factory=list)
    heap: bytearray = field(default_factory=bytearray)

    def has(self, path: tuple[str, ...]) -> bool:
        """Is there such a field?"""
        kind: Type | None = self.event
        for name in path:
            kind = None if kind is None else kind.field(name)
        return kind is not None and kind != NULL

    def column(self, expr: Expr) -> Column:
        # 1, 1.0 and true are equal, and not the same.
        key = expr, tuple(n.value.__class__ for n in walk(expr) if isinstance(n, Literal))
        if key not in self.found:
            kind = infer(expr, Scope(self.event, None, {}, {}))
            family = _family(kind, expr)
            place = sum(_family(c.type, c.expr) == family for c in self.found.values())
            self.found[key] = Column(expr, kind, place, len(self.found))
        return self.found[key]

    def mixed(self, expr: Expr) -> bool:
        """Is a value of the whole numbers and doubles in it one or the other, as it comes?"""
        scope = Scope(self.event, None, {}, {})
        for node in walk(expr):
            kinds = {infer(value, scope) for value in _choices(node)} - {NULL}
            if FLOAT in kinds and DECIMAL in kinds:
                raise Unsupported(f"`{expr_text(node)}` is a decimal or a float")
            if FLOAT in kinds and INT in kinds:
                return True
        return False

    def of(self, family: str) -> list[Column]:
        return [c for c in self.found.values() if _family(c.type, c.expr) == family]

    def constant(self, value: float) -> int:
        self.constants.append(value)
        return len(self.constants) - 1

    def text(self, value: bytes) -> tuple[int, int]:
        at = len(self.heap)
        self.heap += value
        return at, len(self.heap)


def _family(kind: Type, expr: Expr) -> str:
    if kind in INTS or kind == DECIMAL:  # as a word
        return "int"
    if kind == FLOAT:
        return "float"
    if kind in TEXTS:
        return "text"
    raise Unsupported(f"`{expr_text(expr)}` is of type {kind}")


Instructions = list[list[int]]


def compiled_tests(plan: Plan, columns: Columns) -> dict[tuple[str, int], Instructions]:
    """Every cross-event test of a plan, by what it tests and which of it."""
    automaton = plan.automaton
    aliases = {alias: i for i, alias in enumerate(aliases_of(plan))}

    def test(exprs: Sequence[Expr], own: str | None = None, itself: str | None = None) -> Instructions:
        return _Test(columns, aliases, plan, own, itself).conjuncts(exprs)

    found: dict[tuple[str, int], Instructions] = {}
    for p in automaton.positions:
        own, itself = _own(p.step, p.beta, p.repeated)
        found["position", p.index] = test(p.beta, own, itself)
    for a in automaton.absences:
        found["absence", a.index] = test(a.beta, *_own(a.node.step, a.beta, False))
    for i, g in enumerate(plan.guards):
        found["guard", i] = test(g.beta, *_own(g.guard.step, g.beta, False))
    for e in automaton.edges:
        found["edge", e.index] = test(e.tests)
    for accept in automaton.accepts:
        found["accept", accept.index] = test(accept.tests)
    for c in automaton.closures:
        found["until", c.index] = test((c.until,)) if c.until is not None else []
    return {which: code for which, code in found.items() if code}


def _own(step: Step, beta: tuple[Expr, ...], repeated: bool) -> tuple[str | None, str | None]:
    """In a closure its own name is what was captured before; elsewhere it is the event itself."""
    return (step.alias, None) if repeated else (None, step.alias)


class _Test:
    """One test: its instructions, in the making."""

    def __init__(
        self, columns: Columns, aliases: dict[str, int], plan: Plan, own: str | None, itself: str | None
    ) -> None:
        self.columns, self.aliases, self.plan = columns, aliases, plan
        self.own, self.itself = own, itself
        self.code: Instructions = []

    def conjuncts(self, exprs: Sequence[Expr]) -> Instructions:
        for expr in exprs:
            self._conjunct(expr)
        return self.code

    def _conjunct(self, expr: Expr) -> None:
        """All must be true. One that looks at its own closure counts only once there is something to look at."""
        jumps = self._where_own_is_known(expr)
        if self.value(expr) not in (BOOL, NULL):
            raise Unsupported(f"`{expr_text(expr)}` is not a condition")
        self.add(m.STOP_UNLESS_TRUE)
        for at in jumps:
            self.code[at][2] = len(self.code) - at - 1

    def _where_own_is_known(self, expr: Expr) -> list[int]:
        if self.own is None:
            return []
        nodes = list(walk(expr))
        if any(isinstance(n, Opaque) for n in nodes):
            raise Unsupported("a Python function sees a whole event")
        marks = [self._marks(n.path) for n in nodes if isinstance(n, Field) and n.alias == self.own]
        if any(isinstance(n, Aggregate) and n.alias == self.own for n in nodes):
            marks = [-1]
        for mark in dict.fromkeys(marks):
            self.add(m.JUMP_IF_NOT_KNOWN, self.aliases[self.own], 0, mark)
        return list(range(len(self.code) - len(dict.fromkeys(marks)), len(self.code)))

    def _marks(self, path: tuple[str, ...]) -> int:
        return self.columns.column(Field(None, path)).number if self.columns.has(path) else -1

    def add(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        self.code.append([op, a, b, c])

    # Values: each adds what puts it on the stack, and says of which type it is.

    def value(self, expr: Expr) -> Type:
        before = len(self.code)
        try:
            return self._VALUES[type(expr)](self, expr)
        except Unsupported:
            del self.code[before:]
            alone = self._alone(expr)
            if alone is None:
                raise
            look, bare = alone
            if isinstance(look, Element):
                return self._load_element(look, bare)
            return self._load(self._source(look.alias), bare)

    def _alone(self, expr: Expr) -> tuple[Field | Element, Expr] | None:
        """If an expression looks at one event only: at which, and the expression over its bare fields."""
        nodes = list(walk(expr))
        read = [n for n in nodes if isinstance(n, (Field, Element))]
        looks = {replace(n, path=()) for n in read}
        if len(looks) != 1 or any(isinstance(n, (Length, Aggregate, Key, Opaque)) for n in nodes):
            return None
        (look,) = looks
        # A step that took no part has no fields: what makes something of nulls must not be worked out without it.
        if look.alias not in (None, self.itself) and not all(map(_null_in_null_out, nodes)):
            return None
        return look, rewrite(expr, self._bare)

    def _bare(self, node: Expr) -> Expr | None:
        if not isinstance(node, (Field, Element)):
            return None
        return Field(None, node.path) if self.columns.has(node.path) else Literal(None)

    def _source(self, alias: str | None) -> int:
        if alias is None or alias == self.itself:
            return m.CURRENT
        if alias not in self.aliases:
            raise Unsupported(f"`{alias}` is bound by no step")
        return 1 + m.PER_ALIAS * self.aliases[alias] + (m.OWN if alias == self.own else m.LAST)

    def _load(self, source: int, bare: Expr) -> Type:
        if isinstance(bare, Field) and not self.columns.has(bare.path):
            self.add(m.NULL)
            return NULL
        column = self.columns.column(bare)
        family = _family(column.type, bare)
        op = {"int": m.LOAD_INT, "float": m.LOAD_FLOAT, "text": m.LOAD_TEXT}[family]
        self.add(op, source, column.place + (FIRST_COLUMN if family == "int" else 0), column.number)
        return NUMBER if column.type == FLOAT and self.columns.mixed(bare) else column.type

    def _field(self, expr: Field) -> Type:
        if not expr.path:
            raise Unsupported(f"`{expr_text(expr)}` is a whole event")
        return self._load(self._source(expr.alias), Field(None, expr.path))

    def _element(self, expr: Element) -> Type:
        return self._load_element(expr, Field(None, expr.path))

    def _load_element(self, expr: Element, bare: Expr) -> Type:
        source = self._source_of_list(expr.alias)
        if expr.from_end:
            return self._load(source + m.LAST, bare)
        if isinstance(bare, Field) and not self.columns.has(bare.path):
            self.add(m.NULL)
            return NULL
        if self.value(expr.index) not in (INT, NULL):
            raise Unsupported(f"`{expr_text(expr.index)}` is not a position")
        return self._load(source + m.AT, bare)

    def _source_of_list(self, alias: str) -> int:
        if alias == self.itself or alias not in self.aliases:
            raise Unsupported(f"`{alias}` as a list")
        return 1 + m.PER_ALIAS * self.aliases[alias]

    def _key(self, expr: Key) -> Type:
        return self._load(m.CURRENT, self.plan.key[self.plan.key_names.index(expr.name)])

    def _literal(self, expr: Literal) -> Type:
        return self.constant(clean(expr.value))

    def constant(self, value: Any) -> Type:
        if value is None:
            self.add(m.NULL)
            return NULL
        if isinstance(value, bool) or (isinstance(value, int) and -(2**63) < value < 2**63):
            self.add(m.INT, int(value))
            return BOOL if isinstance(value, bool) else INT
        if isinstance(value, float):
            self.add(m.FLOAT, self.columns.constant(value))
            return FLOAT
        if isinstance(value, Decimal) and word_of(value) != TOO_LARGE:
            self.add(m.INT, word_of(value))
            return DECIMAL
        if isinstance(value, (str, bytes)):
            self.add(m.TEXT, *self.columns.text(value.encode() if isinstance(value, str) else value))
            return STRING if isinstance(value, str) else BYTES
        if isinstance(value, date):
            self.add(m.INT, duration(as_utc(value) - EPOCH))
            return TIMESTAMP if isinstance(value, datetime) else DATE
        try:
            self.add(m.INT, duration(value))
        except Exception:
            raise Unsupported(f"a literal of type {type(value).__name__}") from None
        return DURATION

    def _length(self, expr: Length) -> Type:
        self._source_of_list(expr.alias)
        self.add(m.LENGTH, self.aliases[expr.alias])
        return INT

    def _aggregate(self, expr: Aggregate) -> Type:
        self._source_of_list(expr.alias)
        if not self.columns.has(expr.path) and expr.name in ("sum", "avg", "min", "max"):
            self.add(m.NULL)
            return NULL
        column = self.columns.column(Field(None, expr.path))
        family = "decimal" if column.type == DECIMAL else _family(column.type, column.expr)
        ops = _AGGREGATES.get((expr.name, family))
        if ops is None or (expr.name in ("sum", "avg") and column.type in (BOOL, TIMESTAMP, DATE)):
            raise Unsupported(f"`{expr_text(expr)}`")
        for op in ops:
            self._of_all(op, expr.alias, column)
        if expr.name != "avg":
            return column.type
        if column.type == DURATION:
            raise Unsupported(f"`{expr_text(expr)}`")
        if family == "decimal":
            self.add(m.TO_DECIMAL)
            self.add(m.DIVIDE_DECIMAL)
            return QUOTIENT
        if family == "int":
            self.add(m.TO_FLOAT_EXACTLY, 1)
        self.add(m.TO_FLOAT, 0)
        self.add(m.DIVIDE_FLOAT)
        return FLOAT

    def _of_all(self, op: int, alias: str, column: Column) -> None:
        place = column.place + (FIRST_COLUMN if _family(column.type, column.expr) == "int" else 0)
        self.add(op, self.aliases[alias], place, column.number)

    # Operators.

    def _unary(self, expr: Unary) -> Type:
        kind = self.value(expr.operand)
        if expr.op == "not":
            self.add(m.NOT)
            return BOOL
        if kind in (INT, DURATION):
            self.add(m.NEGATE_INT)
        elif kind in (FLOAT, QUOTIENT, NUMBER):
            self.add(m.NEGATE_FLOAT)
        elif kind == DECIMAL:
            self.add(m.NEGATE_DECIMAL)
        elif kind != NULL:
            raise Unsupported(f"`{expr_text(expr)}`")
        return kind

    def _binary(self, expr: Binary) -> Type:
        if expr.op in ("and", "or"):
            for side in (expr.left, expr.right):
                if self.value(side) not in (BOOL, NULL):
                    raise Unsupported(f"`{expr_text(side)}` is not a condition")
            self.add(m.AND if expr.op == "and" else m.OR)
            return BOOL
        if expr.op in _COMPARISONS:
            if self._compared_with_quotient(expr):
                return BOOL
            return self._compared(expr, self.value(expr.left), self.value(expr.right), _COMPARISONS[expr.op])
        return self._calculated(expr, self.value(expr.left), self.value(expr.right))

    def _compared(self, expr: Expr, left: Type, right: Type, which: int) -> Type:
        kind = compared_as(left, right)
        op = None if kind is None else comparison(kind)
        if kind is None or op is None:
            raise Unsupported(f"`{expr_text(expr)}` compares {left} with {right}")
        self._converted(left, kind, 1)
        self._converted(right, kind, 0)
        self.add(op, which)
        return BOOL

    def _converted(self, kind: Type, to: Type, below: int) -> None:
        """A value so far below the topmost one."""
        op = conversion(kind, to)
        if op is not None:
            self.add(op, below)

    def _compared_with_quotient(self, expr: Binary) -> bool:
        """`x < a / b` of decimals as `x * b < a`: exactly, where a quotient would have to be rounded.

        The 38 digits that the reference has of it lie on the same side of `x`: both are of 18 digits at most.
        """
        for other, quotient, op in (
            (expr.left, expr.right, expr.op),
            (expr.right, expr.left, _MIRRORED.get(expr.op, expr.op)),
        ):
            if not _is_quotient(quotient) or self.kind(quotient) != QUOTIENT:
                continue
            if self.kind(other) in (INT, DECIMAL):
                if isinstance(quotient, Aggregate):
                    self._compared_with_average(other, quotient, _COMPARISONS[op])
                else:
                    self.value(self._multiplied(op, other, quotient))
                return True
        return False

    def kind(self, expr: Expr) -> Type:
        """The type a value would have."""
        before = len(self.code)
        kind = self.value(expr)
        del self.code[before:]
        return kind

    def _compared_with_average(self, other: Expr, average: Aggregate, which: int) -> None:
        column = self.columns.column(Field(None, average.path))
        self._converted(self.value(other), DECIMAL, 0)
        self._of_all(m.COUNT_KNOWN, average.alias, column)
        self.add(m.TO_DECIMAL)
        self.add(m.MULTIPLY_DECIMAL)
        self._of_all(m.SUM_DECIMAL, average.alias, column)
        self.add(m.COMPARE_DECIMAL, which)

    def _multiplied(self, op: str, other: Expr, quotient: Any) -> Expr:
        """`other op a / b` without the division: nothing is divided by 0, and what is below 0 turns the comparison."""
        a, b = quotient.left, quotient.right
        zero = Literal(0 if self.kind(b) == INT else Decimal(0))
        size = Call("abs", (Call("nullif", (b, zero)),))
        return Binary(op, Binary("*", other, size), Binary("*", a, Call("sign", (b,))))

    def _calculated(self, expr: Binary, left: Type, right: Type) -> Type:
        if NULL in (left, right):
            self.add(m.COMPARE_INT, m.EQUAL)  # whatever it is, it is null
            return NULL
        pair = (left, right)
        if pair == (INT, INT) and expr.op in _INT_ARITHMETIC:
            self.add(_INT_ARITHMETIC[expr.op])
            return INT
        if pair == (INT, INT) and expr.op == "/":
            return self._calculated_as(NUMBER, pair, m.DIVIDE_FLOAT, FLOAT)
        if FLOAT in pair and set(pair) <= set(_FLOATS):
            return self._calculated_as(FLOAT, pair, _FLOAT_ARITHMETIC[expr.op], FLOAT)
        if NUMBER in pair and set(pair) <= {INT, NUMBER} and expr.op != "**":
            return self._calculated_with_number(expr.op, pair)
        if DECIMAL in pair and set(pair) <= {INT, DECIMAL} and expr.op in _DECIMAL_ARITHMETIC:
            result = QUOTIENT if expr.op == "/" else DECIMAL
            return self._calculated_as(DECIMAL, pair, _DECIMAL_ARITHMETIC[expr.op], result)
        return self._calculated_with_times(expr, pair)

    def _calculated_with_number(self, op: str, pair: tuple[Type, Type]) -> Type:
        """Whole numbers would stay exact, so a double must hold the result too."""
        self._calculated_as(NUMBER, pair, _FLOAT_ARITHMETIC[op], NUMBER)
        if op == "/":
            return FLOAT
        self.add(m.STAY_EXACT)
        return NUMBER

    def _calculated_as(self, kind: Type, pair: tuple[Type, Type], op: int, result: Type) -> Type:
        self._converted(pair[0], kind, 1)
        self._converted(pair[1], kind, 0)
        self.add(op)
        return result

    def _calculated_with_times(self, expr: Binary, pair: tuple[Type, Type]) -> Type:
        times = (TIMESTAMP, DATE)
        if (expr.op in ("+", "-") and pair == (DURATION, DURATION)) or (
            expr.op == "-" and pair[0] in times and pair[1] in times
        ):
            result = DURATION
        elif (pair[0] in times and pair[1] == DURATION and expr.op in ("+", "-")) or (
            expr.op == "+" and pair[0] == DURATION and pair[1] in times
        ):
            result = TIMESTAMP
        elif expr.op == "*" and set(pair) == {INT, DURATION}:
            result = DURATION
        else:
            raise Unsupported(f"`{expr_text(expr)}`: {pair[0]} and {pair[1]}")
        self.add(_INT_ARITHMETIC[expr.op])
        return result

    def _in(self, expr: In) -> Type:
        for at, item in enumerate(expr.items):
            self._compared(expr, self.value(expr.operand), self.value(item), m.EQUAL)
            if at:
                self.add(m.OR)
        if not expr.items:
            self.add(m.INT, 0)
        if expr.negated:
            self.add(m.NOT)
        return BOOL

    def _is_null(self, expr: IsNull) -> Type:
        self.value(expr.operand)
        self.add(m.IS_KNOWN if expr.negated else m.IS_NULL)
        return BOOL

    def _case(self, expr: Case) -> Type:
        found: Type | None = NULL
        widenings: list[tuple[int, Type]] = []
        ends: list[int] = []
        for condition, value in (*expr.branches, (None, expr.default)):
            at = len(self.code)
            if condition is not None:
                self.value(condition)
                at = len(self.code)
                self.add(m.JUMP_UNLESS_TRUE)
            kind = self.value(value)
            if kind == INT:  # here it may have to be widened
                widenings.append((len(self.code), kind))
                self.add(m.JUMP, 0)
            if condition is not None:
                ends.append(len(self.code))
                self.add(m.JUMP)
                self.code[at][1] = len(self.code) - at - 1
            found = None if found is None else one_of(found, kind)
        if found is None:
            raise Unsupported(f"`{expr_text(expr)}` has values of several types")
        for end in ends:
            self.code[end][1] = len(self.code) - end - 1
        for at, kind in widenings:
            op = conversion(kind, found)
            if op is not None:
                self.code[at] = [op, 0, 0, 0]
        return found

    def _call(self, expr: Call) -> Type:
        alone = self._alone(expr)
        if alone is not None and expr.name not in _INSTRUCTIONS and not self.columns.mixed(alone[1]):
            raise Unsupported(f"`{expr_text(expr)}` is a column")
        return call(self, expr)

    def _opaque(self, expr: Opaque) -> Type:
        raise Unsupported(f"the Python function `{expr.name}`")

    _VALUES: ClassVar[dict[type[Expr], Callable[[_Test, Any], Type]]] = {
        Literal: _literal,
        Field: _field,
        Element: _element,
        Length: _length,
        Aggregate: _aggregate,
        Key: _key,
        Unary: _unary,
        Binary: _binary,
        In: _in,
        IsNull: _is_null,
        Case: _case,
        Call: _call,
        Opaque: _opaque,
    }


_AGGREGATES = {
    ("sum", "int"): (m.SUM_INT,),
    ("sum", "float"): (m.SUM_FLOAT,),
    ("avg", "int"): (m.SUM_INT, m.COUNT_KNOWN),
    ("avg", "float"): (m.SUM_FLOAT, m.COUNT_KNOWN),
    ("min", "int"): (m.MIN_INT,),
    ("max", "int"): (m.MAX_INT,),
    ("min", "float"): (m.MIN_FLOAT,),
    ("max", "float"): (m.MAX_FLOAT,),
    ("sum", "decimal"): (m.SUM_DECIMAL,),
    ("avg", "decimal"): (m.SUM_DECIMAL, m.COUNT_KNOWN),
    ("min", "decimal"): (m.MIN_DECIMAL,),
    ("max", "decimal"): (m.MAX_DECIMAL,),
}


def _choices(node: Expr) -> tuple[Expr, ...]:
    """The expressions whose value, as it is, may be the node's."""
    if isinstance(node, Case):
        return (*(value for _, value in node.branches), node.default)
    if isinstance(node, Call) and node.name in _CHOICES:
        return node.args
    return ()


def _is_quotient(expr: Expr) -> bool:
    return (isinstance(expr, Binary) and expr.op == "/") or (
        isinstance(expr, Aggregate) and expr.name == "avg"
    )


def _null_in_null_out(node: Expr) -> bool:
    if isinstance(node, Call):
        return not find_function(node).takes_null
    if isinstance(node, Binary):
        return node.op not in ("and", "or")
    return isinstance(node, (Field, Element, Literal)) or (isinstance(node, Unary) and node.op == "-")
