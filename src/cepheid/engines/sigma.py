"""`sigma_patterns`: Sigma rules as a program, which every engine runs like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cepheid.engines.program import Program, compile
from cepheid.errors import SetupMistake

if TYPE_CHECKING:
    from cepheid.sigma.translation import Translation


def sigma_patterns(
    text: str,
    *,
    fields: Mapping[str, str] | None = None,
    flat: bool = False,
    keywords: str | Sequence[str] = (),
    logsource: Mapping[str, str] | None = None,
    event_type: str = "Log",
    source: str = "rule",
) -> Program:
    """Sigma rules (YAML, one or more documents) as patterns: detections and correlations, one stream a rule.

    Args:
        text: The rules, YAML with one or more documents.
        fields: Which field of the events a name in a rule means, `{"Image": "process.executable"}`.
        flat: Whether a dot belongs to a name.
        keywords: The field, or fields, in which keywords are looked for.
        logsource: Which fields tell the log source, `{"product": "os.type"}`.
        event_type: The type of the events.
        source: What the text is called in messages.

    >>> rule = '''
    ... title: Guest login
    ... logsource: {product: linux}
    ... detection: {selection: {user: Guest, uid|gte: 1000}, condition: selection}
    ... '''
    >>> print(sigma_patterns(rule), end="")
    stream `Guest login` = Log[lower(string(user)) == "guest" and float(uid) >= 1000] as hit
    """
    return compile(translated(text, fields, flat, keywords, logsource, event_type, source).declarations)


def translated(
    text: str,
    fields: Mapping[str, str] | None = None,
    flat: bool = False,
    keywords: str | Sequence[str] = (),
    logsource: Mapping[str, str] | None = None,
    event_type: str = "Log",
    source: str = "rule",
) -> Translation:
    """The program, and which of its streams the text wants matches of."""
    if find_spec("sigma") is None or find_spec("sigma.collection") is None:
        raise SetupMistake(
            "Sigma rules are read by pySigma, which is not installed",
            code="no_sigma",
            hint="pip install 'cepheid[sigma]'",
        )
    from cepheid.sigma.options import make_sigma_options
    from cepheid.sigma.translation import translate

    named = keywords if isinstance(keywords, str) else tuple(keywords)
    return translate(text, source, make_sigma_options(fields, flat, named, logsource, event_type))
