"""Series that are modelled together, because they were measured at the same points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import KernelSeries
from hindmost.errors import UsageError
from hindmost.models.pmnf.kernels import KernelModels
from hindmost.models.pmnf.observations import medians
from hindmost.models.pmnf.segments.fit import fit_segments


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
) -> KernelModels:
    """Model series over the points of the first one, which has all of them.

    Raises
    ------
    DataError, UsageError
        What the models refuse.
    """
    points = series[0].points
    values = stack(series, points)
    if len(parameters) == 1:
        return fit_segments(
            points[:, 0],
            values,
            method=options.method,
            space=options.chosen_space,
            noise=options.noise,
            parameter=parameters[0],
        )
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
        points, values, space=options.chosen_space, noise=options.noise, parameters=parameters
    )
    return KernelModels(
        whole=models,
        medians=medians(values),
        changed=find_joint_changes(models),
        held_out=foretell_outermost(models),
    )
