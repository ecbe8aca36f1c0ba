"""Large changes that are held: found once, they stay until later nights refute them; needs numba.

What was reported should stay, so a series is read again as it grew. The changes that are large, old
enough and significant are held, and later passes remove them only where the test refutes them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust.seams import compare_at_seam
from hindmost.models.changepoint.robust.search import Segments, segments_with
from hindmost.models.changepoint.robust.settings import LATE, RobustSettings

REVIEW = 3
"""Nights after which the changes that are held are reviewed."""
LATE_REVIEW = 9
"""Nights after which earlier changes are looked for as well."""
REVIEWED = 21
"""Last nights in which a large change calls for a review."""
RAISED = 0.8
"""Share of a change to be held by which the medians before and after it differ."""

SAME = 4
"""Nights by which a withdrawn change may move and still be the same."""

MOST_REVIEWS = 1024
"""Latest reviews that are kept, so that a series that grew is not searched from its beginning."""
Scalar = TypeVar("Scalar", np.float64, np.int64, np.bool_)


class Reviewed(NamedTuple):
    """What the reviews of a series came to.

    Attributes
    ----------
    held : int64 array, shape (change,)
        Ascending.
    withdrawn : int64 array, shape (change,)
        Changes that were held until later nights refuted them.
    """

    held: NDArray[np.int64]
    withdrawn: NDArray[np.int64]


NOTHING = Reviewed(np.zeros(0, np.int64), np.zeros(0, np.int64))


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
    withdrawn: NDArray[np.int64],
) -> Reviewed:
    """Return the changes held from now on: those so far that are not refuted, and new ones.

    Parameters
    ----------
    y : float64 array, shape (observation,)
    day : int64 array, shape (observation,)
    found : Segments
        Of the nights so far.
    settings : RobustSettings
    withdrawn : int64 array, shape (change,)
        Changes that were withdrawn before: they need more evidence to be held again.
    """
    before = set(found.held.tolist())
    held = []
    gone = [*withdrawn.tolist(), *np.setdiff1d(found.held, found.starts).tolist()]
    for s, place in enumerate(found.starts.tolist()[1:], 1):
        nights = day[-1] - day[place] + 1
        if place not in before and nights < settings.held_after:
            continue
        test = compare_at_seam(y, found, settings, s)
        if place in before:
            stays = test.p <= settings.refuted and abs(test.difference) >= settings.least
            if not stays:
                gone.append(place)
        else:
            alpha = settings.returned if is_near(place, withdrawn) else settings.held_alpha
            stays = test.p <= alpha and abs(test.difference) >= settings.held_least
        if stays:
            held.append(place)
    return Reviewed(np.array(held, np.int64), np.array(gone, np.int64))


def is_near(place: int, places: NDArray[np.int64]) -> bool:
    """Tell whether a place is that of another change, which may have moved."""
    return bool((np.abs(places - place) <= SAME).any())


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
    them where the test refutes them. For the same reason, large changes that are found late and
    changes that were withdrawn are doubtful until they are held.

    Parameters
    ----------
    y, may_change, day, settings
        As in `search.segments_with`.
    held : int64 array, shape (change,), optional
        Changes that are known to be held; the series is then not read again.
    """
    if held is not None:
        return segments_with(y, may_change, day, settings, held)
    raised = np.flatnonzero(is_raised(y, settings))
    reviewed = read_again(y, may_change, day, settings, raised)
    found = segments_with(y, may_change, day, settings, reviewed.held)
    if reviewed.held.size:
        # A held change that is refuted goes; what is new is held at the next review only.
        now = hold(y, day, found, settings, reviewed.withdrawn)
        left = np.intersect1d(reviewed.held, now.held)
        if left.size < reviewed.held.size:
            found = segments_with(y, may_change, day, settings, left)
            reviewed = Reviewed(left, now.withdrawn)
    return found._replace(doubtful=find_doubtful(y, day, found, settings, raised, reviewed))


def find_doubtful(
    y: NDArray[np.float64],
    day: NDArray[np.int64],
    found: Segments,
    settings: RobustSettings,
    raised: NDArray[np.int64],
    reviewed: Reviewed,
) -> NDArray[np.int64]:
    """Return the changes that are not reported before they are held.

    Parameters
    ----------
    y : float64 array, shape (observation,)
    day : int64 array, shape (observation,)
    found : Segments
    settings : RobustSettings
    raised : int64 array, shape (place,)
        Where a change may be held, see `is_raised`.
    reviewed : Reviewed

    Returns
    -------
    int64 array, shape (change,)
    """
    doubtful = []
    for s, place in enumerate(found.starts.tolist()[1:], 1):
        if place in reviewed.held:
            continue
        late = day[-1] - day[place] >= LATE and is_near(place, raised)
        if is_near(place, reviewed.withdrawn) or (
            late and abs(compare_at_seam(y, found, settings, s).difference) >= settings.held_least
        ):
            doubtful.append(place)
    return np.array(doubtful, np.int64)


def read_again(
    y: NDArray[np.float64],
    may_change: NDArray[np.bool_],
    day: NDArray[np.int64],
    settings: RobustSettings,
    raised: NDArray[np.int64],
) -> Reviewed:
    """Return what all reviews so far came to; see `find_segments`."""
    fewest = settings.first + settings.shortest
    nights = range(REVIEW * (fewest // REVIEW + 1), int(day[-1]) + 1, REVIEW)
    stops = [int(stop) for stop in np.searchsorted(day, nights)]
    reviewed = NOTHING
    for night, stop in zip(nights, stops, strict=True):
        # A review finds a change to hold soon after it; now and then, one that was found late.
        since = stop - REVIEWED if night % LATE_REVIEW else 0
        near = raised[(raised > since) & (raised <= stop - settings.held_after)]
        is_known = np.abs(near[:, None] - reviewed.held) <= settings.held_after // 2
        if not is_known.any(axis=1).all():
            parts = (y[:stop], may_change[:stop], day[:stop], *reviewed)
            reviewed = review(settings, *(part.tobytes() for part in parts))
    return reviewed


@lru_cache(maxsize=MOST_REVIEWS)
def review(
    settings: RobustSettings,
    y: bytes,
    may_change: bytes,
    day: bytes,
    held: bytes,
    withdrawn: bytes,
) -> Reviewed:
    """Return what a review of the first observations comes to; arrays as their bytes.

    See `segments_with` for the arguments; ``held`` and ``withdrawn`` are of the review before.
    """
    numbers, places = copied(y, np.float64), copied(day, np.int64)
    found = segments_with(
        numbers,
        copied(may_change, np.bool_),
        places,
        settings,
        copied(held, np.int64),
    )
    return hold(numbers, places, found, settings, copied(withdrawn, np.int64))


def copied(data: bytes, kind: type[Scalar]) -> NDArray[Scalar]:
    """Return an array of bytes that can be written: for others, loops would be compiled again."""
    return np.frombuffer(data, kind).copy()
