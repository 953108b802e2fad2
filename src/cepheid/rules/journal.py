"""What an input has done so far, so that it can be taken back: an input is taken as a whole or not at all.

Most of what is done is counted, or gives an element to a memory: so a number is the number of a counter that was to be
raised, and an element is its own note. Other notes are a function that undoes something, and what it is given.
"""

from __future__ import annotations

from typing import Any

from cepheid.rules.memory import Element

Note = int | Element | tuple[Any, ...]
Journal = list[Note]


def take_back(journal: Journal, mark: int) -> None:
    """All that was noted since the journal was so long, the last first.

    >>> numbers = [1, 2]
    >>> take_back([(numbers.pop,)], 0)
    >>> numbers
    [1]
    """
    notes = journal[mark:]
    for note in reversed(notes):
        if isinstance(note, Element):
            note.memory.take_out(note)
        elif isinstance(note, tuple):
            undo, *given = note
            undo(*given)
    del journal[mark:]  # with what undoing has noted
