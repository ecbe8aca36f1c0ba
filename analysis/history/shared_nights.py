"""Nights on which many cases of a machine change: what one series shows, the others support.

All timers and cases of a night share its commits and its machine. A change that begins on a night
on which the same timer of other cases rises or falls as well is more probable than one that
no other case shows: that needs more evidence, which is a factor of the significance level.

For each series and night, the medians of the nights before and after are compared. That needs no
search, and does not depend on what is found in other series.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.readers.history import NightlySeries, SeriesName

SPAN = 5
"""Nights before and after, of which the medians are compared."""
FEWEST_AFTER = 3
"""Least number of nights after a change that say something about it."""
VISIBLE = 3.0
"""Standard errors of the difference beyond which a case shows a change."""
OF_MEDIAN = 1.2533
"""Standard error of a median of normal noise, relative to that of a mean."""
FEWEST_CASES = 4
"""Other cases with results without which nothing is known about a night."""
SHARED = 1.0 / 3.0
"""Share of the other cases that show a change on a shared night."""
WITHIN = 2
"""Nights by which the place of a change may differ between cases."""
ALONE = 0.1
"""Factor of the significance level on nights that are not shared."""


def rises(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rise of the median at every night, in standard errors; NaN near both ends.

    Parameters
    ----------
    logs : float64 array, shape (night,)

    Returns
    -------
    float64 array, shape (night,)
    """
    score = np.full(logs.size, np.nan)
    if logs.size < SPAN + FEWEST_AFTER:
        return score
    noise = 1.4826 * float(np.median(np.abs(np.diff(logs)))) / np.sqrt(2.0)
    error = max(noise, 1e-3) * OF_MEDIAN * np.sqrt(2.0 / SPAN)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(logs, SPAN), axis=1)
    for night in range(SPAN, logs.size - FEWEST_AFTER + 1):
        last = night + SPAN
        after = medians[night] if last <= logs.size else np.median(logs[night:])
        score[night] = (after - medians[night - SPAN]) / error
    return score


def night_odds(series: Sequence[NightlySeries]) -> dict[SeriesName, NDArray[np.float64]]:
    """Return the odds of a change at every observation, relative to the usual ones.

    Parameters
    ----------
    series : sequence of NightlySeries
        Ratios are left out: they have no machine of their own.

    Returns
    -------
    dict
        Name to a float64 array, shape (observation,): `ALONE`, or 1 on shared nights and where too
        few other cases have results.
    """
    families: dict[tuple[str, str], list[NightlySeries]] = {}
    for each in series:
        if not each.name.is_ratio and each.times.size:
            families.setdefault((each.name.machine, each.name.timer), []).append(each)
    odds: dict[SeriesName, NDArray[np.float64]] = {}
    for family in families.values():
        if len(family) > FEWEST_CASES:
            odds |= family_odds(family)
    return odds


def family_odds(family: Sequence[NightlySeries]) -> dict[SeriesName, NDArray[np.float64]]:
    """Return the odds for one timer of all cases of a machine."""
    days = [np.floor(each.times / SECONDS_A_DAY) for each in family]
    calendar = np.unique(np.concatenate(days))
    table = np.full((len(family), calendar.size), np.nan)
    for row, (each, own) in enumerate(zip(family, days, strict=True)):
        last = np.append(np.diff(own) > 0.0, True)  # of several runs of a night, the last
        table[row, np.searchsorted(calendar, own[last])] = rises(np.log(each.values[last]))
    measured = np.isfinite(table)
    found = {}
    for row, (each, own) in enumerate(zip(family, days, strict=True)):
        others = measured.sum(axis=0) - measured[row]
        share = np.zeros(calendar.size)
        for shows in (table >= VISIBLE, table <= -VISIBLE):
            count = shows.sum(axis=0) - shows[row]
            share = np.maximum(share, count / np.maximum(others, 1))
        share[others < FEWEST_CASES] = 0.0
        padded = np.pad(share, WITHIN)
        nearby = np.max(np.lib.stride_tricks.sliding_window_view(padded, 2 * WITHIN + 1), axis=1)
        factor = np.where((nearby >= SHARED) | (others < FEWEST_CASES), 1.0, ALONE)
        found[each.name] = factor[np.searchsorted(calendar, own)]
    return found
