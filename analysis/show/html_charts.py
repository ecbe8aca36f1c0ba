"""The HTML renderer of charts: packed numbers for the script, and a picture without scripts."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.show.chart import Chart, Series, x_limits
from hindmost.analysis.show.heat_map import HeatMap, RankOrder
from hindmost.analysis.show.html_renderer import picture_html
from hindmost.analysis.show.matplotlib_charts import picture
from hindmost.analysis.show.page import Widget, shared_scripts
from hindmost.analysis.show.palette import COLOUR_MAP, DASHES, FILLS, LINES
from hindmost.printable import escape, page_json

MOST_CELLS = 150_000
MOST_COLUMNS = 1200
MOST_ROWS = 256
FAR_BEYOND = 1.5
"""Times the top of the scale of colours, from which on a cell of a map is marked as well."""
LEAST_ORDERED, MOST_ORDERED = 3, 1 << 16
"""Ranks of a map from which on, and up to which, a reader can choose their order."""
LOG_STEP = 2e-3
"""Times are rounded to 0.1 %, which deflates to about a byte per cell."""
ANCHORS = 33
"""Colours of the map that travel; those between are interpolated."""
DIGITS = 5
TINY = 1e-300
HINT = "Point at the chart for its numbers, drag to zoom; with the keyboard: arrows, +, -, 0."


SCRIPTS = shared_scripts("chart", "downloads", "curves", "choice", "heat_map", "unpack", "start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opens:
    """What a click near a place of a chart opens: one of a chart of choices.

    Attributes
    ----------
    number : int
        Of the chart of choices.
    places : dict of int to str
        The choice that each place on the axis of ranks opens.
    """

    number: int
    places: dict[int, str]

    def address(self, key: str) -> str:
        """Return the address of a choice within the page."""
        return f"#chart-{self.number}={key}"

    def to_json(self) -> dict[str, Any]:
        """Return what the script needs."""
        return {
            "places": list(self.places),
            "addresses": [self.address(key) for key in self.places.values()],
        }


def height_rem(content: Chart | HeatMap) -> float:
    """Return the height of a chart on the page; maps of few ranks are low."""
    return min(17.0, 5.0 + 2.5 * content.ranks) if isinstance(content, HeatMap) else 16.0


def embedded(data: dict[str, Any]) -> str:
    """Write JSON so that nothing in it can end the element that it stands in."""
    text = page_json(data)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def rounded(values: NDArray[np.float64]) -> list[float | None]:
    """Round numbers to the digits that a page shows; NaN is null."""
    return [
        None if math.isnan(value) else float(f"{value:.{DIGITS}g}") for value in values.tolist()
    ]


def colour_of(chart: Chart) -> list[str]:
    """Return the style-sheet variable of every series' colour, in their order."""
    names, fills, lines = [], 0, 0
    for series in chart.series:
        if series.filled:
            names.append(f"--fill-{fills % len(FILLS)}")
            fills += 1
        else:
            names.append(f"--line-{lines % len(LINES)}")
            lines += 1
    return names


def dash_of(colour: str) -> list[float]:
    """Return the dashes of a line of some colour; none of a fill."""
    return [2 * each for each in DASHES[int(colour[7:])]] if colour.startswith("--line") else []


def curve_data(chart: Chart) -> dict[str, Any]:
    """Return what the script needs of curves; of a logarithmic axis, its decimal logarithms."""
    of_x, of_y = chart.logarithmic
    low, high = x_limits(chart.series)
    chart = logarithms(chart)
    return {
        "kind": "curves",
        "x": {
            "name": chart.x.text,
            "label": chart.x_label,
            "unit": f" {chart.x.unit}" if chart.x.unit else "",
            "limits": (math.log10(low), math.log10(high)) if of_x else (low, high),
            "counted": chart.counted and not of_x,
            "names": list(chart.names),
            "logarithmic": of_x,
        },
        "y": {
            "label": chart.y.label,
            "unit": f" {chart.y.unit}" if chart.y.unit else "",
            "limits": chart.y_limits,
            "logarithmic": of_y,
        },
        "marks": list(chart.marks.items())[1:] and list(chart.marks.items()),
        "series": [
            {**series_data(series, colour), **mark_of(chart, series)}
            for series, colour in zip(chart.series, colour_of(chart), strict=True)
        ],
    }


