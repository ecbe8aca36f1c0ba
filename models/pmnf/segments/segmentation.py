"""What is said of a kernel: whether its behaviour changes, where, and what would settle it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LEAST_TOLD = 6
"""Points from which a change can be told (five for a model, and one)."""


class SegmentVerdict(StrEnum):
    """Whether a kernel shows one behaviour."""

    ONE = "one behaviour"
    SEGMENTED = "segmented"
    OPEN = "not told apart"
    """Some evidence for a change, not enough."""
    TOO_FEW = "too few points"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Where the behaviour changes.

    Attributes
    ----------
    low, high : float
        Neighbouring points between which it most probably lies; equal where that point belongs to
        both behaviours.
    first : int
        Number of the first point after the change.
    likely : tuple of float
        Points between which it lies at 90 %; of the paper's rule, (low, high).
    """

    low: float
    high: float
    first: int
    likely: tuple[float, float]

    @property
    def middle(self) -> float:
        """Where one model takes over from the other."""
        return 0.5 * (self.low + self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """The verdict on one kernel.

    Attributes
    ----------
    verdict : SegmentVerdict
    changes : tuple of Change
        In ascending order; empty unless segmented.
    excess : float
        Log likelihood by which the evidence exceeds what it must; NaN of the paper's rule.
    points : float64 array, shape (point,)
    pattern : str
        Of the paper's rule, a 0 or 1 for each of its windows; else empty.
    window_errors : tuple of float
        Of the paper's rule, the nRSS of each of its windows; else empty.
    """

    verdict: SegmentVerdict
    changes: tuple[Change, ...]
    excess: float
    points: NDArray[np.float64]
    pattern: str = ""
    window_errors: tuple[float, ...] = ()

    @property
    def segmented(self) -> bool:
        """Whether the behaviour changes."""
        return self.verdict is SegmentVerdict.SEGMENTED

    def stretches(self) -> tuple[slice, ...]:
        """Return the points of each behaviour; a point that belongs to two is in both."""
        borders = [0, *(change.first for change in self.changes), self.points.size]
        shared = [0, *(change.low == change.high for change in self.changes)]
        return tuple(
            slice(a - common, b) for (a, b), common in zip(pairwise(borders), shared, strict=True)
        )

    def explain(self) -> str:
        """Say the verdict in a sentence."""
        if self.verdict is SegmentVerdict.TOO_FEW:
            return f"{self.points.size} points are too few to tell a change; {LEAST_TOLD} are not"
        if not self.segmented:
            return str(self.verdict)
        return "changes " + " and ".join(where(change) for change in self.changes)


def where(change: Change) -> str:
    """Say where a change lies."""
    if change.low == change.high:
        return f"at {change.low:g}"
    text = f"between {change.low:g} and {change.high:g}"
    low, high = change.likely
    if (low, high) != (change.low, change.high):
        text += f" (at 90 %: {low:g} to {high:g})"
    return text
