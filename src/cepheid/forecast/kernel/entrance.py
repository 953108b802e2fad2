"""Learning and forecasting over arrays: key by key, from one working out of the chances to the next.

In between, what is foretold of a key depends on no other key, so the events of each are taken one after the other.
Runs are moved by a table (`moves.py`): what each symbol does to a run at each place. So it takes patterns whose tests
look at one event only; for these it says what `ForecastMatcher` says, which is what it is tested against.
"""

from __future__ import annotations

import numpy as np

from cepheid.forecast.kernel.jit import compiled, made
from cepheid.forecast.kernel.telling import foretell
from cepheid.forecast.kernel.units import expire, new_unit, offer, settle, tell_outcome, visit
from cepheid.forecast.kernel.words import (
    DONE,
    FULL,
    GROW,
    K_AT,
    K_CODE,
    K_COUNT,
    K_HEAD,
    K_INDEX,
    K_MASK,
    K_OLDEST,
    K_RANK,
    K_SYMBOL,
    K_TIME,
    N_CHAIN,
    N_CONTEXT,
    N_DEPTH,
    N_FREES,
    N_KEY,
    N_OUTCOMES,
    N_RESUMED,
    N_ROWS,
    N_RUNS,
    OPEN,
    U_NEXT,
    U_RUN,
    U_SET,
)


@compiled
def _context_of(key, after, first, base, depth):
    """The context after the last symbols of a key."""
    length, code = 0, key[K_CODE]
    power = np.int64(1)
    while length < depth and code // power % base > 0:
        length += 1
        power *= base
    context = first if length < depth else 0
    while length > 0:
        length -= 1
        power //= base
        symbol = code // power % base - 1
        context = after[context, symbol] if symbol < after.shape[1] else 0
    return context


@compiled
def _first_from(ranks, low, high, until):
    """Of a key's events the first of this rank or a higher one."""
    while low < high:
        middle = (low + high) // 2
        if ranks[middle] < until:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _fall_silent(n, key, units, said, outcomes, silent, within, time):
    """A key of which nothing was heard for so long begins anew."""
    if within >= 0:
        expire(n, key, units, said, outcomes, within, time)
    silent[key[K_SYMBOL]] += 1
    key[K_SYMBOL] = -1
    key[K_CODE] = 0
    if key[K_HEAD] < 0:  # nothing of it is remembered
        key[K_INDEX] = 0


@compiled
def _no_room(n, count, scratch, told):
    """May the event find a buffer full? What is told, or the room for runs."""
    rows, _, runs, chain, outcomes = told
    most = 2 * count + 4
    if (
        n[N_OUTCOMES] + 2 * most > len(outcomes)
        or n[N_ROWS] + most > len(rows)
        or n[N_RUNS] + most > len(runs)
        or n[N_CHAIN] + most * (n[N_DEPTH] + 1) > len(chain)
    ):
        return FULL
    return GROW if n[N_FREES] < most or most > len(scratch) else DONE


