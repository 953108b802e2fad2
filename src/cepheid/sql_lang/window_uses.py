"""What is asked over the windows of a SELECT that have row patterns: `m OVER w`, `sum(x) FILTER (..) OVER w`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.errors import PatternMistake, nearest
from cepheid.sql_lang.clause import Name
from cepheid.sql_lang.cursor import can_be_name, read_name
from cepheid.sql_lang.select_parts import Part, Range, SelectParts, inside_query, span_of
from cepheid.sql_lang.source import Span, SqlSource
from cepheid.sql_lang.windows import FoundWindow

_WHERE_THEY_MAY_STAND = (Part.QUALIFY, Part.ORDER)


@dataclass(frozen=True)
class WindowUse:
    """A measure by its name, or a function by its call."""

    window: FoundWindow
    tokens: Range
    measure: Name | None = None
    call: Range | None = None  # without OVER and what follows


@dataclass(frozen=True)
class Over:
    """Any `f(x) OVER ..` or `m OVER ..`."""

    start: int  # of what stands before
    over: int
    stop: int


def overs_in(source: SqlSource, start: int, stop: int) -> Iterator[Over]:
    tokens = source.tokens
    for i in inside_query(source, start, stop):
        if tokens[i].word != "OVER" or i + 1 >= stop or i <= start or tokens[i - 1].is_sign("."):
            continue
        if tokens[i + 1].is_sign("("):
            end = source.partners[i + 1] + 1
        elif can_be_name(tokens[i + 1]):
            end = i + 2
        else:
            continue
        begin = call_start(source, i - 1)
        if begin is not None and begin >= start:
            yield Over(begin, i, end)


def call_start(source: SqlSource, i: int) -> int | None:
    """Where a call begins that ends with this token; or a name, which is this token itself."""
    tokens = source.tokens
    while i > 1:
        if tokens[i].word == "NULLS" and tokens[i - 1].word in ("IGNORE", "RESPECT"):
            i -= 2
            continue
        if not tokens[i].is_sign(")"):
            break
        opening = source.partners[i]
        if opening > 1 and tokens[opening - 1].word == "FILTER":
            i = opening - 2
        elif opening > 2 and tokens[opening - 1].word == "GROUP" and tokens[opening - 2].word == "WITHIN":
            i = opening - 3
        else:
            i = opening - 1
            break
    if i < 0 or not can_be_name(tokens[i]):
        return None
    while i > 1 and tokens[i - 1].is_sign(".") and can_be_name(tokens[i - 2]):
        i -= 2
    return i


def uses_of(select: SelectParts, windows: Sequence[FoundWindow]) -> list[WindowUse]:
    """The uses of windows with row patterns, each checked to stand where it may."""
    source = select.source
    found = [
        use for over in overs_in(source, *select.tokens) if (use := _use(source, over, windows)) is not None
    ]
    for use in found:
        _check_nesting(source, use, found, select, windows)
        _check_where(select, use)
    return found


def _use(source: SqlSource, over: Over, windows: Sequence[FoundWindow]) -> WindowUse | None:
    window = _window_of(source, over, windows)
    if window is None:
        return None
    tokens = (over.start, over.stop)
    last = source.tokens[over.over - 1]
    if last.is_sign(")") or last.word == "NULLS":
        return WindowUse(window, tokens, call=(over.start, over.over))
    name = read_name(source, last)
    measures = {m.name.name: m.name for m in window.parts.clause.measures}
    if over.over - over.start > 1 or name.name not in measures:
        raise _unknown(source, over, name, [m.written for m in measures.values()])
    return WindowUse(window, tokens, measure=name)


def _window_of(source: SqlSource, over: Over, windows: Sequence[FoundWindow]) -> FoundWindow | None:
    target = source.tokens[over.over + 1]
    if target.is_sign("("):
        base = source.tokens[over.over + 2]
        refined = _named(source, over.over + 2, windows) if can_be_name(base) else None
        if refined is not None:
            raise _refined(source, over)
        return next((w for w in windows if w.opening == over.over + 1), None)
    return _named(source, over.over + 1, windows)


def _named(source: SqlSource, i: int, windows: Sequence[FoundWindow]) -> FoundWindow | None:
    name = read_name(source, source.tokens[i]).name
    return next((w for w in windows if w.name is not None and w.name.name == name), None)


def _refined(source: SqlSource, over: Over) -> PatternMistake:
    token = source.tokens[over.over + 2]
    return source.mistake(
        "bad_base",
        f"`{token.text}` has a row pattern: no other window can be made of it",
        source.place_of(token),
        "name a window that has only PARTITION BY and ORDER BY, and make both of it",
    )


def _unknown(source: SqlSource, over: Over, name: Name, known: list[str]) -> PatternMistake:
    shown = source.text[source.tokens[over.start].start : source.tokens[over.over - 1].end]
    return source.mistake(
        "unknown_measure",
        f"the window has no measure `{shown}`",
        source.place_of(source.tokens[over.start], source.tokens[over.over - 1]),
        nearest(name.written, known) or (f"it has {', '.join(known)}" if known else "say it in MEASURES"),
    )


def _check_nesting(
    source: SqlSource,
    use: WindowUse,
    uses: list[WindowUse],
    select: SelectParts,
    windows: Sequence[FoundWindow],
) -> None:
    start, stop = use.tokens
    around = [(o.tokens[0], o.tokens[1]) for o in uses if o is not use]
    around += [(w.opening, source.partners[w.opening]) for w in windows]
    around += [(w.opening, source.partners[w.opening]) for w in select.windows if w.opening is not None]
    around += [(o.start, o.stop) for o in overs_in(source, *select.tokens)]
    if any(i <= start and stop <= j and (i, j) != (start, stop) for i, j in around):
        span = span_of(source, use.tokens)
        raise source.mistake(
            "nested_window",
            "what is asked over a window cannot stand in another window or in what is asked over it",
            source.place(span.start, span.end),
            "compute it in a subquery",
        )


def _check_where(select: SelectParts, use: WindowUse) -> None:
    places = [*select.items, *(select.parts[p] for p in _WHERE_THEY_MAY_STAND if p in select.parts)]
    if any(i <= use.tokens[0] and use.tokens[1] <= j for i, j in places):
        return
    part = next((p.value for p, (i, j) in select.parts.items() if i <= use.tokens[0] < j), "this place")
    span: Span = span_of(select.source, use.tokens)
    raise select.source.mistake(
        "window_not_here",
        f"in {part} nothing can be asked over a window",
        select.source.place(span.start, span.end),
        "put the SELECT into a subquery, and ask of its columns there",
    )
