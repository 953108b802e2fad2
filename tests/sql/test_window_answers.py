"""Whole queries over windows against the plain rules: measures and aggregates of random patterns, frames and skips."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from frame_rules import FrameMatch, matches_of_rows
from hypothesis import given, note, settings
from hypothesis import strategies as st
from preferment import SkipMistake
from row_strategies import NAMES, skips
from test_frame_matching import LOCAL, OF_THE_MATCH, Values, frames_of, patterns

import cepheid
from cepheid.errors import EvaluationError
from cepheid.pattern.row_pattern import Quantified, RowNode, variables_of, walk_rows
from cepheid.sql_lang.clause import AfterMatch
from cepheid.sql_lang.row_pattern_text import row_pattern_text

# Of each: how it is written, and what it is for the rows of a match and its frame.
MEASURES = {
    "m": ("COUNT(*)", lambda x, rows, frame: len(rows)),
    "f": ("FIRST(id)", lambda x, rows, frame: rows[0] + 1 if rows else None),
    "l": ("LAST(x)", lambda x, rows, frame: x[rows[-1]] if rows else None),
    "p": ("PREV(FIRST(id))", lambda x, rows, frame: rows[0] if rows and rows[0] - 1 in frame else None),
    "q": ("NEXT(LAST(id))", lambda x, rows, frame: rows[-1] + 2 if rows and rows[-1] + 1 in frame else None),
    "c": ("'yes'", lambda x, rows, frame: "yes"),
}
AGGREGATES = {
    "n": ("count(*)", lambda x, rows: len(rows)),
    "s": ("sum(x)", lambda x, rows: sum(known(x, rows)) if known(x, rows) else None),
    "d": ("count(DISTINCT x)", lambda x, rows: len(set(known(x, rows)))),
    "b": (
        "max(id) FILTER (WHERE x > 1)",
        lambda x, rows: max((r + 1 for r in rows if (x[r] or 0) > 1), default=None),
    ),
    "v": ("first_value(x)", lambda x, rows: x[rows[0]] if rows else None),
    "w": ("last_value(id)", lambda x, rows: rows[-1] + 1 if rows else None),
    "a": ("list(id)", lambda x, rows: [r + 1 for r in rows] or None),
}
# `{0}` cannot be written.
writable = patterns.filter(lambda p: not any(isinstance(n, Quantified) and n.most == 0 for n in walk_rows(p)))


def known(x: Values, rows: list[int]) -> list[int]:
    return [value for r in rows if (value := x[r]) is not None]


def expected(x: Values, frames: list[range], matches: list[FrameMatch | None]) -> list[dict[str, Any]]:
    found = []
    for row, (frame, match) in enumerate(zip(frames, matches, strict=True)):
        rows = [t.row for t in match.taken] if match is not None else []
        measures = {
            name: rule(x, rows, frame) if match is not None else None for name, (_, rule) in MEASURES.items()
        }
        found.append(
            {"id": row + 1, **measures, **{name: rule(x, rows) for name, (_, rule) in AGGREGATES.items()}}
        )
    return found


def query_of(
    pattern: RowNode, texts: dict[str, str], end: str, search: str, skip: tuple[AfterMatch, str | None]
) -> str:
    used = set(variables_of(pattern))
    define = ", ".join(f"{name} AS {text}" for name, text in texts.items() if name in used)
    items = [*(f"{name} OVER win AS {name}" for name in MEASURES)]
    items += [f"{text} OVER win AS {name}" for name, (text, _) in AGGREGATES.items()]
    measures = ", ".join(f"{text} AS {name}" for name, (text, _) in MEASURES.items())
    return f"""SELECT id, {", ".join(items)} FROM t WINDOW win AS (ORDER BY id MEASURES {measures}
        ROWS BETWEEN CURRENT ROW AND {end} AFTER MATCH SKIP {skip[0].value.upper()} {skip[1] or ""}
        {search} PATTERN ({row_pattern_text(pattern)}) {f"DEFINE {define}" if define else ""}) ORDER BY id"""


@settings(max_examples=60)
@given(
    st.data(),
    writable,
    st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=7),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*LOCAL, *OF_THE_MATCH])),
    st.none() | st.integers(0, 4),
    st.booleans(),
)
def test_answers(
    data: st.DataObject, pattern: RowNode, x: Values, texts: dict[str, str], size: int | None, seek: bool
) -> None:
    skip = data.draw(skips(pattern))
    frames = frames_of(size, len(x))
    rules = {**LOCAL, **OF_THE_MATCH}
    end = "UNBOUNDED FOLLOWING" if size is None else f"{size} FOLLOWING"
    query = query_of(pattern, texts, end, "SEEK" if seek else "", skip)
    table = pa.table({"id": range(1, len(x) + 1), "x": pa.array(x, pa.int64())})
    note(query)

    def holds(name: str, row: int, so_far: list[tuple[int, str]], frame: range) -> bool:
        return name not in texts or rules[texts[name]](x, row, so_far, frame)

    try:
        matches = matches_of_rows(pattern, frames, holds, seek, *skip)
    except SkipMistake:
        with pytest.raises(EvaluationError):
            cepheid.sql(query, t=table)
        return
    assert cepheid.sql(query, t=table).to_pylist() == expected(x, frames, matches)
