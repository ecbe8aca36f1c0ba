"""The page on a running solve; its numbers come from its server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hindmost.analysis.show.page import Heading, Page, Paragraph, Part, Widget, shared_scripts
from hindmost.analysis.show.templates import rendered
from hindmost.harness.runfile.feed import FeedHead
from hindmost.text import counted

HERE = Path(__file__).parent
TEMPLATE = "watch/watch.html"


def watch_page(head: FeedHead) -> Page:
    """Return the page.

    Parameters
    ----------
    head : FeedHead
        The first line of the feed.
    """
    ranks, hosts = head.ranks, head.hosts
    shared = (
        ""
        if ranks <= head.columns
        else (f" {ranks:,} ranks share {head.columns} rows; each row shows its largest share.")
    )
    parts: list[Part] = [
        PROGRESS,
        controls_of(head.periods_s, head.metrics),
        Heading("Slowest ranks (stragglers)"),
        Widget(html=rendered(TEMPLATE, "stragglers")),
        Heading("Ranks"),
        canvas("ranks", "Share of a metric by rank and time", "16rem"),
        Paragraph(
            "Each column is a frame. Old frames are merged and keep the largest share." + shared,
            quiet=True,
        ),
        Heading("Where the time goes"),
        canvas("profile", "Shares of the phases in the time of all ranks", "14rem"),
        Heading("Iteration times in the last frame"),
        canvas("times", "Counts of iteration times of all ranks", "10rem"),
    ]
    where = head.host if hosts == 1 else f"{hosts} hosts"
    subtitle = f"{counted(ranks, 'rank')} on {where}, begun {head.began_utc}"
    title = f"{head.workload}, live"
    return Page(title=title, subtitle=subtitle, parts=parts, served=True)


PROGRESS = Widget(
    html=rendered(TEMPLATE, "progress"),
    scripts=(*shared_scripts("chart", "elements"), HERE / "charts.js", HERE / "watch.js"),
    styles=(HERE / "watch.css",),
)
"""How far the run is, and whether it is still running; the script fills all parts of the page."""


def controls_of(periods_s: Sequence[float], metrics: Sequence[str]) -> Widget:
    """Return the lists from which a viewer may choose."""
    periods = [
        (f"{period:g}", f"every {period:g} s" if period else "auto")
        for period in dict.fromkeys(periods_s)
    ]
    return Widget(html=rendered(TEMPLATE, "controls", periods, metrics))


def canvas(name: str, description: str, height: str) -> Widget:
    """Return the place of a chart that the script draws."""
    return Widget(html=rendered(TEMPLATE, "canvas", name, description, height))
