"""Changes of behaviour at a value of one of several parameters.

One function over all points is held against two, one up to a value of a parameter and one beyond
it. The evidence is the likelihood ratio of the two, as over one parameter (`pmnf.evidence`):
S = n/2 log((R_1 + F) / (R_2 + F)), with residuals relative to what the noise model expects.
F = n f^2 is taken for granted, so that what no search space fits exactly is no evidence. A change
is told where S exceeds what one behaviour reaches in one of a hundred cases, for noise of up to
15 % (`MIN_EVIDENCE`; docs/records/2026-11-validation.md). Where the kind of noise is not
known, it must do so under multiplicative and additive noise alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.hypotheses import patterns
from hindmost.models.pmnf.kernels import KernelModel, segment_of
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.segmentation import Change, Segmentation, SegmentVerdict
from hindmost.models.pmnf.several.fit import fit_part

MIN_EVIDENCE = 16.0
"""S from which a change is told."""
MIN_VALUES, MIN_SIDE = 2, 10
"""Values of the parameter, and points, that each side has at least."""


@dataclass(frozen=True, slots=True)
class Split:
    """A way to part the points: after a value of a parameter."""

    axis: int
    low: float
    high: float
    before: NDArray[np.bool_]


def find_joint_changes(models: ScalingModels) -> dict[int, KernelModel]:
    """Look for a change in each kernel, at any value of any parameter.

    Parameters
    ----------
    models : ScalingModels
        Of `fit_parameters`: one function a kernel.

    Returns
    -------
    dict
        From the numbers of kernels that change to their models on both sides of the likeliest
        change.
    """
    found = {}
    for there, kernels in patterns(models.observations.values):
        splits = possible_splits(models.observations.table[there])
        evidence = evidence_of_splits(models, there, kernels, splits)
        if not splits:
            continue
        best, whole = evidence.argmax(axis=1), np.flatnonzero(there)
        for row in np.flatnonzero(evidence.max(axis=1) > MIN_EVIDENCE):
            split, kernel = splits[best[row]], int(kernels[row])
            parts = (whole[split.before], whole[~split.before])
            sides = [
                fit_part(models, np.array([kernel]), part, models.observations.noise.kind)[0]
                for part in parts
            ]
            change = Change(
                low=split.low, high=split.high, first=parts[0].size, likely=(split.low, split.high)
            )
            found[kernel] = KernelModel(
                whole=models[kernel],
                segmentation=Segmentation(
                    verdict=SegmentVerdict.SEGMENTED,
                    changes=(change,),
                    excess=float(evidence[row, best[row]]) - MIN_EVIDENCE,
                    points=np.unique(models.observations.table[there, split.axis]),
                ),
                segments=tuple(segment_of(side, split.axis) for side in sides),
                axis=split.axis,
            )
    return found


def possible_splits(points: NDArray[np.float64]) -> list[Split]:
    """Return the ways to part points that leave enough on both sides."""
    splits = []
    for axis, column in enumerate(points.T):
        values = np.unique(column)
        for at in range(MIN_VALUES, values.size - MIN_VALUES + 1):
            before = column < values[at]
            if min(before.sum(), (~before).sum()) >= MIN_SIDE:
                split = Split(axis, float(values[at - 1]), float(values[at]), before)
                splits.append(split)
    return splits


def evidence_of_splits(
    models: ScalingModels,
    there: NDArray[np.bool_],
    kernels: NDArray[np.intp],
    splits: list[Split],
) -> NDArray[np.float64]:
    """Return S of some kernels that have the same points, for each split: (kernel, split).

    Kernels that one function fits so well that no split can be told are left at 0.
    """
    whole = np.flatnonzero(there)
    # f: noise and misfit that are taken for granted.
    granted = whole.size * 0.03**2
    found = np.zeros((kernels.size, len(splits)))
    open_yet = np.arange(kernels.size if splits else 0)
    for gamma in models.observations.noise.gammas:
        kind = next(each for each in NoiseKind if each.gamma == gamma)
        if not open_yet.size:
            break
        one = fit_part(models, kernels[open_yet], whole, kind)
        rest = residuals(one, gamma)
        most = 0.5 * whole.size * np.log((rest + granted) / granted)
        open_yet, rest = open_yet[most > MIN_EVIDENCE], rest[most > MIN_EVIDENCE]
        if not open_yet.size:
            break
        under = np.empty((open_yet.size, len(splits)))
        for at, split in enumerate(splits):
            two = np.zeros(open_yet.size)
            for part in (split.before, ~split.before):
                two += residuals(fit_part(models, kernels[open_yet], whole[part], kind), gamma)
            under[:, at] = 0.5 * whole.size * np.log((rest + granted) / (two + granted))
        first = gamma == models.observations.noise.gammas[0]
        before = under if first else np.minimum(under, found[open_yet])
        found[:] = 0.0
        found[open_yet] = before
        open_yet = open_yet[before.max(axis=1) > MIN_EVIDENCE]
    return found


def residuals(models: ScalingModels, gamma: float) -> NDArray[np.float64]:
    """Return the sum of squares relative to the noise's level, shape (kernel,)."""
    observations = models.observations
    values, fitted = observations.values, models.predict(observations.table)
    mean = np.abs(values).mean(axis=1, keepdims=True)
    size = np.maximum(0.5 * (np.abs(values) + np.abs(fitted)), 1e-12 * mean)
    level = size**gamma * mean ** (1.0 - gamma)
    with np.errstate(invalid="ignore"):  # of values that are all 0
        return np.asarray((observations.shares * ((values - fitted) / level) ** 2).sum(axis=1))
