"""The words of the kernel: what each number in its arrays is.

A plan is one array. It begins with a header; the header says where each table begins. A table has rows of a fixed
width, whose columns have the names below. Lists of any length lie in one table of their own and are told by first and
end. An open run is a record of words, with a fixed part and parts as long as the plan needs.
"""

from __future__ import annotations

NONE = -1  # no number: no test, no bound, no alias
NEVER = 2**63 - 1  # a moment that does not come
MASK = 63  # numbers that fit one word of marks
ENDED = 32  # in the marks of closed closures: from here on the greedy ones that their `until` closed

# --- the header: sizes, options, and where the tables begin ---
(
    STATES,
    EDGES,
    POSITIONS,
    CLOSURES,
    SCOPES,
    ABSENCES,
    GUARDS,
    ACCEPTS,
    COMPONENTS,
    ALIASES,
    BLOCK_WORDS,
    AGGREGATES,
    HEAPS,  # of runs by their values
    WITHIN,
    LONGEST,
    ONE_WAY,
    KIND,
    BY_STATE,  # runs are kept by what they wait for: their order does not matter
    CHAIN,  # single steps tied by nothing but the key and a window
    COUNTING,  # matches are only counted
    COUNTED,  # then: the closures whose rounds still matter, as bits
    MARKS_MATTER,  # and whether it does which events were the last of the parts
    SKIP,
    SKIP_ALIAS,
    EAGER,
    TIMEOUTS,
    MAX_RUNS,
    MAX_MATCHES,
    EVICT,
    LOOKS_NEXT,
    DEADLINES_MOVE,  # a neighbour that has not come changes what a run waits for
    WANTED_LATER,  # the positions a run could take an event at after its first, as bits
    ONLY_WINDOW,  # nothing but the window of the whole ends a run, if there is one
    BY_START,  # runs end in the order of their starts: nothing but the window of the whole ends them
    FILTERS,  # an event may close ways before it is offered to runs
    ORDER_MATTERS,
    MOST_OF_FIRST,
    KEEP_FIRST,
    FIRST_POSITIONS,  # those a run may begin with, as bits
    MIXED_START,  # one of them may follow another
    # Where a run's variable parts begin in its record, and how wide it is.
    R_BLOCKED,
    R_COUNTS,
    R_MARKS,
    R_SCOPES,
    R_LAST,
    R_FIRST,
    R_NUMBER,
    R_AGGREGATES,  # (value, of how many) of each; below 0: it left 64 bits. Sums of doubles: see `float_sums.py`
    R_WEIGHT,  # how many runs it stands for, where matches are only counted
    R_WIDTH,
    # Where the tables begin.
    AT_EDGE,
    AT_OUT,
    AT_OUT_EDGES,
    AT_ACCEPT,
    AT_ACCEPTING,
    AT_ACCEPTING_LIST,
    AT_POSITION,
    AT_CLOSURE,
    AT_SCOPE,
    AT_ABSENCE,
    AT_GUARD,
    AT_PARENT,
    AT_PREFIX,
    AT_INSIDE,
    AT_INSIDE_LIST,
    AT_KEEP,
    AT_WANTS,  # the positions a run in a state could take next, as bits
    AT_FEARS,  # the absences that could stop a run in a state, as bits
    AT_EQUAL,  # what an event and a run in a state must have in common
    AT_BEYOND,  # which value of an event must be above, or below, one of a run in a state
    AT_AGGREGATE,
    AT_LISTS,
    AT_TESTS,  # where each test's instructions begin, and the last one's end
    AT_CODE,
    HEADER,
) = range(75)

# How runs of a partition are kept.
KIND_ALL, KIND_STNM, KIND_EVERY = 0, 1, 2
SKIP_NONE, SKIP_TO_NEXT, SKIP_PAST_LAST, SKIP_TO_FIRST, SKIP_TO_LAST = range(5)

