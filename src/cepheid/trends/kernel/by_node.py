"""Totals of trends by node: a state, the last event, a named step's, the time of the first, as far as they matter.

An event is offered to every open node of the states it leads on from. What it makes are nodes of its own, or is added
to nodes that do not look at the last event. A node has the totals of all patterns that share its state, side by side:
it is looked at once for all of them.
"""

from __future__ import annotations

import numpy as np

from cepheid.trends.kernel.by_state import EACH, FINAL, MOMENT, shown_is_bad
from cepheid.trends.kernel.jit import compiled, entrance_of
from cepheid.trends.kernel.side_by_side import (
    BEYOND,
    COMPLETES,
    END,
    FIRST,
    FROM,
    LAST,
    NAMED,
    NAMES,
    NULL,
    PATTERN,
    POSITION,
    READS,
    SOURCE,
    START,
    STATE,
    TARGET,
    TEST,
    TO,
    WHEN,
    WINDOW,
    WITHIN,
    add_at,
    add_node,
    clear_answers,
    clear_node,
    take_at,
    words_of,
)

_NEVER = 2**63 - 1
_MIXING = -7046029254386353131


@compiled
def holds(op, one, other):
    if op == 0:
        return one == other
    if op == 1:
        return one != other
    if op == 2:
        return one < other
    if op == 3:
        return one <= other
    if op == 4:
        return one > other
    return one >= other


@compiled
def passes(way, row, last, named, m, r):
    """Does the event pass the links of a way with what a node holds?"""
    for link in range(m.link_spans[way], m.link_spans[way + 1]):
        earlier = last if m.links[link, 1] == 0 else named
        if earlier < 0:
            return False
        column = m.links[link, 3]
        other = r.others[column, earlier]
        if other == NULL and m.links[link, 2] != 0:
            continue
        mine = r.own[column, row]
        if mine == NULL or other == NULL or not holds(m.links[link, 0], mine, other):
            return False
    return True


@compiled
def place_of(state, named, start, slots, stamps, stamp, made):
    """Where such a node is among those the event makes, or a free place for it."""
    mask = len(slots) - 1
    # Times end in many zero bits: the product has the others' in its upper half.
    at = (((state + named * 31 + start * 17) * _MIXING) >> 32) & mask
    while stamps[at] == stamp:
        i = slots[at]
        if made[i, STATE] == state and made[i, NAMED] == named and made[i, START] == start:
            return at
        at = (at + 1) & mask
    return at


@compiled
def let_go(state, count, now, words, nodes, totals):
    """Nodes of a state that no pattern wants any more make room for the others. The answer: how many are left."""
    kept, base = 0, state * nodes.shape[1]
    for i in range(count):
        if nodes[state, i, END] >= now:
            if kept != i:
                nodes[state, kept] = nodes[state, i]
                to, at = (base + kept) * words, (base + i) * words
                for c in range(words):
                    totals[to + c] = totals[at + c]
            kept += 1
    return kept


@compiled
def with_room(nodes, totals, open_, words):
    """Twice as many places for the nodes of each state."""
    states, room = nodes.shape[0], nodes.shape[1]
    new = np.empty((states, 2 * room, 4), np.int64)
    new_totals = np.empty(states * 2 * room * words, np.int64)
    for state in range(states):
        count = open_[state]
        new[state, :count] = nodes[state, :count]
        to, at = state * 2 * room * words, state * room * words
        new_totals[to : to + count * words] = totals[at : at + count * words]
    return new, new_totals


@compiled
def most_made(row, now, words, open_, swept, nodes, totals, m, r):
    """Nodes that are too old go, where the event is to be offered. The answer: how many it can make."""
    most = 1
    for way in range(len(m.ways)):
        if r.bits[row] >> m.ways[way, TEST] & 1:
            source = m.ways[way, SOURCE]
            if m.bounded and source != 0 and swept[source] != row:
                open_[source] = let_go(source, open_[source], now, words, nodes, totals)
                swept[source] = row
            most += open_[source] if source != 0 else 1
    return most


