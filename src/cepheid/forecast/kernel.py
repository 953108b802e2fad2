"""Learning and forecasting over arrays, compiled: all keys at once, events in total order.

It moves runs by a table (`moves.py`): what each symbol does to a run at each place. So it takes patterns whose tests
look at one event only; for these it says what `ForecastMatcher` says, which is what it is tested against.
"""

from __future__ import annotations

from math import exp, log, log1p, log2

import numpy as np
from numba import njit

# Words of a unit: a run, known by its events.
U_NEXT, U_PLACE, U_START, U_PARENT, U_EVENT, U_RANK, U_POSITION, U_RUN, U_MASK, U_DEPTH, U_WIDTH = range(11)
# Words of a key.
K_HEAD, K_TAIL, K_COUNT, K_LAST, K_INDEX, K_TIME, K_RANK, K_CONTEXT, K_VERSION, K_WIDTH = range(10)
# Numbers that change.
(
    N_AT,  # the event it is at
    N_RESUME,  # 1: what the event did is learned, and it is to be told what is foretold
    N_SILENT,  # the last event that may have been the last of its key
    N_FREE,  # the first unit that is free
    N_FREES,  # how many are
    N_DEPTH,  # the most events of a unit
    N_BASE,  # the number of the first run of those in `runs`
    N_RUNS,
    N_CHAIN,
    N_ROWS,
    N_OUTCOMES,
    N_EVENTS,
    N_NODES,
    N_KNOWN,
    N_DUE,
    N_PLACES,
    N_WIDTH,
) = range(17)
# Columns of what is told.
F_EVENT, F_RUN, F_CONTEXT, F_SET, F_INDEX, F_WIDTH = range(6)
O_RUN, O_TIME, O_INDEX, O_WHAT, O_WIDTH = range(5)
R_CHAIN, R_LENGTH, R_KEY, R_START, R_WIDTH = range(5)
COMPLETED, ENDED, OPEN = range(3)
# Why it stops.
AT_END, WORK_OUT, FULL, GROW = range(4)


@njit(cache=True)
def _log_sum(odds):
    """log(1 + e^odds); beyond 40 a float cannot tell it from its limit."""
    if odds > 40.0:
        return odds
    if odds < -40.0:
        return 0.0
    return odds + log1p(exp(-odds)) if odds > 0 else log1p(exp(odds))


@njit(cache=True)
def _learn(n, tree_children, tree_counts, totals, odds, recent, depth, key, symbol, path):
    """One symbol into the context tree; the contexts of a key are in its row of `recent`."""
    if symbol + 1 > n[N_KNOWN]:
        n[N_KNOWN] = symbol + 1
    known = n[N_KNOWN]
    path[0] = 0
    length = 1
    node = 0
    for back in range(depth):
        before = recent[key, back]
        child = tree_children[node, before + 1]
        if child < 0:
            if n[N_NODES] >= len(totals):
                break
            child = n[N_NODES]
            n[N_NODES] += 1
            tree_children[node, before + 1] = child
        path[length] = child
        length += 1
        node = child
        if before < 0:
            break
    gained = 0.0
    for at in range(length - 1, -1, -1):
        node = path[at]
        own = log((tree_counts[node, symbol] + 1.0 / known) / (totals[node] + 1.0))
        if at == length - 1:
            gained = own
        else:
            before_odds = odds[node]
            after = before_odds + own - gained
            odds[node] = after
            gained += _log_sum(after) - _log_sum(before_odds)
        tree_counts[node, symbol] += 1
        totals[node] += 1


@njit(cache=True)
def _tell_outcome(n, outcomes, run, time, index, what):
    row = n[N_OUTCOMES]
    outcomes[row, O_RUN] = run
    outcomes[row, O_TIME] = time
    outcomes[row, O_INDEX] = index
    outcomes[row, O_WHAT] = what
    n[N_OUTCOMES] = row + 1


@njit(cache=True)
def _free(n, units, unit):
    units[unit, U_NEXT] = n[N_FREE]
    n[N_FREE] = unit
    n[N_FREES] += 1


