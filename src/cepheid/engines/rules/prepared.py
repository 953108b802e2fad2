"""Rules, and patterns beside them, that were read and checked: ready to be run, also once for each key."""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from cepheid.engines.graph.clock import Clock
from cepheid.engines.local.times import PER_SECOND
from cepheid.engines.network import MakeMatcher, reference
from cepheid.engines.program import Program, compile
from cepheid.engines.rules.driver import Driver
from cepheid.engines.rules.feeding import check_no_way_round, pattern_types
from cepheid.engines.rules.given import rule_set_of
from cepheid.errors import InputMistake
from cepheid.pattern.rule_model import ObjectType, RuleSet
from cepheid.pattern.types import TIMESTAMP, UNKNOWN, Type
from cepheid.rules.program import RuleProgram


@dataclass(frozen=True)
class Prepared:
    rules: RuleSet
    program: Program | None
    tick: int  # in microseconds
    max_firings: int
    clock: Clock = field(compare=False)  # how times are written
    time: Type = UNKNOWN  # of the times of events, if it is known beforehand,
    time_column: str | None = None  # and the column of tables that has them
    identity: str = field(default_factory=lambda: token_hex(8), compare=False)  # the same wherever it travels

    @property
    def compiled(self) -> RuleProgram:
        """Made once in a process, and shared by all its sessions: of a task on Spark, too, that is sent many times."""
        found = _COMPILED.get(self.identity)
        if found is None:
            found = _COMPILED[self.identity] = RuleProgram(self.rules, self.tick, self.clock.time)
            while len(_COMPILED) > _MOST_COMPILED:
                del _COMPILED[next(iter(_COMPILED))]
        return found

    def driver(self, make: MakeMatcher = reference) -> Driver:
        return Driver(self.compiled, self.program, max_firings=self.max_firings, make=make)


_MOST_COMPILED = 32
_COMPILED: dict[str, RuleProgram] = {}  # the latest


def prepare(
    rules: Any,
    patterns: Any = None,
    source: str = "rules",
    time_unit: str = "s",
    max_firings: int = 10_000,
    types: tuple[ObjectType, ...] = (),
    time: Type = UNKNOWN,
) -> Prepared:
    """Everything that can be said against rules and patterns is said here."""
    if max_firings < 1:
        raise InputMistake("`max_firings` is below 1", code="bad_option", hint="give a number above 0")
    program = None if patterns is None else compile(patterns)
    matched = () if program is None else pattern_types(program)
    read = rule_set_of(rules, source, (*types, *matched), time)
    if program is not None:
        check_no_way_round(read, program)
    clock = Clock(time_unit, None if time == UNKNOWN else time != TIMESTAMP)
    return Prepared(read, program, tick_of(time_unit), max_firings, clock, time)


def tick_of(unit: str) -> int:
    """The microseconds of one tick of a clock whose numbers are of a unit; below that there is no tick.

    >>> tick_of("s"), tick_of("ms")
    (1000000, 1000)
    """
    if unit not in PER_SECOND:
        raise InputMistake(f"{unit!r} is not a time_unit", code="bad_option", hint="use s, ms, us or ns")
    return max(10**6 // PER_SECOND[unit], 1)
