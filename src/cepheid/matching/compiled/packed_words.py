"""State words as bytes: most of them are small, or a moment near the key's last event.

A word is one byte if it is small, else a code that says how many bytes follow and whether they are the word or its
distance from the key's last moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.matching.compiled.kernel.state import S_NOW
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.tables import Table

Bytes = npt.NDArray[np.uint8]

_LOW = 8  # the least small word is -8
_SMALL = 232  # codes below stand for small words
_NEVER, _LONG_AGO = 232, 233
_NEAR = 233  # + how many bytes of distance follow
_FAR = 241  # + how many bytes of the word follow
_LONGEST = 9  # bytes of a word
_TOGETHER = 8  # words: most often so many in a row are small, and are moved at once


class Packed(NamedTuple):
    body: Bytes
    offsets: Table  # where each key begins, and the last one's end


class Words(NamedTuple):
    words: Table
    offsets: Table


def pack(words: Table, offsets: Table) -> Packed:
    body = np.empty(_LONGEST * len(words), np.uint8)
    ends = np.zeros(len(offsets), np.int64)
    size = _pack(words, offsets, body, ends)
    return Packed(body[:size].copy(), ends)


@dataclass
class WordRoom:
    """Where words are unpacked to: tens of megabytes, which a system gives anew more slowly than they are written."""

    words: Table = field(default_factory=lambda: np.empty(0, np.int64))

    def reserve(self, count: int) -> Table:
        if len(self.words) < count:
            self.words = np.empty(count, np.int64)
        return self.words


def unpack(body: Bytes, offsets: Table, again: WordRoom | None = None) -> Words:
    """The other way round: `offsets` say where each key's bytes begin. `again` is room that was used before: what was
    unpacked there is gone."""
    ends = np.zeros(len(offsets), np.int64)
    words = (again or WordRoom()).reserve(offsets[-1] - offsets[0])  # a word has a byte at least
    return Words(words[: _unpack(body, offsets, words, ends)], ends)


@njit(cache=True)
def _pack(words, offsets, body, ends):  # type: ignore[no-untyped-def]
    at = 0
    for key in range(len(offsets) - 1):
        first, end = offsets[key], offsets[key + 1]
        i = first
        while i < end:
            if i + _TOGETHER <= end and _all_small(words, i):
                for j in range(_TOGETHER):
                    body[at + j] = words[i + j] + _LOW
                at += _TOGETHER
                i += _TOGETHER
                continue
            word = words[i]
            i += 1
            if -_LOW <= word < _SMALL - _LOW:
                body[at] = word + _LOW
                at += 1
            elif word == NEVER or word == -NEVER:
                body[at] = _NEVER if word == NEVER else _LONG_AGO
                at += 1
            else:
                near = word - words[first + S_NOW] if i > first + S_NOW + 1 else word
                near = (near << 1) ^ (near >> 63)
                far = (word << 1) ^ (word >> 63)
                code = _FAR
                number = np.uint64(far)
                if np.uint64(near) < number:
                    code, number = _NEAR, np.uint64(near)
                place = at
                at += 1
                while number > 0 or at == place + 1:  # at least one byte: the codes begin there
                    body[at] = np.uint8(number & np.uint64(255))
                    number >>= np.uint64(8)
                    at += 1
                body[place] = code + (at - place - 1)
        ends[key + 1] = at
    return at


@njit(cache=True)
def _all_small(words, i):  # type: ignore[no-untyped-def]
    """Some that are small may not be seen: all bits together are less than the limit, then each word is."""
    bits = np.uint64(0)
    for j in range(_TOGETHER):
        bits |= np.uint64(words[i + j] + _LOW)
    return bits < np.uint64(_SMALL)


@njit(cache=True)
def _all_codes_small(body, at):  # type: ignore[no-untyped-def]
    largest = np.uint8(0)
    for j in range(_TOGETHER):
        largest = max(largest, body[at + j])
    return largest < np.uint8(_SMALL)


@njit(cache=True)
def _length(code):  # type: ignore[no-untyped-def]
    """How many bytes a word with this code has, the code included."""
    if code <= _LONG_AGO:
        return 1
    return 1 + code - (_FAR if code > _FAR else _NEAR)


@njit(cache=True)
def _unpack(body, offsets, words, ends):  # type: ignore[no-untyped-def]
    i = 0
    for key in range(len(offsets) - 1):
        at, first, end = offsets[key], i, offsets[key + 1]
        while at < end:
            if at + _TOGETHER <= end and _all_codes_small(body, at):
                for j in range(_TOGETHER):
                    words[i + j] = np.int64(body[at + j]) - _LOW
                at += _TOGETHER
                i += _TOGETHER
                continue
            code = np.int64(body[at])
            if code < _SMALL:
                words[i] = code - _LOW
            elif code <= _LONG_AGO:
                words[i] = NEVER if code == _NEVER else -NEVER
            else:
                number = np.uint64(0)
                for j in range(_length(code) - 1, 0, -1):
                    number = (number << np.uint64(8)) | np.uint64(body[at + j])
                word = np.int64(number >> np.uint64(1)) ^ -np.int64(number & np.uint64(1))
                words[i] = word if code > _FAR else word + words[first + S_NOW]
            at += _length(code)
            i += 1
        ends[key + 1] = i
    return i
