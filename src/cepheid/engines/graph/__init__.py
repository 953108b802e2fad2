"""Temporal graphs for Python programs: a whole graph, and a sifter for edges that come one by one."""
