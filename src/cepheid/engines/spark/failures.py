"""What a Spark job failed by, in our own words: the error that a task raised, without the stacks around it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cepheid import errors
from cepheid.errors import CepheidError, InputMistake

_OURS = re.compile(r"(?:^|worker: )cepheid\.errors\.(\w+): (?P<said>.*(?:\n {2}.*)*)", re.MULTILINE)
_HINT = "\n  hint: "
# Errors of Spark that are about a value in the events, and those around another one.
_VALUES = (
    "CAST_INVALID_INPUT",
    "MALFORMED_RECORD_IN_PARSING",
    "FAILED_READ_FILE",
    "CANNOT_PARSE",
    "USER_RAISED",
)


@contextmanager
def in_our_words() -> Iterator[None]:
    """Errors of a job that runs inside, as the local engine would have raised them."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as failure:
        mistake = mistake_in(failure)
        if mistake is None:
            raise
        raise mistake from None


@contextmanager
def without_stack() -> Iterator[None]:
    """In a task: what is wrong is all that is said of a mistake of ours, not where in the code it was found.

    Spark's worker says an error without its stack if this is set. It ends with the error, and the setting with it.
    """
    try:
        yield
    except CepheidError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def mistake_in(failure: Any) -> CepheidError | None:
    """The user's mistake that a job failed by; None if it is none that is known."""
    text = str(failure)
    if found := list(_OURS.finditer(text)):
        return _again(found[-1][1], found[-1]["said"])
    for line in text.splitlines():
        said = re.search(r"\[([A-Z_]+)[.A-Z_]*\] (.*)", line)
        if said and said[1].startswith(_VALUES):
            return InputMistake(_short(said[2]), code="bad_row")
    return None


def _again(kind: str, said: str) -> CepheidError:
    message, _, hint = said.partition(_HINT)
    known = getattr(errors, kind, CepheidError)
    return known(message, hint=hint or None)


def _short(text: str) -> str:
    """Without what Spark advises programmers to do."""
    return re.split(r" (?:Correct the|Use `try_|To process malformed|If necessary|SQLSTATE)", text)[0].strip()


__all__ = ["in_our_words", "mistake_in", "without_stack"]
