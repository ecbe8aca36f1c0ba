"""What is known of one kernel by one metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import KernelSeries
from hindmost.models.inference import LEVEL
from hindmost.models.pmnf.expression import write_model
from hindmost.models.pmnf.model import ScalingModel, columns_of
from hindmost.models.pmnf.segments.fit import KernelModel

if TYPE_CHECKING:
    from hindmost.models.pmnf.several.held_out import HeldOut

OPEN = 2.0
"""Difference in the criterion below which a runner-up is as good as the best."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelScaling(KernelModel):
    """One metric of one kernel, modelled.

    Attributes
    ----------
    series : KernelSeries
    held_out : HeldOut or None
        Over several parameters, how well outermost points are foretold.
    """

    series: KernelSeries
    held_out: HeldOut | None = None

    def interval(
        self, at: NDArray[np.float64] | float, *, level: float = LEVEL
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return low and high, beyond the points as wide as held-out points need."""
        low, high = KernelModel.interval(self, at, level=level)
        return self.widened(columns_of(at), self.predict(at), low, high)

    def widened(
        self,
        at: NDArray[np.float64],
        predicted: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Widen an interval beyond the points as held-out points need.

        Parameters
        ----------
        at : float64 array, shape (target, parameter)
        predicted, low, high : float64 array, shape (target,)
        """
        if self.held_out is None:
            return low, high
        from hindmost.models.pmnf.several.averaging import widened

        beyond = at > self.series.points.max(axis=0)
        wider = [self.held_out.wider_beyond(each) if each.any() else 1.0 for each in beyond]
        return widened(predicted, low, high, np.array(wider))

    def unexplained(self, at: tuple[float, ...]) -> bool:
        """Say whether the segment that a point is in has no model."""
        return self.segment_at(at).model is None

    def is_open(self, at: tuple[float, ...]) -> bool:
        """Say whether a runner-up is as good as the model that is valid at a point."""
        if self.unexplained(at):
            return False
        return any(other.behind < OPEN for other in self.model_at(at).runners_up)


def model_choices(model: ScalingModel) -> list[tuple[str, float]]:
    """Return the runners-up of a model: expression, and by how much the criterion is worse."""
    return [
        (
            write_model(
                other.form.constant, other.form.coefficients, other.form.terms, model.parameters
            ),
            other.behind,
        )
        for other in model.runners_up
    ]
