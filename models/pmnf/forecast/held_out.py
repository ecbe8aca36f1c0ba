"""How each candidate would have foretold the last measured points of a series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.forecast.candidates import COUNT, continue_series
from hindmost.models.pmnf.hypotheses import patterns
from hindmost.models.pmnf.observations import MIN_POINTS

MAX_ORIGINS = 10
"""Held-out points of a series that are looked at, the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Predictions of a target by all candidates, and their errors at held-out points.

    Attributes
    ----------
    predicted : float64 array, shape (kernel, candidate)
        Logarithms of the value at the target; -inf of what falls to zero before it.
    errors : float64 array, shape (kernel, origin, candidate)
        Predicted less measured logarithm, the last held-out point first; NaN where there is no such
        point.
    distance : float64 array, shape (kernel, origin)
        Logarithm of the held-out point over the last one before it; 0 where there is none.
    ahead : float64 array, shape (kernel,)
        Logarithm of the target over the last point.
    recent : float64 array, shape (kernel,)
        Points of the last behaviour; infinite if there is one only.
    """

    predicted: NDArray[np.float64]
    errors: NDArray[np.float64]
    distance: NDArray[np.float64]
    ahead: NDArray[np.float64]
    recent: NDArray[np.float64]


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
        Above 0, NaN where a kernel has no measurement; at least 2 of each kernel.
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
    enough = recent >= MIN_POINTS
    values = np.where(enough[:, None] & (left > recent[:, None]), np.nan, values)
    predicted = np.empty((kernels, COUNT))
    errors = np.full((kernels, MAX_ORIGINS, COUNT), np.nan)
    distance = np.zeros((kernels, MAX_ORIGINS))
    ahead = np.empty(kernels)
    for there, members in patterns(values):
        p, y = points[there], values[np.ix_(members, there)]
        ahead[members] = np.log(at / p[-1])
        predicted[members] = continue_series(p, y, at, recent[members])
        for origin in range(min(p.size - 3, MAX_ORIGINS)):
            known = p.size - 1 - origin
            # The held-out point whose distance is most like the target's.
            far = np.log(p[known:] / p[known - 1])
            held = int(np.argmin(np.abs(far - np.log(at / p[-1]))))
            foretold = continue_series(p[:known], y[:, :known], float(p[known + held]))
            errors[members, origin] = foretold - np.log(y[:, known + held, None])
            distance[members, origin] = far[held]
    return Trials(
        predicted=predicted,
        errors=errors,
        distance=distance,
        ahead=ahead,
        recent=np.where(enough, np.inf, recent),
    )
