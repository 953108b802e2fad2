"""Matchers: the reference (plain Python, the oracle) and what every matcher shares."""