@njit(cache=True)
def _expire(n, keys, units, said, outcomes, key, within, time):
    """Runs whose window is over go, with all that came of them: they have one start."""
    kept = -1
    unit = keys[key, K_HEAD]
    while unit >= 0:
        after = units[unit, U_NEXT]
        deadline = units[unit, U_START] + within
        if deadline < time:
            if said[unit] >= 0.0:
                _tell_outcome(n, outcomes, units[unit, U_RUN], deadline, keys[key, K_INDEX], ENDED)
            if kept < 0:
                keys[key, K_HEAD] = after
            else:
                units[kept, U_NEXT] = after
            keys[key, K_COUNT] -= 1
            _free(n, units, unit)
        else:
            kept = unit
        unit = after
    keys[key, K_TAIL] = kept


@njit(cache=True)
def _new_unit(n, keys, units, said, key, place, start, parent, event, rank, position):
    unit = n[N_FREE]
    n[N_FREE] = units[unit, U_NEXT]
    n[N_FREES] -= 1
    depth = 1 if parent < 0 else units[parent, U_DEPTH] + 1
    n[N_DEPTH] = max(n[N_DEPTH], depth)
    units[unit, U_DEPTH] = depth
    units[unit, U_NEXT] = -1
    units[unit, U_PLACE] = place
    units[unit, U_START] = start
    units[unit, U_PARENT] = parent
    units[unit, U_EVENT] = event
    units[unit, U_RANK] = rank
    units[unit, U_POSITION] = position
    units[unit, U_RUN] = -1
    units[unit, U_MASK] = np.int64(1) << place
    said[unit] = -1.0
    if keys[key, K_HEAD] < 0:
        keys[key, K_HEAD] = unit
    else:
        units[keys[key, K_TAIL], U_NEXT] = unit
    keys[key, K_TAIL] = unit
    keys[key, K_COUNT] += 1


@njit(cache=True)
def _visit(n, visited, place):
    if place >= 0 and visited[place] < 0:
        visited[place] = n[N_PLACES]
        n[N_PLACES] += 1


@njit(cache=True)
def _offer(n, keys, units, said, outcomes, seen, visited, table, key, symbol, event, time):
    """What the event does to each open run of its key. The answer: has anything changed?"""
    stays, children, completes, positions, starts, start_positions = table
    index, rank = keys[key, K_INDEX], keys[key, K_RANK]
    changed = False
    unit, last = keys[key, K_HEAD], keys[key, K_TAIL]
    while unit >= 0:
        place = units[unit, U_PLACE]
        if place >= 0:
            seen[place, symbol] += 1
            if completes[place, symbol]:
                above = unit
                while above >= 0:
                    if said[above] >= 0.0:
                        _tell_outcome(n, outcomes, units[above, U_RUN], time, index, COMPLETED)
                        said[above] = -1.0
                    above = units[above, U_PARENT]
            stay, child = stays[place, symbol], children[place, symbol]
            if stay != place:
                units[unit, U_PLACE] = stay
                changed = True
                _visit(n, visited, stay)
            if child >= 0:
                changed = True
                _visit(n, visited, child)
                start, position = units[unit, U_START], positions[place, symbol]
                _new_unit(n, keys, units, said, key, child, start, unit, event, rank, position)
        if unit == last:
            break
        unit = units[unit, U_NEXT]
    if starts[symbol] >= 0:
        changed = True
        _visit(n, visited, starts[symbol])
        _new_unit(n, keys, units, said, key, starts[symbol], time, -1, event, rank, start_positions[symbol])
    return changed


@njit(cache=True)
def _settle(n, keys, units, said, outcomes, key, time, scratch):
    """Runs of which nothing is left go; the others know the places of all that came of them."""
    count = 0
    unit = keys[key, K_HEAD]
    while unit >= 0:
        scratch[count] = unit
        count += 1
        place = units[unit, U_PLACE]
        units[unit, U_MASK] = np.int64(1) << place if place >= 0 else 0
        unit = units[unit, U_NEXT]
    for i in range(count - 1, -1, -1):
        unit = scratch[i]
        parent = units[unit, U_PARENT]
        if parent >= 0:
            units[parent, U_MASK] |= units[unit, U_MASK]
    keys[key, K_HEAD] = keys[key, K_TAIL] = -1
    keys[key, K_COUNT] = 0
    for i in range(count):
        unit = scratch[i]
        if units[unit, U_MASK] == 0:
            if said[unit] >= 0.0:
                _tell_outcome(n, outcomes, units[unit, U_RUN], time, keys[key, K_INDEX], ENDED)
            _free(n, units, unit)
            continue
        units[unit, U_NEXT] = -1
        if keys[key, K_HEAD] < 0:
            keys[key, K_HEAD] = unit
        else:
            units[keys[key, K_TAIL], U_NEXT] = unit
        keys[key, K_TAIL] = unit
        keys[key, K_COUNT] += 1


