"""Charts: curves and areas over one axis, as numbers; how they are drawn and listed.

What a figure shows is computed once, as a `Chart`. Axes on paper, charts on pages and CSV files are
made from it, so they cannot disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.show.csv_file import Columns

QUANTILES = (0.01, 0.995)
"""Within which values are shown: the longest 0.5 % are left out."""
FARTHEST = 3.0
"""From the median, in distances between the first and the last tenth of the values."""
Look = Literal["area", "bars", "band", "steps", "line", "points"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """What an axis shows, and its unit; the unit is empty for a bare number."""

    text: str
    unit: str = ""

    @property
    def label(self) -> str:
        """The label of an axis."""
        return f"{self.text}, {self.unit}" if self.unit else self.text

    @property
    def column(self) -> str:
        """The name of a column of a CSV file."""
        unit = {"%": "percent"}.get(self.unit, self.unit.replace("µ", "u").replace("1/", "per_"))
        return re.sub(r"\W+", "_", f"{self.text} {unit}".strip(), flags=re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve or area.

    Attributes
    ----------
    name : str
        As in the legend.
    look : str
        ``line`` through points; ``points`` alone, such as measurements; ``steps``, constant between
        edges; ``area``, filled steps; ``bars``, one at every point; ``band``, the fill between two
        lines.
    x : float64 array, shape (point,), or of edges, shape (point + 1,), for steps and areas
    y : float64 array, shape (point,)
    base : float64 array, shape (point,), or None
        Where an area, a bar or a band begins; None is 0.
    """

    name: str
    look: Look
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    base: NDArray[np.float64] | None = None

    @property
    def filled(self) -> bool:
        """Whether it is an area, a band or bars."""
        return self.look in ("area", "band", "bars")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Curves and areas over one axis.

    Attributes
    ----------
    note : str
        What a reader must know to read it right, such as what lies beyond the axis.
    y_limits : (float, float)
    marks : dict of str to float
        Places on the x axis that have names: the first rank of a host.
    named_mark : str
        The mark whose name is never left out for want of room: the node of the culprit.
    stacked : bool
        Whether areas stand on each other, so that the legend reads from top to bottom.
    counted : bool
        Whether the x axis counts things, such as ranks.
    names : tuple of str
        Of what an x axis counts from 0 on; empty where its number is its name.
    logarithmic : (bool, bool)
        Whether the x axis is, and whether the y axis is.
    x_ticks : tuple of float
        Where the x axis has numbers; empty to leave that to matplotlib.
    legend_below : bool
        Whether the legend stands below the axes, where it hides nothing.
    callouts : tuple of (float, str)
        Where on the x axis something stands out, and what; its number there is never left out.
    """

    title: str
    x: Quantity
    y: Quantity
    series: tuple[Series, ...]
    y_limits: tuple[float, float]
    note: str = ""
    marks: dict[str, float] = field(default_factory=dict)
    named_mark: str = ""
    stacked: bool = False
    counted: bool = False
    names: tuple[str, ...] = ()
    logarithmic: tuple[bool, bool] = (False, False)
    x_ticks: tuple[float, ...] = ()
    legend_below: bool = False
    callouts: tuple[tuple[float, str], ...] = ()

    @property
    def x_label(self) -> str:
        """The label of the x axis, with the note."""
        return f"{self.x.label} ({self.note})" if self.note else self.x.label

    @property
    def marks_by_room(self) -> list[tuple[str, float]]:
        """The marks, that first whose name comes before those of others; none of a single one."""
        marks = list(self.marks.items())
        return sorted(marks, key=lambda each: each[0] != self.named_mark) if marks[1:] else []

    def columns(self) -> Columns:
        """Return the numbers that are drawn, one row a point or step."""
        x, y = self.x.column, self.y.column
        parts = [point_columns(series, x, y) for series in self.series]
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if not self.names:
            return whole
        names = np.array(self.names, dtype=object)[np.ceil(whole[x]).astype(int)]
        return {"series": whole.pop("series"), f"{x}_name": names, **whole}


def noted(chart: Chart, note: str) -> Chart:
    """Return the chart with one more note at its x axis, before those that it has."""
    return replace(chart, note="; ".join(each for each in (note, chart.note) if each))


def x_limits(series: tuple[Series, ...]) -> tuple[float, float]:
    """Return the ends of all series; a single point gets room around it."""
    room = 0.5 if any(each.look == "bars" for each in series) else 0.0
    low = min(float(each.x[0]) for each in series) - room
    high = max(float(each.x[-1]) for each in series) + room
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def numbers_of(series: tuple[Series, ...]) -> dict[str, int]:
    """Return the number of the colour of lines and points by their names.

    Points of the same name as a line are what it was fitted to: they have its colour, and no entry
    of their own in the legend.
    """
    names = dict.fromkeys(each.name for each in series if not each.filled)
    return {name: number for number, name in enumerate(names)}


def point_columns(series: Series, x: str, y: str) -> Columns:
    """Return the columns of one series; what does not apply is NaN, and empty in a file."""
    edges = series.look in ("area", "steps")
    nothing = np.full(series.y.size, np.nan)
    base = np.zeros(series.y.size) if series.base is None else series.base
    return {
        "series": np.full(series.y.size, series.name, dtype=object),
        x: series.x[:-1] if edges else series.x,
        f"{x}_to": series.x[1:] if edges else nothing,
        y: series.y,
        f"{y}_from": base if series.filled else nothing,
    }


def worth_showing(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits within which nearly all values lie, and none that lies far out.

    Parameters
    ----------
    values : float64 array, any shape
    """
    low, high, first, middle, last = np.quantile(values, (*QUANTILES, 0.1, 0.5, 0.9))
    reach = FARTHEST * (last - first)
    if reach > 0.0:
        low, high = max(low, middle - reach), min(high, middle + reach)
    return float(low), float(high)
