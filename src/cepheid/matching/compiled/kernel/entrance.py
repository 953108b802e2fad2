"""The entrance to the kernel: whole keys, one after the other.

Compiled once for each kind of pattern, at first use, and kept on disk: a fresh process finds it there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numba import njit

from cepheid.matching.compiled.kernel.drive import close
from cepheid.matching.compiled.kernel.happenings import done, loaded, on_end, on_event, pass_time
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import words_of
from cepheid.matching.compiled.kernel.space import (
    BEFORE,
    DROPPED,
    FULL_SAVED,
    KEY,
    N_OUT,
    N_OUT_EVENTS,
    NOW,
    OK,
    STARTED,
    STATUS,
    reset,
)
from cepheid.matching.compiled.kernel.state import load, look_again, save, words_needed
from cepheid.matching.compiled.kernel.words import NEVER

# Columns of what is told of each key: where its things begin. The next key's beginning is their end.
K_ROWS, K_WORDS, K_EVENTS, KEY_WIDTH = range(4)
# Columns of what is saved of each key.
V_WORDS, V_ROWS, V_LOOK, SAVED_WIDTH = range(4)


def stamp() -> int:
    """A number that changes with any of the kernel's sources: what was compiled from others is not found."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    text = b"".join(path.read_bytes() for path in sources)
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")


def _made(number: int, cache: bool = True) -> Any:
    @njit(cache=cache, nogil=True, _nrt=False)  # keys are matched by several threads
    def match_keys(kind, tables, space, keys, words, first, time, ends, saved, saved_words, saved_rows):
        """Matches the keys from `first` on, each from its state: its events, then time up to `time`, or the end.

        The answer is the key that could not be done, with the reason in the status; or the number of keys.
        """
        if number < 0:  # what was compiled from other sources has another number here, and is not found
            return -1
        t, w = words_of(tables), words_of(space)
        for key in range(first, len(keys) - 1):
            begin(t, w, key)
            if keys[key, K_WORDS] < keys[key + 1, K_WORDS]:
                load(t, w, words, keys[key, K_WORDS], keys[key, K_EVENTS])
                loaded(kind, t, w)
            for row in range(keys[key, K_ROWS], keys[key + 1, K_ROWS]):
                if w[STATUS] != OK:
                    break
                on_event(kind, t, w, row)
            if w[STATUS] == OK:
                if ends:
                    on_end(kind, t, w, max(time, w[NOW]))
                else:
                    pass_time(kind, t, w, time)
            done(kind, t, w)
            if w[STATUS] == OK and not ends:
                save_key(t, w, key, time, saved, saved_words, saved_rows)
            close(w)
            if w[STATUS] != OK:
                undo(w)
                return key
        return len(keys) - 1

    return match_keys


@inner
def begin(t, w, key):
    reset(t, w)
    begin_key(w, key)


@inner
def begin_key(w, key):
    """A new key. What was given out and counted before it is remembered."""
    w[STATUS] = OK
    w[KEY] = key
    w[BEFORE] = w[N_OUT]
    w[BEFORE + 1] = w[N_OUT_EVENTS]
    for i in range(DROPPED + 1 - STARTED):
        w[BEFORE + 2 + i] = w[STARTED + i]


@inner
def undo(w):
    """As if the key had not been begun."""
    w[N_OUT] = w[BEFORE]
    w[N_OUT_EVENTS] = w[BEFORE + 1]
    for i in range(DROPPED + 1 - STARTED):
        w[STARTED + i] = w[BEFORE + 2 + i]


@inner
def save_key(t, w, key, time, saved, saved_words, saved_rows):
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
    words_end, rows_end = save(t, w, saved_words, at, saved_rows, row)
    saved[key + 1, V_WORDS], saved[key + 1, V_ROWS] = words_end, rows_end


try:
    match_keys = _made(stamp())
except RuntimeError:  # there is no folder to keep it in: it is compiled in every process
    match_keys = _made(stamp(), cache=False)
