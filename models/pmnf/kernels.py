"""Kernels as they were modelled, and the one way in which they are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.forecast.candidates import Candidate
from hindmost.models.pmnf.forecast.kernels import MeasuredKernels, Predictions, forecast_kernels
from hindmost.models.pmnf.model import ScalingModel, columns_of
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.noise import Noise
from hindmost.models.pmnf.observations import MIN_POINTS
from hindmost.models.pmnf.segments.likelihood import Segmentations
from hindmost.models.pmnf.segments.paper import PaperSegmentations
from hindmost.models.pmnf.segments.segmentation import (
    Change,
    Segmentation,
    SegmentVerdict,
    advise,
    where,
)

if TYPE_CHECKING:
    from hindmost.models.pmnf.several.held_out import HeldOut

OPEN = 2.0
"""Difference in the criterion below which a runner-up is as good as the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of points of one behaviour.

    Attributes
    ----------
    low, high : float
        Its first and its last point; of several parameters, by that which changes the behaviour.
    points : int
    model : ScalingModel or None
        None of a single point, and of a few whose values no model explains.
    """

    low: float
    high: float
    points: int
    model: ScalingModel | None

    @property
    def provisional(self) -> bool:
        """Whether it has fewer points than a model needs."""
        return self.points < MIN_POINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelModel:
    """All that is said of one kernel.

    Attributes
    ----------
    whole : ScalingModel
        One function over all points; a mistake if the kernel is segmented.
    segmentation : Segmentation
    segments : tuple of Segment
        One if the kernel is not segmented.
    axis : int
        Number of the parameter along which it is.
    held_out : HeldOut or None
        Over several parameters, how well outermost points are predicted by models of the others.
    """

    whole: ScalingModel
    segmentation: Segmentation
    segments: tuple[Segment, ...]
    axis: int = 0
    held_out: HeldOut | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """Where the behaviour changes."""
        return self.segmentation.changes

    @property
    def parameter(self) -> str:
        """The name of the parameter along which it is segmented."""
        return self.whole.parameters[self.axis]

    @property
    def named(self) -> str:
        """What stands before values of that parameter, where there are several: ``p = ``."""
        return f"{self.parameter} = " if len(self.whole.parameters) > 1 else ""

    def numbers_at(self, at: NDArray[np.float64] | float) -> NDArray[np.intp]:
        """Return the numbers of the segments that points are in: shape (target,)."""
        borders = [change.middle for change in self.changes]
        return np.searchsorted(borders, columns_of(at)[:, self.axis], side="left")

    def segment_at(self, at: Sequence[float]) -> Segment:
        """Return the segment that a point is in; it has a value of each parameter."""
        return self.segments[int(self.numbers_at(np.array([at]))[0])]

    def model_at(self, at: Sequence[float]) -> ScalingModel:
        """Return the model that is valid at a point; that of all points if its segment has none."""
        return self.segment_at(at).model or self.whole

    def unexplained(self, at: Sequence[float]) -> bool:
        """Say whether the segment that a point is in has no model."""
        return self.segment_at(at).model is None

    def is_open(self, at: Sequence[float]) -> bool:
        """Say whether a runner-up is as good as the model that is valid at a point."""
        if self.unexplained(at):
            return False
        return any(other.behind < OPEN for other in self.model_at(at).runners_up)

    def evaluate(self, at: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the values of the functions at points, each from its own segment's model.

        Beyond the points this is no prediction: see `KernelModels.predict`.

        Parameters
        ----------
        at : float64 array, shape (target, parameter); (target,) of one parameter

        Returns
        -------
        float64 array, shape (target,)
        """
        return np.asarray(self._by_segment(at, lambda model, where: (model.predict(where),))[0])

    def interval(
        self, at: NDArray[np.float64] | float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return low and high as `ScalingModel.interval`, each from its own segment's model.

        Beyond the points of several parameters they are as wide as held-out points need.
        """
        targets, which = columns_of(at), self.numbers_at(at)
        low, high = self._by_segment(at, lambda model, where: model.interval(where))
        if self.changes and self.named:
            # A side has many points, but few values of the parameter that changes the behaviour:
            # what they fix is the level, not how the kernel grows with it.
            factor = np.ones(which.size)
            for number in np.unique(which):
                values = self._values_of(self.segments[number])
                if values.size < MIN_POINTS:
                    own = which == number
                    ahead = np.log(
                        np.maximum(targets[own, self.axis] / values.max(initial=1e-300), 1.0)
                    )
                    # Nine in ten measured programs differ from their model by less than half an
                    # exponent, 40 % one doubling ahead.
                    factor[own] = np.exp(0.5 * ahead) if values.size else np.inf
            low, high = np.minimum(low, low / factor), np.maximum(high, high * factor)
        if self.held_out is None:
            return low, high
        return self.held_out.widen(targets, self.evaluate(at), low, high)

    def _values_of(self, segment: Segment) -> NDArray[np.float64]:
        """Return the values of the parameter that changes the behaviour, in a segment."""
        return np.unique(segment.model.points[:, self.axis]) if segment.model else np.empty(0)

    def _by_segment(self, at: Any, ask: Any) -> NDArray[np.float64]:
        targets, which = columns_of(at), self.numbers_at(at)
        found = np.empty((2, which.size))
        for number in np.unique(which):
            found[:, which == number] = ask(
                self.segments[number].model or self.whole, targets[which == number]
            )
        return found

    def explain(self) -> str:
        """Say in a sentence how the kernel behaves."""
        if not self.changes:
            return self.whole.explain()
        parts = [
            f"{self.named}{part.low:g} to {part.high:g}: "
            + (part.model.explain() if part.model else f"{part.points} points, no model")
            for part in self.segments
        ]
        return "; ".join([self.segmentation.explain(self.named), *parts])

    def places(self) -> str:
        """Say where the behaviour changes; empty if that is not known."""
        return " and ".join(where(change, self.named) for change in self.changes)

    def advice(self) -> str:
        """Say what to measure next; empty if nothing is open."""
        if not self.named:
            return advise(self.segmentation, self.parameter)
        asked = []
        for part in self.segments if self.changes else ():
            values = self._values_of(part)
            if 0 < values.size < MIN_POINTS:
                asked.append(
                    f"only {values.size} values of {self.parameter} from {values[0]:g} to "
                    f"{values[-1]:g}: how it grows with {self.parameter} there is open; measure "
                    f"{MIN_POINTS - values.size} more"
                )
        return "; ".join(asked)


def segment_of(model: ScalingModel, axis: int = 0) -> Segment:
    """Return the stretch of all points of a model."""
    low, high = model.range[axis]
    return Segment(low=low, high=high, points=model.values.size, model=model)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelModels:
    """Models of many kernels that were measured at the same points, segmented where they are.

    Attributes
    ----------
    whole : ScalingModels
        One function a kernel over all its points.
    medians : float64 array, shape (kernel, point)
        Of the repetitions; NaN where a kernel has no measurement, or a lone one is left out.
    changed : dict
        From the numbers of the kernels that are segmented to their models.
    segmentations : Segmentations, PaperSegmentations or None
        None over several parameters.
    held_out : HeldOut or None
        As of `KernelModel`.
    """

    whole: ScalingModels
    medians: NDArray[np.float64]
    changed: dict[int, KernelModel]
    segmentations: Segmentations | PaperSegmentations | None = None
    held_out: HeldOut | None = None

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, kernel: int) -> KernelModel:
        held_out = self.held_out and self.held_out.of_kernel(kernel)
        if kernel in self.changed:
            return replace(self.changed[kernel], held_out=held_out)
        whole = self.whole[kernel]
        if self.segmentations is not None:
            verdict = self.segmentations[kernel]
        else:
            verdict = Segmentation(
                verdict=SegmentVerdict.ONE, changes=(), excess=-np.inf, points=whole.points[:, 0]
            )
        return KernelModel(
            whole=whole,
            segmentation=verdict,
            segments=(segment_of(whole),),
            held_out=held_out,
        )

    @property
    def noise(self) -> Noise:
        """The kind of noise, and how it is known."""
        return self.whole.observations.noise

    def measured(self, at: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the medians at a point: shape (kernel,); NaN where nothing was measured."""
        there = (self.whole.observations.table == np.array(at)).all(axis=1)
        if not there.any():
            return np.full(len(self), np.nan)
        return np.asarray(self.medians[:, int(np.argmax(there))])

    def evaluate(self, at: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the value of every kernel's function at a point: shape (kernel,)."""
        values = self.whole.predict(np.array(at))[:, 0]
        for kernel, model in self.changed.items():
            values[kernel] = model.evaluate(np.array([at]))[0]
        return values

    def predict(self, at: tuple[float, ...] | float) -> Predictions:
        """Predict all kernels at a point, as `hindmost scale` does.

        Parameters
        ----------
        at : tuple of float, or float of one parameter

        Returns
        -------
        Predictions
            Arrays of shape (kernel,): ``predicted``, and 90 % of new measurements lie between
            ``low`` and ``high``.
        """
        return predict_together([self], at if isinstance(at, tuple) else (float(at),))

    def forecast_group(self, at: float) -> tuple[NDArray[np.bool_], MeasuredKernels]:
        """Return which kernels are continued beyond their last points to a target, and these.

        That needs one parameter and values above 0; models by the paper's rule predict on.
        """
        recent = np.full(len(self), np.inf)
        for kernel, model in self.changed.items():
            recent[kernel] = model.segments[-1].points
        there = np.isfinite(self.medians)
        beyond = np.zeros(len(self), bool)
        if isinstance(self.segmentations, Segmentations):
            last = np.where(there, self.whole.observations.points, -np.inf).max(axis=1)
            beyond = (last < at) & (there <= (self.medians > 0.0)).all(axis=1)
        return beyond, MeasuredKernels(
            points=self.whole.observations.points,
            values=self.medians[beyond],
            recent=recent[beyond],
        )


def predict_together(parts: Sequence[KernelModels], at: tuple[float, ...]) -> Predictions:
    """Predict all kernels of a metric at a point, the kernels of one part after the other.

    Beyond its last point a kernel is continued as would have predicted the last points of all
    kernels best; the other predictions are those of the models, cut off at 0 where no value was
    below it.
    """
    count = sum(map(len, parts))
    found = Predictions(
        predicted=np.concatenate([part.evaluate(at) for part in parts]),
        low=np.full(count, np.nan),
        high=np.full(count, np.nan),
        weights=np.zeros((count, len(Candidate))),
        missed=np.ones(count),
    )
    groups, numbers = [], []
    first = 0
    positive = np.concatenate([~(part.medians < 0.0).any(axis=1) for part in parts])
    for part in parts:
        beyond, group = part.forecast_group(at[0])
        for kernel in np.flatnonzero(~beyond).tolist():
            (low,), (high,) = part[kernel].interval(np.array([at]))
            found.low[first + kernel], found.high[first + kernel] = low, high
        if beyond.any():
            groups.append(group)
            numbers.append(first + np.flatnonzero(beyond))
        first += len(part)
    forecasts = forecast_kernels(groups, at[0]) if groups else []
    for kernels, forecast in zip(numbers, forecasts, strict=True):
        for field in fields(Predictions):
            getattr(found, field.name)[kernels] = getattr(forecast, field.name)
    for values in (found.predicted, found.low, found.high):
        values[positive & (values < 0.0)] = 0.0
    return found
