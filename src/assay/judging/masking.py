"""Keys, made unreadable in whatever is kept or printed."""

from __future__ import annotations

import re


def without_secrets(text: str, key: str | None) -> str:
    """A text in which the key is not readable, whole or as services repeat it in part; all else is as it was.

    A short word in the key's place (``none``, ``EMPTY``, ``ollama``), as servers without keys are given, is no secret.
    """
    if not key or (key.isalpha() and len(key) < _SHORT):
        return text
    alone = (r"(?<!\w)", r"(?!\w)") if len(key) < _SHORT else ("", "")
    text = re.sub(alone[0] + re.escape(key) + alone[1], "***", text)
    return _IN_PART.sub(lambda found: "***" if _is_part(found, key) else found[0], text)


_SHORT = 8
"""Keys with fewer characters are looked for as words of their own: they may well be parts of others."""

_IN_PART = re.compile(r"(?P<head>[\w-]{2,})(?:[*•…]{2,}|…|\.{3,})(?P<tail>[\w-]*)")


def _is_part(found: re.Match[str], key: str) -> bool:
    """Whether this is how a service repeats the key: its first characters, something in between, its last ones."""
    return key.startswith(found["head"]) and key.endswith(found["tail"])
