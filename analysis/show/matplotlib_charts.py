"""The matplotlib renderer: charts and maps drawn on axes, and as pictures for pages."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

import numpy as np

from hindmost.analysis.show.boxes import Boxes, draw_boxes
from hindmost.analysis.show.chart import Chart, Series, numbers_of, x_limits
from hindmost.analysis.show.figure_style import (
    MAX_TICKS,
    name_places,
    new_figure,
    put_words,
    size_inches,
    write_picture,
)
from hindmost.analysis.show.heat_map import HeatMap
from hindmost.analysis.show.palette import COLOUR_MAP, DASHES, FILLS, LINES, fills_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_WIDTH = 1.4
THIN = 0.8
"""Width of steps that are too many for more."""
POINT_SIZE = 3.5
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of the series of points of a chart, in their order."""
MANY_STEPS = 150
POWERS = (-2, 5)
"""Of ten, beyond which an axis writes them once."""
BAR_WIDTH = 0.7
LETTERS_AN_INCH = 14
HANDLE_LETTERS = 7
"""Width in letters of a legend entry without its name."""
LINES_AN_INCH = 6
PICTURE_DPI = 110
"""Of the pictures for readers without scripts."""


def draw(content: Chart | HeatMap | Boxes, axes: Axes) -> Axes:
    """Draw what a figure shows on matplotlib's axes and return them."""
    if isinstance(content, Boxes):
        return draw_boxes(content, axes)
    return draw_map(content, axes) if isinstance(content, HeatMap) else draw_chart(content, axes)


def draw_chart(chart: Chart, axes: Axes) -> Axes:
    """Draw on matplotlib's axes and return them."""
    numbers, points = numbers_of(chart.series), 0
    fills = iter(fills_of([each.name for each in chart.series if each.filled]))
    for series in chart.series:
        if series.filled:
            draw_fill(axes, series, FILLS[next(fills)])
        elif series.look == "points":
            draw_points(axes, series, points, numbers[series.name])
            points += 1
        else:
            draw_line(axes, series, numbers[series.name])
    draw_marks(chart, axes)
    set_scales(chart, axes)
    axes.set_xlim(*x_limits(chart.series))
    axes.set_ylim(*chart.y_limits)
    if not chart.logarithmic[1]:
        axes.ticklabel_format(axis="y", scilimits=POWERS, useMathText=True)
    if chart.counted:
        left, right = axes.get_xlim()
        first, last = math.ceil(left), math.floor(right)
        if not chart.names and last - first <= MAX_TICKS:
            axes.set_xticks(range(first, last + 1))
        if chart.names:
            longest = max(len(name) for name in chart.names)
            room = int(size_inches(axes)[0] * LETTERS_AN_INCH / (longest + 2))
            name_places(axes.xaxis, chart.names, room)
    put_words(axes, title=chart.title, x_label=chart.x_label, y_label=chart.y.label)
    if chart.stacked:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    elif chart.legend_below:
        axes.figure.legend(loc="outside lower left", ncols=columns_that_fit(chart, axes))
    elif len(chart.series) > 1:
        axes.legend(loc="best")
    return axes


def set_scales(chart: Chart, axes: Axes) -> None:
    """Set logarithmic axes and fixed ticks."""
    for axis, logarithmic in zip(("x", "y"), chart.logarithmic, strict=True):
        if logarithmic:
            axes.set(**{f"{axis}scale": "log"})
    if chart.x_ticks:
        axes.set_xticks(chart.x_ticks, [f"{place:.6g}" for place in chart.x_ticks])
        axes.set_xticks([], minor=True)


def columns_that_fit(chart: Chart, axes: Axes) -> int:
    """Return how many legend entries fit next to each other below the axes."""
    longest = max(len(series.name) for series in chart.series)
    return max(1, int(size_inches(axes)[0] * LETTERS_AN_INCH / (longest + HANDLE_LETTERS)))


