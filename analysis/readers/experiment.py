"""An experiment: measured values over parameters, with repetitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelSeries:
    """One metric of one kernel; two are equal if all their contents are.

    Attributes
    ----------
    kernel : str
        Call path or name, as ``main->compute``.
    metric : str
    unit : str
        ``s`` for seconds, other units as in the file; empty if there is none.
    points : float64 array, shape (point, parameter)
        In ascending order of the first parameter, then the second and so on; each point once.
        Always above zero. Read-only.
    values : float64 array, shape (point, repetition)
        Always above zero; NaN if a point has fewer repetitions than others. Read-only.
    """

    kernel: str
    metric: str
    unit: str
    points: NDArray[np.float64]
    values: NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        """Compare names, points and values; missing repetitions are alike."""
        if not isinstance(other, KernelSeries):
            return NotImplemented
        return (
            (self.kernel, self.metric, self.unit) == (other.kernel, other.metric, other.unit)
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.values, other.values, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Everything that was read of one experiment.

    Attributes
    ----------
    source : str
        The source of the data, for messages.
    parameters : tuple of str
        Names of the columns of every series' points.
    series : tuple of KernelSeries
        At least one, in the order in which the files name them.
    warnings : tuple of str
        What was left out, merged or assumed, with the reason and the place, in sentences.
    inclusive : bool or None
        Whether the values of a call path include its callees; None if the files do not say it.
    """

    source: str
    parameters: tuple[str, ...]
    series: tuple[KernelSeries, ...]
    warnings: tuple[str, ...]
    inclusive: bool | None = None
