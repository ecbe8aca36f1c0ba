"""Least squares over a search space of one parameter, for many kernels at once: the compiled loop.

All hypotheses of a kernel are compared under the same weights: first 1 / |y|^(2 gamma), from whose
best one-term model come the final ones, 1 / f^(2 gamma), which noise does not sway. Terms that
grow are only added: costs add up, and one that is subtracted fits noise. One term that falls may be
subtracted from the constant, as in what approaches a bound. Values above 0 that fall towards
nothing have no constant below 0; if wished, their functions are above 0 at all points, and no term
that falls comes with a constant below 0.

The criterion of the search: what each further term has to earn.

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

from hindmost.models.compiled import declared, part
from hindmost.models.pmnf.hypotheses import Hypotheses

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


KEPT = 4
"""Hypotheses that are kept of each kernel: the best one and the runners-up."""
MAX_TERMS = 2
ABSENT = 0
"""In place of 1 plus a column's number, where there is no such term."""
DIGITS = 1e-28
"""Squared, what rounding leaves of a value."""
MIN_ANGLE = 1e-9
"""Squared sine between two columns, below which they are one."""

Best = tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.float64]]
"""Terms (hypothesis, 2), coefficients (hypothesis, 3), criterion (hypothesis,); best first."""


def search(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    columns: NDArray[np.float64],
    *,
    gamma: float,
    penalties: NDArray[np.float64],
    above_zero: bool = False,
) -> Hypotheses:
    """Find the best hypotheses of a constant and up to two terms.

    Parameters
    ----------
    values : float64 array, shape (kernel, point)
    shares : float64 array, shape (kernel, point)
        What each point weighs apart from the noise model: repetitions, doubts.
    columns : float64 array, shape (term, point)
        The terms at the points.
    gamma : float
        The noise's variance grows like the value to 2 gamma.
    penalties : float64 array, shape (3,)
        Added to n log RSS for 0, 1 and 2 terms; infinite: such hypotheses are left out.
    above_zero : bool
        Whether functions of values above 0 must be above 0 as well.
    """
    kernels, points = values.shape
    scale = np.abs(columns).max(axis=1)
    scale[scale == 0.0] = 1.0
    unit = np.ascontiguousarray(columns / scale[:, None])
    terms = np.empty((kernels, KEPT, MAX_TERMS), np.int16)
    coefficients = np.empty((kernels, KEPT, 1 + MAX_TERMS))
    criterion = np.empty((kernels, KEPT))
    weights = np.empty((kernels, points))
    search_loop(
        np.require(values, requirements=["C", "W"]),
        np.require(shares, requirements=["C", "W"]),
        unit,
        gamma,
        penalties,
        above_zero,
        terms,
        coefficients,
        criterion,
        weights,
    )
    for at in range(MAX_TERMS):
        there = terms[:, :, at] != ABSENT
        coefficients[:, :, at + 1][there] /= scale[terms[:, :, at][there] - 1]
    return Hypotheses(
        terms=terms[..., None], coefficients=coefficients, criterion=criterion, weights=weights
    )


