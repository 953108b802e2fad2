"""Rules made ready to be run: all that sessions of the same rules share. Nothing in it changes."""

from __future__ import annotations

import re
from functools import cached_property
from hashlib import sha256

from cepheid.pattern.rule_model import Retract, RuleSet
from cepheid.rules.firing import fire_of
from cepheid.rules.network import Network
from cepheid.rules.resolve import ready_rule
from cepheid.rules.stamps import Shown, as_inside


class RuleProgram:
    def __init__(self, ruleset: RuleSet, tick: int = 1_000_000, shown: Shown = as_inside) -> None:
        """`tick`: the microseconds of one tick of the clock. `shown`: times as rules see them."""
        self.ruleset, self.tick, self.shown = ruleset, tick, shown
        self.rules = [ready_rule(rule, n, tick, shown) for n, rule in enumerate(ruleset.rules)]
        self.fire = [fire_of(rule) for rule in self.rules]
        self.retractable = frozenset(
            rule.lines[rule.place_of(action.variable)].type
            for rule in self.rules
            for action in rule.rule.actions
            if isinstance(action, Retract)
        )
        self.keys = {(t.name, t.event): t.key for t in ruleset.types if t.key is not None}
        self.network = Network(self.rules, self.retractable)

    @cached_property
    def fingerprint(self) -> str:
        """Of the rules: a state of others means nothing to them."""
        text = re.sub(r" at 0x[0-9a-f]+", "", repr((self.ruleset, self.tick)))
        return sha256(text.encode()).hexdigest()[:16]
