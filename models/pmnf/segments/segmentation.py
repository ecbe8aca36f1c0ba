"""What is said of a kernel: whether its behaviour changes, where, and what to measure next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.observations import MIN_POINTS
from hindmost.text import plural

MIN_TOLD = 6
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

    def explain(self, of: str = "") -> str:
        """Say the verdict in a sentence; the parameter may be named, see `where`."""
        if self.verdict is SegmentVerdict.TOO_FEW:
            return f"{self.points.size} points are too few to tell a change; {MIN_TOLD} are not"
        if not self.segmented:
            return str(self.verdict)
        return "changes " + " and ".join(where(change, of) for change in self.changes)


def where(change: Change, of: str = "") -> str:
    """Say where a change lies, of a parameter that may be named: ``p = ``."""
    if change.low == change.high:
        return f"at {of}{change.low:g}"
    text = f"between {of}{change.low:g} and {change.high:g}"
    low, high = change.likely
    if (low, high) != (change.low, change.high):
        text += f" (at 90 %: {low:g} to {high:g})"
    return text


def advise(segmentation: Segmentation, parameter: str = "p") -> str:
    """Say what to measure next; empty if nothing is open.

    Parameters
    ----------
    segmentation : Segmentation
    parameter : str
        The name of the parameter that was varied.
    """
    points = segmentation.points
    if segmentation.verdict is SegmentVerdict.TOO_FEW:
        return f"measure {listed(beyond(points, MIN_TOLD - points.size), parameter)}"
    if segmentation.verdict is SegmentVerdict.OPEN:
        return (
            f"measure {listed(beyond(points, 2), parameter)}, or repeat each point three times: "
            "there is some evidence for a change, but not enough"
        )
    if not segmentation.segmented:
        return ""
    asked = []
    for change in segmentation.changes:
        between = middle(points, *change.likely)
        if between is not None:
            asked.append(f"{parameter} = {between:g} to narrow the change")
    stretches = segmentation.stretches()
    for number, stretch in enumerate(stretches):
        lacking = MIN_POINTS - (stretch.stop - stretch.start)
        if lacking <= 0:
            continue
        if number == len(stretches) - 1:
            more = listed(beyond(points, lacking), parameter)
        elif number == 0:
            more = f"{more_points(lacking)} at or below {parameter} = {points[stretch.stop - 1]:g}"
        else:
            low, high = points[stretch.start], points[stretch.stop - 1]
            more = f"{more_points(lacking)} between {parameter} = {low:g} and {high:g}"
        asked.append(f"{more} for a model on that side")
    return "measure " + "; ".join(asked) if asked else ""


def more_points(count: int) -> str:
    """Write a number of further points."""
    return f"{count} more {plural(count, 'point')}"


def listed(values: NDArray[np.float64], parameter: str) -> str:
    """List values of the parameter."""
    return f"{parameter} = " + ", ".join(f"{value:g}" for value in values)


def geometric(points: NDArray[np.float64]) -> bool:
    """Say whether points grow by a factor, not by a step."""
    return bool(np.ptp(np.diff(np.log(points))) < np.ptp(np.diff(points) / points[-1]))


def beyond(points: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the next points of a series, continuing the steps at its end."""
    if points.size < 2:
        return np.asarray(points[-1] * 2.0 ** np.arange(1, count + 1))
    ahead = np.arange(1, count + 1)
    if geometric(points):
        return np.asarray(np.rint(points[-1] * (points[-1] / points[-2]) ** ahead))
    return np.asarray(points[-1] + (points[-1] - points[-2]) * ahead)


def middle(points: NDArray[np.float64], low: float, high: float) -> float | None:
    """Return a new point between two others; None if none is free."""
    between = np.sqrt(low * high) if geometric(points) else 0.5 * (low + high)
    whole = bool((points == np.rint(points)).all())
    value = float(np.rint(between)) if whole else float(f"{between:.3g}")
    taken = bool(np.isclose(points, value).any())
    return None if taken or not low < value < high else value