@compiled
def offer(row, words, open_, nodes, totals, one, moved, made, made_totals, slots, stamps, stamp, delta, m, r):
    """The event is offered to all open nodes. The answer: how many nodes it makes."""
    new, room, now, width = 0, nodes.shape[1], r.times[row], len(moved)
    for way in range(len(m.ways)):
        if not r.bits[row] >> m.ways[way, TEST] & 1:
            continue
        source, target = m.ways[way, SOURCE], m.ways[way, TARGET]
        from_ = one if source == 0 else totals
        # Nodes with the same last event lie side by side: they pass or fail together.
        last, named, passed = np.int64(-2), np.int64(-2), source == 0
        made_named, made_start, place = np.int64(-2), np.int64(0), np.int64(-1)
        for i in range(open_[source] if source != 0 else 1):
            start, base, kept = now, np.int64(0), np.int64(-1)
            if source != 0:
                kept = nodes[source, i, NAMED]
                if nodes[source, i, LAST] != last or kept != named:
                    last, named = nodes[source, i, LAST], kept
                    passed = passes(way, row, last, named, m, r)
                if not passed:
                    continue
                start, base = nodes[source, i, START], (source * room + i) * words
            if m.ways[way, NAMES] != 0:
                kept = row
            if target < 0 or m.keeps[target, 1] == 0:
                kept = -1
            begin = start if m.bounded else np.int64(0)
            if kept != made_named or begin != made_start:
                made_named, made_start, place = kept, begin, -1
            for move in range(m.move_spans[way], m.move_spans[way + 1]):
                at, pattern = base + m.moves[move, FROM], m.moves[move, PATTERN]
                if from_[at] == 0:
                    continue
                end = start + m.patterns[pattern, WITHIN] if m.bounded else _NEVER
                if end < now:
                    continue
                take_at(moved, from_, at, row, m.moves[move, POSITION], pattern, m, r)
                if m.moves[move, COMPLETES] != 0:
                    for a in range(m.answer_spans[pattern], m.answer_spans[pattern + 1]):
                        if not m.bounded or start + m.answers[a, WINDOW] >= now:
                            add_at(delta, a * width, moved, 0, pattern, m, r.kinds)
                if target < 0:
                    continue
                if place < 0:
                    slot = place_of(target, kept, begin, slots, stamps, stamp, made)
                    if stamps[slot] != stamp:
                        stamps[slot], slots[slot] = stamp, new
                        made[new, STATE], made[new, NAMED], made[new, START] = target, kept, begin
                        made[new, END] = end
                        clear_node(made_totals, new * words, target, m, r.kinds)
                        new += 1
                    place = slots[slot]
                made[place, END] = max(made[place, END], end)
                add_at(made_totals, place * words + m.moves[move, TO], moved, 0, pattern, m, r.kinds)
    return new


@compiled
def join(words, open_, nodes, totals, made, made_totals, slots, stamps, stamp, m, kinds):
    """What an event made is added to the nodes that nothing tells it apart from."""
    room = nodes.shape[1]
    for state in range(1, len(open_)):
        for i in range(open_[state] if m.keeps[state, 0] == 0 else 0):
            slot = place_of(state, nodes[state, i, NAMED], nodes[state, i, START], slots, stamps, stamp, made)
            if stamps[slot] == stamp:
                place = slots[slot]
                add_node(totals, (state * room + i) * words, made_totals, place * words, state, m, kinds)
                nodes[state, i, END] = max(nodes[state, i, END], made[place, END])
                made[place, STATE] = -1  # it is there already


@compiled
def enter(row, new, words, open_, nodes, totals, made, made_totals, m, r):
    """The others become nodes. The answer: where all nodes are now."""
    for i in range(new):
        state = made[i, STATE]
        if state < 0:
            continue
        if open_[state] == nodes.shape[1]:
            if m.bounded:
                open_[state] = let_go(state, open_[state], r.times[row], words, nodes, totals)
            if 2 * open_[state] > nodes.shape[1]:
                nodes, totals = with_room(nodes, totals, open_, words)
        at = open_[state]
        nodes[state, at] = made[i]
        nodes[state, at, LAST] = row if m.keeps[state, 0] != 0 else -1
        to = (state * nodes.shape[1] + at) * words
        for c in range(words):
            totals[to + c] = made_totals[i * words + c]
        open_[state] = at + 1
    return nodes, totals


@compiled
def tell(answer, row, shown, at, used, found, events, out):
    number = found[answer]
    events[answer, number] = row
    for c in range(used):
        out[answer, number, c] = shown[at + c]
    found[answer] = number + 1


