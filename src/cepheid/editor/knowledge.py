"""What the words of the language mean, in a line or two: for hovering and for lists of completions."""

from __future__ import annotations

from cepheid.pattern.functions import FUNCTIONS
from cepheid.pattern.types import BY_NAME

# How a word is used, and what it does.
Told = tuple[str, str]

KEYWORDS: dict[str, Told] = {
    "event": ("event Order { id: int, total: float }", "Declares the fields of a type of events."),
    "pattern": (
        "pattern Paid = Order as o -> Payment as p",
        "A pattern with a name, for streams and other patterns.",
    ),
    "stream": (
        "stream Paid = Order as o -> Payment as p",
        "What is computed: a pattern, its operators, its columns.",
    ),
    "as": ("A as a", "Gives the step a name for conditions and columns."),
    "where": ("A where v > 1", "The condition of a step; after the whole pattern use `.where(...)`."),
    "within": (
        "A -> B within 5m",
        "At most so long: at the end for the whole pattern, after a step for that step.",
    ),
    "partition": ("A -> B partition by user", "Every key is matched on its own."),
    "by": ("partition by user", "The columns of the key."),
    "all": ("all B, all next B, all any B, all greedy B", "One or more events: every one that fits."),
    "any": ("A -> any B", "Any later event that fits, each in a run of its own."),
    "first": ("A -> first B", "The first later event that fits; the run moves on."),
    "next": ("A -> next B", "The very next event of the partition, or the run is over."),
    "greedy": ("all greedy B", "The closure is never left on an event it could take."),
    "until": ("all B until v > 9", "The closure takes no more from the first event for which this holds."),
    "every": ("every (A -> B)", "One run a partition, which starts again after each match."),
    "unless": ("A -> B unless X", "A guard: no such event while the pattern runs."),
    "between": ("unless X between a and c", "The guard holds from `a` until `c` is taken."),
    "after": ("unless X after b", "The guard holds from `b` until the match is complete."),
    "not": ("A -> NOT X -> B, not v > 1", "No such event here; in a condition, the opposite."),
    "and": ("AND(A, B), v > 1 and w > 1", "All of the operands in any order; in a condition, both."),
    "or": ("OR(A, B), v > 1 or w > 1", "One of the operands; in a condition, one or both."),
    "in": ('country in ("FI", "SE")', "Equal to one of the values."),
    "is": ("v is null, v is not null", "Tests for null: a comparison with null is never true."),
    "null": ("v is null", "No value."),
    "like": ('name like "a%"', "`%` is any text, `_` one character."),
    "true": ("true", "The truth value."),
    "false": ("false", "The truth value."),
    "case": ("case when v > 9 then 1 else 0 end", "The value of the first condition that holds."),
    "when": ("case when v > 9 then 1 else 0 end", "A condition of `case`."),
    "then": ("case when v > 9 then 1 else 0 end", "The value if the condition before it holds."),
    "else": ("case when v > 9 then 1 else 0 end", "The value if no condition holds."),
    "end": ("case when v > 9 then 1 else 0 end", "Ends `case`."),
}

OPERATORS: dict[str, Told] = {
    "within": (".within(5m)", "Last time minus first time is at most this, for the whole pattern."),
    "partition_by": (".partition_by(user, lower(region))", "Every key is matched on its own."),
    "where": (".where(b.v > a.v)", "Part of the pattern: a run waits for events that satisfy it."),
    "stam": (".stam()", "Every combination of events that fits (the default)."),
    "stnm": (".stnm()", "The first event that fits; each event serves one match."),
    "strict": (".strict()", "Neighbouring events only."),
    "each": (
        ".each()",
        "A match for each length of a closure (the default); `eager: true` for rows ahead of the end.",
    ),
    "longest": (".longest()", "Only the longest match of a closure."),
    "subsets": (".subsets()", "A match for every combination of a closure's events."),
    "skip": (
        ".skip(past_last)",
        "Where the next match may start: none, to_next, past_last, to_first(x), to_last(x).",
    ),
    "timeouts": (".timeouts()", "Also a row for each run that its window ended."),
    "limit": (".limit(max_runs: 5000, on_limit: evict_oldest)", "Bounds on state, and what happens at them."),
    "emit": (".emit(user: a.user, n: count(b))", "The columns of a match."),
    "increasing": ("all B.increasing(v)", "Each event of the closure strictly above the one before."),
    "decreasing": ("all B.decreasing(v)", "Each event of the closure strictly below the one before."),
    "trend_aggregate": (
        ".trend_aggregate(n: count_trends())",
        "Numbers over all trends; not in this version.",
    ),
    "forecast": (".forecast(...)", "How likely a run completes; not in this version."),
}

