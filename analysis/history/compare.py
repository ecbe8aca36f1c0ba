"""Two results or histories side by side: the ratio of every timer that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.analysis.history.direction import more_and_less
from hindmost.analysis.history.pairing import pair_series
from hindmost.analysis.history.ratio import (
    LEVEL,
    Ratio,
    adjust,
    paired_ratio,
    ratio_by_spread,
    unpaired_ratio,
)
from hindmost.analysis.history.records import History, NightlySeries, SeriesName
from hindmost.errors import DataError
from hindmost.models.significance import p_words

ALPHA = 0.05
FEW = 3
"""Observations on a side below which an interval is so wide that it is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSeries:
    """A timer in both.

    Attributes
    ----------
    first, second : NightlySeries
    paired_by : str
        "nights", "commits", "order" or "none".
    pairs : (int, int)
        Observations, or pairs, on either side.
    ratio : Ratio
        Second over first.
    p_adjusted : float or None
        For the number of series compared, by Holm's procedure.
    """

    first: NightlySeries
    second: NightlySeries
    paired_by: str
    pairs: tuple[int, int]
    ratio: Ratio
    p_adjusted: float | None

    @property
    def name(self) -> str:
        """What is compared."""
        mine, theirs = self.first.name, self.second.name
        if mine == theirs:
            return str(mine)
        parts = [
            one if one == other else f"{one or '?'} | {other or '?'}"
            for one, other in zip(key_of(mine), key_of(theirs), strict=True)
        ]
        return ", ".join(part for part in parts if part)

    @property
    def by_spread(self) -> bool:
        """Whether single results are held against the standard errors that their files give."""
        return self.pairs == (1, 1) and self.ratio.interval is not None

    @property
    def is_significant(self) -> bool:
        """Whether the two differ, at 5 % for all series together."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    @property
    def worse_by(self) -> float:
        """By what share the second is worse; negative if it is better."""
        ratio = self.ratio.value
        return (ratio if self.first.smaller_is_better else 1.0 / ratio) - 1.0

    def words(self) -> str:
        """Say it as ``1.17x slower (1.12 to 1.22), p = 0.002``."""
        ratio = self.ratio
        larger, smaller = more_and_less(self.first.unit)
        factor = ratio.value if ratio.value >= 1.0 else 1.0 / ratio.value
        told = f"{times(factor)}x {larger if ratio.value >= 1.0 else smaller}"
        if factor < 1.0005:
            told = "the same" if factor == 1.0 else "the same within 0.1 %"
        if ratio.interval is None or ratio.p_value is None:
            return f"{told}; too few data to say more: give repeats"
        low, high = ratio.interval
        if ratio.value < 1.0:
            low, high = 1.0 / high, 1.0 / low
        told += f" ({times(low)} to {times(high)}), {p_words(ratio.p_value)}"
        if not self.is_significant:
            told = f"no difference seen: {told}"
        if self.by_spread and ratio.freedom < FEW - 1:
            told += "; few repeats"
        if min(self.pairs) < FEW and not self.by_spread:
            told += f"; few data ({self.pairs[0]} and {self.pairs[1]})"
        return told

    def to_json(self) -> dict[str, Any]:
        """Return its figures."""
        ratio, name = self.ratio, self.first.name
        return {
            "machine": name.machine,
            "case": name.case,
            "timer": name.timer,
            "second": {
                "machine": self.second.name.machine,
                "case": self.second.name.case,
                "timer": self.second.name.timer,
            },
            "unit": self.first.unit,
            "smaller_is_better": self.first.smaller_is_better,
            "observations": list(self.pairs),
            "paired_by": self.paired_by,
            "ratio": ratio.value,
            "interval": None if ratio.interval is None else list(ratio.interval),
            "level": ratio.level,
            "p_value": ratio.p_value,
            "p_adjusted": self.p_adjusted,
            "significant": self.is_significant,
            "correlation": ratio.correlation,
            "words": self.words(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two histories side by side.

    Attributes
    ----------
    first, second : History
    series : tuple of ComparedSeries
        In the order of the first's series.
    only_first, only_second : tuple of SeriesName
        What the other does not have.
    """

    first: History
    second: History
    series: tuple[ComparedSeries, ...]
    only_first: tuple[SeriesName, ...]
    only_second: tuple[SeriesName, ...]

    def beyond(self, share: float) -> tuple[ComparedSeries, ...]:
        """Return what is significantly worse, and by more than a share."""
        return tuple(each for each in self.series if each.is_significant and each.worse_by > share)


