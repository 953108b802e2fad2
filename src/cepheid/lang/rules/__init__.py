"""`rule N { when { ... } then { ... } }`: the text language of rules over facts and events."""

from cepheid.lang.rules.parser import parse_rules

__all__ = ["parse_rules"]
