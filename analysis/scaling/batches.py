"""Series that are modelled together, because they were measured at the same points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import Series
from hindmost.analysis.scaling.kept import kept_thresholds
from hindmost.analysis.scaling.kernel import KernelScaling
from hindmost.analysis.scaling.options import ScalingOptions
from hindmost.errors import UsageError
from hindmost.models.pmnf.fit import MOST_TERMS, ScalingModels
from hindmost.models.pmnf.noise import Noise
from hindmost.models.pmnf.segments.fit import KernelModels, fit_segments

if TYPE_CHECKING:
    from hindmost.models.pmnf.several import ParameterModels

Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


class Batch(Protocol):
    """Models of some series of one metric."""

    @property
    def series(self) -> tuple[Series, ...]:
        """What was modelled."""

    @property
    def noise(self) -> Noise:
        """The kind of noise, and how it is known."""

    def predict(self, at: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the value of every kernel at a point: shape (kernel,)."""

    def interval(self, at: tuple[float, ...], kernels: NDArray[np.intp], level: float) -> Interval:
        """Return low and high of some kernels at a point, each of shape (kernel,)."""

    def __getitem__(self, kernel: int) -> KernelScaling:
        """Return all that is known of a kernel."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentedBatch:
    """Models over one parameter, segmented where the kernels are."""

    series: tuple[Series, ...]
    models: KernelModels

    @property
    def noise(self) -> Noise:
        """The kind of noise, and how it is known."""
        return self.models.whole.observations.noise

    def predict(self, at: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the value of every kernel at a point: shape (kernel,)."""
        where = np.array(at)
        values = self.models.whole.predict(where)[:, 0]
        segmented = np.flatnonzero(self.models.segmentations.segmented)
        for kernels, models in self._holding(at[0], segmented):
            values[kernels] = models.predict(where)[:, 0]
        return values

    def interval(self, at: tuple[float, ...], kernels: NDArray[np.intp], level: float) -> Interval:
        """Return low and high of some kernels at a point, each of shape (kernel,)."""
        low, high = np.empty(len(self.series)), np.empty(len(self.series))
        for members, models in self._holding(at[0], kernels):
            sides = models.interval(np.array(at), level=level)
            low[members], high[members] = sides[0][:, 0], sides[1][:, 0]
        return low[kernels], high[kernels]

    def _holding(
        self, at: float, kernels: NDArray[np.intp]
    ) -> list[tuple[NDArray[np.intp], ScalingModels]]:
        """Return the models that hold at a point, and whose they are."""
        everything = (0, 0)
        groups: dict[tuple[int, int], list[int]] = {}
        segmented = self.models.segmentations.segmented
        for kernel in kernels.tolist():
            stretch = self._stretch(kernel, at) if segmented[kernel] else everything
            groups.setdefault(
                stretch if stretch in self.models.stretches else everything, []
            ).append(kernel)
        found = []
        for stretch, members in groups.items():
            rows, models = np.array(members, np.intp), self.models.whole
            at_rows = rows
            if stretch in self.models.stretches:
                owners, models = self.models.stretches[stretch]
                at_rows = np.searchsorted(owners, rows)
            found.append((rows, _rows(models, at_rows)))
        return found

    def _stretch(self, kernel: int, at: float) -> tuple[int, int]:
        """Return the first and one past the last point of the behaviour at a point."""
        verdict = self.models.segmentations[kernel]
        borders = [change.middle for change in verdict.changes]
        own = verdict.stretches()[int(np.searchsorted(borders, at, side="left"))]
        there = np.flatnonzero(np.isfinite(self.models.whole.observations.values[kernel]))
        return int(there[own.start]), int(there[own.stop - 1]) + 1

    def __getitem__(self, kernel: int) -> KernelScaling:
        model = self.models[kernel]
        return KernelScaling(series=self.series[kernel], whole=model.whole, model=model)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointBatch:
    """Models over several parameters; changes are not looked for."""

    series: tuple[Series, ...]
    models: ParameterModels

    @property
    def noise(self) -> Noise:
        """The kind of noise, and how it is known."""
        return self.models.observations.noise

    def predict(self, at: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the value of every kernel at a point: shape (kernel,)."""
        return np.asarray(self.models.predict(np.array([at]))[:, 0])

    def interval(self, at: tuple[float, ...], kernels: NDArray[np.intp], level: float) -> Interval:
        """Return low and high of some kernels at a point, each of shape (kernel,)."""
        where = np.array([at])
        sides = [self.models[kernel].interval(where, level=level) for kernel in kernels.tolist()]
        low, high = zip(*sides, strict=True) if sides else ((), ())
        return np.array([side[0] for side in low]), np.array([side[0] for side in high])

    def __getitem__(self, kernel: int) -> KernelScaling:
        return KernelScaling(series=self.series[kernel], whole=self.models[kernel], model=None)


def _rows(models: ScalingModels, rows: NDArray[np.intp]) -> ScalingModels:
    """Return the models of some kernels only."""
    observations = models.observations
    return replace(
        models,
        observations=replace(
            observations, values=observations.values[rows], shares=observations.shares[rows]
        ),
        terms=models.terms[rows],
        coefficients=models.coefficients[rows],
        criterion=models.criterion[rows],
        weights=models.weights[rows],
    )


def group_series(series: Sequence[Series], *, complete: bool) -> list[list[Series]]:
    """Group series of one metric by their points.

    Parameters
    ----------
    complete : bool
        Whether all series of a group must have all its points; if not, series whose points are
        among those of a larger group join it.
    """
    alike: dict[bytes, list[Series]] = {}
    for each in series:
        alike.setdefault(each.points.tobytes(), []).append(each)
    groups = list(alike.values())
    if complete or len(groups) == 1:
        return groups
    joined: list[tuple[set[tuple[float, ...]], list[Series]]] = []
    for group in sorted(groups, key=lambda group: (-len(group[0].points), -len(group))):
        points = set(map(tuple, group[0].points.tolist()))
        host = next((members for there, members in joined if points <= there), None)
        if host is None:
            joined.append((points, list(group)))
        else:
            host += group
    return [members for _, members in joined]


def stack(series: Sequence[Series], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of some series at some points, NaN where there are none.

    Returns
    -------
    float64 array, shape (kernel, point, repetition)
    """
    most = max(each.values.shape[1] for each in series)
    values = np.full((len(series), len(points), most), np.nan)
    row = {tuple(point): at for at, point in enumerate(points.tolist())}
    for kernel, each in enumerate(series):
        repetitions = each.values.shape[1]
        if len(each.points) == len(points):
            values[kernel, :, :repetitions] = each.values
        else:
            rows = [row[tuple(point)] for point in each.points.tolist()]
            values[kernel, rows, :repetitions] = each.values
    return values


def fit_batch(
    series: Sequence[Series], parameters: tuple[str, ...], options: ScalingOptions
) -> Batch:
    """Model series over the points of the first one, which has all of them.

    Raises
    ------
    DataError, UsageError
        What the models refuse.
    """
    points = series[0].points
    values = stack(series, points)
    if len(parameters) > 1:
        return _fit_joint(series, values, parameters, options)
    with kept_thresholds(points[:, 0]):
        models = fit_segments(
            points[:, 0],
            values,
            method=options.method,
            space=options.space,
            noise=options.noise,
            parameter=parameters[0],
            terms=options.terms,
        )
    return SegmentedBatch(series=tuple(series), models=models)


def _fit_joint(
    series: Sequence[Series],
    values: NDArray[np.float64],
    parameters: tuple[str, ...],
    options: ScalingOptions,
) -> JointBatch:
    """Model series over several parameters."""
    if options.method == "paper":
        raise UsageError(
            f"The paper's rule knows one parameter; there are {', '.join(parameters)}: choose one "
            "by --parameter, or leave --method away."
        )
    if options.terms != MOST_TERMS:
        raise UsageError(
            f"--terms knows one parameter; there are {', '.join(parameters)}: choose one by "
            "--parameter, or leave --terms away."
        )
    from hindmost.models.pmnf.several import fit_parameters  # its loops are many

    models = fit_parameters(
        series[0].points, values, space=options.space, noise=options.noise, parameters=parameters
    )
    return JointBatch(series=tuple(series), models=models)