@declared(
    "(f8[:,::1], f8[:,::1], f8[:,::1], f8, f8[::1], b1, i2[:,:,::1], f8[:,:,::1], f8[:,::1], "
    "f8[:,::1])",
    division="numpy",
)
def search_loop(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    columns: NDArray[np.float64],
    gamma: float,
    penalties: NDArray[np.float64],
    above_zero: bool,
    terms: NDArray[np.int16],
    coefficients: NDArray[np.float64],
    criterion: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Fill the results of `search`, kernel by kernel."""
    many, points = columns.shape
    target = np.empty((2, points))
    centred = np.empty((many, points))
    along = np.empty(many)
    for k in range(values.shape[0]):
        y, weight = values[k], weights[k]
        best = (terms[k], coefficients[k], criterion[k])
        # Weights from the values: 1 / |y|^(2 gamma).
        for a in range(points):
            weight[a] = shares[k, a] * np.abs(y[a]) ** (-2.0 * gamma)
        try_singles(y, weight, columns, penalties, above_zero, target, centred, along, best)
        if gamma != 0.0:
            # Weights from the best function f of at most one term: 1 / f^(2 gamma).
            least = np.inf
            for a in range(points):
                least = min(least, np.abs(y[a]))
            for a in range(points):
                fitted = coefficients[k, 0, 0]
                if terms[k, 0, 0] != ABSENT:
                    fitted += coefficients[k, 0, 1] * columns[terms[k, 0, 0] - 1, a]
                weight[a] = shares[k, a] * max(fitted, 0.5 * least) ** (-2.0 * gamma)
            try_singles(y, weight, columns, penalties, above_zero, target, centred, along, best)
        if penalties[2] < np.inf:
            try_pairs(y, weight, columns, penalties, above_zero, target, centred, along, best)


@part
def try_singles(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    penalties: NDArray[np.float64],
    above_zero: bool,
    target: NDArray[np.float64],
    centred: NDArray[np.float64],
    along: NDArray[np.float64],
    best: Best,
) -> None:
    """Begin the list of the best with the constant and one term each.

    Leaves in `weight` the weights of sum 1, in `target` their roots and the values without their
    mean, times the roots; in `centred` the columns without their mean, times the roots and of
    length 1, and in `along` the values' components along them.
    """
    points = y.size
    root, wanted = target[0], target[1]
    terms, coefficients, criterion = best
    # An empty list.
    for at in range(KEPT):
        criterion[at] = np.inf
        coefficients[at, 0] = 0.0
        for one in range(MAX_TERMS):
            terms[at, one] = ABSENT
            coefficients[at, one + 1] = 0.0
    # The constant: the weighted mean, with the values' spread around it as RSS.
    whole = 0.0
    for a in range(points):
        whole += weight[a]
    mean = 0.0
    least = np.inf
    for a in range(points):
        weight[a] /= whole
        mean += weight[a] * y[a]
        least = min(least, y[a])
    spread = 0.0
    for a in range(points):
        root[a] = np.sqrt(weight[a])
        wanted[a] = root[a] * (y[a] - mean)
        spread += wanted[a] * wanted[a]
    tiny = DIGITS * (mean * mean + spread)
    criterion[0] = points * np.log(spread + tiny) + penalties[0]
    coefficients[0, 0] = mean
    for q in range(columns.shape[0]):
        # The column without its mean, times the root of the weights.
        middle = 0.0
        for a in range(points):
            middle += weight[a] * columns[q, a]
        length = 0.0
        component = 0.0
        for a in range(points):
            entry = root[a] * (columns[q, a] - middle)
            centred[q, a] = entry
            length += entry * entry
            component += entry * wanted[a]
        if length < DIGITS:  # where there is weight, the column does not vary: it says nothing
            along[q] = 0.0
            for a in range(points):
                centred[q, a] = 0.0
            continue
        # Of length 1: the values' component along it leaves the RSS.
        norm = np.sqrt(length)
        component /= norm
        along[q] = component
        rss = 0.0
        for a in range(points):
            centred[q, a] /= norm
            rest = wanted[a] - component * centred[q, a]
            rss += rest * rest
        falls = columns[q, 0] > columns[q, points - 1]
        if component > 0.0 or falls:
            slope = component / norm
            constant = mean - slope * middle
            below_zero = False
            if constant < 0.0 and least > 0.0 and slope > 0.0:
                below_zero = falls
                for a in range(points if above_zero else 0):
                    below_zero |= constant + slope * columns[q, a] <= 0.0
            elif (
                above_zero
                and slope < 0.0
                and least > 0.0
                and constant + slope * columns[q, 0] <= 0.0
            ):
                continue  # it approaches a bound from below 0
            if below_zero:
                # What is above 0 is not below it at a point, nor further out: no constant.
                constant = 0.0
                above, below = 0.0, 0.0
                for a in range(points):
                    above += weight[a] * columns[q, a] * y[a]
                    below += weight[a] * (columns[q, a] * columns[q, a])
                slope = above / below
                rss = 0.0
                for a in range(points):
                    rest = y[a] - slope * columns[q, a]
                    rss += weight[a] * (rest * rest)
                if slope * columns[q, 0] <= 0.0:  # a logarithm of 1: 0 where there is a value
                    continue
            value = points * np.log(rss + tiny) + penalties[1]
            keep(best, value, q + 1, ABSENT, constant, slope, 0.0)


@part
def try_pairs(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    penalties: NDArray[np.float64],
    above_zero: bool,
    target: NDArray[np.float64],
    centred: NDArray[np.float64],
    along: NDArray[np.float64],
    best: Best,
) -> None:
    """Add to the list of the best what two terms do better, after `try_singles`."""
    points = y.size
    criterion = best[2]
    wanted = target[1]
    mean, spread = 0.0, 0.0
    least = np.inf
    for a in range(points):
        mean += weight[a] * y[a]
        spread += wanted[a] * wanted[a]
        least = min(least, y[a])
    tiny = DIGITS * (mean * mean + spread)
    for q in range(1, columns.shape[0]):
        for r in range(q):
            # The normal equations of two columns of length 1, whose cosine is `alike`.
            alike = 0.0
            for a in range(points):
                alike += centred[q, a] * centred[r, a]
            apart = 1.0 - alike * alike
            if apart < MIN_ANGLE:
                continue
            on_q = (along[q] - alike * along[r]) / apart
            on_r = (along[r] - alike * along[q]) / apart
            if on_q <= 0.0 or on_r <= 0.0:  # terms are added, not subtracted
                continue
            rss = max(spread - on_q * along[q] - on_r * along[r], 0.0)
            if points * np.log(rss + tiny) + penalties[2] >= criterion[KEPT - 1]:
                continue
            rss = 0.0  # once more, as the difference above may have no digits left
            for a in range(points):
                rest = wanted[a] - on_q * centred[q, a] - on_r * centred[r, a]
                rss += rest * rest
            value = points * np.log(rss + tiny) + penalties[2]
            if value >= criterion[KEPT - 1]:
                continue
            # Coefficients of the columns as they are, and the constant that goes with them.
            middle_q, middle_r = 0.0, 0.0
            for a in range(points):
                middle_q += weight[a] * columns[q, a]
                middle_r += weight[a] * columns[r, a]
            length_q, length_r = 0.0, 0.0
            for a in range(points):
                off_q, off_r = columns[q, a] - middle_q, columns[r, a] - middle_r
                length_q += weight[a] * (off_q * off_q)
                length_r += weight[a] * (off_r * off_r)
            slope_q, slope_r = on_q / np.sqrt(length_q), on_r / np.sqrt(length_r)
            constant = mean - slope_q * middle_q - slope_r * middle_r
            falls = columns[q, 0] > columns[q, points - 1]
            falls_too = columns[r, 0] > columns[r, points - 1]
            if falls and falls_too and constant < 0.0 and least > 0.0 and not above_zero:
                continue
            if above_zero and (falls or falls_too) and constant < 0.0 and least > 0.0:
                # As a single falling term: no constant. The normal equations of both columns.
                constant = 0.0
                qq, qr, rr, on_y, r_y = 0.0, 0.0, 0.0, 0.0, 0.0
                for a in range(points):
                    qq += weight[a] * (columns[q, a] * columns[q, a])
                    qr += weight[a] * (columns[q, a] * columns[r, a])
                    rr += weight[a] * (columns[r, a] * columns[r, a])
                    on_y += weight[a] * (columns[q, a] * y[a])
                    r_y += weight[a] * (columns[r, a] * y[a])
                apart = qq * rr - qr * qr
                slope_q, slope_r = on_y * rr - r_y * qr, r_y * qq - on_y * qr
                if apart < MIN_ANGLE * qq * rr or slope_q <= 0.0 or slope_r <= 0.0:
                    continue
                slope_q, slope_r = slope_q / apart, slope_r / apart
                rss = 0.0
                for a in range(points):
                    rest = y[a] - slope_q * columns[q, a] - slope_r * columns[r, a]
                    rss += weight[a] * (rest * rest)
                value = points * np.log(rss + tiny) + penalties[2]
            lowest = np.inf
            for a in range(points):
                fitted = constant + slope_q * columns[q, a] + slope_r * columns[r, a]
                lowest = min(lowest, fitted)
            if above_zero and lowest <= 0.0 and least > 0.0:
                continue
            keep(best, value, q + 1, r + 1, constant, slope_q, slope_r)


@part
def keep(
    best: Best,
    value: float,
    first: int,
    second: int,
    constant: float,
    of_first: float,
    of_second: float,
) -> None:
    """Put a hypothesis in its place in the list of the best, if it has one."""
    terms, coefficients, criterion = best
    if value >= criterion[KEPT - 1]:
        return
    # Worse ones move down by one place.
    at = KEPT - 1
    while at > 0 and value < criterion[at - 1]:
        criterion[at] = criterion[at - 1]
        for one in range(MAX_TERMS):
            terms[at, one] = terms[at - 1, one]
        for one in range(1 + MAX_TERMS):
            coefficients[at, one] = coefficients[at - 1, one]
        at -= 1
    criterion[at] = value
    terms[at, 0], terms[at, 1] = first, second
    coefficients[at, 0], coefficients[at, 1], coefficients[at, 2] = constant, of_first, of_second
