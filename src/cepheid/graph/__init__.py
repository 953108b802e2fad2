"""Temporal graphs: edges that hold for a time, stages found in them, at once or as edges come."""
