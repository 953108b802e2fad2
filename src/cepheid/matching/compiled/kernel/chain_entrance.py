"""The entrance to the kernel for chains: the same as `entrance.py`, for a much smaller kernel of its own."""

from __future__ import annotations

from typing import Any

from numba import njit

from cepheid.matching.compiled.kernel.chain import on_chain_event, pass_chain_time
from cepheid.matching.compiled.kernel.chain_space import reset_chain
from cepheid.matching.compiled.kernel.chain_state import (
    chain_words_needed,
    load_chain,
    look_at_chain_again,
    save_chain,
)
from cepheid.matching.compiled.kernel.entrance import (
    K_EVENTS,
    K_ROWS,
    K_WORDS,
    V_LOOK,
    V_ROWS,
    V_WORDS,
    begin_key,
    stamp,
    undo,
)
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import words_of
from cepheid.matching.compiled.kernel.space import FULL_SAVED, NOW, OK, STATUS
from cepheid.matching.compiled.kernel.words import NEVER


def _made(number: int, cache: bool = True) -> Any:
    @njit(cache=cache, nogil=True, _nrt=False)
    def match_chains(tables, space, keys, words, first, time, ends, saved, saved_words, saved_rows):
        """Matches the keys from `first` on. The answer is the key that could not be done, or the number of keys."""
        if number < 0:  # what was compiled from other sources has another number here, and is not found
            return -1
        t, w = words_of(tables), words_of(space)
        for key in range(first, len(keys) - 1):
            reset_chain(t, w)
            begin_key(w, key)
            if keys[key, K_WORDS] < keys[key + 1, K_WORDS]:
                load_chain(t, w, words, keys[key, K_WORDS], keys[key, K_EVENTS])
            for row in range(keys[key, K_ROWS], keys[key + 1, K_ROWS]):
                if w[STATUS] != OK:
                    break
                on_chain_event(t, w, row)
            if w[STATUS] == OK:
                pass_chain_time(t, w, max(time, w[NOW]) if ends else time)
            if w[STATUS] == OK and not ends:
                _save_key(t, w, key, time, saved, saved_words, saved_rows)
            if w[STATUS] != OK:
                undo(w)
                return key
        return len(keys) - 1

    return match_chains


@inner
def _save_key(t, w, key, time, saved, saved_words, saved_rows):
    at, row = saved[key, V_WORDS], saved[key, V_ROWS]
    saved[key + 1, V_WORDS], saved[key + 1, V_ROWS] = at, row
    look = look_at_chain_again(t, w, time)
    saved[key, V_LOOK] = look
    if look == -NEVER:  # nothing to keep
        return
    words, rows = chain_words_needed(t, w)
    if at + words > len(saved_words) or row + rows > len(saved_rows):
        w[STATUS] = FULL_SAVED
        return
    words_end, rows_end = save_chain(t, w, saved_words, at, saved_rows, row)
    saved[key + 1, V_WORDS], saved[key + 1, V_ROWS] = words_end, rows_end


try:
    match_chains = _made(stamp())
except RuntimeError:  # there is no folder to keep it in: it is compiled in every process
    match_chains = _made(stamp(), cache=False)
