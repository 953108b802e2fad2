"""Ctrl-C while Spark works. Its own handler talks to Java in the middle of another talk, and logs how that fails."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ends_the_program() -> Iterator[None]:
    """At once: what runs in Java ends with this process."""

    def end() -> None:
        logging.disable(logging.CRITICAL)
        raise KeyboardInterrupt

    with _handled(end):
        yield


@contextmanager
def noted() -> Iterator[threading.Event]:
    """As a flag, for a loop that looks at it and then stops in order."""
    stopped = threading.Event()
    with _handled(stopped.set):
        yield stopped


@contextmanager
def _handled(what: Callable[[], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        what()

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
