"""Numbers and intervals as a reader wants them."""

from __future__ import annotations

import math


def number(value: float | None, digits: int = 2) -> str:
    """A number as a reader wants it: two decimals, a minus sign, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    text = decimals(value, digits)
    if digits > 2:
        text = text.rstrip("0").rstrip(".") if len(text.rstrip("0").partition(".")[2]) > 2 else decimals(value, 2)
    return text


def decimals(value: float, digits: int, sign: str = "") -> str:
    """So many decimals, with a minus sign that is none before nothing; ``sign="+"`` puts a plus before the others."""
    value = value if round(value, digits) else 0.0
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """A difference: ``+0.36``, ``−0.20``."""
    return decimals(value, digits, "+")


def interval(low: float | None, high: float | None, digits: int = 2, sign: str = "") -> str:
    """``[0.70, 0.76]``, or that there is none."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "(no interval)"
    return f"[{decimals(low, digits, sign)}, {decimals(high, digits, sign)}]"


def estimated(value: float, low: float | None, high: float | None, digits: int = 2) -> str:
    """``0.73 [0.70, 0.76]``."""
    return f"{said(value, digits)} {interval(low, high, digits)}"


def said(value: float, digits: int = 2) -> str:
    """A number as a sentence says it; what could not be estimated is said in words."""
    return decimals(value, digits) if math.isfinite(value) else "not estimable"


def p_value(value: float) -> str:
    """``p = .012`` with the digits that matter, ``p < .001``, or that there is none."""
    if not math.isfinite(value):
        return "no p-value"
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
