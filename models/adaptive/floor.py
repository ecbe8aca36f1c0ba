"""The error floor of predictions: how much replays of the same cycles differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hindmost.errors import DataError


def error_floor_percent(replays: ArrayLike) -> float:
    """Return mean |replay - median| / median, in percent.

    Parameters
    ----------
    replays : array, shape (replay, cycle), seconds
        At least two replays of the same cycles.
    """
    times = check_replays(replays)
    middle = np.median(times, axis=0)
    return float(100.0 * np.mean(np.abs(times - middle) / middle))


def denoised(replays: ArrayLike) -> NDArray[np.float64]:
    """Return the minimum over replays, float64 array, shape (cycle,), seconds.

    Never mix errors of these with errors of single replays.
    """
    fastest: NDArray[np.float64] = check_replays(replays).min(axis=0)
    return fastest


def mean_error_percent(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean absolute error in percent of what was measured (tables 3 and 4).

    Cycles without a prediction (NaN) are left out.

    Parameters
    ----------
    predicted, measured : arrays, shape (cycle,), seconds
    """
    guess, truth = np.asarray(predicted, float), np.asarray(measured, float)
    if guess.shape != truth.shape:
        raise DataError(
            f"{guess.shape} predictions for {truth.shape} measured cycles; there must be as many."
        )
    if truth.size == 0 or not (np.isfinite(truth).all() and (truth > 0).all()):
        raise DataError("There must be measured cycles, with finite times above 0.")
    known = np.isfinite(guess)
    if not known.any():
        raise DataError("No cycle was predicted, so there is no prediction error.")
    return float(100.0 * np.mean(np.abs(guess[known] - truth[known]) / truth[known]))


def check_replays(replays: ArrayLike) -> NDArray[np.float64]:
    """Return replays as an array, after checks."""
    times = np.asarray(replays, float)
    if times.ndim != 2 or times.shape[0] < 2 or times.shape[1] < 1:
        raise DataError(
            f"Replays have shape {times.shape}; required: (replay, cycle), at least 2 replays."
        )
    if not (np.isfinite(times).all() and (times > 0).all()):
        raise DataError("Replayed cycles must take finite times above 0.")
    return times
