"""What the tests of the editor's help share is imported by plain name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
