"""A text of Sigma rules as a program: one stream a rule, and streams of hits that those read."""

from __future__ import annotations

from dataclasses import dataclass

from sigma.correlations import SigmaCorrelationRule
from sigma.rule import SigmaRule

from cepheid.pattern.model import Declarations, Pattern, Step, Stream
from cepheid.sigma.correlation import Correlation, read_correlations
from cepheid.sigma.counting import counting_streams
from cepheid.sigma.hits import HitMaker, first_names, owned
from cepheid.sigma.naming import Labels, fresh_alias
from cepheid.sigma.options import SigmaOptions
from cepheid.sigma.rules import read_rules
from cepheid.sigma.temporal import temporal_streams


@dataclass(frozen=True)
class Translation:
    """The program, and which of its streams are rules that the text wants matches of."""

    declarations: Declarations
    wanted: tuple[str, ...]


def translate(text: str, source: str, options: SigmaOptions) -> Translation:
    labels = Labels({options.event_type})
    rules = read_rules(text, source, labels)
    maker = HitMaker(rules, options, labels)
    correlations = read_correlations(rules)
    streams: list[Stream] = []
    wanted: list[str] = []
    for rule in rules:
        if isinstance(rule, SigmaCorrelationRule):
            streams += _correlation_streams(correlations[id(rule)], maker)
        elif rules.is_wanted(rule):
            streams.append(_detection_stream(rule, maker))
        else:
            maker.condition(rule)  # what nobody reads must be right, too
        if rules.is_wanted(rule):
            wanted.append(rules.label(rule))
    return Translation(Declarations(streams=tuple(streams), untyped=True), tuple(wanted))


def _correlation_streams(correlation: Correlation, maker: HitMaker) -> list[Stream]:
    if correlation.kind in ("temporal", "temporal_ordered"):
        return temporal_streams(correlation, maker)
    return counting_streams(correlation, maker)


def _detection_stream(rule: SigmaRule, maker: HitMaker) -> Stream:
    label = maker.rules.label(rule)
    where = maker.condition(rule)
    alias = fresh_alias("hit", first_names(where))
    step = Step(maker.options.event_type, owned(where, alias), alias)
    return Stream(label, Pattern(step, name=label))
