"""The search for the rows that a plan needs, compiled. What is kept, and why that is enough: see `needed_rows.py`.

It goes from anchor to anchor: rows that pass the rarest of the tests that every match passes. All that can be in a
match with an anchor lies in a stretch around it, and only stretches are looked at, each row of them once.

Functions are given arrays, not what holds them: numba counts references to all that a tuple holds at every call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.needed_rows import ALL_THAT_PASS, IN_A_CHOICE, IN_A_ROW, IN_A_WINDOW, most_runs
from cepheid.matching.compiled.neighbours import PAIRS, POSITION, SOURCE, TARGET

_AHEAD = 64  # anchors
_RARE = 16  # one in so many rows is an anchor: others lie near each other in memory anyway
_most_runs = njit(inline="always")(most_runs)


class Input(NamedTuple):
    """`offsets` are those of the keys that are looked at; the rows are all there are."""

    shared: Any
    times: Any
    offsets: Any
    also: Any  # marks of rows that the plan sees whatever they pass; empty: there are none
    places: Any
    masks: Any  # of each shared column the bits of this plan
    must: Any  # of each shared column the bits that every match has
    ways: Any  # of neighbours; empty: how rows follow each other is not looked at
    pairs: Any  # bits of the tests of each row and the one before, of the rows of these keys
    anchors: Any  # rows of these keys
    together: int  # so many anchors every match has
    at: int  # the step of the chain that an anchor is, the first of them


class Found(NamedTuple):
    rows: Any
    bits: Any
    ranks: Any
    keys: Any
    offsets: Any


@njit(inline="always")
def _passes(shared: Any, masks: Any, row: Any) -> Any:
    found = shared[0, row] & masks[0]
    for c in range(1, len(masks)):
        found |= shared[c, row] & masks[c]
    return found != 0


@njit(inline="always")
def _is_step(shared: Any, places: Any, position: Any, row: Any) -> Any:
    return (shared[places[position, 0], row] >> places[position, 1]) & 1


@njit(nogil=True)
def _gathered(
    shared: Any,
    times: Any,
    also: Any,
    places: Any,
    masks: Any,
    of_key: Any,
    first: Any,
    last: Any,
    rows: Any,
    bits: Any,
    ranks: Any,
    size: Any,
) -> Any:
    """The plan's own rows among some of a key that begins at `of_key`. Ranks count what has the same time before."""
    sees_more, moved = len(also) > 0, len(masks) > 1
    for i in range(len(places)):
        moved = moved or places[i, 1] != i
    now, rank, row = times[first], np.int64(-1), first - 1
    while row >= of_key and times[row] == now:
        rank += _passes(shared, masks, row)
        row -= 1
    for row in range(first, last):
        passes = _passes(shared, masks, row)
        if not passes and not (sees_more and also[row]):
            continue
        if times[row] != now:
            now, rank = times[row], np.int64(-1)
        rank += passes
        word = shared[0, row] & masks[0]
        if moved:
            word = np.int64(0)
            for i in range(len(places)):
                word |= _is_step(shared, places, i, row) << i
        rows[size], bits[size], ranks[size] = row, word, max(rank, 0)
        size += 1
    return size


@njit(nogil=True)
def _runs_are_near(
    start: Any,
    span: Any,
    cuts: Any,
    base: Any,
    max_runs: Any,
    shared: Any,
    times: Any,
    places: Any,
    masks: Any,
    first: Any,
    last: Any,
) -> Any:
    """Where a run takes one way: might there be too many at once, within the time that one is open?"""
    oldest, starts, rows = first, 0, 0
    for row in range(first, last):
        starts += _is_step(shared, places, start, row)
        rows += _passes(shared, masks, row)
        while times[row] - times[oldest] > span:
            starts -= _is_step(shared, places, start, oldest)
            rows -= _passes(shared, masks, oldest)
            oldest += 1
        if _most_runs(float(starts), float(rows), cuts, base) > max_runs:
            return True
    return False


@njit(nogil=True)
def _limits_are_near(
    chain: Any,
    max_runs: Any,
    max_matches: Any,
    shared: Any,
    places: Any,
    first: Any,
    last: Any,
    counts: Any,
) -> Any:
    """Where every choice is a run: might a limit be reached?"""
    counts[:] = 0
    for row in range(first, last):
        for i in range(len(chain)):
            counts[i] += _is_step(shared, places, chain[i], row)
    runs, ways, at_once = 0.0, 1.0, 1.0
    for i in range(len(chain) - 1):
        ways *= counts[i]
        runs += ways
        at_once *= counts[i] if i > 0 else 1  # of one start, by one last event
    return runs > max_runs or at_once > max_matches


@njit(inline="always")
def _stretch_in_time(
    anchors: Any, times: Any, within: Any, span: Any, together: Any, at: Any, of_key: Any, done: Any, end: Any
) -> Any:
    """What can be in a match whose first anchor this is; rows before `done` are in a stretch already."""
    begin, stop = done, done
    if at + together <= len(anchors) and anchors[at + together - 1] < end:
        first, last = anchors[at], anchors[at + together - 1]
        if within < 0:
            begin, stop = of_key, end
        elif times[last] - times[first] <= within:
            since, until = times[last] - within, times[first] + span
            begin = max(first, done)
            while begin > done and times[begin - 1] >= since:
                begin -= 1
            stop = max(last + 1, done)
            while stop < end and times[stop] <= until:
                stop += 1
    return begin, stop


