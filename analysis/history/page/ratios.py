"""Ratios of any two series of a page, as the library computes them; the page only draws them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.page.regime_statistics import five
from hindmost.analysis.history.pairing import FEWEST, by_key, means
from hindmost.analysis.history.ratio_history import RatioHistory, ratio_history
from hindmost.analysis.history.study import threads
from hindmost.models.inference import LEVEL

MOST_PAIRS = 2000
"""Most pairs whose ratios a page contains: some seconds of computation."""


def pairs_to_find(judged: Sequence[JudgedSeries]) -> list[tuple[int, int]]:
    """Return the pairs of series whose ratios a page contains.

    All pairs with the same unit; if these are more than `MOST_PAIRS`, those with the same timer; if
    these are too many as well, none: ``hindmost compare`` gives them.
    """
    series = [each.series for each in judged]
    alike = [
        pair
        for pair in combinations(range(len(series)), 2)
        if series[pair[0]].unit == series[pair[1]].unit
    ]
    if len(alike) <= MOST_PAIRS:
        return alike
    same = [pair for pair in alike if series[pair[0]].name.timer == series[pair[1]].name.timer]
    return same if len(same) <= MOST_PAIRS else []


def pair_data(judged: Sequence[JudgedSeries]) -> list[dict[str, Any]]:
    """Return the ratios of pairs of series: the first of the two over the second, as logarithms."""
    wanted = pairs_to_find(judged)
    nights = {place: means(judged[place].series, "nights") for pair in wanted for place in pair}

    def found(pair: tuple[int, int]) -> dict[str, Any] | None:
        pairs = by_key(nights[pair[1]], nights[pair[0]], "nights")
        with np.errstate(over="ignore", under="ignore"):
            ratio = pairs.second / pairs.first
        if ratio.size < FEWEST or not (np.isfinite(ratio) & (ratio > 0.0)).all():
            return None  # too few nights, or a ratio that no float holds
        return record_of(pair, ratio_history(pairs))

    if not wanted:
        return []
    first = found(wanted[0])  # alone, as the loops may be compiled
    with threads() as chosen:
        records = [first, *chosen.map(found, wanted[1:])]
    return [each for each in records if each is not None]


def record_of(pair: tuple[int, int], history: RatioHistory) -> dict[str, Any]:
    """Return a ratio as the page reads it; days are counted from 1970."""
    now, came_from = history.ratios[-1], history.drifts_from
    return {
        "of": pair,
        "borders": [day_of(history.labels[change.index]) for change in history.changes],
        "spans": [
            [day_of(history.labels[max(place, 0)]) for place in (low - 1, high)]
            for low, high in (change.interval for change in history.changes)
        ],
        "regimes": [
            [five(float(np.log(each))) for each in (ratio.value, *(ratio.interval or ()))]
            for ratio in history.ratios
        ],
        "outliers": [day_of(history.labels[place]) for place in np.flatnonzero(~history.plain)],
        "drift": None if came_from is None else five(100.0 * (now.value / came_from - 1.0)),
        "p": None if now.p_value is None else five(now.p_value),
        "freedom": five(now.freedom),
        "related": five(now.correlation),
        "level": round(100.0 * LEVEL),
    }


def day_of(label: str) -> int:
    """Return the number of a day that is written as ``2020-02-26``."""
    return int(np.datetime64(label, "s").astype(np.int64) // int(SECONDS_A_DAY))
