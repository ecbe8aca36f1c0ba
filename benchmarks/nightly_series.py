"""Series of a folder of nightly results, by halves of the cases."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
from benchmarks.changepoints import Series
from numpy.typing import NDArray

from hindmost.analysis.history.joint_findings import JointFinding
from hindmost.analysis.history.shared_nights import night_odds
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.history import SeriesName
from hindmost.analysis.readers.read import read_history
from hindmost.models.changepoint.changes import WITHIN

HALVES = ("choose", "state", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """Nights of a series.

    Attributes
    ----------
    values, odds : float64 array, shape (night,)
        What was measured, and the odds of a change (see `night_odds`).
    joint : bool array, shape (night,)
        Whether a joint change of the timer may have begun within two nights.
    """

    values: Series
    odds: Series
    joint: NDArray[np.bool_]

    def part(self, start: int, stop: int) -> Nights:
        """Return some of the nights."""
        return Nights(
            values=self.values[start:stop],
            odds=self.odds[start:stop],
            joint=self.joint[start:stop],
        )


def read_series(
    folder: Path, half: str, fewest: int
) -> tuple[dict[str, Nights], tuple[JointFinding, ...]]:
    """Return the series of one half of the cases, one value a night, and their joint changes.

    Parameters
    ----------
    folder : Path
    half : str
        Of `HALVES`.
    fewest : int
        Nights that a series has at least.
    """
    history = read_history(folder)
    every = tuple(
        series
        for series in history.series
        if half == "both" or zlib.crc32(series.name.case.encode()) % 2 == HALVES.index(half)
    )
    joint = judge_history(replace(history, series=every)).joint
    found = tuple(each for each in joint if each.found)
    odds = night_odds(every)
    chosen = {}
    for series in every:
        days = np.floor(series.times / 86400.0)
        last = np.append(np.diff(days) > 0.0, True)  # of several runs of a night, the last
        values = np.ascontiguousarray(series.values[last])
        if values.size >= fewest:
            own = odds.get(series.name, np.ones(series.values.size))
            chosen[str(series.name)] = Nights(
                values=values, odds=own[last], joint=joint_nights(series.name, days[last], found)
            )
    return chosen, found


def joint_nights(
    name: SeriesName, days: Series, findings: Sequence[JointFinding]
) -> NDArray[np.bool_]:
    """Tell on which days a joint change of a series' timer may have begun, within two nights."""
    there = np.zeros(days.size, np.bool_)
    for each in findings:
        if each.machine == name.machine and name.timer in each.timers:
            first, last = (
                date.fromisoformat(day).toordinal() - date(1970, 1, 1).toordinal()
                for day in each.dates
            )
            there |= (days >= first - WITHIN) & (days <= last + WITHIN)
    return there


def some(every: dict[str, Nights], most: int) -> dict[str, Nights]:
    """Return at most so many series, chosen by a hash of their names."""
    names = sorted(every, key=lambda name: zlib.crc32(f"sample {name}".encode()))[:most]
    return {name: every[name] for name in names}
