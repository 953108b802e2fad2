"""Which value an event and a run that waits for it must have in common: where runs can be found by it.

Read off the instructions of the tests: `LOAD one; LOAD other; COMPARE EQUAL; STOP_UNLESS_TRUE` in a row, where one is
the event at hand and the other the last one of an alias, is true of every event the run takes.
"""

from __future__ import annotations

from cepheid.matching.compiled.kernel import machine as m
from cepheid.matching.compiled.kernel.words import EQUAL_INTS, EQUAL_NOTHING, EQUAL_TEXTS, EQUAL_WIDTH
from cepheid.plan.automaton import Automaton

Instructions = list[list[int]]
# Equal decimals are equal words.
_FAMILIES = {
    m.LOAD_INT: ((m.COMPARE_INT, m.COMPARE_DECIMAL), EQUAL_INTS),
    m.LOAD_TEXT: ((m.COMPARE_TEXT,), EQUAL_TEXTS),
}
NOTHING = (EQUAL_NOTHING, *[0] * (EQUAL_WIDTH - 1))


def equal_in(automaton: Automaton, tests: dict[tuple[str, int], Instructions], state: int) -> tuple[int, ...]:
    """The row of a state: the same for every way out of it, or nothing."""
    positions = {e.position for e in automaton.out[state]}
    found = {equality(tests.get(("position", p), [])) for p in positions}
    return found.pop() if len(found) == 1 else NOTHING


def equality(code: Instructions) -> tuple[int, ...]:
    if any(op in (m.JUMP, m.JUMP_IF_NOT_KNOWN, m.JUMP_UNLESS_TRUE) for op, *_ in code):
        return NOTHING  # what is jumped over need not be true
    for at in range(len(code) - 3):
        row = _row(*code[at : at + 4])
        if row != NOTHING:
            return row
    return NOTHING


def _row(one: list[int], other: list[int], compare: list[int], stop: list[int]) -> tuple[int, ...]:
    if one[0] not in _FAMILIES or other[0] != one[0] or stop[0] != m.STOP_UNLESS_TRUE:
        return NOTHING
    operations, family = _FAMILIES[one[0]]
    if compare[0] not in operations or compare[1:3] != [m.EQUAL, m.ANSWER]:
        return NOTHING
    pair = with_the_event_first(one, other)
    if pair is None:
        return NOTHING
    event, run = pair
    return (family, event[2], event[3], (run[1] - 1) // m.PER_ALIAS, run[2], run[3])


def with_the_event_first(one: list[int], other: list[int]) -> tuple[list[int], list[int]] | None:
    """Of two values that are loaded that of the event at hand, then that of an alias's last; None: they are others."""
    if other[1] == m.CURRENT:
        one, other = other, one
    if one[1] != m.CURRENT or other[1] == m.CURRENT or (other[1] - 1) % m.PER_ALIAS != m.LAST:
        return None
    return one, other
