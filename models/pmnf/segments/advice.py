"""Which measurements to add where a verdict is open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.observations import LEAST_POINTS
from hindmost.models.pmnf.segments.segmentation import LEAST_TOLD, Segmentation, SegmentVerdict
from hindmost.text import plural


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
        return f"measure {listed(beyond(points, LEAST_TOLD - points.size), parameter)}"
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
        lacking = LEAST_POINTS - (stretch.stop - stretch.start)
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