@njit(cache=True)
def _name_run(n, units, runs, chain, unit, key):
    """A run that is told of for the first time: its events are written down."""
    run = n[N_RUNS] - n[N_BASE]
    units[unit, U_RUN] = n[N_RUNS]
    n[N_RUNS] += 1
    at = n[N_CHAIN]
    runs[run, R_CHAIN], runs[run, R_KEY], runs[run, R_START] = at, key, units[unit, U_START]
    above = unit
    while above >= 0:
        chain[at, 0] = units[above, U_EVENT]
        chain[at, 1] = units[above, U_POSITION]
        chain[at, 2] = units[above, U_RANK]
        at += 1
        above = units[above, U_PARENT]
    runs[run, R_LENGTH] = at - n[N_CHAIN]
    n[N_CHAIN] = at


@njit(cache=True)
def _set_of(masks, numbers, chances, context, mask):
    """The number of a set of places; of its best place, if it is not known as a whole; -1: none of them is."""
    at = np.searchsorted(masks, mask)
    if at < len(masks) and masks[at] == mask:
        return numbers[at]
    best, most = -1, -1.0
    for place in range(62):
        one = np.int64(1) << place
        if mask & one:
            at = np.searchsorted(masks, one)
            if at < len(masks) and masks[at] == one:
                found = chances[context, numbers[at], chances.shape[2] - 1]
                if found > most:
                    best, most = numbers[at], found
    return best


@njit(cache=True)
def _foretell(n, keys, units, said, asked, says, rows, values, runs, chain, key, event, time):
    """Every open run of the key that passes the confidence, and has changed enough since it was last told of."""
    horizon, within, width, confidence, change = asked
    chances, masks, numbers = says
    context, size = keys[key, K_CONTEXT], chances.shape[2] - 1
    unit = keys[key, K_HEAD]
    while unit >= 0:
        if units[unit, U_PLACE] >= 0:
            number = _set_of(masks, numbers, chances, context, units[unit, U_MASK])
            if number >= 0 and chances[context, number, size] >= confidence:
                budget = horizon
                if within >= 0:
                    left = units[unit, U_START] + within - time
                    budget = left if horizon < 0 else min(horizon, left)
                place = (
                    float(size) if horizon < 0 and within < 0 else min(max(budget / width, 0.0), float(size))
                )
                low = int(place)
                chance = chances[context, number, low]
                if place > low:
                    chance += (place - low) * (chances[context, number, low + 1] - chance)
                if chance >= confidence and (said[unit] < 0.0 or abs(chance - said[unit]) >= change):
                    if units[unit, U_RUN] < 0:
                        _name_run(n, units, runs, chain, unit, key)
                    said[unit] = chance
                    row = n[N_ROWS]
                    rows[row, F_EVENT], rows[row, F_RUN] = event, units[unit, U_RUN]
                    rows[row, F_CONTEXT], rows[row, F_SET] = context, number
                    rows[row, F_INDEX] = keys[key, K_INDEX]
                    values[row, 0], values[row, 1] = chance, place
                    n[N_ROWS] = row + 1
        unit = units[unit, U_NEXT]


@njit(cache=True)
def _find_context(after, first, recent, key):
    """The context after the last symbols of a key."""
    length = 0
    while length < recent.shape[1] and recent[key, length] >= 0:
        length += 1
    context = first if length < recent.shape[1] else 0
    for back in range(length - 1, -1, -1):
        symbol = recent[key, back]
        context = after[context, symbol] if symbol < after.shape[1] else 0
    return context


@njit(cache=True)
def _no_room(n, keys, scratch, runs, chain, rows, outcomes, key):
    """May the event find a buffer full? 1: what is told must be taken away; 2: more room for runs is needed."""
    count = keys[key, K_COUNT] + 2
    if n[N_OUTCOMES] + 2 * count > len(outcomes) or n[N_ROWS] + 2 * count > len(rows):
        return 1
    if n[N_RUNS] - n[N_BASE] + 2 * count > len(runs):
        return 1
    if n[N_CHAIN] + 2 * count * (n[N_DEPTH] + 1) > len(chain):
        return 1
    return 2 if n[N_FREES] < count or 2 * count > len(scratch) else 0


