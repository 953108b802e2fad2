"""Bounded input in columns: tested by Arrow, sorted by numpy, matched by the compiled kernel. No object an event."""
