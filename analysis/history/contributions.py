"""How much the parts of a timer contribute to its change, down the timer hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.models.changepoint import ChangePoint

MOST = 0.5
"""A part that contributes at least this share of a change is split into its own parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """A timer within another one, and its share of a change.

    Attributes
    ----------
    timer : str
    difference : float
        After less before, in the series' unit.
    share : float
        Of the change of the whole timer; negative if the part changed in the opposite direction.
    """

    timer: str
    difference: float
    share: float


def largest_parts(
    judged: JudgedSeries,
    change: ChangePoint,
    siblings: Mapping[str, JudgedSeries],
    parents: Mapping[str, str],
) -> tuple[Contribution, ...]:
    """Return the part with the largest absolute change, the largest part of that, and so on.

    The search descends while a part has half of the change or more. Levels are medians over the
    nights of the timer's levels on both sides of the change, so a part counts even if no change was
    found in it.

    Parameters
    ----------
    judged : JudgedSeries
        The timer that changed.
    change : ChangePoint
    siblings : mapping
        Timer to series, all of the same machine and case.
    parents : mapping
        Timer to the timer that contains it.
    """
    series = judged.series
    whole = change.after - change.before
    place = judged.detection.changes.index(change)
    changes = judged.detection.changes
    begin = changes[place - 1].index if place else 0
    end = changes[place + 1].index if place + 1 < len(changes) else series.times.size
    moments = (
        float(series.times[begin]),
        float(series.times[change.index]),
        float(series.times[end - 1]),
    )
    found: list[Contribution] = []
    timer = series.name.timer
    while True:
        inside = [
            Contribution(timer=name, difference=difference, share=difference / whole)
            for name, each in siblings.items()
            if parents.get(name) == timer
            and each.series.unit == series.unit
            and (difference := difference_at(each, moments)) is not None
            and name not in {part.timer for part in found}
        ]
        if not inside:
            return tuple(found)
        largest = max(inside, key=lambda part: abs(part.difference))
        if found and largest.share < MOST:
            return tuple(found)
        found.append(largest)
        timer = largest.timer
        if largest.share < MOST:
            return tuple(found)


def difference_at(judged: JudgedSeries, moments: Sequence[float]) -> float | None:
    """Return the change of a timer's level; None if it has no values on one of the sides.

    Parameters
    ----------
    judged : JudgedSeries
    moments : (float, float, float), seconds since 1970
        Where the level before begins, where the one after begins, and where that ends.
    """
    times, values = judged.series.times, judged.series.values
    before = values[(times >= moments[0]) & (times < moments[1])]
    after = values[(times >= moments[1]) & (times <= moments[2])]
    if not before.size or not after.size:
        return None
    return float(np.median(after) - np.median(before))
