"""How each candidate would have foretold the last measured points of a series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared
from hindmost.models.foretell.candidates import COUNT, TERMS, continue_series
from hindmost.models.pmnf.term import columns

LEAST_KNOWN = 3
"""Points from which a candidate predicts a held-out one."""
MOST_ORIGINS = 10
"""Held-out points of a series that are looked at, the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Predictions of a target by all candidates, and their errors at held-out points.

    Attributes
    ----------
    predicted : float64 array, shape (kernel, candidate)
        Logarithms of the value at the target.
    errors : float64 array, shape (kernel, origin, candidate)
        Predicted less measured logarithm, the last held-out point first.
    age : float64 array, shape (kernel, origin)
        Points from the last known one to the last of all; infinite where there is no such
        origin.
    distance : float64 array, shape (kernel, origin)
        Logarithm of the held-out point over the last one before it.
    ahead : float64 array, shape (kernel,)
        Logarithm of the target over the last point.
    steps : float64 array, shape (kernel,)
        The same in steps of the last two points.
    slope : float64 array, shape (kernel,)
        Of the logarithms of the last two values.
    recent : float64 array, shape (kernel,)
        Points of the last behaviour; infinite if there is one only.
    known : float64 array, shape (kernel,)
        Points of all.
    """

    predicted: NDArray[np.float64]
    errors: NDArray[np.float64]
    age: NDArray[np.float64]
    distance: NDArray[np.float64]
    ahead: NDArray[np.float64]
    steps: NDArray[np.float64]
    slope: NDArray[np.float64]
    recent: NDArray[np.float64]
    known: NDArray[np.float64]


def hold_out(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    at: float,
    recent: NDArray[np.float64] | None = None,
) -> Trials:
    """Let all candidates predict a target and the last points of each kernel.

    Parameters
    ----------
    points : float64 array, shape (point,)
        Ascending, above 0.
    values : float64 array, shape (kernel, point)
        Above 0, NaN where a kernel has no measurement; at least 4 of each kernel.
    at : float
        Beyond all points.
    recent : float64 array, shape (kernel,), optional
        As in `Trials`; one behaviour by default. What was measured before the last behaviour is
        left out if this has points enough.
    """
    kernels = values.shape[0]
    if recent is None:
        recent = np.full(kernels, np.inf)
    # Points from each one to the last one of its kernel.
    left = np.isfinite(values)[:, ::-1].cumsum(axis=1)[:, ::-1]
    enough = recent >= LEAST_KNOWN + 1
    values = np.where(enough[:, None] & (left > recent[:, None]), np.nan, values)
    places = np.append(points, at)
    terms = columns(TERMS, places)
    terms /= np.abs(terms).max(axis=1, keepdims=True)
    logarithms = np.full((kernels, places.size), np.nan)
    logarithms[:, :-1] = np.log(values)
    predicted = np.empty((kernels, COUNT))
    errors = np.zeros((kernels, MOST_ORIGINS, COUNT))
    age = np.full((kernels, MOST_ORIGINS), np.inf)
    distance = np.ones((kernels, MOST_ORIGINS))
    tail = np.empty((kernels, 5))
    hold_out_loop(
        np.log(places),
        logarithms,
        np.ascontiguousarray(terms),
        predicted,
        errors,
        age,
        distance,
        tail,
    )
    return Trials(
        predicted=predicted,
        errors=errors,
        age=age,
        distance=distance,
        ahead=tail[:, 0],
        steps=tail[:, 1],
        slope=tail[:, 2],
        recent=np.where(tail[:, 4] > 0.0, 1.0, np.where(enough, np.inf, recent)),
        known=tail[:, 3],
    )


@declared(
    "(f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], f8[:,::1])",
    division="numpy",
)
def hold_out_loop(
    places: NDArray[np.float64],
    logarithms: NDArray[np.float64],
    terms: NDArray[np.float64],
    predicted: NDArray[np.float64],
    errors: NDArray[np.float64],
    age: NDArray[np.float64],
    distance: NDArray[np.float64],
    tail: NDArray[np.float64],
) -> None:
    """Fill the results of `hold_out`, kernel by kernel; the last place is the target."""
    target = places.size - 1
    own = np.empty((terms.shape[0], places.size))
    x, y = np.empty(places.size), np.empty(places.size)
    for kernel in range(logarithms.shape[0]):
        count = 0
        for place in range(places.size):
            if place == target or np.isfinite(logarithms[kernel, place]):
                x[count], y[count] = places[place], logarithms[kernel, place]
                for term in range(terms.shape[0]):
                    own[term, count] = terms[term, place]
                count += 1
        count -= 1  # what the kernel has; the target stands behind
        ahead = x[count] - x[count - 1]
        tail[kernel, 0] = ahead
        tail[kernel, 1] = ahead / (x[count - 1] - x[count - 2])
        last = (y[count - 1] - y[count - 2]) / (x[count - 1] - x[count - 2])
        tail[kernel, 2] = last
        tail[kernel, 3] = count
        # The last slope is outside of the range of all others by more than 1 and its width: a new
        # behaviour begins with the last point.
        least, most = np.inf, -np.inf
        for at in range(count - 2):
            slope = (y[at + 1] - y[at]) / (x[at + 1] - x[at])
            least, most = min(least, slope), max(most, slope)
        tail[kernel, 4] = max(last - most, least - last) > 1.0 + most - least
        continue_series(x, y, own, count, count, predicted[kernel])
        for origin in range(age.shape[1]):
            if origin >= count - LEAST_KNOWN:
                break
            known = count - 1 - origin
            # The held-out point whose distance is most like the target's.
            held = known
            for other in range(known, count):
                off = np.abs(x[other] - x[known - 1] - ahead)
                if off < np.abs(x[held] - x[known - 1] - ahead):
                    held = other
            continue_series(x, y, own, known, held, errors[kernel, origin])
            for one in range(errors.shape[2]):
                errors[kernel, origin, one] -= y[held]
            age[kernel, origin] = count - 1 - known
            distance[kernel, origin] = x[held] - x[known - 1]
