"""Segments by the rule of Ilyas, Calotoiu and Wolf (2017): windows of five points.

A model of a constant and one term is fitted to each window of five consecutive points, and its
error is nRSS = sqrt(RSS) / mean (section 3.1). The data are segmented if the largest error exceeds
0.5, or if an error between 0.1 and 0.5 is followed or preceded by a jump: the ratio of the errors
of two consecutive windows, e_(i+1) / (e_i + eta), exceeds 4. The change point is read from the
pattern of windows whose error exceeds 0.1 (section 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.pmnf.search import search
from hindmost.models.pmnf.segments.segmentation import (
    MIN_TOLD,
    Change,
    Segmentation,
    SegmentVerdict,
)
from hindmost.models.pmnf.space import PAPER, columns

WINDOW = 5
HETEROGENEOUS = 0.1
SEGMENTED = 0.5
ETA = 1e-12
"""What keeps a window that fits exactly from a division by zero; the paper gives no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperSegmentations:
    """Verdicts of the paper's rule on many kernels.

    Attributes
    ----------
    points : float64 array, shape (point,)
    errors : float64 array, shape (kernel, window)
        nRSS of each window of five points.
    segmented : bool array, shape (kernel,)
    """

    points: NDArray[np.float64]
    errors: NDArray[np.float64]
    segmented: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.errors.shape[0])

    def __getitem__(self, kernel: int) -> Segmentation:
        segmented = bool(self.segmented[kernel])
        tagged = self.errors[kernel : kernel + 1] > HETEROGENEOUS
        changes: tuple[Change, ...] = ()
        low, high = (int(side[0]) for side in located(tagged))
        if segmented and low >= 0:
            place = (float(self.points[low]), float(self.points[high]))
            changes = (Change(low=place[0], high=place[1], first=low + 1, likely=place),)
        if self.points.size < MIN_TOLD:
            verdict = SegmentVerdict.TOO_FEW
        else:
            verdict = SegmentVerdict.SEGMENTED if segmented else SegmentVerdict.ONE
        return Segmentation(
            verdict=verdict,
            changes=changes,
            excess=float("nan"),
            points=self.points,
            pattern="".join("01"[int(tag)] for tag in tagged[0]),
            window_errors=tuple(self.errors[kernel].tolist()),
        )

    def between(self, low: float, high: float) -> NDArray[np.bool_]:
        """Say which kernels have their change from one value of the parameter to another.

        Returns
        -------
        bool array, shape (kernel,)
        """
        first, last = located(self.errors > HETEROGENEOUS)
        inside = (self.points[first] >= low) & (self.points[last] <= high)
        return np.asarray(self.segmented & (first >= 0) & inside)


def segment_by_paper(
    points: NDArray[np.float64], values: NDArray[np.float64]
) -> PaperSegmentations:
    """Apply the rule to many kernels.

    Parameters
    ----------
    points : float64 array, shape (point,)
    values : float64 array, shape (kernel, point)
        All there.

    Raises
    ------
    DataError
        A missing value: the rule has no answer to it.
    """
    if not np.isfinite(values).all():
        raise DataError(
            "The paper's rule needs all points of every kernel; leave the kernels that lack some "
            "out, or take method 'likelihood'."
        )
    kernels, count = values.shape
    windows = max(count - WINDOW + 1, 0)
    errors = np.empty((kernels, windows))
    growing = [pair for pair in PAPER.exponents if pair[0] >= 0]
    one_term = np.array([0.0, 0.0, np.inf])
    for first in range(windows):
        part = slice(first, first + WINDOW)
        found = search(
            values[:, part],
            np.ones((kernels, WINDOW)),
            columns(growing, points[part]),
            gamma=0.0,
            penalties=one_term,
        )
        rss = np.exp(found.criterion[:, 0] / WINDOW) * WINDOW  # weights of the search sum to 1
        level = np.where(rss > 0.0, np.abs(values[:, part].mean(axis=1)), 1.0)
        with np.errstate(divide="ignore"):  # values around 0 have an infinite error
            errors[:, first] = np.sqrt(rss) / level
    return PaperSegmentations(points=points, errors=errors, segmented=is_segmented(errors))


def is_segmented(errors: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Judge the errors of all windows, section 3.1.

    Parameters
    ----------
    errors : float64 array, shape (kernel, window)

    Returns
    -------
    bool array, shape (kernel,)
    """
    large = (errors > SEGMENTED).any(axis=1)
    between = (errors >= HETEROGENEOUS) & (errors <= SEGMENTED)
    jump = errors[:, 1:] / (errors[:, :-1] + ETA) > 4.0
    return np.asarray(large | (jump & between[:, 1:]).any(axis=1))


def located(tagged: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Read the change point from the pattern of heterogeneous windows, section 3.2.

    Parameters
    ----------
    tagged : bool array, shape (kernel, window)

    Returns
    -------
    low, high : int array, shape (kernel,)
        Numbers of the points between which it lies, or of the point common to both behaviours; -1
        where the windows are not three or four in a row.
    """
    ones = tagged.sum(axis=1)
    first = tagged.argmax(axis=1)
    last = tagged.shape[1] - 1 - tagged[:, ::-1].argmax(axis=1)
    three, four = ones == 3, ones == 4
    in_a_row = (three | four) & (last - first + 1 == ones)
    third = first + 3  # of the second window of these
    return np.where(in_a_row, third, -1), np.where(in_a_row, third + four, -1)
