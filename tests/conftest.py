"""Tests import each other's helpers by plain name, and the project's tools as `tools`."""

import sys
from pathlib import Path

from hypothesis import settings

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

# What hypothesis makes up is the same in every run, so that a change is judged by its own mistakes; the long tests are
# there to find others' (`make soak`), and tell how to repeat what they find.
settings.register_profile("repeated", deadline=None, derandomize=True, database=None)
settings.register_profile("fresh", deadline=None, derandomize=False, database=None, print_blob=True)
settings.load_profile("repeated")