@njit(inline="always")
def _stretch_in_a_row(
    chain: Any, within: Any, shared: Any, times: Any, places: Any, masks: Any, start: Any, done: Any, end: Any
) -> Any:
    """From the first row of a run that may be open at this start, to the row that ends all of them."""
    steps = len(chain)
    begin, stop = done, done
    fits = start >= done and start + steps <= end
    if fits and within >= 0:
        fits = times[start + steps - 1] - times[start] <= within
    i = 0
    while fits and i < steps:
        fits = _is_step(shared, places, chain[i], start + i) == 1
        i += 1
    if fits:
        begin, least = start, max(start - steps + 1, done)
        while begin > least and _passes(shared, masks, begin - 1):
            begin -= 1
        stop = start + steps
        while stop < end and _passes(shared, masks, stop):
            stop += 1
        stop = min(stop + 1, end)
    return begin, stop


@njit(inline="always")
def _may_match(shared: Any, must: Any, first: Any, last: Any) -> Any:
    """Is there a row for every step? Most stretches end here."""
    for c in range(len(must)):
        there = np.int64(0)
        if must[c] != 0:
            for row in range(first, last):
                there |= shared[c, row]
        if there & must[c] != must[c]:
            return False
    return True


@njit(nogil=True)
def _kept(
    how: Any,
    chain: Any,
    within: Any,
    span: Any,
    others: Any,
    times: Any,
    rows: Any,
    bits: Any,
    ranks: Any,
    before: Any,
    size: Any,
    end_of: Any,
    ends: Any,
    starts: Any,
) -> Any:
    """Of the rows of a stretch, which lie at the end of what was found, those that are needed."""
    steps = len(chain)
    ends[:] = NEVER  # the earliest end of the ways that begin with a step at a later row
    feasible = False
    for at in range(size - 1, before - 1, -1):
        time, word = times[rows[at]], bits[at]
        for i in range(steps):  # a row is never two steps: the next step's end is of later rows
            end = ends[i + 1] if i < steps - 1 else time
            end = end if (word >> chain[i]) & 1 else NEVER
            end_of[at - before, i] = end
            ends[i] = min(ends[i], end)
        feasible |= (within < 0 or end_of[at - before, 0] - time <= within) and end_of[
            at - before, 0
        ] != NEVER
    if not feasible:
        return before
    starts[:] = -NEVER  # the latest start of the ways that come to a step before this row
    until = -NEVER  # no run that can end in a match is open after it
    left = before
    for at in range(before, size):
        time, word = times[rows[at]], bits[at]
        if how == IN_A_CHOICE:
            word = word & others if time <= until else np.int64(0)
            for i in range(steps - 1, -1, -1):
                end = end_of[at - before, i]
                if end == NEVER:
                    continue
                start = time if i == 0 else starts[i - 1]
                if start == -NEVER or (within >= 0 and end - start > within):
                    continue
                word |= np.int64(1) << chain[i]
                starts[i] = max(starts[i], start)
                if i == 0:
                    until = time + span if span >= 0 else NEVER
            stays = word != 0
        else:
            end = end_of[at - before, 0]
            if end != NEVER and end - time <= within:
                until = max(until, time + span)
            stays = time <= until
        if stays:
            rows[left], bits[left], ranks[left] = rows[at], word, ranks[at]
            left += 1
    return left


@njit(inline="always")
def _taken(
    ways: Any, rows: Any, bits: Any, pairs: Any, first: Any, at: Any, runs: Any, opened: Any, live: Any
) -> Any:
    """The states that runs come to with a row: those open before, and those that begin with it and can end.

    And as which positions they take it.
    """
    after, positions, word, pair = np.int64(0), np.int64(0), bits[at], pairs[rows[at] - first]
    for i in range(len(ways)):
        if (word >> ways[i, POSITION]) & 1 == 0 or pair & ways[i, PAIRS] != ways[i, PAIRS]:
            continue
        source, target = ways[i, SOURCE], ways[i, TARGET]
        runs[1, target] += 1.0 if source < 0 else runs[0, source]
        if (opened >> source) & 1 if source >= 0 else (live >> target) & 1:
            after |= np.int64(1) << target
            positions |= np.int64(1) << ways[i, POSITION]
    return after, positions