@compiled
def tell_answers(row, key, width, delta, running, last, left, found, events, out, m, r):
    """What an event completed is added up, and told if it is time to. The answer: does the key go on?"""
    goes_on = False
    for pattern in range(len(m.patterns)):
        first, beyond = m.patterns[pattern, FIRST], m.patterns[pattern, BEYOND]
        for a in range(m.answer_spans[pattern], m.answer_spans[pattern + 1]):
            if left[a, key]:
                continue
            goes_on = True
            when, at = m.answers[a, WHEN], a * width
            if delta[at] != 0:
                last[a] = row
                add_at(running, at, delta, at, pattern, m, r.kinds)
            elif when != EACH or r.bits[row] & m.patterns[pattern, READS] == 0:
                continue
            shown = delta if when == MOMENT else running
            if shown_is_bad(shown[at : at + width], r.kinds[first:beyond]):
                left[a, key] = True
            elif when != FINAL:
                tell(a, row, shown, at, 1 + beyond - first, found, events, out)
    return goes_on


def _aggregate_linked(stamp, entrance):
    @entrance
    def aggregate_linked(offsets, m, r, left):
        """All keys and all answers: how many rows each has, the event of each row and its totals.

        `left` marks, for each answer, the keys that did not fit.
        """
        if stamp < 0:  # what was compiled from other sources has another number here, and is not found
            raise AssertionError
        count, states, many = len(r.times), len(m.keeps), len(m.answers)
        words, width = words_of(m.place_spans[1], len(m.places), m), 1
        for pattern in range(len(m.patterns)):
            width = max(width, 1 + m.patterns[pattern, BEYOND] - m.patterns[pattern, FIRST])
        events, out = np.empty((many, count), np.int64), np.empty((many, count, width), np.int64)
        found, before, last = np.zeros(many, np.int64), np.zeros(many, np.int64), np.zeros(many, np.int64)
        delta, running = np.empty(many * width, np.int64), np.empty(many * width, np.int64)
        moved = np.empty(width, np.int64)
        one = np.empty(words_of(0, m.place_spans[1], m), np.int64)
        clear_node(one, 0, 0, m, r.kinds)
        for i in range(m.place_spans[1]):
            one[m.places[i, 1]] = 1  # the trend that has not begun
        nodes, totals = np.empty((states, 64, 4), np.int64), np.empty(states * 64 * words, np.int64)
        open_, swept = np.zeros(states, np.int64), np.full(states, -1, np.int64)
        made, made_totals = np.empty((64, 4), np.int64), np.empty(64 * words, np.int64)
        slots, stamps = np.empty(256, np.int64), np.full(256, -1, np.int64)
        for key in range(len(offsets) - 1):
            open_[:] = 0
            before[:] = found
            last[:] = -1
            clear_answers(running, width, m, r.kinds)
            for row in range(offsets[key], offsets[key + 1]):
                most = most_made(row, r.times[row], words, open_, swept, nodes, totals, m, r)
                if most > len(made):
                    made, made_totals = (
                        np.empty((2 * most, 4), np.int64),
                        np.empty(2 * most * words, np.int64),
                    )
                    size = 2 * len(slots)
                    while size < 4 * len(made):
                        size *= 2
                    slots, stamps = np.empty(size, np.int64), np.full(size, -1, np.int64)
                clear_answers(delta, width, m, r.kinds)
                new = offer(
                    row,
                    words,
                    open_,
                    nodes,
                    totals,
                    one,
                    moved,
                    made,
                    made_totals,
                    slots,
                    stamps,
                    row,
                    delta,
                    m,
                    r,
                )
                if new:
                    join(words, open_, nodes, totals, made, made_totals, slots, stamps, row, m, r.kinds)
                    nodes, totals = enter(row, new, words, open_, nodes, totals, made, made_totals, m, r)
                if not tell_answers(row, key, width, delta, running, last, left, found, events, out, m, r):
                    break
            for pattern in range(len(m.patterns)):
                for a in range(m.answer_spans[pattern], m.answer_spans[pattern + 1]):
                    if left[a, key]:
                        found[a] = before[a]
                    elif m.answers[a, WHEN] == FINAL and last[a] >= 0:
                        used = 1 + m.patterns[pattern, BEYOND] - m.patterns[pattern, FIRST]
                        tell(a, last[a], running, a * width, used, found, events, out)
        return found, events, out

    return aggregate_linked


aggregate_linked = entrance_of(_aggregate_linked)
