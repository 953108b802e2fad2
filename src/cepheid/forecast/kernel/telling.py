"""What is foretold of the open runs of a key."""

from __future__ import annotations

import numpy as np

from cepheid.forecast.kernel.jit import compiled
from cepheid.forecast.kernel.words import (
    C_EVENT,
    C_POSITION,
    C_RANK,
    F_DEPTH,
    F_EVENT,
    F_INDEX,
    F_RUN,
    K_HEAD,
    K_INDEX,
    N_CHAIN,
    N_ROWS,
    N_RUNS,
    R_CHAIN,
    R_KEY,
    R_LENGTH,
    R_START,
    U_DEPTH,
    U_EVENT,
    U_MASK,
    U_NEXT,
    U_PARENT,
    U_PLACE,
    U_POSITION,
    U_RANK,
    U_RUN,
    U_SET,
    U_START,
    V_CHANCE,
    V_EXPECTED,
    V_HIGH,
    V_LOW,
)


@compiled
def _name_run(n, units, runs, chain, unit, key):
    """A run that is told of for the first time: its events are written down."""
    run, length = n[N_RUNS], units[unit, U_DEPTH]
    units[unit, U_RUN] = run
    n[N_RUNS] += 1
    at = n[N_CHAIN]
    runs[run, R_CHAIN], runs[run, R_LENGTH] = at, length
    runs[run, R_KEY], runs[run, R_START] = key, units[unit, U_START]
    n[N_CHAIN] = at + length
    above = unit
    while above >= 0:
        length -= 1
        chain[at + length, C_EVENT] = units[above, U_EVENT]
        chain[at + length, C_POSITION] = units[above, U_POSITION]
        chain[at + length, C_RANK] = units[above, U_RANK]
        above = units[above, U_PARENT]


@compiled
def _set_of(masks, numbers, mask):
    low, high = 0, len(masks)
    while low < high:
        middle = (low + high) // 2
        if masks[middle] < mask:
            low = middle + 1
        else:
            high = middle
    return numbers[low] if low < len(masks) and masks[low] == mask else -1


@compiled
def _best_of(masks, numbers, chances, mask):
    """Of a set that is not known as a whole: the number of its best place; -1: none is known."""
    best, most = -1, -1.0
    for place in range(62):
        one = np.int64(1) << place
        if mask & one:
            number = _set_of(masks, numbers, one)
            if number >= 0 and chances[number, chances.shape[1] - 1] > most:
                best, most = number, chances[number, chances.shape[1] - 1]
    return best


@compiled
def _value(row, place):
    """As `value_at` in `completion.py`; so are the next two."""
    low = int(place)
    return row[low] if place == low else row[low] + (place - low) * (row[low + 1] - row[low])


@compiled
def _expected(row, areas, place, whole):
    if whole <= 0.0:
        return 0.0
    low = int(place)
    return place - (areas[low] + (place - low) * (row[low] + whole) / 2) / whole


@compiled
def _quantile(row, place, wanted):
    low, high = 0, int(place) + 1
    while low < high:
        middle = (low + high) // 2
        if _value(row, min(float(middle), place)) >= wanted:
            high = middle
        else:
            low = middle + 1
    if low == 0:
        return 0.0
    upper = min(float(low), place)
    before, after = row[low - 1], _value(row, upper)
    part = 1.0 if after <= before else (wanted - before) / (after - before)
    return (low - 1) + part * (upper - (low - 1))


@compiled
def foretell(n, key, units, said, asked, says, context, told, number_of_key, event, time):
    """Every open run of the key that passes the confidence, and has changed enough since it was last told of."""
    horizon, within, width, confidence, change, tail = asked
    chances, areas, masks, numbers, depths = says
    rows, values, runs, chain = told[:4]
    size = chances.shape[2] - 1
    unit = key[K_HEAD]
    while unit >= 0:
        if units[unit, U_PLACE] >= 0:
            number = units[unit, U_SET]
            if number == -2:
                number = units[unit, U_SET] = _set_of(masks, numbers, units[unit, U_MASK])
            if number == -1:
                number = _best_of(masks, numbers, chances[context], units[unit, U_MASK])
            if number >= 0 and chances[context, number, size] >= confidence:
                place = float(size)
                if within >= 0:
                    left = units[unit, U_START] + within - time
                    place = (left if horizon < 0 else min(horizon, left)) / width
                elif horizon >= 0:
                    place = horizon / width
                place = min(max(place, 0.0), float(size))
                own = chances[context, number]
                chance = _value(own, place)
                if chance >= confidence and (said[unit] < 0.0 or abs(chance - said[unit]) >= change):
                    if units[unit, U_RUN] < 0:
                        _name_run(n, units, runs, chain, unit, number_of_key)
                    said[unit] = chance
                    row = n[N_ROWS]
                    n[N_ROWS] = row + 1
                    rows[row, F_EVENT], rows[row, F_RUN] = event, units[unit, U_RUN]
                    rows[row, F_INDEX], rows[row, F_DEPTH] = key[K_INDEX], depths[context]
                    values[row, V_CHANCE] = chance
                    values[row, V_EXPECTED] = width * _expected(own, areas[context, number], place, chance)
                    values[row, V_LOW] = width * _quantile(own, place, tail * chance)
                    values[row, V_HIGH] = width * _quantile(own, place, (1.0 - tail) * chance)
        unit = units[unit, U_NEXT]
