"""Tests import each other's helpers by plain name, and the project's tools as `tools`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
