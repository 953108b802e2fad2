"""Forecasts of open runs: a learned law of what comes next, joined with the pattern."""