@njit(cache=True)
def go_on(
    n, events, keys, recent, units, said, table, learned, asked, laws, says, version, keep, told, ends, depth
):
    """Events from where it is; the answer is why it stopped."""
    symbols, times, key_of, relevant = events
    tree_children, tree_counts, totals, odds, gap_counts, gap_sums, silent, followed, seen, visited, path = (
        learned
    )
    after, first = laws
    rows, values, runs, chain, outcomes, scratch = told
    within = asked[1]
    while n[N_AT] < len(symbols):
        event = n[N_AT]
        key, symbol, time = key_of[event], symbols[event], times[event]
        if n[N_RESUME] == 0:
            full = _no_room(n, keys, scratch, runs, chain, rows, outcomes, key)
            if full == 1:
                return FULL
            if full == 2:
                return GROW
            while keep >= 0 and n[N_SILENT] < event and times[n[N_SILENT]] + keep < time:
                old = key_of[n[N_SILENT]]
                if keys[old, K_LAST] == n[N_SILENT]:
                    if within >= 0:
                        if n[N_OUTCOMES] + keys[old, K_COUNT] > len(outcomes):
                            return FULL
                        _expire(n, keys, units, said, outcomes, old, within, time)
                    silent[recent[old, 0]] += 1
                    recent[old, :] = -1
                    keys[old, K_LAST] = -1
                    keys[old, K_VERSION] = -1
                    if keys[old, K_HEAD] < 0:  # nothing of it is remembered
                        keys[old, K_INDEX] = 0
                        keys[old, K_TIME] = -1
                n[N_SILENT] += 1
            if within >= 0:
                _expire(n, keys, units, said, outcomes, key, within, time)
            keys[key, K_INDEX] += 1
            if keys[key, K_TIME] != time or keys[key, K_INDEX] == 1:
                keys[key, K_TIME], keys[key, K_RANK] = time, -1
            if relevant[event]:
                keys[key, K_RANK] += 1
            if _offer(n, keys, units, said, outcomes, seen, visited, table, key, symbol, event, time):
                _settle(n, keys, units, said, outcomes, key, time, scratch)
            n[N_EVENTS] += 1
            _learn(n, tree_children, tree_counts, totals, odds, recent, depth, key, symbol, path)
            last = keys[key, K_LAST]
            if last >= 0:
                gap = time - times[last]
                number = 0 if gap <= 0 else 1 + int(8 * log2(gap))
                before = recent[key, 0]
                gap_counts[before, symbol, number] += 1
                gap_sums[before, symbol, number] += gap
                followed[before] += 1
            if keys[key, K_VERSION] == version and symbol < after.shape[1]:
                keys[key, K_CONTEXT] = after[keys[key, K_CONTEXT], symbol]
            else:
                keys[key, K_VERSION] = -1
            for back in range(recent.shape[1] - 1, 0, -1):
                recent[key, back] = recent[key, back - 1]
            recent[key, 0] = symbol
            keys[key, K_LAST] = event
            if n[N_EVENTS] >= n[N_DUE]:
                n[N_RESUME] = 1
                return WORK_OUT
        n[N_RESUME] = 0
        if version >= 0 and keys[key, K_HEAD] >= 0:
            if keys[key, K_VERSION] != version:
                keys[key, K_CONTEXT] = _find_context(after, first, recent, key)
                keys[key, K_VERSION] = version
            _foretell(n, keys, units, said, asked, says, rows, values, runs, chain, key, event, time)
        n[N_AT] = event + 1
    for key in range(n[N_RESUME], len(keys)):
        if n[N_OUTCOMES] + keys[key, K_COUNT] > len(outcomes):
            n[N_RESUME] = key
            return FULL
        if within >= 0:
            _expire(n, keys, units, said, outcomes, key, within, ends)
        unit = keys[key, K_HEAD]
        while unit >= 0:
            if said[unit] >= 0.0:
                _tell_outcome(n, outcomes, units[unit, U_RUN], ends, keys[key, K_INDEX], OPEN)
                said[unit] = -1.0
            unit = units[unit, U_NEXT]
    return AT_END
