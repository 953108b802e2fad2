"""The entrance to the kernel: whole keys, one after the other.

Compiled once for all patterns and kept on disk: a fresh process finds it there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numba import njit

from cepheid.matching.compiled.drive import close, on_end, on_event, pass_time
from cepheid.matching.compiled.space import (
    DROPPED,
    FULL_SAVED,
    KEY,
    N_OUT,
    N_OUT_EVENTS,
    OK,
    STARTED,
    STATUS,
    reset,
)
from cepheid.matching.compiled.state import load, look_again, save, words_needed
from cepheid.matching.compiled.tables import NEVER

# Columns of what is told of each key: where its things begin. The next key's beginning is their end.
K_ROWS, K_WORDS, K_EVENTS, KEY_WIDTH = range(4)
# Columns of what is saved of each key.
V_WORDS, V_ROWS, V_LOOK, SAVED_WIDTH = range(4)


_SOURCES = (
    "drive",
    "emission",
    "every",
    "ids",
    "kernel",
    "machine",
    "memory",
    "moves",
    "partition",
    "space",
    "state",
    "stnm",
    "tables",
)


def _stamp() -> int:
    """A number that changes with any of the kernel's sources: what was compiled from others is not found."""
    text = b"".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in _SOURCES)
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")


def _made(stamp: int) -> Any:
    @njit(cache=True)
    def match_keys(t, w, keys, words, first, time, ends, saved, saved_words, saved_rows):
        """Matches the keys from `first` on, each from its state: its events, then time up to `time`, or the end.

        The answer is the key that could not be done, with the reason in the status; or the number of keys.
        """
        if stamp < 0:
            return -1
        for key in range(first, len(keys) - 1):
            given, events = w[N_OUT], w[N_OUT_EVENTS]
            counts = w[STARTED : DROPPED + 1].copy()
            reset(t, w)
            w[STATUS] = OK
            w[KEY] = key
            if keys[key, K_WORDS] < keys[key + 1, K_WORDS]:
                load(t, w, words[keys[key, K_WORDS] : keys[key + 1, K_WORDS]], keys[key, K_EVENTS])
            for row in range(keys[key, K_ROWS], keys[key + 1, K_ROWS]):
                if w[STATUS] != OK:
                    break
                on_event(t, w, row)
            if w[STATUS] == OK:
                if ends:
                    on_end(t, w, time)
                else:
                    pass_time(t, w, time)
            if w[STATUS] == OK and not ends:
                _save_key(t, w, key, time, saved, saved_words, saved_rows)
            close(w)
            if w[STATUS] != OK:
                w[N_OUT], w[N_OUT_EVENTS] = given, events
                w[STARTED : DROPPED + 1] = counts
                return key
        return len(keys) - 1

    return match_keys


@njit(cache=False)
def _save_key(t, w, key, time, saved, saved_words, saved_rows):
    at, row = saved[key, V_WORDS], saved[key, V_ROWS]
    saved[key + 1, V_WORDS], saved[key + 1, V_ROWS] = at, row
    look = look_again(t, w, time)
    saved[key, V_LOOK] = look
    if look == -NEVER:  # nothing to keep
        return
    words, rows = words_needed(t, w)
    if at + words > len(saved_words) or row + rows > len(saved_rows):
        w[STATUS] = FULL_SAVED
        return
    words, rows = save(t, w, saved_words[at:], saved_rows[row:])
    saved[key + 1, V_WORDS], saved[key + 1, V_ROWS] = at + words, row + rows


match_keys = _made(_stamp())
