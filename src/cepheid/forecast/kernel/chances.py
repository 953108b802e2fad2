"""Chances of completion, step by step on a grid of times: as many events as there is time for."""

from __future__ import annotations

from numba import njit

from cepheid.forecast.kernel.jit import compiled, made

# Nothing comes in the step of the event before; else there are equations, which are solved, or approached if many.
LATER, SOLVED, APPROACHED = range(3)
_MOST_SWEEPS, _ENOUGH = 400, 1e-10

# The terms of a sum may be added in any order: so several are at once.
_in_any_order = njit(
    no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, fastmath={"reassoc", "contract"}
)


@_in_any_order
def _product(left, right, first, count):
    """Of the first of one and some of the other."""
    found = 0.0
    for i in range(count):
        found += left[i] * right[first + i]
    return found


@compiled
def _solve(known, to, at_once, blocks, found, own):
    """Each block after those it leads to: what comes of these is known when its own equations are solved."""
    states, starts, number, inverses = blocks
    place = 0
    for block in range(len(starts) - 1):
        first, count = starts[block], starts[block + 1] - starts[block]
        for at in range(count):
            state = states[first + at]
            own[at] = known[state]
            for way in range(len(to)):
                if number[to[way, state]] < block:
                    own[at] += at_once[way, state] * found[to[way, state]]
        for at in range(count):
            found[states[first + at]] = _product(own, inverses, place, count)
            place += count


@compiled
def _sweep(known, to, at_once, found, own):
    """Begins with what was found in the step before, which is near the answer."""
    for _ in range(_MOST_SWEEPS):
        most = 0.0
        for state in range(len(known)):
            own[state] = known[state]
            for way in range(len(to)):
                own[state] += found[to[way, state]] * at_once[way, state]
            most = max(most, abs(own[state] - found[state]))
        for state in range(len(known)):
            found[state] = own[state]
        if most < _ENOUGH:
            break


def _fill_chances(stamp, entrance):
    @entrance
    def fill_chances(values, done, ways, gaps, how, at_once, blocks, room):
        """`values[state, step]`: complete by then. `done`: by the next event.

        `ways[way, state]`: where they lead to, how often, and which arrival that is: a state and the law of a gap, the
        longest first. `at_once`: how often each way leads on in the same step. `blocks`: states in their order, where
        each block begins, the block of each state, its equations solved. `room`: to work in.
        """
        to, weights, by, arrivals = ways
        later, known, found, own = room
        size = values.shape[1] - 1
        for step in range(size + 1 if stamp >= 0 else 0):
            for number in range(len(arrivals)):
                state, gap = arrivals[number]
                later[number] = _product(values[state], gaps[gap], size - step, step)
            for state in range(len(known)):
                known[state] = done[state, step]
                for way in range(len(to)):
                    known[state] += later[by[way, state]] * weights[way, state]
            if how == SOLVED:
                _solve(known, to, at_once, blocks, found, own)
            elif how == APPROACHED:
                _sweep(known, to, at_once, found, own)
            for state in range(len(known)):
                values[state, step] = known[state] if how == LATER else found[state]

    return fill_chances


fill_chances = made(_fill_chances)
