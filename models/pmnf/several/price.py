"""What hypotheses over several parameters pay: the criterion of one parameter, generalised.

Again n log RSS plus the corrected Akaike penalty plus a price for how many hypotheses of that kind
there were. Exponents that terms share are chosen once and paid once: n^2 + n^2 p had as many to
choose from as n^2 p. The first exponents of a parameter are cheap, as most parameters that are
measured matter; each further pair of exponents, and each further term, has to earn its place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.criterion import FEWEST
from hindmost.models.pmnf.criterion import penalties as of_one_parameter

MOST_TERMS = 4
OF_FIRST = 0.75
"""Factor of log M for a parameter's first exponents: of constants, some 4 % get a term."""
OF_FURTHER = 2.0
"""Factor of log M for each further pair of exponents of the same parameter."""
OF_TERM = 3.0
"""Factor of log(2^d - 1), the sets of parameters that a further term may have."""


def penalties(points: int, exponents: int, parameters: int) -> NDArray[np.float64]:
    """Return what hypotheses pay.

    Parameters
    ----------
    points : int
    exponents : int
        Pairs that a parameter may have.
    parameters : int

    Returns
    -------
    float64 array, shape (terms, parameters used, further exponents)
        Terms from 0 to 4; infinite where there are too few points for so many.
    """
    table = np.full((MOST_TERMS + 1, parameters + 1, MOST_TERMS * parameters + 1), np.inf)
    if parameters == 1:
        known = of_one_parameter(points, exponents)
        table[0, 0, 0], table[1, 1, 0], table[2, 1, 1] = known
        return table
    shapes = np.log(2.0**parameters - 1.0)
    used, further = np.indices(table.shape[1:])
    for terms in range(MOST_TERMS + 1):
        free = terms + 2  # with the constant and the noise
        effective = max(points, FEWEST)
        if points < free or effective <= free + 1:
            continue
        correction = 2.0 * free * (free + 1) / (effective - free - 1)
        chosen = (OF_FIRST * used + OF_FURTHER * further) * np.log(exponents)
        table[terms] = 2.0 * (free + chosen + OF_TERM * max(terms - 1, 0) * shapes) + correction
    return table
