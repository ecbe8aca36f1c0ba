"""What is known of one kernel by one metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hindmost.analysis.readers.experiment import KernelSeries
from hindmost.models.pmnf.expression import write_model
from hindmost.models.pmnf.model import ScalingModel
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
