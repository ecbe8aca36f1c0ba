"""The parts of a page on a history that answer: empty here, and filled by their scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hindmost.analysis.page.history_data import packed
from hindmost.analysis.page.history_verdicts import BADGES

HINT = (
    "Point at a night or a change, drag to zoom; with the keyboard: ← → nights, ↑ ↓ changes, "
    "+, -, 0."
)
LEVELS = '<option value="0">90 %</option><option value="1" selected>99 %</option>'


@dataclass(frozen=True, slots=True)
class Explorer:
    """The chosen series: chooser, chart, changes, regimes and their histograms.

    Attributes
    ----------
    data : dict
        Of `history_data`.
    """

    scripts: ClassVar[tuple[str, ...]] = (
        "unpack",
        "chart",
        "statistics",
        "elements",
        "history_data",
        "history_chooser",
        "history_words",
        "history_chart",
        "history_regimes",
        "history_pairs",
        "history_comparison",
        "history_grid",
        "history_start",
    )
    styles: ClassVar[tuple[str, ...]] = ("history",)

    data: dict[str, Any]

    def html(self) -> str:
        """Return the places that the script fills, and the data."""
        return (
            '<section id="explorer"><h2>One series</h2>'
            "<noscript><p>Charts, choice and comparison need a browser that runs the page's "
            "script; the tables do not.</p></noscript>"
            f"{chooser('chosen', 'Search (press /)')}"
            f'<h3 id="chosen-title"></h3>{answering("series", HINT)}'
            '<p class="quiet"><label>Interval of the mean: <select id="level">'
            f"{LEVELS}</select></label></p>"
            '<div id="changes"></div><div id="regimes"></div></section>'
            f'<script type="application/json" id="history">"{packed(self.data)}"</script>'
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Any two series, paired by nights."""

    def html(self) -> str:
        """Return the places that the script fills."""
        return (
            '<section id="comparison"><h2>Compared with another series</h2>'
            f"{chooser('other', 'Search the other series')}"
            '<div class="pair"><p id="pair-words" role="status">Choose another series to pair the '
            "one above with, night by night.</p>"
            f"{answering('ratio', HINT)}"
            '<div id="pair-histogram"></div></div></section>'
        )


@dataclass(frozen=True, slots=True)
class Grid:
    """All series, small, the newest change first."""

    def html(self) -> str:
        """Return the places that the script fills."""
        badges = "".join(f'<option value="{badge}">{badge}</option>' for badge in BADGES)
        return (
            '<section id="all"><h2>All series, newest change first</h2>'
            '<p class="chooser"><label>verdict <select id="grid-badge">'
            f'<option value="">all</option>{badges}</select></label>'
            '<label>name holds <input id="grid-words" type="search"></label>'
            '<span id="grid-count" class="quiet" role="status"></span></p>'
            '<div id="grid"></div></section>'
        )


def chooser(name: str, search: str) -> str:
    """Return the controls that choose a series."""
    selects = "".join(
        f'<label>{each} <select id="{name}-{each}"></select></label>'
        for each in ("machine", "case", "timer")
    )
    return (
        f'<div class="chooser" id="{name}">{selects}<span class="search">'
        f'<input id="{name}-search" type="search" placeholder="{search}" aria-label="{search}" '
        f'role="combobox" aria-expanded="false" aria-controls="{name}-list" autocomplete="off">'
        f'<ul id="{name}-list" role="listbox" hidden></ul></span></div>'
    )


def answering(name: str, hint: str) -> str:
    """Return the figure of a chart whose script finds its data elsewhere on the page."""
    return (
        f'<figure class="chart" id="{name}-chart"><div class="answering">'
        '<ul class="legend"></ul>'
        f'<canvas tabindex="0" role="img" aria-label="{name}" style="height: 20rem"></canvas>'
        f'<p class="hover quiet" role="status">{hint}</p></div></figure>'
    )
