"""Large changes that are held: found once, they stay until later nights refute them; needs numba.

What was reported should stay, so a series is read again as it grew. The changes that are large, old
enough and significant are held, and later passes remove them only where the test refutes them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops
from hindmost.models.changepoint.robust.search import Segments, level_at_seams, segments_with
from hindmost.models.changepoint.robust.settings import RobustSettings

REVIEW = 3
"""Nights after which the changes that are held are reviewed."""
LATE_REVIEW = 9
"""Nights after which earlier changes are looked for as well."""
REVIEWED = 21
"""Last nights in which a large change calls for a review."""
RAISED = 0.8
"""Share of a change to be held by which the medians before and after it differ."""


def is_raised(y: NDArray[np.float64], settings: RobustSettings) -> NDArray[np.bool_]:
    """Tell where a change may lie that is large enough to be held: by medians, before any search.

    Returns
    -------
    bool array, shape (observation,)
    """
    span = settings.held_after
    raised = np.zeros(y.size, np.bool_)
    if y.size >= 2 * span:
        medians = np.median(np.lib.stride_tricks.sliding_window_view(y, span), axis=1)
        rise = np.abs(medians[span:] - medians[:-span])
        raised[span : y.size - span + 1] = rise >= RAISED * settings.held_least
    return raised


def hold(
    y: NDArray[np.float64],
    day: NDArray[np.int64],
    found: Segments,
    settings: RobustSettings,
) -> NDArray[np.int64]:
    """Return the changes held from now on: those so far that are not refuted, and new ones.

    Parameters
    ----------
    y : float64 array, shape (observation,)
    day : int64 array, shape (observation,)
    found : Segments
        Of the nights so far.
    settings : RobustSettings

    Returns
    -------
    int64 array, shape (change,)
    """
    before = set(found.held.tolist())
    held = []
    for s, place in enumerate(found.starts.tolist()[1:], 1):
        nights = day[-1] - day[place] + 1
        if place not in before and nights < settings.held_after:
            continue
        flat, begin, end = level_at_seams(y, found.starts, found.kinds, found.sigma, settings, s)
        difference, _, _, p = loops.compare(
            flat,
            (begin, place),
            (place, end),
            found.sigma,
            found.rho,
            settings.above,
            settings.prior_nights,
            settings.wander,
        )
        if place in before:
            stays = p <= settings.refuted and abs(difference) >= settings.least
        else:
            stays = p <= settings.held_alpha and abs(difference) >= settings.held_least
        if stays:
            held.append(place)
    return np.array(held, np.int64)


def find_segments(
    y: NDArray[np.float64],
    may_change: NDArray[np.bool_],
    day: NDArray[np.int64],
    settings: RobustSettings,
    held: NDArray[np.int64] | None = None,
) -> Segments:
    """Find the segments of a series.

    What was reported should stay, so the series is read again as it grew: every `REVIEW` nights,
    the changes that are large, old enough and significant are held, and later passes only remove
    them where the test refutes them.

    Parameters
    ----------
    y : float64 array, shape (observation,)
        Logarithms of times.
    may_change : bool array, shape (observation,)
    day : int64 array, shape (observation,)
        Ascending; runs of one day have one number.
    settings : RobustSettings
    held : int64 array, shape (change,), optional
        Changes that are known to be held; the series is then not read again.
    """
    if held is None:
        held = read_again(y, may_change, day, settings)
    found = segments_with(y, may_change, day, settings, held)
    if held.size:
        # A held change that is refuted goes; what is new is held at the next review only.
        left = np.intersect1d(held, hold(y, day, found, settings))
        if left.size < held.size:
            found = segments_with(y, may_change, day, settings, left)
    return found


def read_again(
    y: NDArray[np.float64],
    may_change: NDArray[np.bool_],
    day: NDArray[np.int64],
    settings: RobustSettings,
) -> NDArray[np.int64]:
    """Return the changes that are held after all reviews so far; see `find_segments`.

    Returns
    -------
    int64 array, shape (change,)
    """
    held = np.zeros(0, np.int64)
    raised = np.flatnonzero(is_raised(y, settings))
    fewest = settings.first + settings.shortest
    for night in range(REVIEW * (fewest // REVIEW + 1), int(day[-1]) + 1, REVIEW):
        stop = int(np.searchsorted(day, night))
        # A review finds a change to hold soon after it; now and then, one that was found late.
        since = stop - REVIEWED if night % LATE_REVIEW else 0
        near = raised[(raised > since) & (raised <= stop - settings.held_after)]
        known = np.abs(near[:, None] - held) <= settings.held_after // 2
        if not known.any(axis=1).all():
            found = segments_with(y[:stop], may_change[:stop], day[:stop], settings, held)
            held = hold(y[:stop], day[:stop], found, settings)
    return held