# --- columns of an edge ---
(
    E_BASE,
    E_TARGET,
    E_POSITION,
    E_ARROW,
    E_COMPONENT,
    E_OVER,  # the part whose marks are over
    E_LOOP,
    E_GAP,
    E_TEST,
    E_IN_ROUND,
    E_MOVES_ON,
    E_CLEARS_ACCEPTS,
    E_ENTERS,
    E_LEAVES,
    E_OPENS,
    E_INSIDE,
    E_ABSENCES,
    E_END,
    EDGE_WIDTH,
) = range(19)
ARROW_ANY, ARROW_FIRST, ARROW_NEXT = 0, 1, 2

# --- columns of the others ---
A_TEST, A_LEAVES, A_ABSENCES, A_END, ACCEPT_WIDTH = range(5)
P_ALIAS, P_TYPE, P_REPEATED, P_TEST, POSITION_WIDTH = range(5)
C_MIN, C_MAX, C_LOOP, C_UNTIL, CLOSURE_WIDTH = range(5)
LOOP_ALL, LOOP_NEXT, LOOP_ANY, LOOP_GREEDY = range(4)
S_BOUND, S_FROM_PREVIOUS, SCOPE_WIDTH = range(3)
N_WITHIN, N_IS_NEXT, N_TEST, ABSENCE_WIDTH = range(4)
(
    Q_FAMILY,  # of the values: none, whole numbers, texts
    Q_COLUMN,  # the event's
    Q_NULLS,
    Q_ALIAS,  # the run's
    Q_ALIAS_COLUMN,
    Q_ALIAS_NULLS,
    EQUAL_WIDTH,
) = range(7)
EQUAL_NOTHING, EQUAL_INTS, EQUAL_TEXTS = range(3)
(
    B_WAY,  # the event's value: above, below
    B_OR_EQUAL,
    B_FLOATS,
    B_COLUMN,  # the event's
    B_NULLS,
    B_ALIAS,  # the run's
    B_ALIAS_COLUMN,
    B_ALIAS_NULLS,
    B_HEAP,  # which of them
    BEYOND_WIDTH,
) = range(10)
BEYOND_NOTHING, BEYOND_ABOVE, BEYOND_BELOW = range(3)
V_OPERATION, V_ALIAS, V_COLUMN, V_NULLS, V_PLACE, AGGREGATE_WIDTH = range(6)  # V_PLACE: among those of a run
G_START, G_END, G_TEST, GUARD_WIDTH = range(4)

# --- rows of events: the first columns of whole numbers ---
TIME, PASSED, RANK, TYPE, FIRST_COLUMN = range(5)

# --- a node: an event a run took ---
NODE_BEFORE, NODE_SAME, NODE_ROW, NODE_INDEX, NODE_RANK, NODE_POSITION, NODE_WIDTH = range(7)

# --- a run's record: the fixed part ---
(
    # What is only there while the kernel works on the key, or can be told from the rest.
    RUN_TO,  # time of its last event
    RUN_IS_OPEN,  # it is among the open runs
    RUN_IS_DONE,  # it is among the complete ones
    RUN_OLDER,  # its neighbours among the runs of its state, where runs are kept by state
    RUN_NEWER,
    RUN_DUE,  # its place in the heap of deadlines
    RUN_BUCKET,  # where the runs are told that wait for the same value, and its neighbours there
    RUN_BUCKET_OLDER,
    RUN_BUCKET_NEWER,
    RUN_PLACE,  # in the heap of the runs of its state by their values
    RUN_FOUND,  # the next one that was found there
    # What is saved.
    RUN_START,  # index of its first event
    RUN_STATE,
    RUN_NODE,  # the event it took last
    RUN_TAKEN,  # how many
    RUN_CLOSED,
    RUN_PATH,
    RUN_FROM,  # time of its first event
    RUN_AWAITED,  # when an absence at the end became certain
    RUN_DEADLINE,
    RUN_BLOCKED_ACCEPTS,
    RUN_POSITIONS,  # the positions it has taken events at, as bits
    RUN_FIXED,
) = range(23)
RUN_SAVED = RUN_START  # from here on
