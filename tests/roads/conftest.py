"""Each paper as one study: from a new study folder to its last table, by commands only."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "collecting"))  # people who answer the page