def draw_marks(chart: Chart, axes: Axes) -> None:
    """Draw a thin line at every mark, and the name of those that have room."""
    for place in list(chart.marks.values())[1:]:
        axes.axvline(place, color=LINES[-1], lw=0.6, ls=(0, (1, 2)), zorder=2.5)
    if len(chart.marks) > 1:
        room = max(1, int(size_inches(axes)[0] * 1.3))
        every = -(-len(chart.marks) // room)
        shown = list(chart.marks)[::every]
        if chart.named_mark in chart.marks and chart.named_mark not in shown:
            at = list(chart.marks).index(chart.named_mark) // every
            shown[at : at + 1] = [chart.named_mark]
        for name, place in ((name, chart.marks[name]) for name in shown):
            axes.annotate(
                f" {name[:12]}",
                (place, 0.0),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                xytext=(0, 2),
                fontsize="x-small",
                color=LINES[-1],
            )


def draw_fill(axes: Axes, series: Series, colour: str) -> None:
    """Draw an area, bars or a band."""
    base = np.zeros(series.y.size) if series.base is None else series.base
    if series.look == "area":
        axes.stairs(
            series.y, series.x, baseline=base, fill=True, fc=colour, lw=0, label=series.name
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
        width = THIN if series.y.size > MANY_STEPS else LINE_WIDTH
        axes.stairs(
            series.y, series.x, baseline=None, ec=colour, ls=style, lw=width, label=series.name
        )
    else:
        axes.plot(series.x, series.y, color=colour, ls=style, lw=LINE_WIDTH, label=series.name)


def draw_points(axes: Axes, series: Series, number: int = 0, colour: int = 0) -> None:
    """Draw open marks above all lines: those of the number-th points, in the colour of a line."""
    axes.plot(
        series.x,
        series.y,
        ls="none",
        marker=MARKERS[number % len(MARKERS)],
        ms=POINT_SIZE,
        mfc="white",
        mec=LINES[colour % len(LINES)],
        mew=THIN,
        zorder=4,
        clip_on=False,
        label=series.name,
    )


def draw_map(heat_map: HeatMap, axes: Axes) -> Axes:
    """Draw times as colours, bodies to the right and ranks upwards; return the axes."""
    low, high = heat_map.colour_limits_s
    scale = heat_map.unit.per_second
    left = float(heat_map.bodies[0]) - 0.5 * heat_map.stride
    image = axes.imshow(
        heat_map.times.T * scale,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=COLOUR_MAP,
        vmin=low * scale,
        vmax=high * scale,
        extent=(
            left,
            left + heat_map.times.shape[0] * heat_map.bodies_a_column * heat_map.stride,
            -0.5,
            heat_map.times.shape[1] * heat_map.ranks_a_row - 0.5,
        ),
    )
    # The last column and row may hold fewer bodies and ranks than the others.
    axes.set_xlim(left, left + heat_map.bodies.size * heat_map.stride)
    axes.set_ylim(-0.5, heat_map.ranks - 0.5)
    if heat_map.numbers is not None:
        name_places(axes.yaxis, heat_map.names, int(size_inches(axes)[1] * LINES_AN_INCH))
    elif heat_map.ranks <= MAX_TICKS:
        axes.set_yticks(range(heat_map.ranks))
    put_words(axes, title=heat_map.title, x_label=heat_map.x_label, y_label=heat_map.y_label)
    for callout in heat_map.callouts:
        for row in heat_map.rows_of(callout):
            axes.plot(1.005, row, "<", ms=5, color=LINES[1], clip_on=False,
                      transform=axes.get_yaxis_transform())  # fmt: skip
    figure = axes.get_figure()
    assert figure is not None
    label = f"{heat_map.what}, {heat_map.unit.sign}"
    figure.colorbar(image, ax=axes, label=label, extend="both", pad=0.02)
    return axes


def picture(content: Chart | HeatMap, height: float) -> bytes:
    """Return the picture of a chart or map as PNG."""
    with new_figure(height, dpi=PICTURE_DPI) as (canvas, axes):
        draw(content, axes)
        sink = io.BytesIO()
        write_picture(canvas, sink)
    return sink.getvalue()
