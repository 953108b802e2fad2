"""Tests here import each other's helpers by plain name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
