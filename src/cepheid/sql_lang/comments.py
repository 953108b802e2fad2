"""Comments to blanks: what is left stands where it stood, so places stay true and no grammar has to know them."""

from __future__ import annotations

import re

_PART = re.compile(
    r"""(?P<kept>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`\n]+`)
    |(?P<comment>(?:--(?!>)|\#|//)[^\n]*|/\*.*?\*/)""",
    re.DOTALL | re.VERBOSE,
)


def blank_comments(text: str) -> str:
    """The text with `-- ...`, `/* ... */`, `// ...` and `# ...` blanked; those inside quotes are none.

    >>> blank_comments("A -- '>' B\\n/* x */ '--'")
    'A         \\n        \\'--\\''
    """
    return _PART.sub(_blank, text)


def _blank(part: re.Match[str]) -> str:
    return part.group() if part["kept"] else re.sub(r"[^\n]", " ", part.group())
