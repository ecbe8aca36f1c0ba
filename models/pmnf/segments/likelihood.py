"""Segments by likelihood: several changes, each where evidence beats chance.

A change is found where the evidence at any floor exceeds its threshold, and placed at the split of
largest marginal likelihood. Each side is then searched in the same way. Where the kind of noise is
not known, a change must be found under multiplicative and additive noise alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.evidence import LEAST
from hindmost.models.pmnf.hypotheses import patterns
from hindmost.models.pmnf.observations import Observations
from hindmost.models.pmnf.segments.change_evidence import (
    NEAR,
    judge,
    place_change,
    unexplained_noise,
)
from hindmost.models.pmnf.segments.segmentation import (
    LEAST_TOLD,
    Change,
    Segmentation,
    SegmentVerdict,
)
from hindmost.models.pmnf.space import PAPER

LIKELY = 0.9
STEEPEST = float(max(power for power, _ in PAPER.exponents))
"""Power that normal forms grow with at most."""
EXPLAINED, LEAST_SCATTER = 2.0, 0.01
"""Standard errors of the values that a power law or an exponential that explains them is off, on
root mean square, at most; a standard error counts as this share at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentations:
    """Verdicts on many kernels.

    Attributes
    ----------
    observations : Observations
    begins : bool array, shape (kernel, point)
        Whether a new behaviour begins at a point.
    likely : int array, shape (kernel, point, 2)
        Where one begins, the first and the last point at which it may begin, at 90 %.
    excess : float64 array, shape (kernel,)
        The most by which the evidence for a change exceeds what it must, log likelihood; infinite
        below 0 where points are too few.
    """

    observations: Observations
    begins: NDArray[np.bool_]
    likely: NDArray[np.intp]
    excess: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.begins.shape[0])

    @property
    def segmented(self) -> NDArray[np.bool_]:
        """Whether each kernel's behaviour changes: shape (kernel,)."""
        return np.asarray(self.begins.any(axis=1))

    def between(self, low: float, high: float) -> NDArray[np.bool_]:
        """Say which kernels have a change from one value of the parameter to another.

        Returns
        -------
        bool array, shape (kernel,)
        """
        points = self.observations.points
        there = np.isfinite(self.observations.values)
        number = np.where(there, np.arange(points.size), -1)
        before = np.maximum.accumulate(number, axis=1)[:, :-1]  # the last point that there is
        inside = (points[before] >= low) & (before >= 0) & (points[1:] <= high)
        return np.asarray((self.begins[:, 1:] & inside).any(axis=1))

    def __getitem__(self, kernel: int) -> Segmentation:
        there = np.isfinite(self.observations.values[kernel])
        points = self.observations.points
        number = np.cumsum(there) - 1  # among the points that the kernel has
        own = points[there]
        changes = tuple(
            Change(
                low=float(own[number[at] - 1]),
                high=float(own[number[at]]),
                first=int(number[at]),
                likely=(
                    float(own[number[self.likely[kernel, at, 0]] - 1]),
                    float(own[number[self.likely[kernel, at, 1]]]),
                ),
            )
            for at in np.flatnonzero(self.begins[kernel])
        )
        verdict = SegmentVerdict.ONE
        if own.size < LEAST_TOLD:
            verdict = SegmentVerdict.TOO_FEW
        elif changes:
            verdict = SegmentVerdict.SEGMENTED
        elif self.excess[kernel] > -NEAR:
            verdict = SegmentVerdict.OPEN
        return Segmentation(
            verdict=verdict, changes=changes, excess=float(self.excess[kernel]), points=own
        )


