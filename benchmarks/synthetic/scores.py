"""How well detected changes agree with true ones: precision, recall, F1, false alarms, delay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WITHIN = 2
"""Nights that a detected change may be off."""
HORIZON = 30
"""Nights after which a change is no longer waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts over any number of series; add two to pool them.

    Attributes
    ----------
    hits, false, missed : int
        Changes found, detections without a change, changes not found.
    nights : int
    """

    hits: int = 0
    false: int = 0
    missed: int = 0
    nights: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            hits=self.hits + other.hits,
            false=self.false + other.false,
            missed=self.missed + other.missed,
            nights=self.nights + other.nights,
        )

    @property
    def precision(self) -> float:
        """The share of detections that are changes; nan without detections."""
        return self.hits / (self.hits + self.false) if self.hits + self.false else float("nan")

    @property
    def recall(self) -> float:
        """The share of changes that are detected; nan without changes."""
        return self.hits / (self.hits + self.missed) if self.hits + self.missed else float("nan")

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; nan with neither changes nor detections."""
        total = 2 * self.hits + self.false + self.missed
        return 2 * self.hits / total if total else float("nan")

    @property
    def false_per_1000(self) -> float:
        """Detections without a change in 1000 nights."""
        return 1000.0 * self.false / self.nights if self.nights else float("nan")


def score_changes(
    found: Iterable[int], truth: Iterable[int], *, nights: int, within: int = WITHIN
) -> Score:
    """Pair detections with true changes, one to one, as many as can be.

    Both are walked from the first night on, which gives the most pairs on a line.

    Parameters
    ----------
    found, truth : iterables of int
        First nights of new levels.
    nights : int
        Of the series.
    within : int
        Nights that a pair may be apart.
    """
    left, right = sorted(found), sorted(truth)
    i = j = hits = 0
    while i < len(left) and j < len(right):
        if abs(left[i] - right[j]) <= within:
            hits, i, j = hits + 1, i + 1, j + 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return Score(hits=hits, false=len(left) - hits, missed=len(right) - hits, nights=nights)


def detection_delays(
    detect: Callable[[NDArray[np.float64]], Sequence[int]],
    values: NDArray[np.float64],
    truth: Sequence[int],
    *,
    within: int = WITHIN,
    horizon: int = HORIZON,
) -> list[int]:
    """Return for every change that is found how many nights after its first it was seen.

    Parameters
    ----------
    detect : callable
        From the nights so far to the changes in them.
    values : float64 array, shape (night,), seconds
    truth : sequence of int
    within : int
        Nights that a detection may be off.
    horizon : int
        Nights after the change, or until the next one, after which it counts as missed.
    """
    delays = []
    ends = [*truth, values.size][1:]
    for change, end in zip(truth, ends, strict=True):
        for last in range(change, min(end, change + horizon, values.size)):
            if any(abs(place - change) <= within for place in detect(values[: last + 1])):
                delays.append(last - change)
                break
    return delays
