"""The HTML renderer of charts: packed numbers for the script, and a picture without scripts."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hindmost.analysis.show.boxes import Boxes, boxes_html
from hindmost.analysis.show.chart import Chart, Series, numbers_of, x_limits
from hindmost.analysis.show.heat_map import HeatMap
from hindmost.analysis.show.html_maps import map_data, map_legend, packed
from hindmost.analysis.show.matplotlib_charts import picture
from hindmost.analysis.show.page import Widget, shared_scripts
from hindmost.analysis.show.palette import DASHES, LINES, fills_of
from hindmost.analysis.show.templates import rendered
from hindmost.printable import page_json

DIGITS = 5
ROOM = 0.03
"""Share of an axis of points that is free at either end."""
Choices = Sequence[tuple[str, str]]
"""Value and text of each choice."""
HINT = (
    "Point at the chart for its numbers. Drag, or turn the wheel with Ctrl, to zoom. Keys: arrows "
    "point, w and s zoom, a and d move, 0 shows all."
)


CHART_SCRIPTS = shared_scripts(
    "elements", "unpack", "numbers", "chart", "downloads", "curves", "heat_map"
)
"""What draws curves and maps."""
SCRIPTS = (*CHART_SCRIPTS, *shared_scripts("choice", "start"))


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


def embedded(data: dict[str, Any]) -> Markup:
    """Write JSON so that nothing in it can end the element that it stands in."""
    text = page_json(data)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def rounded(values: NDArray[np.float64]) -> list[float | None]:
    """Round numbers to the digits that a page shows; NaN is null."""
    return [
        None if math.isnan(value) else float(f"{value:.{DIGITS}g}") for value in values.tolist()
    ]


def colour_of(chart: Chart) -> list[str]:
    """Return the style-sheet variable of every series' colour, in their order."""
    names, lines = [], numbers_of(chart.series)
    fills = iter(fills_of([each.name for each in chart.series if each.filled]))
    for series in chart.series:
        if series.filled:
            names.append(f"--fill-{next(fills)}")
        else:
            names.append(f"--line-{lines[series.name] % len(LINES)}")
    return names


def dash_of(colour: str) -> list[float]:
    """Return the dashes of a line of some colour; none of a fill."""
    return [2 * each for each in DASHES[int(colour[7:])]] if colour.startswith("--line") else []


def curve_data(chart: Chart) -> dict[str, Any]:
    """Return what the script needs of curves; of a logarithmic axis, its decimal logarithms."""
    of_x, of_y = chart.logarithmic
    low, high = x_limits(chart.series)
    if of_x and low > 0.0:  # so that marks at the ends are whole
        low, high = low * (low / high) ** ROOM, high * (high / low) ** ROOM
    elif any(each.look == "points" for each in chart.series):
        low, high = low - ROOM * (high - low), high + ROOM * (high - low)
    chart = logarithms(chart)
    points = [each.name for each in chart.series if each.look == "points"]  # each with its mark
    return {
        "kind": "curves",
        "x": {
            "name": chart.x.text,
            "label": chart.x_label,
            "unit": f" {chart.x.unit}" if chart.x.unit else "",
            "limits": (math.log10(low), math.log10(high)) if of_x else (low, high),
            "counted": chart.counted and not of_x,
            "names": list(chart.names),
            "kept": [
                (at, chart.names[round(at)] if chart.names else f"{at:g}")
                for at, _ in chart.callouts
                if chart.counted
            ],
            "ticks": [math.log10(tick) if of_x else tick for tick in chart.x_ticks],
            "logarithmic": of_x,
        },
        "y": {
            "label": chart.y.label,
            "unit": f" {chart.y.unit}" if chart.y.unit else "",
            "limits": chart.y_limits,
            "logarithmic": of_y,
        },
        "marks": chart.marks_by_room,
        "callouts": [{"x": at, "text": text} for at, text in chart.callouts],
        "series": [
            series_data(series, colour)
            | ({"mark": points.index(series.name)} if series.look == "points" else {})
            for series, colour in zip(chart.series, colour_of(chart), strict=True)
        ],
    }


