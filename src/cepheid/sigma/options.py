"""How the names of Sigma rules become names of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheid.errors import InputMistake
from cepheid.lang.parser import parse_expression
from cepheid.pattern.expr import Field

Path = tuple[str, ...]
LOGSOURCE = ("category", "product", "service")


@dataclass(frozen=True)
class SigmaOptions:
    """Which fields of the events the rules mean."""

    fields: Mapping[str, Path] = field(default_factory=dict)
    flat: bool = False  # a dot in a name is part of it; otherwise it leads into a field of a field
    keywords: tuple[Path, ...] = ()  # where keywords are looked for
    logsource: Mapping[str, Path] = field(default_factory=dict)
    event_type: str = "Log"

    def path(self, name: str) -> Path:
        """The field of an event that a name in a rule means."""
        found = self.fields.get(name)
        if found is not None:
            return found
        parts = tuple(name.split("."))
        return (name,) if self.flat or not all(parts) else parts


def make_sigma_options(
    fields: Mapping[str, str] | None,
    flat: bool,
    keywords: str | tuple[str, ...] | list[str],
    logsource: Mapping[str, str] | None,
    event_type: str,
) -> SigmaOptions:
    """Options as users write them: fields of events as they stand in a pattern (`user.name`)."""
    named = (keywords,) if isinstance(keywords, str) else tuple(keywords)
    for part in logsource or ():
        if part not in LOGSOURCE:
            raise InputMistake(
                f"a log source has no `{part}`", code="bad_option", hint="use " + ", ".join(LOGSOURCE)
            )
    return SigmaOptions(
        fields={name: read_path(text) for name, text in (fields or {}).items()},
        flat=flat,
        keywords=tuple(read_path(text) for text in named),
        logsource={part: read_path(text) for part, text in (logsource or {}).items()},
        event_type=event_type,
    )


def read_path(text: str) -> Path:
    """
    >>> read_path("process.`exit code`")
    ('process', 'exit code')
    """
    expr = parse_expression(text, "field")
    if not isinstance(expr, Field):
        raise InputMistake(
            f"`{text}` is not a field of an event",
            code="bad_option",
            hint="write it as in a pattern: user.name, or `user.name` in back quotes for one with a dot",
        )
    return expr.path
