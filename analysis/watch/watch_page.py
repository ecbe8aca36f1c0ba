"""The page on a running solve; its numbers come from its server."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from markupsafe import Markup

from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.heat_map import Callout, HeatMap
from hindmost.analysis.show.html_charts import data_and_legend, live_chart
from hindmost.analysis.show.page import Heading, Page, Part, Widget
from hindmost.analysis.show.templates import rendered
from hindmost.analysis.watch.feed_history import FeedHistory
from hindmost.analysis.watch.live_charts import Frames, phase_chart, rank_map, time_chart
from hindmost.analysis.watch.progress_text import hindmost_words
from hindmost.harness.runfile.feed import FeedHead
from hindmost.text import counted

HERE = Path(__file__).parent
TEMPLATE = "watch/watch.html"


HEADINGS = ("Ranks", "Where the time goes", "Iteration times in the last frame")


def contents(
    head: FeedHead, frames: Frames = (), callouts: tuple[Callout, ...] = ()
) -> tuple[HeatMap | Chart, ...]:
    """Return what the charts show, in the order of their headings."""
    return rank_map(head, frames, callouts), phase_chart(head, frames), time_chart(head, frames)


def chart_news(history: FeedHistory) -> dict[str, dict[str, Any]]:
    """Return the data and the legend of every chart, by its id."""
    slowest, ranks = hindmost_words(history), [each.rank for each in history.hindmost(1)]
    callouts = (Callout(text=slowest, ranks=tuple(ranks)),) if slowest else ()
    drawn = map(data_and_legend, contents(history.head, history.frames, callouts))
    return {
        f"chart-{number}": {"data": data, "legend": legend}
        for number, (data, legend) in enumerate(drawn, 1)
    }


def watch_page(head: FeedHead) -> Page:
    """Return the page.

    Parameters
    ----------
    head : FeedHead
        The first line of the feed.
    """
    ranks, hosts, numbers = head.ranks, head.hosts, count(1)
    merged = "Old frames are merged and keep the largest share."
    if ranks > head.columns:
        merged += f" {ranks:,} ranks share {head.columns} rows; each row shows its largest share."
    ranks_drawn, *others = (
        live_chart(content, heading, caption, numbers)
        for content, heading, caption in zip(
            contents(head), HEADINGS, (merged, "", ""), strict=True
        )
    )
    parts: list[Part] = [
        PROGRESS,
        controls_of(head.periods_s, head.metrics),
        ranks_drawn,
        Heading("Slowest ranks (stragglers)"),
        Widget(html=rendered(TEMPLATE, "stragglers")),
        *others,
        NEWS,
    ]
    where = head.host if hosts == 1 else f"{hosts} hosts"
    subtitle = f"{counted(ranks, 'rank')} on {where}, begun {head.began_utc}"
    title = f"{head.workload}, live"
    return Page(title=title, subtitle=subtitle, parts=parts, served=True)


PROGRESS = Widget(html=rendered(TEMPLATE, "progress"), styles=(HERE / "watch.css",))
"""How far the run is, and whether it is still running."""
NEWS = Widget(html=Markup(""), scripts=(HERE / "watch.js",))
"""What fills all parts of the page, after the scripts of its charts."""


def controls_of(periods_s: Sequence[float], metrics: Sequence[str]) -> Widget:
    """Return the lists from which a viewer may choose."""
    periods = [
        (f"{period:g}", f"every {period:g} s" if period else "auto")
        for period in dict.fromkeys(periods_s)
    ]
    return Widget(html=rendered(TEMPLATE, "controls", periods, metrics))
