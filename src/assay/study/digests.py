"""Names for values by their content, and chance that depends on nothing else."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def canonical(value: Any) -> str:
    """One text for equal values, whatever the order of their keys."""
    return _CANONICAL.encode(value)


def digest_of(value: Any) -> str:
    """A short name for a value, by its content."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:20]


def chance(*parts: Any) -> random.Random:
    """Chance that depends on what is drawn for, and on nothing else."""
    return random.Random(digest_of(parts))
