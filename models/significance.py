"""How p-values are written, in one place, and the tail of the binomial law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def binomial_tail(
    counts: NDArray[np.integer] | NDArray[np.float64], of: int, share: float
) -> NDArray[np.float64]:
    """Return the probability of at least these counts in a number of trials.

    The same as ``scipy.stats.binom.sf(counts - 1, of, share)``; scipy.stats takes a second to
    import.

    Parameters
    ----------
    counts : array of any shape
        Whole numbers.
    of : int
        Number of trials.
    share : float
        Probability of each.
    """
    from scipy import special  # not on the ranks

    some = np.clip(np.asarray(counts, np.float64), 1.0, of)
    tail = special.betainc(some, of - some + 1.0, share)
    return np.where(counts > of, 0.0, np.where(counts < 1, 1.0, tail))
