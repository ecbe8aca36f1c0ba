"""Models on each side of every change, for many kernels at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.fit import fit_observations, of_one_parameter
from hindmost.models.pmnf.kernels import KernelModel, KernelModels, Segment
from hindmost.models.pmnf.model import ScalingModel
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.observations import MIN_POINTS, Observations, checked, medians, observe
from hindmost.models.pmnf.search import MAX_TERMS
from hindmost.models.pmnf.segments.likelihood import Segmentations, segment
from hindmost.models.pmnf.segments.paper import PaperSegmentations, segment_by_paper

METHODS = ("likelihood", "paper")
FEWEST = 2
"""Points from which a side gets a provisional model: a constant, from 3 on at most one term."""
ALIKE = 1.35
"""Ratio of the largest to the smallest value of a side of fewer points than a model needs, up to
which they may be those of a constant: that of values with 15 % of noise."""


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
    most = 1 if method == "paper" else MAX_TERMS
    how: dict[str, Any] = {"space": space, "parameter": parameter, "terms": most}
    whole = fit_observations(observations, **how)
    # Kernels with the same stretch are fitted together.
    verdicts = {int(kernel): found[int(kernel)] for kernel in np.flatnonzero(found.segmented)}
    ends = {
        kernel: [stretch_ends(observations, kernel, stretch) for stretch in verdict.stretches()]
        for kernel, verdict in verdicts.items()
        if verdict.changes
    }
    models: dict[tuple[int, int], dict[int, ScalingModel]] = {}
    for begin, end in sorted({stretch for stretches in ends.values() for stretch in stretches}):
        kernels = np.array([kernel for kernel in ends if (begin, end) in ends[kernel]])
        sides = models.setdefault((begin, end), {})
        if end - begin >= FEWEST:
            part = observations.part(kernels, slice(begin, end))
            fitted = fit_observations(part, least_points=FEWEST, **how)
            kept = np.flatnonzero(explained(fitted) | (end - begin >= MIN_POINTS))
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
    return KernelModels(
        whole=whole,
        medians=np.where(whole.there, medians(checked(points, values)[1]), np.nan),
        changed=changed,
        segmentations=found,
    )


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
    """Find the changes in what `observe` gave."""
    if method not in METHODS:
        raise UsageError(f"No method {method!r}; there are {', '.join(METHODS)}.")
    if method == "paper":
        return segment_by_paper(observations.points, observations.values)
    return segment(observations)
