"""Which part of a timer a change lies in, down the timers' hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.history.judged import Judged
from hindmost.models.changepoint import Change

MOST = 0.5
"""Share of a change from which on a part of it is looked into in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A timer within another one, and how much of a change lies in it.

    Attributes
    ----------
    timer : str
    difference : float
        After less before, in the series' unit.
    share : float
        Of the change of the timer that was asked about; negative if it went the other way.
    """

    timer: str
    difference: float
    share: float


def largest_parts(
    judged: Judged,
    change: Change,
    siblings: Mapping[str, Judged],
    parents: Mapping[str, str],
) -> tuple[Part, ...]:
    """Return the part with the largest absolute change, the largest part of that, and so on.

    It goes deeper while a part holds half of the change or more. Levels are medians over the
    nights of the timer's own levels on both sides of the change, so a part counts also where no
    change was found in it.

    Parameters
    ----------
    judged : Judged
        The timer that changed.
    change : Change
    siblings : mapping
        Timer to series, all of the same machine and case.
    parents : mapping
        Timer to the timer that it is a part of.
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
    found: list[Part] = []
    timer = series.name.timer
    while True:
        inside = [
            Part(timer=name, difference=difference, share=difference / whole)
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


def difference_at(judged: Judged, moments: Sequence[float]) -> float | None:
    """Return how much a timer's level changed, None if it was not timed on both sides.

    Parameters
    ----------
    judged : Judged
    moments : (float, float, float), seconds since 1970
        Where the level before begins, where the one after begins, and where that ends.
    """
    times, values = judged.series.times, judged.series.values
    before = values[(times >= moments[0]) & (times < moments[1])]
    after = values[(times >= moments[1]) & (times <= moments[2])]
    if not before.size or not after.size:
        return None
    return float(np.median(after) - np.median(before))
