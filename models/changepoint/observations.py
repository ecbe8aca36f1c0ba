"""The input of a method: checked logarithms, times, and places where a change may lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hindmost.errors import DataError, UsageError

Labels = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSeries:
    """A checked series.

    Attributes
    ----------
    logs : float64 array, shape (observation,)
    times : float64 array, shape (observation,)
        Or the indices, where no times were given.
    day : int64 array, shape (observation,)
        Number of the night: its runs share it.
    confirmed : int64 array, shape (change,)
        First observations of the changes that were confirmed before.
    """

    logs: NDArray[np.float64]
    times: NDArray[np.float64]
    day: NDArray[np.int64]
    confirmed: NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of observations."""
        return int(self.logs.size)

    def is_confirmed(self, within: int) -> NDArray[np.bool_]:
        """Tell where a change was confirmed before, within some observations.

        Returns
        -------
        bool array, shape (observation,)
        """
        near = np.zeros(self.size, np.bool_)
        for place in self.confirmed:
            near[max(place - within, 0) : place + within + 1] = True
        return near


def check(
    values: ArrayLike,
    times: ArrayLike | None = None,
    nights: Labels | None = None,
    confirmed: ArrayLike = (),
) -> CheckedSeries:
    """Check a series.

    Parameters
    ----------
    values : float array, shape (observation,), seconds
    times : float array, shape (observation,), optional
        Ascending.
    nights : sequence, shape (observation,), optional
        All runs of a label are one night, but changes may lie between them.
    confirmed : int array, shape (change,)
        First observations of the changes that were confirmed before.

    Raises
    ------
    DataError
        No values, another shape than (observation,), values that are not positive and finite, times
        that are not finite or fall, labels of another length, or a place that is no observation.
    """
    seconds = as_series(values, "values")
    if seconds.size == 0:
        raise DataError("There are no values: a series needs at least one night.")
    good = (seconds > 0.0) & (seconds < np.inf)
    if not good.all():
        bad = np.flatnonzero(~good)
        raise DataError(
            f"{bad.size} of {seconds.size} values are not positive finite numbers (the first is "
            f"{seconds[bad[0]]} at index {bad[0]}): leave out failed runs and what was not timed."
        )
    size = seconds.size
    when = np.arange(size, dtype=np.float64) if times is None else as_series(times, "times")
    for name, labels in (("times", when), ("nights", nights)):
        if labels is not None and len(labels) != size:
            raise DataError(f"There are {len(labels)} {name} for {size} values: give one for each.")
    if not np.isfinite(when).all():
        raise DataError("Some times are not finite: give the day of every value.")
    falls = np.flatnonzero(when[1:] < when[:-1])
    if falls.size:
        raise DataError(
            f"The times are not sorted (index {falls[0] + 1} is before index {falls[0]}): sort "
            "values, times and labels with numpy.argsort(times, kind='stable')."
        )
    places = np.asarray(confirmed)
    if places.size and (
        places.dtype.kind not in "iu" or not 0 <= places.min() <= places.max() < size
    ):
        raise DataError(
            f"The confirmed changes {places.tolist()} are not all observations: give indices from "
            f"0 to {size - 1}."
        )
    day = np.arange(size)
    if nights is not None:
        day = np.cumsum([nights[i] != nights[max(i - 1, 0)] for i in range(size)])
    return CheckedSeries(
        logs=np.log(seconds),
        times=when,
        day=day.astype(np.int64),
        confirmed=places.astype(np.int64),
    )


def as_series(array: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a float64 array of one dimension."""
    try:
        series = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The {name} are not numbers: {error}.") from error
    if np.ndim(array) != 1:
        raise DataError(
            f"The {name} have the shape {np.shape(array)}: give one series, of shape "
            "(observation,)."
        )
    return series


def check_probability(name: str, value: float) -> None:
    """Refuse a level or a probability that is not between 0 and 1: one check for all methods.

    Raises
    ------
    UsageError
        It is not; ``name`` is what the message calls it.
    """
    if not 0.0 < value < 1.0:
        raise UsageError(f"{name} = {value:g} is not a probability: choose one between 0 and 1.")
