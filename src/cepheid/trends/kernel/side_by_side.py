"""Several patterns in one: how their tables and the events are handed over, and the totals of a node, side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

from cepheid.trends.kernel.by_state import ADDED, NONE, plus, times
from cepheid.trends.kernel.jit import compiled

LAST, NAMED, START, END = 0, 1, 2, 3  # columns of a node: events and times; after its end no pattern wants it
STATE = 0  # of a node that is just being made, where others have their last event: it is the event at hand
TEST, SOURCE, TARGET, NAMES = 0, 1, 2, 3  # columns of a way
PATTERN, POSITION, COMPLETES, FROM, TO = (
    0,
    1,
    2,
    3,
    4,
)  # columns of a move: where its totals are in the two nodes
FIRST, BEYOND, READS, WITHIN = (
    0,
    1,
    2,
    3,
)  # columns of a pattern: its measures, the tests of its steps, its window
WINDOW, WHEN = 0, 1  # columns of an answer
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
NULL = -1  # rank of no value


class Machine(NamedTuple):
    """What the patterns do. A span says where the parts of each whole begin; the next one's begin where they end."""

    ways: Any
    link_spans: Any  # of each way
    links: Any  # operator, which event, lenient, which column
    move_spans: Any  # of each way
    moves: Any
    keeps: Any  # of each state: the last event, that of the named step
    place_spans: Any  # of each state
    places: Any  # a pattern, and where its totals are
    patterns: Any
    answer_spans: Any  # of each pattern
    answers: Any
    bounded: Any  # have they windows?


class Rows(NamedTuple):
    """The events."""

    times: Any
    bits: Any  # which tests an event passes
    weights: Any
    weighing: Any  # which of the weights each measure adds up
    masks: Any  # the steps it counts
    kinds: Any
    own: Any  # what links compare, by rank: of the event at hand
    others: Any  # and of an earlier one


@compiled
def clear_at(totals, at, pattern, m, kinds):
    """No trends of a pattern."""
    totals[at] = 0
    first = m.patterns[pattern, FIRST]
    for measure in range(first, m.patterns[pattern, BEYOND]):
        totals[at + 1 + measure - first] = 0 if kinds[measure] == ADDED else NONE


@compiled
def add_at(totals, at, more, more_at, pattern, m, kinds):
    """Different trends of a pattern together."""
    totals[at] = plus(totals[at], more[more_at])
    first = m.patterns[pattern, FIRST]
    for measure in range(first, m.patterns[pattern, BEYOND]):
        i = 1 + measure - first
        if kinds[measure] == ADDED:
            totals[at + i] = plus(totals[at + i], more[more_at + i])
        else:
            totals[at + i] = min(totals[at + i], more[more_at + i])


@compiled
def take_at(moved, before, at, row, position, pattern, m, r):
    """The trends of a pattern with an event at a position."""
    count = before[at]
    moved[0] = count
    first = m.patterns[pattern, FIRST]
    for measure in range(first, m.patterns[pattern, BEYOND]):
        i = 1 + measure - first
        own = before[at + i]
        if r.masks[measure] >> position & 1:
            if r.kinds[measure] == ADDED:
                own = plus(own, times(count, r.weights[r.weighing[measure], row]))
            else:
                own = min(own, r.weights[r.weighing[measure], row])
        moved[i] = own


@compiled
def clear_node(totals, at, state, m, kinds):
    for i in range(m.place_spans[state], m.place_spans[state + 1]):
        clear_at(totals, at + m.places[i, 1], m.places[i, 0], m, kinds)


@compiled
def add_node(totals, at, more, more_at, state, m, kinds):
    for i in range(m.place_spans[state], m.place_spans[state + 1]):
        offset = m.places[i, 1]
        if more[more_at + offset] != 0:
            add_at(totals, at + offset, more, more_at + offset, m.places[i, 0], m, kinds)


@compiled
def clear_answers(totals, width, m, kinds):
    for pattern in range(len(m.patterns)):
        for a in range(m.answer_spans[pattern], m.answer_spans[pattern + 1]):
            clear_at(totals, a * width, pattern, m, kinds)


@compiled
def words_of(first, last, m):
    """How many words the totals of some places take."""
    words = 1
    for i in range(first, last):
        pattern = m.places[i, 0]
        measures = m.patterns[pattern, BEYOND] - m.patterns[pattern, FIRST]
        words = max(words, m.places[i, 1] + 1 + measures)
    return words
