"""How well models over several parameters foretell the outermost points, left out.

The points at which a parameter has its largest value are left out, models are searched for again
and predict them: one step beyond the data, as the models of all points do for what comes next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.models.inference import LEVEL
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.several.averaging import lacking_together, widened
from hindmost.models.pmnf.several.fit import fit_part
from hindmost.text import percent

MIN_ROOM = 0.003
"""Error, as a difference of logarithms, that every interval is taken to allow: of counts that a
function gives exactly, intervals have no width, and what rounding leaves is no error."""
MIN_LEFT = 8
"""Points from which models are searched for, all but the outermost."""
MIN_SAID = 20
"""Values outermost in some parameters alone that say how wide intervals beyond these must be."""
KNOWN_BETTER = 0.7
"""Power of the width that outermost points need: models of all points foretell better than those
of the others. Chosen on a grid of three parameters whose outermost points were left out as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Predictions of the outermost points by models of the others.

    Attributes
    ----------
    parameters : tuple of str
    points : int
        That were left out.
    errors : float64 array, shape (value,)
        Of all kernels: predicted over measured, less 1, without the sign.
    within : float
        Share of the values inside their 90 % intervals.
    reach : float64 array, shape (kernel, point)
        How many times as wide, in logarithms, intervals must be to contain each value.
    largest : bool array, shape (point, parameter)
        Where each parameter has its largest value.
    most : float64 array, shape (parameter,)
        The largest value of each parameter.
    kernels : int array, shape (kernel,)
        Numbers of the kernels of `reach`.
    own : int or None
        Row of the kernel whose intervals are asked for; None for those of most kernels.
    """

    parameters: tuple[str, ...]
    points: int
    errors: NDArray[np.float64]
    within: float
    reach: NDArray[np.float64]
    largest: NDArray[np.bool_]
    most: NDArray[np.float64]
    kernels: NDArray[np.intp]
    own: int | None = None

    def of_kernel(self, kernel: int) -> HeldOut:
        """Return what is said of the intervals of one kernel."""
        row = np.flatnonzero(self.kernels == kernel)
        return replace(self, own=int(row[0]) if row.size else None)

    def wider_beyond(self, beyond: NDArray[np.bool_]) -> float:
        """Return how many times as wide, in logarithms, intervals beyond the points are made.

        What is outermost in one parameter may be much harder to foretell than in another. So
        values count that are outermost in parameters that a target is beyond, and in no others.
        What most kernels need is pooled by a median, so that one that is foretold badly widens its
        own interval only.

        Parameters
        ----------
        beyond : bool array, shape (parameter,)
            The parameters whose largest value a target exceeds.

        Returns
        -------
        float
            1 where intervals contain enough already.
        """
        like = self.largest[:, beyond].any(axis=1) & ~self.largest[:, ~beyond].any(axis=1)
        reach, power = self.reach[:, like], KNOWN_BETTER
        if reach.size < MIN_SAID:  # so few say little: all of them, and no discount
            reach, power = self.reach, 1.0
        by_kernel = np.quantile(reach, LEVEL, axis=1)
        needed = float(np.quantile(by_kernel, 0.5, method="lower"))
        if self.own is not None:
            needed = max(needed, float(by_kernel[self.own]))
        return needed**power if needed > 1.0 else 1.0

    def widen(
        self,
        at: NDArray[np.float64],
        predicted: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Widen intervals beyond the points as held-out points need.

        Parameters
        ----------
        at : float64 array, shape (target, parameter)
        predicted, low, high : float64 array, shape (target,)
        """
        beyond = at > self.most
        wider = [self.wider_beyond(each) if each.any() else 1.0 for each in beyond]
        return widened(predicted, low, high, np.array(wider))

    @property
    def wider(self) -> float:
        """How many times as wide intervals are made beyond all parameters."""
        return self.wider_beyond(np.ones(len(self.parameters), bool))

    @property
    def wider_by_parameter(self) -> dict[str, float]:
        """How many times as wide intervals are made beyond each parameter alone."""
        alone = np.eye(len(self.parameters), dtype=bool)
        widths = [self.wider_beyond(one) for one in alone]
        return dict(zip(self.parameters, widths, strict=True))

    def explain(self) -> str:
        """Say how well the outermost points were foretold, in a sentence."""
        text = (
            f"Without the {self.points} points at which a parameter is largest, models predict "
            f"these with an error of {percent(self.median)} in the median and {percent(self.far)} "
            f"at the 90th percentile; 90 % intervals contain {percent(self.within, 0)}"
        )
        told = [
            f"{width:.2g} ({name})"
            for name, width in self.wider_by_parameter.items()
            if width > 1.0
        ]
        if not told:
            return f"{text}."
        factors = " and ".join([*([", ".join(told[:-1])] if told[1:] else []), told[-1]])
        return f"{text}, so those beyond the points are made {factors} times as wide."

    @property
    def median(self) -> float:
        """The median of the errors."""
        return float(np.median(self.errors))

    @property
    def far(self) -> float:
        """The 90th percentile of the errors."""
        return float(np.quantile(self.errors, 0.9))


def foretell_outermost(models: ScalingModels) -> HeldOut | None:
    """Foretell the outermost points from the others, for all kernels that have all points.

    Parameters
    ----------
    models : ScalingModels
        Of `fit_parameters`.

    Returns
    -------
    HeldOut or None
        None if the points that are left are too few, or give no intervals, or no kernel has all.
    """
    table = models.observations.table
    outer = (table == table.max(axis=0)).any(axis=1)
    kernels = np.flatnonzero(
        models.there.all(axis=1) & (models.observations.values > 0).all(axis=1)
    )
    if (~outer).sum() < MIN_LEFT or lacking_together(table[~outer]) or not kernels.size:
        return None
    left = fit_part(models, kernels, np.flatnonzero(~outer), models.observations.noise.kind)
    measured = models.observations.values[np.ix_(kernels, np.flatnonzero(outer))]
    predicted = left.predict(table[outer])
    low, high = left.interval(table[outer], level=LEVEL)
    above = measured > predicted
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.abs(np.log(np.where(above, high, low) / predicted))
        off = np.abs(np.log(measured / predicted)) / np.maximum(room, MIN_ROOM)
        reach = np.where((low <= 0.0) & ~above, 0.0, off)
    reach = np.where(np.isfinite(reach), reach, 1.0)
    return HeldOut(
        parameters=models.parameters,
        points=int(outer.sum()),
        errors=np.abs(predicted / measured - 1.0).ravel(),
        within=float(((low <= measured) & (measured <= high)).mean()),
        reach=reach,
        largest=(table == table.max(axis=0))[outer],
        most=table.max(axis=0),
        kernels=kernels,
    )
