"""Charts: curves and areas over one axis, as numbers; how they are drawn and listed.

What a figure shows is computed once, as a `Chart`. Axes on paper, charts on pages and CSV files are
made from it, so they cannot disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.columns import Columns
from hindmost.analysis.figures.palette import DASHES, FILLS, LINES
from hindmost.analysis.figures.style import MOST_TICKS, name_places, put_words, size_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Look = Literal["area", "bars", "band", "steps", "line", "points"]
LINE_WIDTH = 1.4
THIN = 0.8
"""Width of steps that are too many for more."""
POINT_SIZE = 3.5
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of the series of points of a chart, in their order."""
MANY_STEPS = 150
BAR_WIDTH = 0.7
LETTERS_AN_INCH = 14
HANDLE_LETTERS = 7
"""What the look of a series takes beside its name in a legend."""


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
    """

    title: str
    x: Quantity
    y: Quantity
    series: tuple[Series, ...]
    y_limits: tuple[float, float]
    note: str = ""
    marks: dict[str, float]
    stacked: bool = False
    counted: bool = False
    names: tuple[str, ...] = ()
    logarithmic: tuple[bool, bool] = (False, False)
    x_ticks: tuple[float, ...] = ()
    legend_below: bool = False

    @property
    def x_label(self) -> str:
        """The label of the x axis, with the note."""
        return f"{self.x.label} ({self.note})" if self.note else self.x.label

    def columns(self) -> Columns:
        """Return the numbers that are drawn, one row a point or step."""
        x, y = self.x.column, self.y.column
        parts = [point_columns(series, x, y) for series in self.series]
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if not self.names:
            return whole
        names = np.array(self.names, dtype=object)[np.ceil(whole[x]).astype(int)]
        return {"series": whole.pop("series"), f"{x}_name": names, **whole}

    def draw(self, axes: Axes) -> Axes:
        """Draw on matplotlib's axes and return them."""
        fills, lines, points = 0, 0, 0
        for series in self.series:
            if series.filled:
                draw_fill(axes, series, FILLS[fills % len(FILLS)])
                fills += 1
            elif series.look == "points":
                draw_points(axes, series, points)
                points += 1
            else:
                draw_line(axes, series, lines)
                lines += 1
        self._draw_marks(axes)
        self._scale(axes)
        axes.set_xlim(*x_limits(self.series))
        axes.set_ylim(*self.y_limits)
        if not self.logarithmic[1]:
            axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 5), useMathText=True)
        if self.counted:
            first, last = (round(end) for end in axes.get_xlim())
            if not self.names and last - first <= MOST_TICKS:
                axes.set_xticks(range(first, last + 1))
            if self.names:
                longest = max(len(name) for name in self.names)
                room = int(size_inches(axes)[0] * LETTERS_AN_INCH / (longest + 2))
                name_places(axes.xaxis, self.names, room)
        put_words(axes, title=self.title, x_label=self.x_label, y_label=self.y.label)
        if self.stacked:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
        elif self.legend_below:
            axes.figure.legend(loc="outside lower left", ncols=self._columns_that_fit(axes))
        elif len(self.series) > 1:
            axes.legend(loc="best")
        return axes

    def _scale(self, axes: Axes) -> None:
        """Make the axes logarithmic that are to be."""
        for axis, logarithmic in zip(("x", "y"), self.logarithmic, strict=True):
            if logarithmic:
                axes.set(**{f"{axis}scale": "log"})
        if self.x_ticks:
            axes.set_xticks(self.x_ticks, [f"{place:.6g}" for place in self.x_ticks])
            axes.set_xticks([], minor=True)

    def _columns_that_fit(self, axes: Axes) -> int:
        """Return how many names of the legend stand beside each other below the axes."""
        longest = max(len(series.name) for series in self.series)
        return max(1, int(size_inches(axes)[0] * LETTERS_AN_INCH / (longest + HANDLE_LETTERS)))

    def _draw_marks(self, axes: Axes) -> None:
        """Draw a thin line at every mark, and the name of those that have room."""
        for place in list(self.marks.values())[1:]:
            axes.axvline(place, color=LINES[-1], lw=0.6, ls=(0, (1, 2)), zorder=2.5)
        if len(self.marks) > 1:
            room = max(1, int(size_inches(axes)[0] * 1.3))
            every = -(-len(self.marks) // room)
            for name, place in list(self.marks.items())[::every]:
                axes.annotate(
                    f" {name[:12]}",
                    (place, 0.0),
                    xycoords=("data", "axes fraction"),
                    textcoords="offset points",
                    xytext=(0, 2),
                    fontsize="x-small",
                    color=LINES[-1],
                )


def x_limits(series: tuple[Series, ...]) -> tuple[float, float]:
    """Return the ends of all series; a single point gets room around it."""
    room = 0.5 if any(each.look == "bars" for each in series) else 0.0
    low = min(float(each.x[0]) for each in series) - room
    high = max(float(each.x[-1]) for each in series) + room
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def draw_fill(axes: Axes, series: Series, colour: str) -> None:
    """Draw an area, bars or a band."""
    base = np.zeros(series.y.size) if series.base is None else series.base
    if series.look == "area":
        axes.stairs(
            series.y, series.x, baseline=base, fill=True, color=colour, label=series.name, lw=0
        )
    elif series.look == "bars":
        axes.bar(series.x, series.y - base, BAR_WIDTH, bottom=base, color=colour, label=series.name)
    else:
        # What has no width, such as a change at one point, would not be seen.
        width = LINE_WIDTH if series.x[0] == series.x[-1] else 0
        axes.fill_between(series.x, base, series.y, color=colour, lw=width, label=series.name)


def draw_line(axes: Axes, series: Series, number: int) -> None:
    """Draw a line or steps in the look of the number-th line of a chart."""
    dash = DASHES[number % len(DASHES)]
    colour = LINES[number % len(LINES)]
    style = (0.0, dash) if dash else "solid"
    if series.look == "steps":
        axes.stairs(
            series.y,
            series.x,
            baseline=None,
            color=colour,
            ls=style,
            lw=THIN if series.y.size > MANY_STEPS else LINE_WIDTH,
            label=series.name,
        )
    else:
        axes.plot(series.x, series.y, color=colour, ls=style, lw=LINE_WIDTH, label=series.name)


def draw_points(axes: Axes, series: Series, number: int = 0) -> None:
    """Draw open marks above all lines, in the look of the number-th points of a chart."""
    axes.plot(
        series.x,
        series.y,
        ls="none",
        marker=MARKERS[number % len(MARKERS)],
        ms=POINT_SIZE,
        mfc="white",
        mec=LINES[number % len(LINES)],
        mew=THIN,
        zorder=4,
        clip_on=False,
        label=series.name,
    )


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
