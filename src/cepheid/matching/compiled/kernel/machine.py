"""Cross-event tests inside the kernel: a small stack machine with typed instructions and three-valued logic.

An instruction is (operation, a, b, c). A value is a whole number (also a time in microseconds, or a truth), a double,
a decimal (see decimals.py) or a text as a span of the heap; a null is a mark beside it. Where exact meaning ends (a
whole number that leaves 64 bits) the machine gives up, and the reference matcher does the key.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.decimals import (
    CEILING,
    EXACT_IN_FLOAT,
    FLOOR,
    HALF_UP,
    LARGEST,
    SCALE_BITS,
    TOO_LARGE,
    decimal_negative,
    decimal_of,
    decimal_order,
    decimal_product,
    decimal_quotient,
    decimal_remainder,
    decimal_rounded,
    decimal_sum,
)
from cepheid.matching.compiled.kernel.float_sums import float_sum, keep_sum
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import (
    as_bits,
    as_float,
    load_byte,
    load_int,
)
from cepheid.matching.compiled.kernel.space import (
    CONSTANTS,
    HEAP,
    STACK,
    event_float,
    event_int,
    event_null,
    event_text,
)
from cepheid.matching.compiled.kernel.words import (
    AGGREGATE_WIDTH,
    AGGREGATES,
    AT_AGGREGATE,
    AT_CODE,
    AT_TESTS,
    NODE_ROW,
    NODE_SAME,
    R_AGGREGATES,
    R_FIRST,
    R_LAST,
    R_NUMBER,
    V_ALIAS,
    V_COLUMN,
    V_NULLS,
    V_OPERATION,
    V_PLACE,
)

INSTRUCTION = 4  # numbers

(
    # Put a value on the stack.
    NULL,
    INT,  # a: the number
    FLOAT,  # a: which constant
    TEXT,  # a, b: span of the heap
    LOAD_INT,  # a: from which event, b: column of its kind, c: column of the null marks
    LOAD_FLOAT,
    LOAD_TEXT,
    LENGTH,  # a: alias
    # The same, of all events of a closure: a: alias, b: column of its kind, c: column of the null marks.
    SUM_INT,
    SUM_FLOAT,
    MIN_INT,
    MAX_INT,
    MIN_FLOAT,
    MAX_FLOAT,
    SUM_DECIMAL,
    MIN_DECIMAL,
    MAX_DECIMAL,
    COUNT_KNOWN,
    # Two values become one.
    ADD_INT,
    SUBTRACT_INT,
    MULTIPLY_INT,
    REMAINDER_INT,
    ADD_FLOAT,
    SUBTRACT_FLOAT,
    MULTIPLY_FLOAT,
    DIVIDE_FLOAT,
    REMAINDER_FLOAT,
    POWER_FLOAT,
    ADD_DECIMAL,
    SUBTRACT_DECIMAL,
    MULTIPLY_DECIMAL,
    REMAINDER_DECIMAL,
    DIVIDE_DECIMAL,  # a double
    COMPARE_INT,  # a: which comparison, b: what becomes of it
    COMPARE_FLOAT,
    COMPARE_TEXT,
    COMPARE_DECIMAL,
    COALESCE,
    FIND_TEXT,  # a: where
    AND,
    OR,
    # One value becomes another.
    TO_FLOAT,  # a: how far below the top
    TO_FLOAT_EXACTLY,
    TO_DECIMAL,
    DECIMAL_TO_FLOAT,
    NEGATE_INT,
    ABS_INT,
    SIGN_INT,  # of a decimal too
    NEGATE_FLOAT,
    ABS_FLOAT,
    SIGN_FLOAT,
    SQUARE_ROOT,
    STAY_EXACT,  # gives up on a double that may have been a whole number, and rounded
    ROUND_FLOAT,  # a: how
    WHOLE_FLOAT,  # the same, as a whole number
    NEGATE_DECIMAL,
    ABS_DECIMAL,
    ROUND_DECIMAL,  # a: how, b: to how many digits
    WHOLE_DECIMAL,
    NOT,
    IS_NULL,
    IS_KNOWN,
    # Where to go on.
    JUMP_IF_NOT_KNOWN,  # a: alias, b: how many instructions on, c: column of the null marks, or -1
    JUMP,  # a: how many instructions on
    JUMP_UNLESS_TRUE,
    STOP_UNLESS_TRUE,
) = range(66)

# A value on the stack.
TEXT_END, IS_NOTHING, VALUE = 1, 2, 3
LOWEST = -(2**63)

# Where a value comes from: the event at hand, the one before it, or one of an alias's.
CURRENT = 0
PER_ALIAS = 3
LAST, OWN, AT = 0, 1, 2  # 1 + PER_ALIAS * alias + one of these

EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(6)

# What becomes of a comparison: its answer; the second value if it holds, else the first, and nulls do not count; or
# the first value, null if it holds.
ANSWER, CHOICE, UNLESS = range(3)

AT_START, AT_END, ANYWHERE = range(3)  # where a text is in another

# How a test ends.
FALSE, TRUE, GIVES_UP = 0, 1, 2


@inner
def _row(t, w, run, source, current, before, extra_alias, extra_row, position):
    """The row a value comes from, or -1. `extra` is an event that counts as taken."""
    if source == CURRENT:
        return current
    alias = (source - 1) // PER_ALIAS
    how = (source - 1) % PER_ALIAS
    if how == AT:
        return _row_at(t, w, run, alias, extra_alias, extra_row, position)
    if alias == extra_alias:
        return extra_row
    last = w[run + t[R_LAST] + alias]
    if last >= 0:
        return w[last + NODE_ROW]
    return before if how == OWN else -1


@inner
def _row_at(t, w, run, alias, extra_alias, extra_row, position):
    count = w[run + t[R_NUMBER] + alias]
    if position < 0:
        return -1
    if position == count and alias == extra_alias:
        return extra_row
    if position >= count:
        return -1
    if position == 0:
        return w[w[run + t[R_FIRST] + alias] + NODE_ROW]
    at = w[run + t[R_LAST] + alias]
    for _ in range(count - 1 - position):
        at = w[at + NODE_SAME]
    return w[at + NODE_ROW]


@inner
def _compared(which, less, same):
    if which == EQUAL:
        return same
    if which == NOT_EQUAL:
        return not same
    if which == LESS:
        return less
    if which == LESS_EQUAL:
        return less or same
    if which == GREATER:
        return not (less or same)
    return not less


@inner
def _text_order(w, a, a_end, b, b_end):
    """Below, at or above 0, as UTF-8 and Python order texts."""
    heap = w[HEAP]
    for i in range(min(a_end - a, b_end - b)):
        difference = load_byte(heap + a + i) - load_byte(heap + b + i)
        if difference != 0:
            return difference
    return (a_end - a) - (b_end - b)


@inner
def _added(a, b):
    """The sum, and whether it fits."""
    total = a + b
    return total, not ((a >= 0) == (b >= 0) and (total >= 0) != (a >= 0))


@inner
def _fits_product(a, b):
    return abs(np.float64(a) * np.float64(b)) < 9.0e18


@inner
def run_test(t, test, w, run, current, before, extra_alias, extra_row):
    """The answer of one test: TRUE only where all of it is true.

    `s` is the place of the topmost value: itself (a double as its bits), the end of a text, whether it is null.
    """
    at = t[AT_CODE] + t[t[AT_TESTS] + test] * INSTRUCTION
    end = t[AT_CODE] + t[t[AT_TESTS] + test + 1] * INSTRUCTION
    s = w[STACK] - VALUE
    while at < end:
        op, a, b, c = t[at], t[at + 1], t[at + 2], t[at + 3]
        at += INSTRUCTION
        if op <= LENGTH:
            s = _put(t, w, s, op, a, b, c, run, current, before, extra_alias, extra_row)
        elif op <= COUNT_KNOWN:
            s += VALUE
            if not _aggregate(t, w, s, op, a, b, c, run, extra_alias, extra_row):
                return GIVES_UP
        elif op <= OR:
            s -= VALUE
            if not _combine(w, s, op, a, b):
                return GIVES_UP
        elif op <= IS_KNOWN:
            if not _change(w, s, op, a, b):
                return GIVES_UP
        elif op == JUMP_IF_NOT_KNOWN:
            # A closure's own name, before it captured anything and where the event before has no such field.
            if w[run + t[R_NUMBER] + a] == 0 and (c < 0 or before < 0 or event_null(w, c, before)):
                at += b * INSTRUCTION
        elif op == JUMP:
            at += a * INSTRUCTION
        else:
            true = w[s + IS_NOTHING] == 0 and w[s] == 1
            s -= VALUE
            if not true:
                if op == STOP_UNLESS_TRUE:
                    return FALSE
                at += a * INSTRUCTION
    return TRUE


@inner
def _put(t, w, s, op, a, b, c, run, current, before, extra_alias, extra_row):
    """One more value; the answer is the place of the topmost one."""
    if op in (LOAD_INT, LOAD_FLOAT, LOAD_TEXT):
        place = np.int64(0)
        if a > 0 and (a - 1) % PER_ALIAS == AT:  # its place is on the stack
            place = np.int64(-1) if w[s + IS_NOTHING] else w[s]
            s -= VALUE
        row = _row(t, w, run, a, current, before, extra_alias, extra_row, place)
        s += VALUE
        nothing = row < 0 or event_null(w, c, row)
        w[s + IS_NOTHING] = nothing
        if nothing:
            return s
        if op == LOAD_INT:
            w[s] = event_int(w, b, row)
        elif op == LOAD_FLOAT:
            w[s] = as_bits(event_float(w, b, row))
        else:
            w[s] = event_text(w, b, row)
            w[s + TEXT_END] = event_text(w, b, row + 1)
        return s
    s += VALUE
    w[s + IS_NOTHING] = op == NULL
    if op == LENGTH:
        w[s] = w[run + t[R_NUMBER] + a] + (1 if a == extra_alias else 0)
    elif op == FLOAT:
        w[s] = load_int(w[CONSTANTS] + a * 8)
    else:
        w[s] = a
        w[s + TEXT_END] = b
    return s


@inner
def _found(w, s, o, where):
    """Is a text in another? Bytes of UTF-8 are where its letters are."""
    heap, part, size = w[HEAP], w[o], w[o + TEXT_END] - w[o]
    first, last = w[s], w[s + TEXT_END] - size
    if where == AT_START:
        last = min(first, last)
    elif where == AT_END:
        first = max(first, last)
    while first <= last:
        same = 0
        while same < size and load_byte(heap + first + same) == load_byte(heap + part + same):
            same += 1
        if same == size:
            return True
        first += 1
    return False


@inner
def _combine(w, s, op, a, b):
    """Two values become one; False where that has no exact meaning here."""
    o = s + VALUE
    if op in (AND, OR):
        # What decides: a false, a true.
        decides = 0 if op == AND else 1
        unknown = w[s + IS_NOTHING] or w[o + IS_NOTHING]
        one, other = w[s] if not w[s + IS_NOTHING] else 2, w[o] if not w[o + IS_NOTHING] else 2
        decided = one == decides or other == decides
        w[s] = decides if decided else 1 - decides
        w[s + IS_NOTHING] = unknown and not decided
        return True
    if w[s + IS_NOTHING] or w[o + IS_NOTHING]:
        if op == COALESCE or b == CHOICE:
            if w[s + IS_NOTHING]:
                _copy(w, o, s)
        elif b != UNLESS:
            w[s + IS_NOTHING] = 1
        return True
    if op <= REMAINDER_INT:
        return _combine_ints(w, s, op, w[s], w[o])
    if op <= POWER_FLOAT:
        return _combine_floats(w, s, op, as_float(w[s]), as_float(w[o]))
    if (op <= DIVIDE_DECIMAL or op == COMPARE_DECIMAL) and (w[s] == TOO_LARGE or w[o] == TOO_LARGE):
        return False
    if op <= DIVIDE_DECIMAL:
        return _combine_decimals(w, s, op, w[s], w[o])
    if op == FIND_TEXT:
        w[s] = _found(w, s, o, a)
    elif op != COALESCE:
        _compare(w, s, o, op, a, b)
    return True


@inner
def _copy(w, source, target):
    w[target], w[target + TEXT_END] = w[source], w[source + TEXT_END]
    w[target + IS_NOTHING] = w[source + IS_NOTHING]


@inner
def _compare(w, s, o, op, which, outcome):
    if op == COMPARE_INT:
        less, same = w[s] < w[o], w[s] == w[o]
    elif op == COMPARE_FLOAT:
        less, same = as_float(w[s]) < as_float(w[o]), as_float(w[s]) == as_float(w[o])
    else:
        if op == COMPARE_TEXT:
            order = _text_order(w, w[s], w[s + TEXT_END], w[o], w[o + TEXT_END])
        else:
            order = decimal_order(w[s], w[o])
        less, same = order < 0, order == 0
    holds = _compared(which, less, same)
    if outcome == ANSWER:
        w[s] = holds
    elif outcome == UNLESS:
        w[s + IS_NOTHING] = holds
    elif holds:
        _copy(w, o, s)


@inner
def _combine_decimals(w, s, op, x, y):
    if y == 0 and op in (REMAINDER_DECIMAL, DIVIDE_DECIMAL):
        w[s + IS_NOTHING] = 1
        return True
    if op == DIVIDE_DECIMAL:
        quotient, exact = decimal_quotient(x, y)
        w[s] = as_bits(quotient)
        return exact
    if op == ADD_DECIMAL:
        result = decimal_sum(x, y)
    elif op == SUBTRACT_DECIMAL:
        result = decimal_sum(x, decimal_negative(y))
    elif op == MULTIPLY_DECIMAL:
        result = decimal_product(x, y)
    else:
        result = decimal_remainder(x, y)
    w[s] = result
    return result != TOO_LARGE


@inner
def _combine_ints(w, s, op, x, y):
    fits = True
    if op == ADD_INT:
        w[s], fits = _added(x, y)
    elif op == SUBTRACT_INT:
        fits = y != LOWEST
        if fits:
            w[s], fits = _added(x, -y)
    elif op == MULTIPLY_INT:
        w[s] = x * y
        fits = _fits_product(x, y)
    elif y == 0:
        w[s + IS_NOTHING] = 1
    else:  # with the sign of the dividend
        rest = abs(x) % abs(y)
        w[s] = -rest if x < 0 else rest
    return fits


@inner
def _combine_floats(w, s, op, x, y):
    result = x
    nothing = False
    if op == ADD_FLOAT:
        result = x + y
    elif op == SUBTRACT_FLOAT:
        result = x - y
    elif op == MULTIPLY_FLOAT:
        result = x * y
    elif op == POWER_FLOAT:
        result = x**y
        if not np.isfinite(result):
            return False
    elif y == 0.0 or (op == REMAINDER_FLOAT and np.isinf(x)):
        nothing = True
    elif op == DIVIDE_FLOAT:
        result = x / y
    else:
        result = np.fmod(x, y)
    w[s] = as_bits(result)
    w[s + IS_NOTHING] = nothing or result != result
    return True


@inner
def _change(w, s, op, a, b):
    """The topmost value (for widening, one below it) becomes another; False where that has no exact meaning."""
    if op <= DECIMAL_TO_FLOAT:
        o = s - a * VALUE
        return w[o + IS_NOTHING] != 0 or _widen(w, o, op, w[o])
    if op in (IS_NULL, IS_KNOWN):
        w[s] = (w[s + IS_NOTHING] != 0) == (op == IS_NULL)
        w[s + IS_NOTHING] = 0
    elif w[s + IS_NOTHING]:
        return True
    elif op == NOT:
        w[s] = 1 - w[s]
    elif SIGN_INT < op < NEGATE_DECIMAL:
        return _change_float(w, s, op, a, as_float(w[s]))
    elif w[s] == LOWEST:  # a decimal: too large
        return False
    elif op >= NEGATE_DECIMAL:
        return _change_decimal(w, s, op, a, b, w[s])
    elif op == SIGN_INT:
        w[s] = (w[s] > 0) - (w[s] < 0)
    elif op == NEGATE_INT or w[s] < 0:
        w[s] = -w[s]
    return True


@inner
def _widen(w, o, op, x):
    if op == TO_DECIMAL:
        w[o] = decimal_of(x, np.int64(0))
        return abs(x) <= LARGEST
    if op == DECIMAL_TO_FLOAT:
        one = np.int64(1) << SCALE_BITS
        quotient, exact = decimal_quotient(x, one)
        w[o] = as_bits(quotient)
        return exact and x != TOO_LARGE
    w[o] = as_bits(np.float64(x))
    return op == TO_FLOAT or abs(x) <= EXACT_IN_FLOAT


@inner
def _change_float(w, s, op, a, x):
    if op == SIGN_FLOAT:
        w[s] = (x > 0.0) - (x < 0.0)
        return True
    if op == NEGATE_FLOAT:
        x = -x
    elif op == ABS_FLOAT:
        x = abs(x)
    elif op == SQUARE_ROOT:
        w[s + IS_NOTHING] = x < 0.0
        x = np.sqrt(abs(x))
    elif op == STAY_EXACT:
        return abs(x) <= EXACT_IN_FLOAT
    else:
        x = _rounded_float(x, a)
        if op == WHOLE_FLOAT:
            w[s + IS_NOTHING] = np.isinf(x)
            fits = abs(x) < 9.0e18
            w[s] = np.int64(x) if fits else 0
            return fits or np.isinf(x)
    w[s] = as_bits(x)
    return True


@inner
def _rounded_float(x, how):
    if how == FLOOR:
        return np.floor(x)
    if how == CEILING:
        return np.ceil(x)
    whole = np.floor(abs(x))
    if how == HALF_UP and abs(x) - whole >= 0.5:
        whole += 1.0
    return -whole if x < 0.0 else whole


@inner
def _change_decimal(w, s, op, a, b, x):
    if op == ROUND_DECIMAL:
        w[s] = decimal_rounded(x, b, a)
    elif op == WHOLE_DECIMAL:
        w[s] = decimal_rounded(x, np.int64(0), a) >> SCALE_BITS
    elif op == NEGATE_DECIMAL or x < 0:
        w[s] = decimal_negative(x)
    return True


@inner
def _aggregate(t, w, s, op, alias, column, null_column, run, extra_alias, extra_row):
    """Of what a closure captured; nulls do not count. False where it leaves 64 bits."""
    kept = run + t[R_AGGREGATES] + _place_of(t, op, alias, column, null_column)
    if op == SUM_FLOAT:
        value, known = float_sum(t, w, kept, alias, column, null_column, run, extra_alias, extra_row)
    else:
        value, known = w[kept], w[kept + 1]
        if alias == extra_alias and not event_null(w, null_column, extra_row):
            value, known = _with(w, op, value, known, column, extra_row)
    if known < 0:
        return False
    w[s] = known if op == COUNT_KNOWN else value
    w[s + IS_NOTHING] = known == 0 and op != COUNT_KNOWN
    return True


@inner
def _place_of(t, op, alias, column, null_column):
    """Of one of the few aggregates that runs keep."""
    at = t[AT_AGGREGATE]
    while (
        t[at + V_OPERATION] != op
        or t[at + V_ALIAS] != alias
        or t[at + V_COLUMN] != column
        or t[at + V_NULLS] != null_column
    ):
        at += AGGREGATE_WIDTH
    return t[at + V_PLACE]


@inner
def keep_aggregates(t, w, run, alias, row):
    """A run has taken one more event of an alias."""
    for number in range(t[AGGREGATES]):
        of = t[AT_AGGREGATE] + number * AGGREGATE_WIDTH
        if t[of + V_ALIAS] == alias and not event_null(w, t[of + V_NULLS], row):
            op, column, kept = t[of + V_OPERATION], t[of + V_COLUMN], run + t[R_AGGREGATES] + t[of + V_PLACE]
            if op == SUM_FLOAT:
                keep_sum(w, kept, event_float(w, column, row))
            else:
                w[kept], w[kept + 1] = _with(w, op, w[kept], w[kept + 1], column, row)


@inner
def _with(w, op, value, known, column, row):
    """With one more value: the aggregate, and of how many; -1 if it leaves 64 bits, from then on."""
    if known < 0 or op == COUNT_KNOWN:
        return value, (known + 1 if known >= 0 else known)
    if op in (MIN_FLOAT, MAX_FLOAT):
        number, best = event_float(w, column, row), as_float(value)
        if known == 0 or (number <= best if op == MIN_FLOAT else number >= best):
            best = number
        return as_bits(best), known + 1
    own = event_int(w, column, row)
    if op in (SUM_DECIMAL, MIN_DECIMAL, MAX_DECIMAL):
        value = _with_decimal(op, value, known, own)
        return value, (known + 1 if value != TOO_LARGE else np.int64(-1))
    if op == SUM_INT:
        total, fits = _added(value, own)
        return total, (known + 1 if fits else np.int64(-1))
    if known == 0 or (own < value if op == MIN_INT else own > value):
        value = own
    return value, known + 1


@inner
def _with_decimal(op, value, known, own):
    if known == 0 or own == TOO_LARGE:
        return own
    if op == SUM_DECIMAL:
        return decimal_sum(value, own)
    order = decimal_order(own, value)
    return own if (order < 0 if op == MIN_DECIMAL else order > 0) else value
