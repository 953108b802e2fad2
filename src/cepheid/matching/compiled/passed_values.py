"""Which value of an event must be above, or below, that of a run that waits for it: where runs can be found by it.

Read off the instructions a test begins with, as equalities are (`equalities.py`): `LOAD one; LOAD other; COMPARE LESS;
STOP_UNLESS_TRUE`. If it holds for none of the event and the run, nothing else is asked of them.
"""

from __future__ import annotations

from cepheid.matching.compiled.equalities import Instructions, with_the_event_first
from cepheid.matching.compiled.kernel import machine as m
from cepheid.matching.compiled.kernel.words import (
    BEYOND_ABOVE,
    BEYOND_BELOW,
    BEYOND_NOTHING,
    BEYOND_WIDTH,
)
from cepheid.plan.automaton import Automaton

NOTHING = (BEYOND_NOTHING, *[0] * (BEYOND_WIDTH - 1))
_COMPARISONS = {m.LOAD_INT: m.COMPARE_INT, m.LOAD_FLOAT: m.COMPARE_FLOAT}
# What is said of the event's value, and the same said of the run's.
_TURNED = {
    m.LESS: m.GREATER,
    m.LESS_EQUAL: m.GREATER_EQUAL,
    m.GREATER: m.LESS,
    m.GREATER_EQUAL: m.LESS_EQUAL,
}
_ABOVE, _OR_EQUAL = (m.GREATER, m.GREATER_EQUAL), (m.LESS_EQUAL, m.GREATER_EQUAL)


def passed_in(
    automaton: Automaton, tests: dict[tuple[str, int], Instructions], state: int, heap: int
) -> tuple[int, ...]:
    """The row of a state, whose runs would lie in the heap of that number: the same for every way out, or nothing."""
    positions = {e.position for e in automaton.out[state]}
    found = {_passed(tests.get(("position", p), []), heap) for p in positions}
    return found.pop() if len(found) == 1 else NOTHING


def _passed(code: Instructions, heap: int) -> tuple[int, ...]:
    """The first of the comparisons that a test begins with."""
    for at in range(0, len(code) - 3, 4):
        one, other, compare, stop = code[at : at + 4]
        if not _is_comparison(one, other, compare, stop):
            break
        row = _row(one, other, compare, heap)
        if row != NOTHING:
            return row
    return NOTHING


def _is_comparison(one: list[int], other: list[int], compare: list[int], stop: list[int]) -> bool:
    """Of two values as they are: it does not give up."""
    alike = one[0] in _COMPARISONS and other[0] == one[0] and compare[0] == _COMPARISONS[one[0]]
    return alike and compare[2] == m.ANSWER and stop[0] == m.STOP_UNLESS_TRUE


def _row(one: list[int], other: list[int], compare: list[int], heap: int) -> tuple[int, ...]:
    pair = with_the_event_first(one, other)
    if pair is None or compare[1] not in _TURNED:
        return NOTHING
    event, run = pair
    said = compare[1] if event is one else _TURNED[compare[1]]
    way = BEYOND_ABOVE if said in _ABOVE else BEYOND_BELOW
    alias = (run[1] - 1) // m.PER_ALIAS
    floats, or_equal = int(one[0] == m.LOAD_FLOAT), int(said in _OR_EQUAL)
    return (way, or_equal, floats, event[2], event[3], alias, run[2], run[3], heap)
