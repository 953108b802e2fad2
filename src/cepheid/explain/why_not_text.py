"""`why_not` in words: for the terminal, and the same as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterator

from cepheid.explain.causes import KINDS, Cause
from cepheid.explain.event_words import clock, event_name, event_names, fields_text, key_text
from cepheid.explain.furthest import Attempt
from cepheid.explain.happening_words import ended
from cepheid.explain.why_not import WhyNot

_TYPES = 8


def why_not_text(found: WhyNot) -> str:
    return "\n".join(_lines(found))


def _lines(found: WhyNot) -> Iterator[str]:
    yield _headline(found)
    yield f"  {found.cause.text}"
    for cause in found.causes[1:]:
        yield f"  and {cause.text}"
    if found.near_misses:
        yield ""
        yield "near misses, each of them tried"
        for miss in found.near_misses:
            yield f"  {miss.text}: ({event_names(miss.events, found.id_column)})"
    if found.furthest:
        yield ""
        yield "the runs that got furthest"
        for attempt in found.furthest:
            yield from (f"  {line}" for line in _attempt(attempt, found))
    yield ""
    yield _looked_at(found)
    for text in found.untried:
        yield f"not tried, because it would take too long: {text}"
    yield from found.notes


def _headline(found: WhyNot) -> str:
    what = "no match"
    if found.matched:
        what = f"{len(found.matches)} match{'' if len(found.matches) == 1 else 'es'}"
    elif found.expected:
        what = f"({event_names(found.expected, found.id_column)}) is no match"
    stream = "" if found.stream == "matches" else f"{found.stream}: "
    return f"{stream}{what}: {KINDS[found.cause.kind]}"


def _attempt(attempt: Attempt, found: WhyNot) -> Iterator[str]:
    key = key_text(found.key_names, attempt.key)
    yield f"{key + ': ' if key else ''}{_held(attempt, found)}"
    waiting = " or ".join(attempt.waiting_for)
    yield f"  {ended(attempt.end)}{f', waiting for {waiting}' if waiting else ''}"
    for cause in attempt.causes:
        yield f"  {cause.text}"


def _held(attempt: Attempt, found: WhyNot) -> str:
    shown = [
        f"{step} = {event_name(event, found.id_column)} at {clock(event.time)}"
        + (f" ({fields})" if (fields := fields_text(event, ("type", "time", found.id_column))) else "")
        for step, event in attempt.held
    ]
    if len(shown) > 6:
        shown = [*shown[:2], f"... {len(shown) - 4} more ...", *shown[-2:]]
    return ", ".join(shown)


def _looked_at(found: WhyNot) -> str:
    listed = [f"{name} {count:,}" for name, count in found.types[:_TYPES]]
    more = "" if len(found.types) <= _TYPES else ", ..."
    keys = f" in {found.partitions:,} partitions" if found.partitions > 1 else ""
    return f"looked at {found.events:,} events{keys}: {', '.join(listed) or 'none'}{more}"


def why_not_html(found: WhyNot) -> str:
    parts = [f"<p><b>{_e(_headline(found))}</b></p>"]
    parts.append(_list(found.causes))
    if found.near_misses:
        items = "".join(
            f"<li>{_e(m.text)}: <code>({_e(event_names(m.events, found.id_column))})</code></li>"
            for m in found.near_misses
        )
        parts.append(f"<p>Near misses, each of them tried:</p><ul>{items}</ul>")
    if found.furthest:
        items = "".join(f"<li><pre>{_e(chr(10).join(_attempt(a, found)))}</pre></li>" for a in found.furthest)
        parts.append(f"<details open><summary>The runs that got furthest</summary><ul>{items}</ul></details>")
    parts.append(f"<p><small>{_e(_looked_at(found))}</small></p>")
    parts.append(f"<pre>{_e(found.pattern)}</pre>")
    return f'<div class="cepheid-why-not">{"".join(parts)}</div>'


def _list(causes: tuple[Cause, ...]) -> str:
    return f"<ul>{''.join(f'<li>{_e(c.text)}</li>' for c in causes)}</ul>"


def _e(text: str) -> str:
    return html.escape(text)
