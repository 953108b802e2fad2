"""What the words of the kernel's tables mean."""

from __future__ import annotations

# Words of a unit: a run, known by its events.
(
    U_NEXT,
    U_PLACE,  # -1: it lives on in its copies only
    U_START,
    U_PARENT,
    U_EVENT,
    U_RANK,
    U_POSITION,
    U_RUN,  # its number among those that were told of
    U_MASK,  # the places of all that came of it
    U_SET,  # their number among the sets that chances are known of; -1: there is none, -2: not looked up yet
    U_DEPTH,
    U_WIDTH,
) = range(12)
# Words of a key.
(
    K_AT,  # its next event
    K_HEAD,
    K_TAIL,
    K_COUNT,
    K_OLDEST,  # the first start of its units
    K_MASK,  # the places of its units
    K_INDEX,
    K_SYMBOL,  # the last one; -1: it begins
    K_TIME,
    K_RANK,
    K_CODE,  # the last symbols, as digits
    K_WIDTH,
) = range(12)
# Numbers that change.
N_KEY, N_RESUMED, N_CONTEXT, N_FREE, N_FREES, N_DEPTH, N_RUNS, N_CHAIN, N_ROWS, N_OUTCOMES, N_WIDTH = range(
    11
)
# Columns of what is told.
F_EVENT, F_RUN, F_INDEX, F_DEPTH, F_WIDTH = range(5)
V_CHANCE, V_EXPECTED, V_LOW, V_HIGH, V_WIDTH = range(5)
O_RUN, O_TIME, O_INDEX, O_WHAT, O_WIDTH = range(5)
R_CHAIN, R_LENGTH, R_KEY, R_START, R_WIDTH = range(5)
C_EVENT, C_POSITION, C_RANK, C_WIDTH = range(4)
COMPLETED, ENDED, OPEN = range(3)
# Why it stops.
DONE, FULL, GROW = range(3)
