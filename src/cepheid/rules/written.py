"""Functions written out as Python. A text that was written before is not compiled again: rules are often alike.

What differs from rule to rule is given to the function as defaults of further arguments: so one code serves all, and
finds them as fast as its own variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any


def written(arguments: str, lines: Sequence[str], known: Mapping[str, Any]) -> Any:
    """A function of these arguments and lines, which knows some things by name.

    >>> written("x", ["return x * factor"], {"factor": 3})(2)
    6
    """
    return FunctionType(code_of(arguments, tuple(known), tuple(lines)), {}, "written", tuple(known.values()))


@lru_cache(maxsize=4096)
def code_of(arguments: str, known: tuple[str, ...], lines: tuple[str, ...]) -> CodeType:
    head = f"def written({', '.join([arguments, *known])}):"
    made: dict[str, Any] = {}
    exec(compile("\n".join([head, *(f"    {line}" for line in lines)]), "<rules>", "exec"), made)
    code: CodeType = made["written"].__code__
    return code