def logarithms(chart: Chart) -> Chart:
    """Return a chart of decimal logarithms on the axes that are logarithmic.

    What is not above zero is drawn at the low end of the axis.
    """
    of_x, of_y = chart.logarithmic
    least_x, least_y = max(x_limits(chart.series)[0], TINY), max(chart.y_limits[0], TINY)

    def log(values: NDArray[np.float64], least: float) -> NDArray[np.float64]:
        return np.asarray(np.log10(np.fmax(values, least)), np.float64)

    series = tuple(
        replace(
            each,
            x=log(each.x, least_x) if of_x else each.x,
            y=log(each.y, least_y) if of_y else each.y,
            base=each.base if each.base is None or not of_y else log(each.base, least_y),
        )
        for each in chart.series
    )
    low, high = chart.y_limits
    limits = (math.log10(least_y), math.log10(max(high, least_y))) if of_y else (low, high)
    return replace(chart, series=series, y_limits=limits)


def mark_of(chart: Chart, series: Series) -> dict[str, int]:
    """Return which marks points are drawn with: their number among the chart's; none of others."""
    points = [each.name for each in chart.series if each.look == "points"]
    return {"mark": points.index(series.name)} if series.look == "points" else {}


def series_data(series: Series, colour: str) -> dict[str, Any]:
    """Return what the script needs of one series."""
    return {
        "name": series.name,
        "look": series.look,
        "filled": series.filled,
        "colour": colour,
        "dash": dash_of(colour),
        "x": rounded(series.x),
        "y": rounded(series.y),
        **({} if series.base is None else {"base": rounded(series.base)}),
    }


def map_data(heat_map: HeatMap) -> dict[str, Any]:
    """Return what the script needs of a map.

    Ranks that are not pooled can be put in order by the script; pooled ones travel once an order.
    """
    import matplotlib as mpl

    coarse = coarse_enough(heat_map)
    unit = coarse.unit
    times = coarse.times * unit.per_second
    orders = orders_of(heat_map)
    matrices, drawn = [times], []
    for order in orders:
        assert order.places is not None
        kept = coarse.ranks_a_row == 1 or np.array_equal(order.places, np.arange(coarse.ranks))
        if not kept:
            matrices.append(coarse_enough(heat_map.ordered(order)).times * unit.per_second)
        drawn.append(0 if kept else len(matrices) - 1)
    colours = mpl.colormaps[COLOUR_MAP](np.linspace(0.0, 1.0, ANCHORS))
    left = float(coarse.bodies[0]) - 0.5 * coarse.stride
    return {
        "kind": "map",
        "x": {
            "label": coarse.x_label,
            "limits": (left, left + coarse.bodies.size * coarse.stride),
            "counted": True,
        },
        "y": {"limits": (-0.5, coarse.ranks - 0.5), "counted": True},
        "unit": unit.sign,
        "first_body": int(coarse.bodies[0]),
        "stride": coarse.stride,
        "bodies": int(coarse.bodies.size),
        "bodies_a_column": coarse.bodies_a_column,
        "columns": times.shape[0],
        "rows": times.shape[1],
        "column_width": coarse.bodies_a_column * coarse.stride,
        "row_height": coarse.ranks_a_row,
        "names": coarse.names if coarse.numbers is not None else [],
        "colour_limits": [limit * unit.per_second for limit in coarse.colour_limits_s],
        "colours": [hex_colour(colour) for colour in colours],
        "far_beyond": FAR_BEYOND,
        "matrices": len(matrices),
        "orders": [
            {"key": each.key, "matrix": matrix, "sections": each.sections}
            for each, matrix in zip(orders, drawn, strict=True)
        ],
        **packed(np.stack(matrices), np.array([each.places for each in orders], np.uint16)),
    }