def _go_on(stamp, entrance):
    @entrance
    def go_on(
        n,
        events,
        keys,
        units,
        said,
        scratch,
        table,
        learned,
        asked,
        laws,
        says,
        keep,
        told,
        until,
        clock,
        waiting,
    ):
        """All keys, their events up to the one of rank `until`; the answer is why it stopped.

        `clock`: the time of the last of these events. `waiting`: the event whose runs are told of with the new chances,
        which were worked out when it had been learned from; and the one that will wait so. Without such a one nothing
        will be worked out any more, so nothing need be learned.
        """
        if stamp < 0:  # what was compiled from other sources has another number here, and is not found
            return -1
        symbols, times, ranks, ends = events
        starts, start_positions, affected, relevant = table[4:]
        counts, gap_counts, gap_sums, silent, seen, visited, base, depth = learned
        after, first, hopes = laws
        outcomes, within, confidence = told[4], asked[1], asked[3]
        waited, will_wait = waiting
        room, learns = len(counts), will_wait >= 0
        while n[N_KEY] < len(keys):
            number = n[N_KEY]
            key, end = keys[number], ends[number]
            event = key[K_AT]
            if n[N_RESUMED] == 0:
                if _no_room(n, key[K_COUNT], scratch, told) != DONE:
                    return _no_room(n, key[K_COUNT], scratch, told)
                n[N_CONTEXT] = _context_of(key, after, first, base, depth)
                unit = key[K_HEAD]
                while unit >= 0:
                    units[unit, U_SET] = -2
                    unit = units[unit, U_NEXT]
                waits = waited >= 0 and waited == event - 1 and key[K_INDEX] > 0
                if waits and key[K_HEAD] >= 0 and hopes[n[N_CONTEXT]] >= confidence:
                    time = times[waited]
                    foretell(n, key, units, said, asked, says, n[N_CONTEXT], told, number, waited, time)
            context = n[N_CONTEXT]
            n[N_RESUMED] = 0
            end = _first_from(ranks, event, end, until)
            while event < end:
                stopped = _no_room(n, key[K_COUNT], scratch, told)
                if stopped != DONE:
                    key[K_AT], n[N_CONTEXT], n[N_RESUMED] = event, context, 1
                    return stopped
                time, symbol = times[event], np.int64(symbols[event])
                if keep >= 0 and key[K_SYMBOL] >= 0 and key[K_TIME] + keep < time:
                    _fall_silent(n, key, units, said, outcomes, silent, within, time)
                    context = first
                if within >= 0 and key[K_HEAD] >= 0 and key[K_OLDEST] + within < time:
                    expire(n, key, units, said, outcomes, within, time)
                key[K_INDEX] += 1
                if key[K_TIME] != time or key[K_INDEX] == 1:
                    key[K_RANK] = -1
                key[K_RANK] += relevant[symbol]
                seen[symbol] |= key[K_MASK]
                moved = False
                if key[K_MASK] & affected[symbol] != 0:
                    moved = offer(
                        n, key, units, said, outcomes, visited, table, symbol, event, time, ranks[event]
                    )
                if moved:
                    settle(n, key, units, said, outcomes, time, scratch)
                if starts[symbol] >= 0:
                    visit(visited, starts[symbol], ranks[event])
                    new_unit(n, key, units, said, starts[symbol], time, -1, event, start_positions[symbol])
                if learns:
                    counts[key[K_CODE], symbol] += 1
                    key[K_CODE] = (key[K_CODE] * base + symbol + 1) % room
                if learns and key[K_SYMBOL] >= 0:
                    gap = time - key[K_TIME]
                    # A float's exponent and its first three bits: `bin_of` in `gaps.py`.
                    bin_ = 0 if gap <= 0 else 1 + (np.float64(gap).view(np.int64) >> 49) - 8184
                    gap_counts[key[K_SYMBOL], symbol, bin_] += 1
                    gap_sums[key[K_SYMBOL], symbol, bin_] += gap
                context = after[context, symbol] if symbol < after.shape[1] else 0
                key[K_SYMBOL], key[K_TIME] = symbol, time
                if key[K_HEAD] >= 0 and hopes[context] >= confidence and event != will_wait:
                    foretell(n, key, units, said, asked, says, context, told, number, event, time)
                event += 1
            key[K_AT] = event
            if keep >= 0 and key[K_SYMBOL] >= 0 and key[K_TIME] + keep < clock:
                _fall_silent(n, key, units, said, outcomes, silent, within, clock)
            n[N_KEY] += 1
        n[N_KEY] = 0
        return DONE

    return go_on


go_on = made(_go_on)


def _finish(stamp, entrance):
    @entrance
    def finish(n, keys, units, said, outcomes, within, end):
        """Time goes on to the end of the input. FULL: to be called again with more room."""
        if stamp < 0:  # what was compiled from other sources has another number here, and is not found
            return -1
        while n[N_KEY] < len(keys):
            key = keys[n[N_KEY]]
            if n[N_OUTCOMES] + key[K_COUNT] > len(outcomes):
                return FULL
            if within >= 0:
                expire(n, key, units, said, outcomes, within, end)
            unit = key[K_HEAD]
            while unit >= 0:
                if said[unit] >= 0.0:
                    tell_outcome(n, outcomes, units[unit, U_RUN], end, key[K_INDEX], OPEN)
                    said[unit] = -1.0
                unit = units[unit, U_NEXT]
            n[N_KEY] += 1
        return DONE

    return finish


finish = made(_finish)
