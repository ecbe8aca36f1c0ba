"""How p-values are written, in one place."""

from __future__ import annotations

LEAST = 1e-15
"""Below it only rounding tells one p-value from another, and none is zero."""


def p_words(p_value: float, digits: int = 2) -> str:
    """Write a p-value as ``p = 0.0021``, or ``p < 1e-15``.

    Parameters
    ----------
    p_value : float
    digits : int
        Significant ones.
    """
    number = p_number(p_value, digits)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def p_number(p_value: float, digits: int = 2) -> str:
    """Write a p-value where a heading says what it is: ``0.0021``, or ``< 1e-15``."""
    return f"< {LEAST:g}" if p_value < LEAST else f"{p_value:.{digits}g}"