def orders_of(heat_map: HeatMap) -> list[RankOrder]:
    """Return the orders that a reader can choose on a page."""
    if heat_map.ranks_a_row > 1 or heat_map.ranks > MOST_ORDERED:
        return []
    return [each for each in heat_map.orders if each.places is not None]


def packed(times: NDArray[np.float64], plain: NDArray[np.uint16] | None = None) -> dict[str, Any]:
    """Return times as deflated logarithms of two bytes, with what is needed to read them.

    Parameters
    ----------
    times : float64 array, seconds
    plain : uint16 array, optional
        Whole numbers that follow the times as they are.
    """
    positive = times[times > 0.0]
    least = float(positive.min()) if positive.size else 1.0
    codes = np.zeros(times.shape, "<u2")  # 0 is no time at all
    codes[times > 0.0] = 1 + np.rint(np.log(positive / least) / LOG_STEP)
    written = codes.tobytes() + (b"" if plain is None else plain.astype("<u2").tobytes())
    return {
        "least": least,
        "log_step": LOG_STEP,
        "times": base64.b64encode(zlib.compress(written, 9)).decode(),
    }


def coarse_enough(heat_map: HeatMap) -> HeatMap:
    """Pool a map until it is small enough to travel."""
    rows = min(MOST_ROWS, heat_map.times.shape[1])
    cells = MOST_CELLS
    if rows < heat_map.times.shape[1] and (orders := orders_of(heat_map)):
        cells = 2 * MOST_CELLS // (1 + len(orders))
    return heat_map.coarser(min(MOST_COLUMNS, cells // rows), rows)


def hex_colour(colour: NDArray[np.float64]) -> str:
    """Write a colour of matplotlib for the script."""
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colour[:3].tolist())


def curve_legend(chart: Chart) -> str:
    """Return the legend of curves, as words that wrap on narrow screens."""
    entries = [
        f"<li>{swatch(series, colour)}{escape(series.name)}</li>"
        for series, colour in zip(chart.series, colour_of(chart), strict=True)
    ]
    return (
        f'<ul class="legend"><li class="axis">{escape(chart.y.label)}:</li>{"".join(entries)}</ul>'
    )


def swatch(series: Series, colour: str) -> str:
    """Return a little drawing of how a series looks."""
    dash = " ".join(f"{each:g}" for each in dash_of(colour))
    width = 12 if series.filled else 2
    if series.look == "points":
        return (
            '<svg width="28" height="12" aria-hidden="true"><circle cx="14" cy="6" r="4" '
            f'fill="none" style="stroke: var({colour})" stroke-width="1.4"/></svg>'
        )
    return (
        f'<svg width="28" height="12" aria-hidden="true"><line x1="0" y1="6" x2="28" y2="6" '
        f'style="stroke: var({colour})" stroke-width="{width}" stroke-dasharray="{dash}"/></svg>'
    )


def map_legend(heat_map: HeatMap) -> str:
    """Return the scale of colours with the times at its ends."""
    coarse = coarse_enough(heat_map)
    low, high = (limit * coarse.unit.per_second for limit in coarse.colour_limits_s)
    far = float(coarse.times.max()) > FAR_BEYOND * coarse.colour_limits_s[1]
    marked = f"<li>○ longest, over {FAR_BEYOND:g} times that</li>" if far else ""
    return (
        f'<ul class="legend"><li class="axis">{escape(coarse.y_label)}; {escape(coarse.what)}:</li>'
        f'<li>{low:.4g} {coarse.unit.sign} and less <span class="scale"></span> '
        f"{high:.4g} {coarse.unit.sign} and more</li>{marked}{order_choice(heat_map)}</ul>"
    )


def order_choice(heat_map: HeatMap) -> str:
    """Return what chooses the order of ranks; empty where there is nothing to choose."""
    if not orders_of(heat_map) or heat_map.ranks < LEAST_ORDERED:
        return ""
    options = "".join(
        f'<option value="{escape(each.key)}"{" disabled" if each.places is None else ""}>'
        f"{escape(each.label)}</option>"
        for each in heat_map.orders
    )
    return (
        '<li><label>ranks ordered by <select class="order"><option value="">rank</option>'
        f"{options}</select></label></li>"
    )


def live_chart(
    content: Chart | HeatMap,
    heading: str,
    caption: str,
    numbers: Iterator[int],
    *,
    height: float,
    opens: Opens | None = None,
) -> Widget:
    """Return a chart or map that shows its numbers at the pointer.

    Parameters
    ----------
    numbers : iterator of int
        Gives the number of the chart on its page; ``#chart-NUMBER@x,y`` in an address points at a
        place in it.
    height : float
        Of the picture for readers without scripts, in inches.
    opens : Opens, optional
        What a click on the chart opens.
    """
    if isinstance(content, HeatMap):
        data, legend = map_data(content), map_legend(content)
    else:
        data, legend = curve_data(content), curve_legend(content)
    if opens is not None:
        data["opens"] = opens.to_json()
    return figure(next(numbers), content, heading, caption, picture(content, height), data, legend)


def choice_chart(
    charts: Mapping[str, Chart],
    labels: Mapping[str, str],
    what: str,
    heading: str,
    caption: str,
    number: int,
    *,
    height: float,
) -> Widget:
    """Return charts with the same axes and series, of which the first is shown.

    Parameters
    ----------
    charts : mapping of str to Chart
        By a short key, ``#chart-NUMBER=KEY`` in an address.
    labels : mapping of str to str
        What each is called where it is chosen.
    what : str
        What is chosen.
    """
    first = next(iter(charts.values()))
    options = "".join(
        f'<option value="{escape(key)}">{escape(labels[key])}</option>' for key in charts
    )
    legend = f"<label>{escape(what)} <select>{options}</select></label>{curve_legend(first)}"
    return figure(
        number, first, heading, caption, picture(first, height), choice_data(charts), legend
    )


def figure(
    number: int,
    content: Chart | HeatMap,
    heading: str,
    caption: str,
    png: bytes,
    data: dict[str, Any],
    legend: str,
) -> Widget:
    """Return the figure: legend, canvas, words, picture, caption and the script's numbers."""
    label = f"{heading}: {content.title}"
    return Widget(
        html=f'<figure class="chart" data-kind="{data["kind"]}" id="chart-{number}">'
        f"<h3>{escape(heading)}</h3>"
        f'<div class="answering">{legend}'
        f'<canvas tabindex="0" role="img" aria-label="{escape(label)}" '
        f'style="height: {height_rem(content):g}rem"></canvas>'
        f'<p class="hover quiet" role="status">{escape(HINT)}</p></div>'
        f"{picture_html(png, label)}"
        f"<figcaption>{escape(caption)}</figcaption>"
        f'<script type="application/json">{embedded(data)}</script></figure>',
        anchor=f"chart-{number}",
        heading=heading,
        scripts=SCRIPTS,
    )


def choice_data(charts: Mapping[str, Chart]) -> dict[str, Any]:
    """Return what the script needs of charts by key: the first, and the heights of all."""
    first = next(iter(charts.values()))
    heights = np.array([heights_of(chart) for chart in charts.values()])  # (chart, series, step)
    return {**curve_data(first), "kind": "choice", "keys": list(charts), **packed(heights)}


def heights_of(chart: Chart) -> NDArray[np.float64]:
    """Return how high every series is at every step, areas from where they stand.

    Returns
    -------
    float64 array, shape (series, step)
    """
    return np.array([each.y if each.base is None else each.y - each.base for each in chart.series])
