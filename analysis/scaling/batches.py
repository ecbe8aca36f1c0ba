"""Series that are modelled together, because they were measured at the same points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import KernelSeries
from hindmost.analysis.scaling.kernel import KernelScaling
from hindmost.errors import UsageError
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.noise import Noise
from hindmost.models.pmnf.observations import medians
from hindmost.models.pmnf.segments.fit import KernelModels, fit_segments

if TYPE_CHECKING:
    from hindmost.models.pmnf.several.held_out import HeldOut


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingOptions:
    """What `hindmost.models.pmnf` is asked for.

    Attributes
    ----------
    method : str
        ``likelihood`` or ``paper``: how changes of behaviour are found. By the latter, models
        have at most one term, by least squares without weights.
    space : str or None
        ``paper``, ``extrap`` or ``fine``: the exponents that models may have. None for ``extrap``
        with the method ``paper``, and for ``paper`` with the other.
    noise : str or None
        ``additive``, ``root`` or ``multiplicative``; None to find out.
    """

    method: str = "likelihood"
    space: str | None = None
    noise: str | None = None

    @property
    def chosen_space(self) -> str:
        """The name of the exponents that models may have."""
        return self.space or ("extrap" if self.method == "paper" else "paper")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Models of some series of one metric.

    Attributes
    ----------
    series : tuple of KernelSeries
    models : KernelModels
    medians : float64 array, shape (kernel, point)
        Of the repetitions; NaN where a kernel has no measurement, or a lone one is left out.
    held_out : HeldOut or None
        Over several parameters, how well the outermost points are foretold from the others.
    foretells : bool
        Whether predictions beyond the points are foretold instead of those of the models.
    """

    series: tuple[KernelSeries, ...]
    models: KernelModels
    medians: NDArray[np.float64]
    held_out: HeldOut | None = None
    foretells: bool = False

    @property
    def whole(self) -> ScalingModels:
        """One function per kernel over all its points."""
        return self.models.whole

    @property
    def points(self) -> NDArray[np.float64]:
        """The points of all series, over one parameter: shape (point,)."""
        return self.whole.observations.points

    def beyond(self, at: tuple[float, ...]) -> NDArray[np.bool_]:
        """Say which kernels are foretold at a point: those whose last point lies before it."""
        if not self.foretells:
            return np.zeros(len(self.series), bool)
        last = np.array([series.points[-1, 0] for series in self.series])
        return np.asarray(last < at[0])

    def measured(self, at: tuple[float, ...]) -> NDArray[np.float64]:
        """Return what was measured at a point, by kernel: medians; NaN where nothing was."""
        there = (self.whole.observations.table == np.array(at)).all(axis=1)
        if not there.any():
            return np.full(len(self.series), np.nan)
        return np.asarray(self.medians[:, int(np.argmax(there))])

    @property
    def noise(self) -> Noise:
        """The kind of noise, and how it is known."""
        return self.whole.observations.noise

    def recent(self) -> NDArray[np.float64]:
        """Return how many points the last behaviour of each kernel has; infinite of one only."""
        found = np.full(len(self.series), np.inf)
        for kernel, model in self.models.changed.items():
            found[kernel] = model.segments[-1].points
        return found

    def predict(self, at: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the value of every kernel at a point: shape (kernel,)."""
        values = self.whole.predict(np.array(at))[:, 0]
        for kernel, model in self.models.changed.items():
            values[kernel] = model.predict(np.array([at]))[0]
        return values

    def __getitem__(self, kernel: int) -> KernelScaling:
        """Return all that is known of a kernel."""
        model = self.models[kernel]
        return KernelScaling(
            series=self.series[kernel],
            held_out=self.held_out and self.held_out.of_kernel(kernel),
            **{each.name: getattr(model, each.name) for each in fields(model)},
        )


def group_series(series: Sequence[KernelSeries], *, complete: bool) -> list[list[KernelSeries]]:
    """Group series of one metric by their points.

    Parameters
    ----------
    complete : bool
        Whether all series of a group must have all its points; if not, series whose points are
        among those of a larger group join it.
    """
    alike: dict[bytes, list[KernelSeries]] = {}
    for each in series:
        alike.setdefault(each.points.tobytes(), []).append(each)
    groups = list(alike.values())
    if complete or len(groups) == 1:
        return groups
    joined: list[tuple[set[tuple[float, ...]], list[KernelSeries]]] = []
    for group in sorted(groups, key=lambda group: (-len(group[0].points), -len(group))):
        points = set(map(tuple, group[0].points.tolist()))
        host = next((members for there, members in joined if points <= there), None)
        if host is None:
            joined.append((points, list(group)))
        else:
            host += group
    return [members for _, members in joined]


def stack(series: Sequence[KernelSeries], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of some series at some points, NaN where they have none.

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
    series: Sequence[KernelSeries], parameters: tuple[str, ...], options: ScalingOptions
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
    models = fit_segments(
        points[:, 0],
        values,
        method=options.method,
        space=options.chosen_space,
        noise=options.noise,
        parameter=parameters[0],
    )
    return Batch(
        series=tuple(series),
        models=models,
        medians=np.where(models.whole.there, medians(values), np.nan),
        foretells=options.method == "likelihood",
    )


def _fit_joint(
    series: Sequence[KernelSeries],
    values: NDArray[np.float64],
    parameters: tuple[str, ...],
    options: ScalingOptions,
) -> Batch:
    """Model series over several parameters."""
    if options.method == "paper":
        raise UsageError(
            f"--method paper supports one parameter, and there are {', '.join(parameters)}; choose "
            "one with --parameter, or omit --method."
        )
    from hindmost.models.pmnf.several import (  # its loops are many
        find_joint_changes,
        fit_parameters,
        foretell_outermost,
    )

    models = fit_parameters(
        series[0].points,
        values,
        space=options.chosen_space,
        noise=options.noise,
        parameters=parameters,
    )
    return Batch(
        series=tuple(series),
        models=KernelModels(whole=models, changed=find_joint_changes(models)),
        medians=medians(values),
        held_out=foretell_outermost(models),
    )
