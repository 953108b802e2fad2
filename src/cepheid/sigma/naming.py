"""Names that no other stream, alias or field has."""

from __future__ import annotations


class Labels:
    """Names given once each.

    >>> labels = Labels({"Log"})
    >>> labels.fresh("Log"), labels.fresh("Log"), labels.fresh("a`b")
    ('Log 2', 'Log 3', "a'b")
    """

    def __init__(self, taken: set[str]) -> None:
        self._taken = set(taken)

    def fresh(self, name: str) -> str:
        wanted = " ".join(name.replace("`", "'").split()) or "rule"
        found, number = wanted, 1
        while found in self._taken:
            number += 1
            found = f"{wanted} {number}"
        self._taken.add(found)
        return found


def fresh_alias(name: str, taken: set[str]) -> str:
    """An alias that is no field's first name, so that `name.x` can only mean one thing.

    >>> fresh_alias("hit", {"hit"})
    'hit_'
    """
    alias = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "hit"
    if not (alias[0].isalpha() or alias[0] == "_"):
        alias = "_" + alias
    while alias in taken:
        alias += "_"
    return alias
