"""When the next result of a machine or case is due, by its own past: silence is told at once.

Results mostly come by the week: every night, or on weekdays. After a result on a Friday the next
one is due when it mostly came after earlier Fridays, plus as much as it was late in the past.
Results that come without such an order are due at no time; they are silent after the last days.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import SECONDS_A_DAY

NIGHTS, FEWEST = 29, 6
"""The last nights of which the order is learnt, and the fewest that show one."""
LATE_DAYS = 0.5
"""A result that comes later than usual by more is a missing one and the next."""
MISSING = 0.1
"""Share of the nights that may be missing in an order."""


def next_due(times: NDArray[np.float64]) -> float:
    """Return when a result is overdue: seconds since 1970; infinite if they come in no order.

    Parameters
    ----------
    times : float64 array, shape (result,), seconds
        Since 1970, UTC; in any order.
    """
    times = np.sort(times)
    days = np.floor(times / SECONDS_A_DAY)
    nights = times[np.append(days[1:] > days[:-1], True)][-NIGHTS:]  # the last result of each
    if nights.size < FEWEST:
        return np.inf
    gaps = np.diff(nights)
    weekdays = np.floor(nights / SECONDS_A_DAY) % 7.0
    by_weekday = {
        day: float(np.median(same if (same := gaps[weekdays[:-1] == day]).size > 1 else gaps))
        for day in weekdays
    }
    delays = gaps - np.array([by_weekday[day] for day in weekdays[:-1]])
    missing = delays > LATE_DAYS * SECONDS_A_DAY
    if missing.mean() > MISSING:
        return np.inf
    latest = max(float(delays[~missing].max()), 0.0)
    return float(nights[-1]) + by_weekday[weekdays[-1]] + latest