def compare_histories(
    first: History, second: History, *, pair: str = "auto", level: float = LEVEL
) -> Comparison:
    """Compare every timer that two histories have in common.

    Machines may differ if each history has only one, and so may cases.

    Parameters
    ----------
    first, second : History
    pair : str
        One of `hindmost.analysis.history.pairing.WAYS`.
    level : float
        Of the intervals.

    Raises
    ------
    DataError
        They have no timer in common.
    UsageError
        They cannot be paired as was asked.
    """
    free = [
        key
        for key in ("machine", "case")
        if all(
            len({getattr(series.name, key) for series in each.series}) == 1
            for each in (first, second)
        )
    ]
    mine, theirs = (keyed(each.series, free) for each in (first, second))
    shared = [key for key in mine if key in theirs and mine[key].unit == theirs[key].unit]
    if not shared:
        raise DataError(
            f"{first.source} and {second.source} have no timer of a case in common: "
            f"{some_names(mine)} there, {some_names(theirs)} here."
        )
    found = [compare_series(mine[key], theirs[key], pair, level) for key in shared]
    known = [
        (place, p) for place, (_, _, ratio) in enumerate(found) if (p := ratio.p_value) is not None
    ]
    adjusted = dict(zip([place for place, _ in known], adjust([p for _, p in known]), strict=True))
    return Comparison(
        first=first,
        second=second,
        series=tuple(
            ComparedSeries(
                first=mine[key],
                second=theirs[key],
                paired_by=by,
                pairs=sizes,
                ratio=ratio,
                p_adjusted=adjusted.get(place),
            )
            for place, (key, (by, sizes, ratio)) in enumerate(zip(shared, found, strict=True))
        ),
        only_first=tuple(series.name for key, series in mine.items() if key not in shared),
        only_second=tuple(series.name for key, series in theirs.items() if key not in shared),
    )


def compare_series(
    first: NightlySeries, second: NightlySeries, pair: str, level: float
) -> tuple[str, tuple[int, int], Ratio]:
    """Return how two series were paired, how many there are, and their ratio."""
    pairs = pair_series(first, second, pair)
    sizes = (int(pairs.first.size), int(pairs.second.size))
    if pairs.by != "none":
        return pairs.by, sizes, paired_ratio(pairs.first, pairs.second, level)
    if sizes == (1, 1) and first.spread is not None and second.spread is not None:
        spreads = float(first.spread[0]), float(second.spread[0])
        if all(np.isfinite(spreads)) and max(spreads) > 0.0:
            values = float(pairs.first[0]), float(pairs.second[0])
            freedoms = freedom_of(first), freedom_of(second)
            return pairs.by, sizes, ratio_by_spread(*values, spreads, freedoms, level)
    return pairs.by, sizes, unpaired_ratio(pairs.first, pairs.second, level)


def freedom_of(series: NightlySeries) -> float:
    """Return the degrees of freedom of the spread of a single result."""
    return float("inf") if series.freedom is None else float(series.freedom[0])


def times(factor: float) -> str:
    """Write a factor in two decimals, in three where it is within 2 % of 1."""
    return f"{factor:.3f}" if abs(factor - 1.0) < 0.02 else f"{factor:.2f}"


def key_of(name: SeriesName) -> tuple[str, str, str]:
    """Return the parts of a name."""
    return name.machine, name.case, name.timer


def keyed(
    series: Sequence[NightlySeries], free: Sequence[str]
) -> dict[tuple[str, ...], NightlySeries]:
    """Return series by the parts of their names in which the two have to agree."""
    return {
        tuple(
            getattr(each.name, key) for key in ("machine", "case", "timer") if key not in free
        ): each
        for each in series
    }


def some_names(series: Mapping[tuple[str, ...], NightlySeries], most: int = 3) -> str:
    """Name a few series."""
    names = [str(each.name) for each in list(series.values())[:most]]
    return "; ".join(names) + (" ..." if len(series) > most else "")
