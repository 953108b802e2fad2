"""The state of rules at work, as bytes: rules, patterns, working memory, open runs. No live object is pickled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cepheid.engines.rules.driver import Driver
from cepheid.engines.rules.feeding import pattern_types
from cepheid.engines.rules.prepared import Prepared, prepare
from cepheid.errors import SnapshotMistake
from cepheid.matching.values import dump, load
from cepheid.pattern.rule_model import RuleSet
from cepheid.pattern.rule_text import rule_set_text

_FORMAT, _VERSION = "cepheid rules", 1


def driver_state(driver: Driver) -> dict[str, Any]:
    """What must be kept of a driver."""
    return {
        "session": driver.session.snapshot(),
        "patterns": None if driver.patterns is None else driver.patterns.snapshot(),
        "seen": driver.seen,
        "clock": driver.clock,
        "inside": [list(name) for name in sorted(driver.inside, key=repr)],
    }


def restore_driver(driver: Driver, state: dict[str, Any]) -> None:
    driver.session.restore(state["session"])
    if driver.patterns is not None:
        driver.patterns.restore(state["patterns"])
    driver.seen, driver.clock = state["seen"], state["clock"]
    driver.inside = {(type, identity) for type, identity in state.get("inside", ())}


def snapshot_of(driver: Driver, prepared: Prepared) -> bytes:
    whole = {
        "format": _FORMAT,
        "version": _VERSION,
        "rules": rule_set_text(_written(prepared)),
        "program": None if prepared.program is None else str(prepared.program),
        "unit": prepared.clock.unit,
        "numbers": prepared.clock.numbers,
        "limit": prepared.max_firings,
        "state": driver_state(driver),
    }
    return dump(whole).encode()


def _written(prepared: Prepared) -> RuleSet:
    """With the types that were declared: of patterns, their program says it again."""
    own = () if prepared.program is None else pattern_types(prepared.program)
    return replace(prepared.rules, types=tuple(t for t in prepared.rules.types if t not in own))


def restored(snapshot: bytes) -> tuple[Driver, Prepared]:
    whole = _read(snapshot)
    prepared = prepare(whole["rules"], whole["program"], "snapshot", whole["unit"], whole["limit"])
    prepared.clock.numbers = whole["numbers"]
    driver = prepared.driver()
    restore_driver(driver, whole["state"])
    return driver, prepared


def _read(snapshot: bytes) -> dict[str, Any]:
    try:
        whole = load(snapshot.decode())
    except (ValueError, UnicodeDecodeError, AttributeError):
        raise SnapshotMistake("this is no snapshot of rules, or it was cut off") from None
    if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
        raise SnapshotMistake("this is no snapshot of rules")
    if whole.get("version") != _VERSION:
        raise SnapshotMistake(
            f"the snapshot is of version {whole.get('version')}, and this is version {_VERSION}",
            hint="restore it with the version of Cepheid that wrote it",
        )
    return whole
