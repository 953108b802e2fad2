"""The demonstration: a day of card payments with fraud planted in it, and the patterns that find it."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
QUERY = HERE / "fraud.cep"
EVENTS = HERE / "payments.jsonl"
