"""Models on each side of every change, for many kernels at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.fit import fit_observations, of_one_parameter
from hindmost.models.pmnf.model import ScalingModel
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.observations import LEAST_POINTS, Observations, observe
from hindmost.models.pmnf.search import MOST_TERMS
from hindmost.models.pmnf.segments.likelihood import Segmentations, segment
from hindmost.models.pmnf.segments.paper import PaperSegmentations, segment_by_paper
from hindmost.models.pmnf.segments.segmentation import Segmentation, advise

METHODS = ("likelihood", "paper")
FEWEST = 2
"""Points from which a side gets a provisional model: a constant, from 3 on at most one term."""
ALIKE = 1.35
"""Ratio of the largest to the smallest value of a side of fewer points than a model needs, up to
which they may be those of a constant: that of values with 15 % of noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of points of one behaviour.

    Attributes
    ----------
    low, high : float
        Its first and its last point.
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
    """

    whole: ScalingModel
    segmentation: Segmentation
    segments: tuple[Segment, ...]

    @property
    def last(self) -> ScalingModel:
        """The model that tells what comes beyond the largest point.

        That of all points if the last segment has none.
        """
        return self.segments[-1].model or self.whole

    def predict(self, at: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the values at points of shape (target,), each from its own segment's model."""
        return self._by_segment(at, lambda model, where: (model.predict(where),))[0]

    def interval(
        self, at: NDArray[np.float64] | float, *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return low and high as `ScalingModel.interval`, each from its own segment's model."""
        low, high = self._by_segment(at, lambda model, where: model.interval(where, level=level))
        return low, high

    def _by_segment(self, at: Any, ask: Any) -> tuple[NDArray[np.float64], ...]:
        targets = np.atleast_1d(np.asarray(at, np.float64))
        borders = [change.middle for change in self.segmentation.changes]
        which = np.searchsorted(borders, targets, side="left")
        sides = [np.empty(targets.size), np.empty(targets.size)]
        count = 1
        for number, part in enumerate(self.segments):
            here = which == number
            if here.any():
                answers = ask(part.model or self.whole, targets[here])
                count = len(answers)
                for side, answer in zip(sides, answers, strict=False):
                    side[here] = answer
        return tuple(sides[:count])

    def explain(self) -> str:
        """Say in a sentence how the kernel behaves."""
        if not self.segmentation.segmented:
            return self.whole.explain()
        parts = [
            f"{part.low:g} to {part.high:g}: "
            + (part.model.explain() if part.model else f"{part.points} points, no model")
            for part in self.segments
        ]
        return f"{self.segmentation.explain()}; " + "; ".join(parts)

    def advice(self) -> str:
        """Say what to measure next; empty if nothing is open."""
        return advise(self.segmentation, self.whole.parameters[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelModels:
    """Models of many kernels, segmented where they are; one object a kernel on demand.

    Attributes
    ----------
    whole : ScalingModels
    segmentations : Segmentations or PaperSegmentations
    stretches : dict
        From (first, one past the last) of points to the models of the kernels that have a segment
        with a model there, and the kernels' numbers.
    """

    whole: ScalingModels
    segmentations: Segmentations | PaperSegmentations
    stretches: dict[tuple[int, int], tuple[NDArray[np.intp], ScalingModels]]

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, kernel: int) -> KernelModel:
        model, segmentation = self.whole[kernel], self.segmentations[kernel]
        own = segmentation.points
        if not segmentation.changes:
            part = Segment(low=own[0], high=own[-1], points=own.size, model=model)
            return KernelModel(whole=model, segmentation=segmentation, segments=(part,))
        segments = []
        for stretch in segmentation.stretches():
            side = None
            if stretch.stop - stretch.start >= FEWEST:
                side = self._side(kernel, stretch)
            low, high = float(own[stretch.start]), float(own[stretch.stop - 1])
            count = stretch.stop - stretch.start
            segments.append(Segment(low=low, high=high, points=count, model=side))
        return KernelModel(whole=model, segmentation=segmentation, segments=tuple(segments))

    def _side(self, kernel: int, stretch: slice) -> ScalingModel | None:
        there = np.flatnonzero(np.isfinite(self.whole.observations.values[kernel]))
        key = (int(there[stretch.start]), int(there[stretch.stop - 1]) + 1)
        kernels, models = self.stretches[key]
        row = int(np.searchsorted(kernels, kernel))
        return models[row] if row < kernels.size and kernels[row] == kernel else None


def fit_segments(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    method: str = "likelihood",
    space: str = "paper",
    noise: str | None = None,
    parameter: str = "p",
    terms: int = MOST_TERMS,
) -> KernelModels:
    """Find the changes of many kernels, and a model on each side of every change.

    Parameters
    ----------
    method : str
        ``likelihood``, or ``paper`` for the rule of Ilyas, Calotoiu and Wolf (2017). By the latter,
        models are of at most one term, by least squares without weights, whatever the noise; space
        ``extrap`` has Extra-P's terms.
    points, values, space, noise, parameter, terms
        As of `fit`.

    Raises
    ------
    DataError, UsageError
        As `fit`; UsageError for an unknown method as well.
    """
    observations = observed_for(method, points, values, noise)
    found = segment_observations(observations, method)
    most = min(terms, 1) if method == "paper" else terms
    how: dict[str, Any] = {"space": space, "parameter": parameter, "terms": most}
    whole = fit_observations(observations, **how)
    groups: dict[tuple[int, int], list[int]] = {}
    for kernel in np.flatnonzero(found.segmented):
        there = np.flatnonzero(np.isfinite(observations.values[kernel]))
        verdict = found[int(kernel)]
        for stretch in verdict.stretches() if verdict.changes else ():
            if stretch.stop - stretch.start >= FEWEST:
                key = (int(there[stretch.start]), int(there[stretch.stop - 1]) + 1)
                groups.setdefault(key, []).append(int(kernel))
    stretches = {}
    for (begin, end), members in groups.items():
        kernels = np.array(sorted(members), np.intp)
        part = Observations(
            points=observations.points[begin:end],
            values=observations.values[kernels, begin:end],
            shares=observations.shares[kernels, begin:end],
            noise=observations.noise,
            lone=observations.lone[kernels, begin:end],
            scatter=observations.scatter,
            own_scatter=None
            if observations.own_scatter is None
            else observations.own_scatter[kernels],
        )
        models = fit_observations(part, least_points=FEWEST, **how)
        kept = np.flatnonzero(explained(models) | (end - begin >= LEAST_POINTS))
        stretches[begin, end] = (kernels[kept], models.rows(kept))
    return KernelModels(whole=whole, segmentations=found, stretches=stretches)


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
    observations = observe(points, values, "additive" if paper else noise, whole=paper)
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
