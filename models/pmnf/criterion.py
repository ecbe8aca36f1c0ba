"""The criterion of the search: what each further term has to earn.

Hypotheses are ranked by n log RSS + 2 k + 2 k (k + 1) / (n - k - 1) + 2 c log M, the corrected
Akaike criterion (Hurvich and Tsai 1989) with a price for having had M hypotheses of that size to
choose from, as in the extended Bayesian criterion (Chen and Chen 2008). With the factors c chosen
here, 5 % of constants get a term, and 1 % of functions of one term get a second: docs/validation.md
compares that with other criteria.

Over several parameters, exponents that terms share are chosen once and paid once: n^2 + n^2 p had
as many to choose from as n^2 p. The first exponents of a parameter are cheap, as most parameters
that are measured matter; each further pair of exponents, and each further term, has to earn its
place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRICE = (0.0, 0.3, 1.0)
"""c for none, one and two terms."""
MAX_PRODUCTS = 4
"""Terms that a model over several parameters may have."""


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
        if choices[used]:
            price = 2.0 * PRICE[used] * np.log(choices[used])
            found[used] = corrected_akaike(points, np.array(used)) + price
    return found


def corrected_akaike(points: int, terms: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return 2 k + 2 k (k + 1) / (n - k - 1) of so many terms; infinite if the points are too few.

    k has the constant and the noise as well.
    """
    free = terms + 2.0
    # Provisional models of fewer points pay as if they had five.
    left = np.maximum(max(points, 5) - free - 1.0, 0.0)
    with np.errstate(divide="ignore"):
        found = 2.0 * free + 2.0 * free * (free + 1.0) / left
    return np.asarray(np.where(points >= free, found, np.inf))


def joint_penalties(points: int, exponents: int, parameters: int) -> NDArray[np.float64]:
    """Return what hypotheses over several parameters pay.

    Parameters
    ----------
    points : int
    exponents : int
        Pairs that a parameter may have.
    parameters : int

    Returns
    -------
    float64 array, shape (terms, parameters used, further exponents)
        Terms from 0 to 4; infinite where there are too few points for that many.
    """
    table = np.empty((MAX_PRODUCTS + 1, parameters + 1, MAX_PRODUCTS * parameters + 1))
    shapes = np.log(2.0**parameters - 1.0)
    used, further = np.indices(table.shape[1:])
    # Of constants, some 4 % get a term.
    chosen = (0.75 * used + 2.0 * further) * np.log(exponents)
    for terms, akaike in enumerate(corrected_akaike(points, np.arange(MAX_PRODUCTS + 1))):
        table[terms] = akaike + 2.0 * (chosen + 3.0 * max(terms - 1, 0) * shapes)
    return table
