"""The numbers that stand for keys in match ids, for many keys at once. Those seen lately are remembered."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.matching.ids import key_text, text_word
from cepheid.matching.keys import lookup_key

_REMEMBERED = 1 << 18  # keys
_KNOWN: dict[str, int] = {}  # texts, whatever they are keys of


class KeyWords:
    """
    >>> words = KeyWords(inferred=False)
    >>> words.of([("ann",), (7,)]).tolist() == [text_word("sann"), text_word("d7")]
    True
    >>> words.of_texts(["ann", "bob"]).tolist() == words.of([("ann",), ("bob",)]).tolist()
    True
    """

    def __init__(self, inferred: bool) -> None:
        self.inferred = inferred

    def of(self, keys: Iterable[tuple[Any, ...]]) -> npt.NDArray[np.uint64]:
        return np.array([self._word(key) for key in keys], np.uint64)

    def of_texts(self, texts: list[str]) -> npt.NDArray[np.uint64]:
        """The same, of keys that are one text each."""
        found = [_KNOWN.get(text) for text in texts]
        if None in found:
            found = [_of_text(text) for text in texts]
        return np.array(found, np.uint64)

    def _word(self, key: tuple[Any, ...]) -> int:
        if len(key) == 1 and type(key[0]) is str:  # by far the most
            return _of_text(key[0])
        return text_word(key_text(lookup_key(key, self.inferred)))


def _of_text(text: str) -> int:
    found = _KNOWN.get(text)
    if found is None:
        if len(_KNOWN) >= _REMEMBERED:
            _KNOWN.clear()
        digest = blake2b(b"s" + text.encode(), digest_size=8).digest()
        found = _KNOWN[text] = int.from_bytes(digest, "little")
    return found