def segment(observations: Observations) -> Segmentations:
    """Find the changes of many kernels.

    Parameters
    ----------
    observations : Observations
        Over one parameter.
    """
    observations = replace(observations, unexplained=unexplained_noise(observations))
    shape = observations.values.shape
    found = Segmentations(
        observations=observations,
        begins=np.zeros(shape, bool),
        likely=np.zeros((*shape, 2), np.intp),
        excess=np.full(shape[0], -np.inf),
    )
    for there, members in patterns(observations.values):
        own = np.flatnonzero(there)
        searched = members[~outgrown(observations, own, members)]
        waiting = [(own, searched)]
        while waiting:
            stretch, kernels = waiting.pop()
            if stretch.size < LEAST_TOLD or not kernels.size:
                continue
            judged = judge(observations, stretch, kernels)
            if stretch.size == own.size:
                found.excess[kernels] = judged.excess
            split = kernels[judged.excess > 0.0]
            place = judged.place[judged.excess > 0.0]
            note_changes(found, stretch, split, place)
            best = place.argmax(axis=1) + LEAST
            for at in np.unique(best):
                waiting.append((stretch[:at], split[best == at]))
                waiting.append((stretch[at:], split[best == at]))
        refine(found, own, searched)
    return found


def outgrown(
    observations: Observations, own: NDArray[np.intp], kernels: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Say which kernels follow one power law or exponential that no normal form is as steep as.

    Two normal forms, one after the other, come nearer to it than one does: that is no change.
    """
    x, values = observations.points[own], observations.values[np.ix_(kernels, own)]
    positive = (values > 0.0).all(axis=1)
    y = np.log(np.where(positive[:, None], values, 1.0))
    scatter = np.full(kernels.size, observations.scatter)
    if observations.own_scatter is not None:
        mine = observations.own_scatter[kernels]
        scatter = np.where(np.isfinite(mine), mine, scatter)
    limit = EXPLAINED * np.maximum(scatter, LEAST_SCATTER)
    found = np.zeros(kernels.size, bool)
    for of, last in ((np.log(x), 1.0), (x, x[-1])):
        apart = of - of.mean()
        slope = (y - y.mean(axis=1, keepdims=True)) @ apart / (apart @ apart)
        left = y - y.mean(axis=1, keepdims=True) - slope[:, None] * apart
        off = np.sqrt((left**2).sum(axis=1) / (x.size - 2))
        found |= (slope * last > STEEPEST) & (off <= limit)
    return np.asarray(found & positive)


def note_changes(
    found: Segmentations,
    stretch: NDArray[np.intp],
    kernels: NDArray[np.intp],
    place: NDArray[np.float64],
) -> None:
    """Note that in each kernel a behaviour begins where that is likeliest."""
    likeliest = place.argmax(axis=1)
    best = stretch[likeliest + LEAST]
    odds = np.exp(place - place.max(axis=1, keepdims=True))
    share = np.cumsum(odds, axis=1) / odds.sum(axis=1, keepdims=True)
    outside = 0.5 * (1.0 - LIKELY)
    low = np.minimum((share <= outside).sum(axis=1), likeliest)
    high = np.maximum((share < 1.0 - outside).sum(axis=1), likeliest)
    found.begins[kernels, best] = True
    found.likely[kernels, best, 0] = stretch[low + LEAST]
    found.likely[kernels, best, 1] = stretch[high + LEAST]


def refine(found: Segmentations, own: NDArray[np.intp], members: NDArray[np.intp]) -> None:
    """Look for each of several changes once more, between its neighbours.

    The first change was placed while the others were not known.
    """
    several = members[found.begins[members].sum(axis=1) > 1]
    if not several.size:
        return
    kinds, which = np.unique(found.begins[several], axis=0, return_inverse=True)
    for kind, begins in enumerate(kinds):
        kernels = several[which.ravel() == kind]
        borders = [0, *np.searchsorted(own, np.flatnonzero(begins)), own.size]
        for before, at, after in zip(borders[:-2], borders[1:-1], borders[2:], strict=True):
            stretch = own[before:after]
            found.begins[kernels, own[at]] = False
            place = place_change(found.observations, stretch, kernels)
            note_changes(found, stretch, kernels, place)
