"""Totals of trends by node: a state, the last event, a named step's, the time of the first, as far as they matter.

An event is offered to every open node. What it makes are nodes of its own, or is added to nodes that do not
look at the last event.
"""

from __future__ import annotations

import numpy as np

from cepheid.trends.kernel.by_state import add_into, clear, take_into, tell_end, tell_event
from cepheid.trends.kernel.jit import compiled, entrance

STATE, LAST, NAMED, START = 0, 1, 2, 3  # columns of a node
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
NULL = -1  # rank of no value
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
def passes(first, last, row, node, tests, own, others):
    """Does the event pass the tests of a way against what the node holds?"""
    for t in range(first, last):
        earlier = node[LAST] if tests[t, 1] == 0 else node[NAMED]
        if earlier < 0:
            return False
        other = others[t, earlier]
        if other == NULL and tests[t, 2] != 0:
            continue
        if own[t, row] == NULL or other == NULL or not holds(tests[t, 0], own[t, row], other):
            return False
    return True


@compiled
def place_of(state, named, start, slots, stamps, stamp, nodes):
    """Where such a node is among those the event makes, or a free place for it."""
    mask = len(slots) - 1
    # Times end in many zero bits: the product has the others' in its upper half.
    at = (((state + named * 31 + start * 17) * _MIXING) >> 32) & mask
    while stamps[at] == stamp:
        node = nodes[slots[at]]
        if node[STATE] == state and node[NAMED] == named and node[START] == start:
            return at
        at = (at + 1) & mask
    return at


@compiled
def larger(array, count):
    shape = (2 * len(array), array.shape[1])
    new = np.empty(shape, np.int64)
    new[:count] = array[:count]
    return new


@entrance
def aggregate_linked(
    offsets,
    times_,
    bits,
    weights,
    masks,
    kinds,
    ways,
    spans,
    tests,
    own,
    others,
    keeps,
    named_step,
    within,
    when,
    left,
):
    """All keys. The answer: for each row of it the event and its totals; `left` marks the keys that did not fit."""
    count, width = len(times_), len(kinds) + 1
    events = np.empty(count, np.int64)
    out = np.empty((count, width), np.int64)
    found = 0
    one = np.empty(width, np.int64)
    clear(one, kinds)
    one[0] = 1
    nowhere = np.full(4, -1, np.int64)
    running, delta, moved = np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    nodes, totals = np.empty((64, 4), np.int64), np.empty((64, width), np.int64)
    made, made_totals = np.empty((64, 4), np.int64), np.empty((64, width), np.int64)
    slots, stamps = np.empty(256, np.int64), np.full(256, -1, np.int64)
    stamp = 0
    for key in range(len(offsets) - 1):
        before, open_, last = found, 0, -1
        clear(running, kinds)
        for row in range(offsets[key], offsets[key + 1]):
            if within >= 0:
                kept = 0
                for i in range(open_):
                    if nodes[i, START] >= times_[row] - within:
                        if kept != i:
                            nodes[kept] = nodes[i]
                            totals[kept] = totals[i]
                        kept += 1
                open_ = kept
            while len(made) <= (open_ + 1) * (len(ways) + 1):
                made, made_totals = larger(made, 0), larger(made_totals, 0)
            if len(slots) < 4 * len(made):
                slots, stamps = np.empty(4 * len(made), np.int64), np.full(4 * len(made), -1, np.int64)
            stamp += 1
            new = 0
            clear(delta, kinds)
            for w in range(len(ways)):
                position, source, target = ways[w, 0], ways[w, 1], ways[w, 2]
                if not bits[row] >> position & 1:
                    continue
                for i in range(open_ if source != 0 else 1):
                    if source == 0:
                        node, total = nowhere, one
                    else:
                        node, total = nodes[i], totals[i]
                        if node[STATE] != source or not passes(
                            spans[w], spans[w + 1], row, node, tests, own, others
                        ):
                            continue
                    take_into(moved, total, row, position, weights, masks, kinds)
                    if ways[w, 3] != 0:
                        add_into(delta, moved, kinds)
                    if target < 0:
                        continue
                    named = row if position == named_step else node[NAMED]
                    if keeps[target, 1] == 0:
                        named = -1
                    start = 0 if within < 0 else times_[row] if source == 0 else node[START]
                    at = place_of(target, named, start, slots, stamps, stamp, made)
                    if stamps[at] != stamp:
                        stamps[at], slots[at] = stamp, new
                        made[new, STATE], made[new, NAMED], made[new, START] = target, named, start
                        made[new, LAST] = row if keeps[target, 0] != 0 else -1
                        clear(made_totals[new], kinds)
                        new += 1
                    add_into(made_totals[slots[at]], moved, kinds)
            for i in range(open_ if new else 0):
                if keeps[nodes[i, STATE], 0] == 0:
                    at = place_of(
                        nodes[i, STATE], nodes[i, NAMED], nodes[i, START], slots, stamps, stamp, made
                    )
                    if stamps[at] == stamp:
                        add_into(totals[i], made_totals[slots[at]], kinds)
                        made[slots[at], LAST] = -2  # it is there already
            for i in range(new):
                if made[i, LAST] != -2:
                    if open_ == len(nodes):
                        nodes, totals = larger(nodes, open_), larger(totals, open_)
                    nodes[open_] = made[i]
                    totals[open_] = made_totals[i]
                    open_ += 1
            if delta[0] != 0:
                last = row
            told = tell_event(found, row, delta, running, kinds, when, events, out)
            if told < 0:
                left[key] = True
                break
            found = told
        found = before if left[key] else tell_end(found, last, running, when, events, out)
    return events[:found].copy(), out[:found].copy()
