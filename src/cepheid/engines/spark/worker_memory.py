"""What a Python worker of Spark has in memory for good."""

from __future__ import annotations

import gc
from functools import cache


@cache
def leave_modules_alone() -> None:
    """Spark's worker looks for garbage after every task, among all objects there are: a tenth of a second with the
    modules that are loaded once something has been matched. They stay, so they need not be looked at again."""
    gc.collect()
    gc.freeze()
