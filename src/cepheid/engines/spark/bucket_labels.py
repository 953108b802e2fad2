"""What buckets are called in Spark, so that every task of the shuffle gets as many of them as the others.

Spark sends a group to the partition that the hash of its name gives, modulo the number of partitions. Plain numbers
fall unevenly: of sixteen, one of two partitions gets nine, and of sixteen partitions six get none. So bucket n is
called what has n itself as its hash: however many partitions there are, buckets go to them in turn. The names depend
on nothing else, and a checkpoint finds its buckets again.
"""

from __future__ import annotations

_WORD = 1 << 32
_SEED = 42  # Spark's
# The constants of 32-bit Murmur3, which is Spark's hash of an integer: every step can be taken back.
_FIRST, _SECOND, _ADDED = 0xCC9E2D51, 0x1B873593, 0xE6546B64
_FINAL = ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1))


def label_of(bucket: int) -> int:
    """The integer whose hash is the number of the bucket."""
    word = bucket
    for shift, factor in reversed(_FINAL):
        word = _unshifted(_divided(word, factor), shift)
    word ^= 4  # the length of what is hashed
    word = _rotated(_divided(word - _ADDED, 5), 32 - 13) ^ _SEED
    word = _divided(_rotated(_divided(word, _SECOND), 32 - 15), _FIRST)
    return word - _WORD if word >= _WORD // 2 else word


def labels(buckets: int) -> list[int]:
    return [label_of(n) for n in range(buckets)]


def _divided(word: int, factor: int) -> int:
    """What times the factor gives the word."""
    return word * pow(factor, -1, _WORD) % _WORD


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) % _WORD


def _unshifted(word: int, by: int) -> int:
    """What gives the word when its own upper bits are laid over it."""
    found = word
    for _ in range(32 // by):
        found = word ^ (found >> by)
    return found
