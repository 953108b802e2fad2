"""What happens to a partition, told to where its runs are: by state (`by_state.py`) or in order (`drive.py`).

Chosen when the kernel is compiled, by the type of the kind; see `kinds.py`.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from cepheid.matching.compiled.kernel import by_state, drive
from cepheid.matching.compiled.kernel.jit import OPTIONS

_on_event, _pass_time, _on_end = drive.on_event, drive.pass_time, drive.on_end
_on_event_by_state = by_state.on_event_by_state
_pass_time_by_state = by_state.pass_time_by_state
_on_end_by_state = by_state.on_end_by_state
_spread, _gather = by_state.spread, by_state.gather


def on_event(kind: Any, t: Any, w: Any, row: Any) -> None:
    """An event."""


def pass_time(kind: Any, t: Any, w: Any, time: Any) -> None:
    """Time has passed every moment before `time`."""


def on_end(kind: Any, t: Any, w: Any, time: Any) -> None:
    """Nothing comes after `time`."""


def loaded(kind: Any, t: Any, w: Any) -> None:
    """The open runs of a state that was loaded are in RUNS."""


def done(kind: Any, t: Any, w: Any) -> None:
    """The open runs are to be in RUNS."""


@overload(on_event, jit_options=OPTIONS)
def _on_event_by_kind(kind, t, w, row):
    if isinstance(kind, types.Complex):
        return lambda kind, t, w, row: _on_event_by_state(t, w, row)
    return lambda kind, t, w, row: _on_event(kind, t, w, row)


@overload(pass_time, jit_options=OPTIONS)
def _pass_time_by_kind(kind, t, w, time):
    if isinstance(kind, types.Complex):
        return lambda kind, t, w, time: _pass_time_by_state(t, w, time)
    return lambda kind, t, w, time: _pass_time(kind, t, w, time)


@overload(on_end, jit_options=OPTIONS)
def _on_end_by_kind(kind, t, w, time):
    if isinstance(kind, types.Complex):
        return lambda kind, t, w, time: _on_end_by_state(t, w, time)
    return lambda kind, t, w, time: _on_end(kind, t, w, time)


@overload(loaded, jit_options=OPTIONS)
def _loaded_by_kind(kind, t, w):
    if isinstance(kind, types.Complex):
        return lambda kind, t, w: _spread(t, w)
    return lambda kind, t, w: None


@overload(done, jit_options=OPTIONS)
def _done_by_kind(kind, t, w):
    if isinstance(kind, types.Complex):
        return lambda kind, t, w: _gather(t, w)
    return lambda kind, t, w: None
