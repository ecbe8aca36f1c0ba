"""Models on each side of every change, for many kernels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.fit import fit_observations, of_one_parameter
from hindmost.models.pmnf.model import ScalingModel, columns_of
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.observations import LEAST_POINTS, Observations, observe
from hindmost.models.pmnf.search import MOST_TERMS
from hindmost.models.pmnf.segments.likelihood import Segmentations, segment
from hindmost.models.pmnf.segments.paper import PaperSegmentations, segment_by_paper
from hindmost.models.pmnf.segments.segmentation import (
    Change,
    Segmentation,
    SegmentVerdict,
    advise,
    where,
)

METHODS = ("likelihood", "paper")
FEWEST = 2
"""Points from which a side gets a provisional model: a constant, from 3 on at most one term."""
ALIKE = 1.35
"""Ratio of the largest to the smallest value of a side of fewer points than a model needs, up to
which they may be those of a constant: that of values with 15 % of noise."""
OPEN_SLOPE = 0.5
"""By how much the growth beyond a side of few values of the parameter may differ from the model's,
as an exponent: nine in ten measured programs are less than 40 % off one doubling ahead."""


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
        return self.points < LEAST_POINTS


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
    """

    whole: ScalingModel
    segmentation: Segmentation
    segments: tuple[Segment, ...]
    axis: int = 0

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

    def predict(self, at: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the values at points, each from its own segment's model.

        Parameters
        ----------
        at : float64 array, shape (target, parameter); (target,) of one parameter

        Returns
        -------
        float64 array, shape (target,)
        """
        return np.asarray(self._by_segment(at, lambda model, where: (model.predict(where),))[0])

    def interval(
        self, at: NDArray[np.float64] | float, *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return low and high as `ScalingModel.interval`, each from its own segment's model."""
        low, high = self._by_segment(at, lambda model, where: model.interval(where, level=level))
        if not self.changes or not self.named:
            return low, high
        # A side has many points, but few values of the parameter that changes the behaviour: what
        # they fix is the level, not how the kernel grows with it.
        targets, which = columns_of(at), self.numbers_at(at)
        factor = np.ones(which.size)
        for number in np.unique(which):
            values = self._values_of(self.segments[number])
            if values.size < LEAST_POINTS:
                own = which == number
                ahead = np.log(
                    np.maximum(targets[own, self.axis] / values.max(initial=1e-300), 1.0)
                )
                factor[own] = np.exp(OPEN_SLOPE * ahead) if values.size else np.inf
        return np.minimum(low, low / factor), np.maximum(high, high * factor)

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
            if 0 < values.size < LEAST_POINTS:
                asked.append(
                    f"only {values.size} values of {self.parameter} from {values[0]:g} to "
                    f"{values[-1]:g}: how it grows with {self.parameter} there is open; measure "
                    f"{LEAST_POINTS - values.size} more"
                )
        return "; ".join(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelModels:
    """Models of many kernels, segmented where they are.

    Attributes
    ----------
    whole : ScalingModels
    changed : dict
        From the numbers of the kernels that are segmented to their models.
    segmentations : Segmentations, PaperSegmentations or None
        None over several parameters.
    """

    whole: ScalingModels
    changed: dict[int, KernelModel]
    segmentations: Segmentations | PaperSegmentations | None = None

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, kernel: int) -> KernelModel:
        if kernel in self.changed:
            return self.changed[kernel]
        whole = self.whole[kernel]
        if self.segmentations is not None:
            verdict = self.segmentations[kernel]
        else:
            verdict = Segmentation(
                verdict=SegmentVerdict.ONE, changes=(), excess=-np.inf, points=whole.points[:, 0]
            )
        return KernelModel(whole=whole, segmentation=verdict, segments=(segment_of(whole),))


def segment_of(model: ScalingModel, axis: int = 0) -> Segment:
    """Return the stretch of all points of a model."""
    low, high = model.range[axis]
    return Segment(low=low, high=high, points=model.values.size, model=model)


def fit_segments(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    method: str = "likelihood",
    space: str = "paper",
    noise: str | None = None,
    parameter: str = "p",
) -> KernelModels:
    """Find the changes of many kernels, and a model on each side of every change.

    Parameters
    ----------
    method : str
        ``likelihood``, or ``paper`` for the rule of Ilyas, Calotoiu and Wolf (2017). By the latter,
        models are of at most one term, by least squares without weights, whatever the noise; space
        ``extrap`` has Extra-P's terms.
    points, values, space, noise, parameter
        As of `fit`.

    Raises
    ------
    DataError, UsageError
        As `fit`; UsageError for an unknown method as well.
    """
    observations = observed_for(method, points, values, noise)
    found = segment_observations(observations, method)
    most = 1 if method == "paper" else MOST_TERMS
    how: dict[str, Any] = {"space": space, "parameter": parameter, "terms": most}
    whole = fit_observations(observations, **how)
    # Kernels with the same stretch are fitted together.
    verdicts = {int(kernel): found[int(kernel)] for kernel in np.flatnonzero(found.segmented)}
    ends = {
        kernel: [stretch_ends(observations, kernel, each) for each in verdict.stretches()]
        for kernel, verdict in verdicts.items()
        if verdict.changes
    }
    models: dict[tuple[int, int], dict[int, ScalingModel]] = {}
    for begin, end in sorted({each for stretches in ends.values() for each in stretches}):
        kernels = np.array([kernel for kernel in ends if (begin, end) in ends[kernel]])
        sides = models.setdefault((begin, end), {})
        if end - begin >= FEWEST:
            part = observations.part(kernels, slice(begin, end))
            fitted = fit_observations(part, least_points=FEWEST, **how)
            kept = np.flatnonzero(explained(fitted) | (end - begin >= LEAST_POINTS))
            sides |= {int(kernels[row]): fitted[int(row)] for row in kept}
    changed = {
        kernel: KernelModel(
            whole=whole[kernel],
            segmentation=verdicts[kernel],
            segments=tuple(
                Segment(
                    low=float(verdicts[kernel].points[stretch.start]),
                    high=float(verdicts[kernel].points[stretch.stop - 1]),
                    points=stretch.stop - stretch.start,
                    model=models[key].get(kernel),
                )
                for stretch, key in zip(verdicts[kernel].stretches(), stretches, strict=True)
            ),
        )
        for kernel, stretches in ends.items()
    }
    return KernelModels(whole=whole, changed=changed, segmentations=found)


def stretch_ends(observations: Observations, kernel: int, stretch: slice) -> tuple[int, int]:
    """Return the first and one past the last of all points, of a stretch of a kernel's own."""
    there = np.flatnonzero(np.isfinite(observations.values[kernel]))
    return int(there[stretch.start]), int(there[stretch.stop - 1]) + 1


def explained(models: ScalingModels) -> NDArray[np.bool_]:
    """Say which kernels are no constants of values far apart: shape (kernel,)."""
    values = models.observations.values
    low, high = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
    far = (low > 0.0) & (high > ALIKE * low)
    return np.asarray(~(models.hypotheses.constant & far))


def observed_for(
    method: str, points: NDArray[np.float64], values: NDArray[np.float64], noise: str | None
) -> Observations:
    """Return what a method takes: the paper's all values, and least squares without weights."""
    paper = method == "paper"
    observations = observe(points, values, "additive" if paper else noise)
    of_one_parameter(observations)
    return observations


def detect_segments(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    method: str = "likelihood",
    noise: str | None = None,
) -> Segmentations | PaperSegmentations:
    """Find the changes of many kernels; arguments and errors as those of `fit_segments`."""
    return segment_observations(observed_for(method, points, values, noise), method)


def segment_observations(
    observations: Observations, method: str = "likelihood"
) -> Segmentations | PaperSegmentations:
    """Find the changes in what `observe` gave.

    Raises
    ------
    UsageError
        An unknown method.
    DataError
        A missing value, by the paper's rule.
    """
    if method not in METHODS:
        raise UsageError(f"No method {method!r}; there are {', '.join(METHODS)}.")
    if method == "paper":
        return segment_by_paper(observations.points, observations.values)
    return segment(observations)
