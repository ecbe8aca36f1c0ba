"""The page on a running solve; its numbers come from its server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hindmost.analysis.show.page import Heading, Page, Paragraph, Part, shared_scripts
from hindmost.printable import escape
from hindmost.text import counted

HERE = Path(__file__).parent


def watch_page(head: dict[str, Any], *, controls: bool) -> Page:
    """Return the page.

    Parameters
    ----------
    head : dict
        The first line of the feed.
    controls : bool
        Whether the viewer may change rate and metric.
    """
    ranks, hosts = head["ranks"], head["hosts"]
    shared = (
        ""
        if ranks <= head["columns"]
        else (f" {ranks:,} ranks share {head['columns']} rows; each row shows its largest share.")
    )
    parts: list[Part] = [
        Progress(),
        *([Controls(head["periods_s"], head["metrics"])] if controls else []),
        Heading("Where the time goes"),
        Canvas("profile", "Shares of the phases in the time of all ranks", "14rem"),
        Heading("Ranks"),
        Canvas("ranks", "Share of a metric by rank and time", "16rem"),
        Paragraph(
            "Each column is a frame. Old frames are merged and keep the largest share." + shared,
            quiet=True,
        ),
        Heading("Slowest ranks (stragglers)"),
        ScriptPlace("hindmost"),
        Heading("Iteration times in the last frame"),
        Canvas("times", "Counts of iteration times of all ranks", "10rem"),
        WatchScripts(),
    ]
    where = head["host"] if hosts == 1 else f"{hosts} hosts"
    subtitle = f"{counted(ranks, 'rank')} on {where}, begun {head['began_utc']}"
    title = f"{head['workload']}, live"
    return Page(title=title, subtitle=subtitle, parts=parts, served=True)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run is, and whether it is still running."""

    def html(self) -> str:
        """Return the places that the script fills."""
        return (
            '<p id="ending" role="alert" hidden></p><p id="progress" role="status">no data yet</p>'
            '<div class="bar"><div id="bar"></div></div><p id="next"></p>'
            '<div id="predictions"></div><p id="link" class="quiet"></p>'
        )


@dataclass(frozen=True, slots=True)
class Controls:
    """The lists from which a viewer may choose."""

    periods_s: list[float]
    metrics: list[str]

    def html(self) -> str:
        """Return them."""
        words = {period: f"every {period:g} s" if period else "auto" for period in self.periods_s}
        periods = "".join(
            f'<option value="{period:g}">{word}</option>' for period, word in words.items()
        )
        metrics = "".join(f"<option>{escape(metric)}</option>" for metric in self.metrics)
        return (
            '<p class="chooser"><label>frames <select id="period">'
            f'{periods}</select></label> <label>shown of ranks <select id="metric">{metrics}'
            '</select></label> <span id="asked" class="quiet" role="status"></span></p>'
        )


@dataclass(frozen=True, slots=True)
class Canvas:
    """A chart that the script draws."""

    name: str
    description: str
    height: str

    def html(self) -> str:
        """Return its place."""
        return (
            f'<figure class="chart live" id="{self.name}"><ul class="legend"></ul>'
            f'<canvas role="img" aria-label="{escape(self.description)}" '
            f'style="height: {self.height}"></canvas>'
            '<p class="hover quiet" role="status"></p></figure>'
        )


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """A place that the script fills."""

    name: str

    def html(self) -> str:
        """Return it."""
        return f'<div id="{self.name}"></div>'


@dataclass(frozen=True, slots=True)
class WatchScripts:
    """The scripts of the page."""

    scripts: ClassVar[tuple[Path, ...]] = (
        *shared_scripts("chart", "elements"),
        HERE / "charts.js",
        HERE / "watch.js",
    )
    styles: ClassVar[tuple[Path, ...]] = (HERE / "watch.css",)

    def html(self) -> str:
        """Return nothing: scripts only."""
        return ""
