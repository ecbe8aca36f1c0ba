"""Pairing of the observations of two series: by nights, commits or order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import days_of
from hindmost.analysis.readers.history import NightlySeries

FEWEST = 3
"""Least number of pairs for a paired comparison; fewer data on a side are said to be few."""
COVERED = 0.5
"""Least share of the shorter series that must have a pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The paired observations of two series.

    Attributes
    ----------
    by : str
        "nights", "commits", "order" or "none".
    first, second : float64 arrays
        Of the same shape (pair,) if they are paired; all observations of each if not.
    labels : tuple of str, one a pair
        The nights or commits; empty if they are paired in order, or not at all.
    """

    by: str
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    labels: tuple[str, ...] = ()


def nights(series: NightlySeries) -> list[Hashable]:
    """Return the day of every observation."""
    return list(days_of(series.times))


def commits(series: NightlySeries) -> list[Hashable]:
    """Return the commits of every observation; None if unknown."""
    return [text or None for text in series.commits]


KEYS: dict[str, Callable[[NightlySeries], list[Hashable]]] = {"nights": nights, "commits": commits}
"""Keys that make two observations a pair, in the order in which they are tried."""


def pair_series(first: NightlySeries, second: NightlySeries) -> Pairs:
    """Pair the observations of two series if possible.

    Several observations of a night or a commit count as one, by the mean of their logarithms.
    Without keys, repetitions are paired in order if the two series alternate.
    """
    for name in KEYS:
        pairs = by_key(means(first, name), means(second, name), name)
        shorter = min(len(set(KEYS[name](each))) for each in (first, second))
        if pairs.first.size >= max(FEWEST, COVERED * shorter):
            return pairs
    by = "order" if take_turns(first, second) else "none"
    return Pairs(by=by, first=first.values, second=second.values)


def by_key(mine: Mapping[Hashable, float], theirs: Mapping[Hashable, float], name: str) -> Pairs:
    """Pair the `means` of two series by nights or commits, in the order of the first."""
    shared = [key for key in mine if key in theirs]
    return Pairs(
        by=name,
        first=np.array([mine[key] for key in shared]),
        second=np.array([theirs[key] for key in shared]),
        labels=tuple(map(str, shared)),
    )


def means(series: NightlySeries, name: str) -> dict[Hashable, float]:
    """Return the geometric mean of every night or commit."""
    values: dict[Hashable, list[float]] = {}
    for key, value in zip(KEYS[name](series), series.values.tolist(), strict=True):
        if key is not None:
            values.setdefault(key, []).append(value)
    return {key: float(np.exp(np.mean(np.log(each)))) for key, each in values.items()}


def take_turns(first: NightlySeries, second: NightlySeries) -> bool:
    """Tell whether the measurements of two series alternate."""
    size = first.times.size
    if size != second.times.size or size < FEWEST:
        return False
    early, late = sorted((first.times, second.times), key=lambda times: float(times[0]))
    return bool(np.all(early < late) and np.all(late[:-1] < early[1:]))
