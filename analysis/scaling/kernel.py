"""What is known of one kernel by one metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import KernelSeries
from hindmost.models.pmnf.expression import HUMAN
from hindmost.models.pmnf.model import ScalingModel
from hindmost.models.pmnf.segments.fit import KernelModel, Segment
from hindmost.models.pmnf.segments.segmentation import Change, SegmentVerdict

OPEN = 2.0
"""Difference in the criterion below which a runner-up is as good as the best."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelScaling:
    """One metric of one kernel, modelled.

    Attributes
    ----------
    series : KernelSeries
    whole : ScalingModel
        One function over all points.
    model : KernelModel or None
        With segments; None over several parameters.
    """

    series: KernelSeries
    whole: ScalingModel
    model: KernelModel | None

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The stretches of one behaviour each; empty over several parameters."""
        return self.model.segments if self.model else ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """Where the behaviour changes."""
        return self.model.segmentation.changes if self.model else ()

    @property
    def segmented(self) -> bool:
        """Whether the behaviour changes."""
        return self.model is not None and self.model.segmentation.segmented

    @property
    def verdict(self) -> SegmentVerdict:
        """Whether the kernel shows one behaviour."""
        return self.model.segmentation.verdict if self.model else SegmentVerdict.ONE

    def number_at(self, at: tuple[float, ...]) -> int:
        """Return the number of the segment that a point is in."""
        borders = [change.middle for change in self.changes]
        return int(np.searchsorted(borders, at[0], side="left"))

    def unexplained(self, at: tuple[float, ...]) -> bool:
        """Say whether the segment that a point is in has no model."""
        return len(self.segments) > 1 and self.segments[self.number_at(at)].model is None

    def model_at(self, at: tuple[float, ...]) -> ScalingModel:
        """Return the model that is valid at a point; that of all points if its segment has none."""
        if len(self.segments) < 2:
            return self.whole
        return self.segments[self.number_at(at)].model or self.whole

    def predict(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at targets of shape (target, parameter): shape (target,)."""
        if self.model is not None:
            return self.model.predict(targets[:, 0])
        return self.whole.predict(targets)

    def interval(
        self, targets: NDArray[np.float64], level: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return low and high at targets of shape (target, parameter), each (target,)."""
        if self.model is not None:
            return self.model.interval(targets[:, 0], level=level)
        return self.whole.interval(targets, level=level)

    def is_open(self, at: tuple[float, ...]) -> bool:
        """Say whether a runner-up is as good as the model that is valid at a point."""
        if self.unexplained(at):
            return False
        return any(other.behind < OPEN for other in self.model_at(at).runners_up)

    def explain(self) -> str:
        """Say in a sentence how the kernel behaves."""
        return self.model.explain() if self.model else self.whole.explain()

    def advice(self) -> str:
        """Say what to measure next; empty if nothing is open."""
        return self.model.advice() if self.model else ""


def model_choices(model: ScalingModel) -> list[tuple[str, float]]:
    """Return the runners-up of a model: expression, and by how much the criterion is worse."""
    return [
        (
            HUMAN.model(
                other.form.constant, other.form.coefficients, other.form.terms, model.parameters
            ),
            other.behind,
        )
        for other in model.runners_up
    ]