@njit(nogil=True)
def _kept_in_a_row(
    ways: Any,
    accepting: Any,
    max_runs: Any,
    pairs: Any,
    first: Any,
    rows: Any,
    bits: Any,
    ranks: Any,
    before: Any,
    size: Any,
    end_of: Any,
    runs: Any,
) -> Any:
    """Of the rows of a stretch those at which a run is open that can end, and the row that ends it.

    Of their bits only those by which such a run takes them: other starts are none.
    """
    live = np.int64(accepting)  # the states after a row from which rows behind it lead to an end
    for at in range(size - 1, before - 1, -1):
        end_of[at - before, 0] = live
        word, pair, earlier = bits[at], pairs[rows[at] - first], np.int64(accepting)
        for i in range(len(ways)):
            source = ways[i, SOURCE]
            if source < 0 or (live >> ways[i, TARGET]) & 1 == 0:
                continue
            if (word >> ways[i, POSITION]) & 1 and pair & ways[i, PAIRS] == ways[i, PAIRS]:
                earlier |= np.int64(1) << source
        live = earlier
    runs[0, :] = 0.0
    for at in range(before, size):  # are there too many? Nothing is changed before that is known
        runs[1, :] = 0.0
        _taken(ways, rows, bits, pairs, first, at, runs, np.int64(0), np.int64(0))
        runs[0, :] = runs[1, :]
        if runs[0].sum() > max_runs:
            return size
    opened, left = np.int64(0), before
    for at in range(before, size):
        after, positions = _taken(ways, rows, bits, pairs, first, at, runs, opened, end_of[at - before, 0])
        if after != 0 or opened != 0:
            rows[left], bits[left], ranks[left] = rows[at], positions, ranks[at]
            left += 1
        opened = after
    return left


@njit(nogil=True)
def _states(ways: Any) -> Any:
    """How many there are, from 0 to the last that any way leads to."""
    count = 0
    for i in range(len(ways)):
        count = max(count, ways[i, TARGET] + 1)
    return count


def _find(needed: Any, given: Any, out: Any, end_of: Any, room: Any) -> Any:
    """How many keys have rows, and how many rows there are."""
    how, chain, within, span, safe = needed.how, needed.chain, needed.within, needed.span, needed.safe
    shared, times, offsets, also, places = given.shared, given.times, given.offsets, given.also, given.places
    masks, must, anchors, together = given.masks, given.must, given.anchors, given.together
    rows, bits, ranks = out.rows, out.bits, out.ranks
    ends, starts = room[0], room[1]
    runs = np.zeros((2, _states(given.ways)), np.float64)
    limits, cuts, base = (needed.max_runs, needed.max_matches), needed.cuts, needed.base
    size, found, at, seen = 0, 0, 0, np.int64(0)
    touched = 0 if len(anchors) * _RARE < offsets[-1] - offsets[0] else len(anchors)
    for key in range(len(offsets) - 1):
        first, last = offsets[key], offsets[key + 1]
        before, whole = size, how == ALL_THAT_PASS
        if last - first <= safe:  # else all rows stay if a limit is near: it has to be reached as ever
            pass
        elif how == IN_A_WINDOW:
            whole = _runs_are_near(
                chain[0], span, cuts, base, limits[0], shared, times, places, masks, first, last
            )
        else:
            whole = _limits_are_near(chain, *limits, shared, places, first, last, ends)
        if whole and last > first:
            size = _gathered(shared, times, also, places, masks, first, first, last, rows, bits, ranks, size)
        begin, end = first, first  # the stretch that is to be looked through
        while at <= len(anchors):
            in_key = at < len(anchors) and anchors[at] < last
            since, until = last + 1, last + 1  # so that the last stretch is looked through, too
            if in_key:
                if (
                    at == touched
                ):  # rare rows are fetched together: one by one, each would have to be waited for
                    touched = min(at + _AHEAD, len(anchors))
                    for i in range(at, touched):
                        seen |= times[anchors[i]] & shared[0, anchors[i]]
                since, until = end, end
                if how != IN_A_ROW and not whole:
                    since, until = _stretch_in_time(
                        anchors, times, within, span, together, at, first, end, last
                    )
                elif how == IN_A_ROW and anchors[at] >= end:
                    start = anchors[at] - given.at
                    since, until = _stretch_in_a_row(
                        chain, within, shared, times, places, masks, start, end, last
                    )
                at += 1
            if since > end:
                if end > begin and _may_match(shared, must, begin, end):
                    grown = _gathered(
                        shared, times, also, places, masks, first, begin, end, rows, bits, ranks, size
                    )
                    if how == IN_A_ROW and len(given.ways) > 0:
                        grown = _kept_in_a_row(
                            given.ways,
                            needed.accepting,
                            needed.max_runs,
                            given.pairs,
                            offsets[0],
                            rows,
                            bits,
                            ranks,
                            size,
                            grown,
                            end_of,
                            runs,
                        )
                    elif how != IN_A_ROW:
                        grown = _kept(
                            how,
                            chain,
                            within,
                            span,
                            needed.others,
                            times,
                            rows,
                            bits,
                            ranks,
                            size,
                            grown,
                            end_of,
                            ends,
                            starts,
                        )
                    size = grown
                begin = since
            if not in_key:
                break
            end = max(end, until)
        if size > before:
            out.keys[found], out.offsets[found] = key, before
            found += 1
    out.offsets[found] = size
    return found, size, seen


try:
    find = njit(cache=True, nogil=True)(_find)
except RuntimeError:  # there is no folder to keep it in
    find = njit(nogil=True)(_find)
