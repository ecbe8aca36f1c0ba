"""When a further term is worth having: the penalties of the search.

Hypotheses are ranked by n log RSS + 2 k + 2 k (k + 1) / (n - k - 1) + 2 c log M, the corrected
Akaike criterion (Hurvich and Tsai 1989) with a price for having had M hypotheses of that size to
choose from, as in the extended Bayesian criterion (Chen and Chen 2008). The factors c are such
that of constants 5 % get a term, and of functions of one term 1 % get a second: docs/validation.md
shows that beside other criteria.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRICE = (0.0, 0.3, 1.0)
"""c for none, one and two terms."""
FEWEST = 5
"""Provisional models of fewer points pay as if they had so many."""


def penalties(points: int, terms: int, *, most: int = 2) -> NDArray[np.float64]:
    """Return what hypotheses of 0, 1 and 2 terms pay.

    Parameters
    ----------
    points : int
    terms : int
        Ways to have one: of the search space, those that fall twice, as they may be subtracted.
    most : int
        Terms that a model may have.

    Returns
    -------
    float64 array, shape (3,)
        Infinite where there are too few points for so many terms.
    """
    choices = (1, terms, terms * (terms - 1) // 2)
    found = np.full(3, np.inf)
    for used in range(most + 1):
        free = used + 2  # with the constant and the noise
        effective = max(points, FEWEST)
        if points >= free and effective > free + 1 and choices[used]:
            correction = 2.0 * free * (free + 1) / (effective - free - 1)
            found[used] = 2.0 * free + correction + 2.0 * PRICE[used] * np.log(choices[used])
    return found