def logarithms(chart: Chart) -> Chart:
    """Return a chart of decimal logarithms on the axes that are logarithmic.

    What is not above zero is drawn at the low end of the axis; gaps (NaN) stay gaps.
    """
    of_x, of_y = chart.logarithmic
    least_x, least_y = (max(each[0], 1e-300) for each in (x_limits(chart.series), chart.y_limits))

    def log(values: NDArray[np.float64], least: float) -> NDArray[np.float64]:
        return np.asarray(np.log10(np.maximum(values, least)), np.float64)

    series = tuple(
        replace(
            each,
            x=log(each.x, least_x) if of_x else each.x,
            y=log(each.y, least_y) if of_y else each.y,
            base=each.base if each.base is None or not of_y else log(each.base, least_y),
        )
        for each in chart.series
    )
    marks = {name: math.log10(at) if of_x else at for name, at in chart.marks.items()}
    low, high = chart.y_limits
    limits = (math.log10(least_y), math.log10(max(high, least_y))) if of_y else (low, high)
    return replace(chart, series=series, y_limits=limits, marks=marks)


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


def curve_legend(chart: Chart, choices: Choices = (), what: str = "") -> Markup:
    """Return the legend of curves, after a choice of what they are of if there is one."""
    entries = {
        series.name: (
            series.name,
            series.look,
            colour,
            " ".join(f"{each:g}" for each in dash_of(colour)),
        )
        for series, colour in reversed(list(zip(chart.series, colour_of(chart), strict=True)))
    }
    return rendered(
        "show/charts.html",
        "curve_legend",
        chart.y.label,
        list(reversed(entries.values())),
        choices=choices,
        what=what,
    )


def live_chart(
    content: Chart | HeatMap | Boxes,
    heading: str,
    caption: str,
    numbers: Iterator[int],
    *,
    height: float | None = None,
    opens: Opens | None = None,
) -> Widget:
    """Return a chart or map that shows its numbers at the pointer.

    Parameters
    ----------
    numbers : iterator of int
        Gives the number of the chart on its page; ``#chart-NUMBER@x,y`` in an address points at a
        place in it.
    height : float, optional
        Of the picture for readers without scripts, in inches; else there is none.
    opens : Opens, optional
        What a click on the chart opens.
    """
    if isinstance(content, Boxes):
        anchor = f"chart-{next(numbers)}"
        html = boxes_html(content, anchor, heading, caption)
        return Widget(html=html, anchor=anchor, heading=heading)
    data, legend = data_and_legend(content)
    if opens is not None:
        data["opens"] = opens.to_json()
    png = b"" if height is None else picture(content, height)
    return figure(next(numbers), content, heading, caption, png, data, legend)


def data_and_legend(content: Chart | HeatMap) -> tuple[dict[str, Any], Markup]:
    """Return what the script needs of a chart or map, and its legend."""
    if isinstance(content, HeatMap):
        return map_data(content), map_legend(content)
    return curve_data(content), curve_legend(content)


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
    legend = curve_legend(first, [(key, labels[key]) for key in charts], what)
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
    legend: Markup,
) -> Widget:
    """Return the figure: legend, canvas, words, picture, caption and the script's numbers."""
    anchor = f"chart-{number}"
    html = rendered(
        "show/charts.html",
        "figure",
        id=anchor,
        kind=data["kind"],
        heading=heading,
        label=f"{heading}: {content.title}",
        legend=legend,
        height=f"{height_rem(content):g}",
        hint=HINT,
        picture=base64.b64encode(png).decode(),
        caption=caption,
        data=embedded(data),
    )
    return Widget(html=html, anchor=anchor, heading=heading, scripts=SCRIPTS)


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
