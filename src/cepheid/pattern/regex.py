"""Patterns in strings. RE2 through Arrow: linear in the text, whatever the pattern; never Python's `re`."""

from __future__ import annotations

import re
from functools import lru_cache

from cepheid.pattern.values import BadArgument

_CACHED_LENGTH = 256  # longer texts seldom come twice


def matches(text: str, pattern: str) -> bool:
    return _match_short(text, pattern) if len(text) <= _CACHED_LENGTH else _match(text, pattern)


def _match(text: str, pattern: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return bool(pc.match_substring_regex(pa.scalar(text), pattern).as_py())
    except (pa.ArrowInvalid, UnicodeError) as problem:
        raise _bad_regex(pattern, str(problem)) from None


# Arrow compiles the pattern at every call, which costs more than the match.
_match_short = lru_cache(maxsize=16_384)(_match)


def extract(text: str, pattern: str, group: int | None = None) -> str | None:
    """The group of the first match: 1 if there are groups and none is named, null without a match."""
    check_group(pattern, group)
    return (
        _extract_short(text, pattern, group)
        if len(text) <= _CACHED_LENGTH
        else _extracted(text, pattern, group)
    )


def _extracted(text: str, pattern: str, group: int | None) -> str | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    named, count = _name_groups(pattern)
    wanted = min(count, 1) if group is None else group
    try:
        found = pc.extract_regex(pa.scalar(text), named).as_py()
    except (pa.ArrowInvalid, UnicodeError) as problem:
        raise _bad_regex(pattern, str(problem)) from None
    return None if found is None else str(found[f"g{wanted}"])


_extract_short = lru_cache(maxsize=16_384)(_extracted)


def check_group(pattern: str, group: int | None) -> None:
    count = _name_groups(pattern)[1]
    if group is not None and not 0 <= group <= count:
        raise BadArgument(
            f"the pattern has {count} groups, there is no group {group}",
            "wrong_arguments",
            "0 is the whole match, the first parentheses are group 1",
        )


_OPENINGS = re.compile(r"\(\?P?<\w+>|\((?!\?)")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)
_QUOTED = re.compile(r"\\Q.*?(?:\\E|\Z)", re.DOTALL)
_ESCAPED = re.compile(r"\\.", re.DOTALL)


@lru_cache(maxsize=1024)
def _name_groups(pattern: str) -> tuple[str, int]:
    """The pattern with its groups named g1, g2, ... inside g0: Arrow gives named groups only."""
    parts, at, count = ["(?P<g0>"], 0, 0
    while at < len(pattern):
        if opening := _OPENINGS.match(pattern, at):
            count += 1
            parts.append(f"(?P<g{count}>")
            at = opening.end()
            continue
        kept = next((m[0] for r in (_QUOTED, _ESCAPED, _CLASS) if (m := r.match(pattern, at))), pattern[at])
        # A quotation that is not closed would swallow the parenthesis that closes g0.
        closed = not kept.startswith("\\Q") or kept.endswith("\\E")
        parts.append(kept if closed else kept + "\\E")
        at += len(kept)
    return "".join([*parts, ")"]), count


def check_regex(pattern: str) -> None:
    """A BadArgument if RE2 does not take the pattern."""
    _match("", pattern)


def _bad_regex(pattern: str, problem: str) -> BadArgument:
    reason = problem.removeprefix("Invalid regular expression: ").strip()
    return BadArgument(f"`{pattern}` is not a regular expression: {reason}", "bad_regex", _regex_hint(reason))


def _regex_hint(reason: str) -> str:
    if re.match(r"invalid escape sequence: \\[1-9k]", reason):
        return "regular expressions are RE2: linear time, so no back references"
    if re.match(r"invalid (perl operator|named capture group): \(\?<?[=!]", reason):
        return "regular expressions are RE2: linear time, so no look-ahead and no look-behind"
    if reason.startswith(("missing )", "unexpected )")):
        return r"parentheses come in pairs; a parenthesis itself is written \("
    if reason.startswith("missing ]"):
        return r"a bracket itself is written \["
    if reason.startswith("no argument for repetition"):
        return r"* + ? repeat what stands before them; the signs themselves are written \* \+ \?"
    return "the syntax is RE2's"
