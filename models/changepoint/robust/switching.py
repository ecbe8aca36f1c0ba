"""Times that switch between two levels again and again are one regime; needs numba.

A machine may have two modes, for example by the placement of pages or ranks, and stay in one for a
while. Times that returned to both levels often will do so again: all of it is one regime, and its
noise is the spread of both modes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops
from hindmost.models.changepoint.robust.line import LEVEL, LINE
from hindmost.models.changepoint.robust.settings import RobustSettings

SWITCHING = 2
"""Kind of such a segment; the others are `line.LEVEL` and `line.LINE`."""


def visits_only(
    y: NDArray[np.float64],
    before: int,
    begin: int,
    end: int,
    sigma: NDArray[np.float64],
    settings: RobustSettings,
) -> bool:
    """Tell whether too many nights of a new level are at the old one, so that it is only visited.

    Nights at its begin do not count: they only show that it begins later.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
    before, begin, end : int
        Of the segments of the old level and the new one.
    settings : RobustSettings
    """
    old = loops.moments_of(y, before, begin, sigma[before], settings.above)[0]
    new = loops.moments_of(y, begin, end, sigma[begin], settings.above)[0]
    nights = y[begin:end]
    back = np.abs(nights - old) <= settings.above * sigma[before]
    back &= np.abs(nights - new) > settings.above * sigma[begin]
    back = back[int(back.argmin()) :]
    return bool(np.count_nonzero(back) >= settings.visited * back.size)


def last_switch(
    levels: NDArray[np.float64],
    counts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    first: int,
    equal: float,
) -> int:
    """Return the last of the segments that alternate between the levels of a segment and its next.

    Parameters
    ----------
    levels : float64 array, shape (segment,)
    counts, kinds : int64 arrays, shape (segment,)
    first : int
        The first segment.
    equal : float
        Levels are equal when they differ by less than this share of the difference of the two.
    """
    # Running mean of both modes; alternate segments must stay close to theirs.
    last = first
    mode, weight = np.zeros(2), np.zeros(2)
    for s in range(first, levels.size):
        side = (s - first) % 2
        if kinds[s] != LEVEL:
            break
        close = equal * abs(mode[0] - mode[1])
        if weight[side] > 0.0 and abs(levels[s] - mode[side]) >= close:
            break
        weight[side] += counts[s]
        mode[side] += (levels[s] - mode[side]) * counts[s] / weight[side]
        last = s
    return last


def join_switching(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sigma: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
    is_held: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Join segments that alternate between two levels, and test the neighbouring changes again.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
    starts, kinds : int64 arrays, shape (segment,)
    rho : float
    settings : RobustSettings
    is_held : bool array, shape (observation,)
        Changes that stay changes.

    Returns
    -------
    starts, kinds : int64 arrays, shape (segment,)
    sigma : float64 array, shape (observation,)
    """
    n, size = y.size, starts.size
    if size <= settings.switches:
        return starts, kinds, sigma
    levels, counts = np.zeros(size), np.zeros(size, np.int64)
    for s in range(size):
        end = starts[s + 1] if s + 1 < size else n
        levels[s] = loops.moments_of(y, starts[s], end, sigma[starts[s]], settings.above)[0]
        counts[s] = end - starts[s]
    # Join every run of segments that alternates often enough; its noise is at least its spread.
    kept = np.ones(size, np.bool_)
    kinds, noise = kinds.copy(), sigma.copy()
    s = 0
    while s < size:
        last = last_switch(levels, counts, kinds, s, settings.equal)
        needed = settings.switches
        if is_held[starts[s + 1 : last + 1]].any():
            # Levels that are nearly the same need one switch less to be the modes of a machine.
            same = last_switch(levels, counts, kinds, s, settings.same)
            needed = settings.switches_of_held - (same == last)
        if last - s < needed:
            s += 1
            continue
        end = starts[last + 1] if last + 1 < size else n
        spread = np.std(y[starts[s] : end])
        noise[starts[s] : end] = np.maximum(noise[starts[s] : end], spread)
        kept[s + 1 : last + 1] = False
        kinds[s] = SWITCHING
        s = last + 1
    starts, kinds = starts[kept], kinds[kept]
    # Test the changes next to such a regime with its larger noise; join what no longer differs.
    s = 1
    while s < starts.size:
        end = starts[s + 1] if s + 1 < starts.size else n
        switches = kinds[s - 1] == SWITCHING or kinds[s] == SWITCHING
        switches &= kinds[s - 1] != LINE and kinds[s] != LINE
        if switches and not is_held[starts[s]]:
            difference, _, _, p = loops.compare(
                y,
                (starts[s - 1], starts[s]),
                (starts[s], end),
                noise,
                rho,
                settings.above,
                settings.prior_nights,
                settings.wander,
            )
            if p > settings.alpha or abs(difference) < settings.least:
                begin = starts[s - 1]
                spread = np.std(y[begin:end])
                noise[begin:end] = np.maximum(noise[begin:end], spread)
                kinds[s - 1] = SWITCHING
                starts, kinds = np.delete(starts, s), np.delete(kinds, s)
                s = max(s - 1, 1)
                continue
        s += 1
    return starts, kinds, noise