# Arguments that are words of their own.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "skip": ("none", "to_next", "past_last", "to_first", "to_last"),
    "limit": ("max_runs", "max_matches", "max_buffer", "on_limit", "error", "evict_oldest"),
    "each": ("eager",),
}

AGGREGATES: dict[str, Told] = {
    "count": ("count(b)", "how many events the closure took"),
    "first": ("first(b).v", "a field of the closure's first event"),
    "last": ("last(b).v", "a field of the closure's last event"),
    "sum": ("sum(b.v)", "the sum over the closure"),
    "avg": ("avg(b.v)", "the mean over the closure"),
    "min": ("min(b.v)", "the least value of the closure"),
    "max": ("max(b.v)", "the greatest value of the closure"),
    "stddev": ("stddev(b.v)", "the standard deviation over the closure"),
    "distinct_count": ("distinct_count(b.v)", "how many different values the closure has"),
    "collect": ("collect(b.v)", "the list of the closure's values"),
    "match_id": ("match_id()", "the deterministic id of the match"),
    "match_start": ("match_start()", "the time of the match's first event"),
    "match_end": ("match_end()", "the time at which the match was complete"),
    "count_matches": ("count_matches()", "how many matches this row stands for"),
    "if": ("if(condition, value, otherwise)", "the value if the condition holds, otherwise the other"),
}

# The same words as the table of functions in docs/language.md; a test holds them together.
MEANINGS: dict[str, str] = {
    "abs": "without its sign",
    "round": "half away from zero, to so many digits",
    "floor": "the whole number at or below",
    "ceil": "the whole number at or above",
    "sqrt": "square root; null below 0",
    "ln": "natural logarithm",
    "log10": "decimal logarithm",
    "exp": "e to that power",
    "pow": "power, as a float (`**` keeps integers exact)",
    "sign": "-1, 0 or 1",
    "least": "the least that is not null",
    "greatest": "the greatest that is not null",
    "coalesce": "the first that is not null",
    "ifnull": "the first, or the second if it is null",
    "nullif": "null if both are equal, else the first",
    "length": "how many characters, or elements",
    "lower": "in lower case",
    "upper": "in upper case",
    "trim": "without blanks at both ends",
    "ltrim": "without blanks at the start",
    "rtrim": "without blanks at the end",
    "substr": "from a position (1 is the first, -1 the last), so many characters",
    "concat": "joined",
    "contains": "is it in there?",
    "starts_with": "does it begin so?",
    "ends_with": "does it end so?",
    "replace": "every occurrence replaced",
    "like": "SQL's: `%` any text, `_` one character; also `x like y`",
    "regexp_like": "does the expression (RE2) match somewhere?",
    "regexp_extract": "a group of the first match (1, if there are groups)",
    "year": "part of a time, in UTC",
    "month": "1 to 12",
    "day": "1 to 31",
    "hour": "0 to 23",
    "minute": "0 to 59",
    "second": "0 to 59",
    "dayofweek": "1 is Sunday, 7 is Saturday",
    "epoch": "seconds since 1970",
    "date_trunc": "cut down to a year, quarter, month, week, day, hour, minute, second, millisecond",
    "int": "cut towards zero; null if the string says no number",
    "float": "as a float",
    "string": "as text",
    "bool": "true, t, yes, y, 1 and their opposites",
    "timestamp": "from ISO 8601 text or epoch seconds",
}

TYPES = tuple(BY_NAME)


def function_told(name: str) -> Told | None:
    """The signature and the meaning of a function, a closure's value or a match's.

    >>> function_told("substr")[0]
    'substr(string, int[, int])'
    """
    if name in FUNCTIONS:
        return FUNCTIONS[name].signature(), MEANINGS[name]
    return AGGREGATES.get(name)
