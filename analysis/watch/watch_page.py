"""The page on a program that runs; its numbers come from its server."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from markupsafe import Markup

from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.heat_map import Callout, HeatMap
from hindmost.analysis.show.html_charts import data_and_legend, live_chart
from hindmost.analysis.show.page import Page, Part, Widget
from hindmost.analysis.show.templates import rendered
from hindmost.analysis.watch.live_charts import EMPTY, phase_chart, rank_map, time_chart
from hindmost.analysis.watch.program import WatchedFolder
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.time_left import BandPoint

HERE = Path(__file__).parent
TEMPLATE = "watch/watch.html"
HEADINGS = ("Ranks", "Where the time goes", "Iterations of rank 0")
CAPTIONS = ("Old windows are added together.", "", "")
OWN = "local"
"""The phase that the map shows first: a rank's own work, for which others wait."""


def contents(watched: WatchedFolder, phase: str = OWN) -> tuple[HeatMap | Chart, ...]:
    """Return what the charts show, in the order of their headings."""
    name, use, windows = watched.program.name, watched.use, watched.windows or EMPTY
    culprit = use.culprit
    # The headline says who that is; on a small screen its words would hide the row.
    slowest = (Callout(text="", ranks=culprit.ranks),) if culprit else ()
    return (
        rank_map(name, windows, phase, slowest),
        phase_chart(name, windows),
        time_chart(name, use.band),
    )


def chart_news(watched: WatchedFolder, phase: str) -> dict[str, dict[str, Any]]:
    """Return the data and the legend of every chart, by its id."""
    drawn = map(data_and_legend, contents(watched, phase))
    return {
        f"chart-{number}": {"data": data, "legend": legend}
        for number, (data, legend) in enumerate(drawn, 1)
    }


def watch_page(watched: WatchedFolder) -> Page:
    """Return the page."""
    name, numbers = watched.program.name, count(1)
    empty: tuple[BandPoint, ...] = ()
    drawn: tuple[HeatMap | Chart, ...] = (
        rank_map(name, EMPTY, OWN),
        phase_chart(name, EMPTY),
        time_chart(name, empty),
    )
    charts = [
        live_chart(content, heading, caption, numbers)
        for content, heading, caption in zip(drawn, HEADINGS, CAPTIONS, strict=True)
    ]
    controls = Widget(html=rendered(TEMPLATE, "controls", (OWN, *PHASES[:-1])))
    parts: list[Part] = [PROGRESS, controls, *charts, NEWS]
    subtitle = str(watched.program.folder.parent.absolute())
    return Page(title=f"{name}, live", subtitle=subtitle, parts=parts, served=True)


PROGRESS = Widget(html=rendered(TEMPLATE, "progress"), styles=(HERE / "watch.css",))
"""How far the program is, and whether it is still running."""
NEWS = Widget(html=Markup(""), scripts=(HERE / "watch.js",))
"""What fills all parts of the page, after the scripts of its charts."""
