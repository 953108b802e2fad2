"""The network of rules, drawn: as text and as a Mermaid diagram, with what its nodes hold."""

from __future__ import annotations

from cepheid.engines.graph.clock import Clock
from cepheid.rules.session import RuleSession


def network_text(session: RuleSession, clock: Clock) -> str:
    raise NotImplementedError


def network_mermaid(session: RuleSession, clock: Clock) -> str:
    raise NotImplementedError
