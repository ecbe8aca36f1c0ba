"""What is known of one kernel by one metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import KernelSeries
from hindmost.models.pmnf.expression import write_model
from hindmost.models.pmnf.model import ScalingModel
from hindmost.models.pmnf.segments.fit import KernelModel, Segment
from hindmost.models.pmnf.segments.segmentation import Change, SegmentVerdict, where

if TYPE_CHECKING:
    from hindmost.models.pmnf.several.changes import JointChange
    from hindmost.models.pmnf.several.held_out import HeldOut

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
    joint : JointChange or None
        Over several parameters, a change at a value of one of them.
    held_out : HeldOut or None
        Over several parameters, how well outermost points are foretold.
    """

    series: KernelSeries
    whole: ScalingModel
    model: KernelModel | None
    joint: JointChange | None = None
    held_out: HeldOut | None = None

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The stretches of one behaviour each; over several parameters only if it changes."""
        if self.joint:
            return tuple(
                Segment(low=low, high=high, points=model.values.size, model=model)
                for model, (low, high) in (
                    (side, side.range[self.joint.axis]) for side in self.joint.sides
                )
            )
        return self.model.segments if self.model else ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """Where the behaviour changes."""
        if self.joint:
            low, high = self.joint.low, self.joint.high
            first = self.joint.sides[0].values.size
            return (Change(low=low, high=high, first=first, likely=(low, high)),)
        return self.model.segmentation.changes if self.model else ()

    @property
    def segmented(self) -> bool:
        """Whether the behaviour changes."""
        if self.joint:
            return True
        return self.model is not None and self.model.segmentation.segmented

    @property
    def verdict(self) -> SegmentVerdict:
        """Whether the kernel shows one behaviour."""
        if self.joint:
            return SegmentVerdict.SEGMENTED
        return self.model.segmentation.verdict if self.model else SegmentVerdict.ONE

    def number_at(self, at: tuple[float, ...]) -> int:
        """Return the number of the segment that a point is in."""
        borders = [change.middle for change in self.changes]
        return int(np.searchsorted(borders, at[self.joint.axis if self.joint else 0], side="left"))

    def places(self) -> str:
        """Say where the behaviour changes; empty if that is not known."""
        if self.joint:
            return self.joint.place()
        return " and ".join(where(change) for change in self.changes)

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
        return np.array([self.model_at(tuple(at)).predict(at[None])[0] for at in targets])

    def interval(
        self, targets: NDArray[np.float64], level: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return low and high at targets of shape (target, parameter), each (target,)."""
        if self.model is not None:
            return self.model.interval(targets[:, 0], level=level)
        if self.joint is None:
            return self.whole.interval(targets, level=level)
        sides = [self.model_at(tuple(at)).interval(at[None], level=level) for at in targets]
        return np.array([low[0] for low, _ in sides]), np.array([high[0] for _, high in sides])

    def is_open(self, at: tuple[float, ...]) -> bool:
        """Say whether a runner-up is as good as the model that is valid at a point."""
        if self.unexplained(at):
            return False
        return any(other.behind < OPEN for other in self.model_at(at).runners_up)

    def explain(self) -> str:
        """Say in a sentence how the kernel behaves."""
        if self.joint:
            parts = [
                f"{self.joint.parameter} = {each.low:g} to {each.high:g}: {each.model.explain()}"
                for each in self.segments
                if each.model
            ]
            return "; ".join([f"changes {self.joint.place()}", *parts])
        return self.model.explain() if self.model else self.whole.explain()

    def advice(self) -> str:
        """Say what to measure next; empty if nothing is open."""
        if self.joint:
            return self.joint.advice()
        return self.model.advice() if self.model else ""


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
