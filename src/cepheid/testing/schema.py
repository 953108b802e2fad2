"""The schema of events at hand: the fields of each type, as wide as the events need."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.pattern.event import Event
from cepheid.pattern.types import NULL, UNKNOWN, Schema, Type, common, struct_of, type_of
