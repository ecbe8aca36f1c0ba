"""The page on a history: what changed, when, by how much, and next to which commits."""

from __future__ import annotations

from pathlib import Path

from hindmost.analysis.history.headline import scope
from hindmost.analysis.history.page.badges import BADGES
from hindmost.analysis.history.page.data import history_data, packed
from hindmost.analysis.history.page.overview import history_overview
from hindmost.analysis.history.page.tables import events, failures, remarks, still_open, summary
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.show.html_renderer import write_page
from hindmost.analysis.show.page import Heading, Page, Paragraph, Part, Widget, shared_scripts

HERE = Path(__file__).parent
OWN = ("data", "chooser", "words", "chart", "regimes", "pairs", "comparison", "grid", "start")
SCRIPTS = (
    *shared_scripts("unpack", "chart", "downloads", "statistics", "elements"),
    *(HERE / f"{name}.js" for name in OWN),
)
VERDICTS_ANCHOR = "verdicts"
METHOD = (
    "Changes are steps of the level. Nights that leave a level which later returns are outliers, "
    "and slow drifts are trends. Each change has an interval of dates; the commits to inspect are "
    "those after the last night before that interval, up to its last night."
)
HINT = "Point at a night or a change; drag to zoom. Keyboard: ← → nights, ↑ ↓ changes, + - 0 zoom."
LEVELS = '<option value="0">90 %</option><option value="1" selected>99 %</option>'


def write_history_page(study: HistoryStudy, path: Path) -> None:
    """Write the page on a history: one self-contained file.

    Parameters
    ----------
    study : HistoryStudy
    path : Path
        An existing page is replaced in one step.

    Raises
    ------
    UsageError
        The page cannot be written there.
    """
    write_page(path, history_page(study), "--report")


def history_page(study: HistoryStudy) -> Page:
    """Return the page on a history."""
    parts = [history_overview(study), *history_parts(study)]
    return Page(
        title="Performance, night by night",
        subtitle=f"{scope(study).split(';')[0]}; method: {study.method}.",
        parts=parts,
        headed=True,
    )


def history_parts(study: HistoryStudy) -> list[Part]:
    """Return all sections after the first screen; one history on a page has them."""
    parts: list[Part] = [
        Heading("Verdicts", anchor=VERDICTS_ANCHOR),
        *summary(study),
        *events(study),
        *still_open(study),
    ]
    if study.judged:
        parts += [explorer(study), comparison(), grid()]
    return [
        *parts,
        *failures(study.history.failures),
        *remarks(study),
        Paragraph(METHOD, quiet=True),
    ]


def explorer(study: HistoryStudy) -> Widget:
    """Return the chosen series: chooser, chart, changes, regimes and their histograms."""
    data = packed(history_data(study))
    return Widget(
        html='<section id="explorer"><h2>One series</h2>'
        "<noscript><p>Charts and comparisons need JavaScript; the tables do not.</p></noscript>"
        f"{chooser('chosen', 'Search (press /)')}"
        f'<h3 id="chosen-title"></h3>{answering("series", HINT)}'
        '<p class="quiet"><label>Interval of the mean: <select id="level">'
        f"{LEVELS}</select></label></p>"
        '<div id="changes"></div><div id="regimes"></div></section>'
        f'<script type="application/json" id="history">"{data}"</script>',
        anchor="explorer",
        begins="One series",
        scripts=SCRIPTS,
        styles=(HERE / "history.css",),
    )


def comparison() -> Widget:
    """Return the comparison of two series, paired by nights."""
    return Widget(
        anchor="comparison",
        begins="Comparison",
        html='<section id="comparison"><h2>Comparison with another series</h2>'
        f"{chooser('other', 'Search the other series')}"
        '<div class="pair"><p id="pair-words" role="status">Choose another series to compare '
        "with the one above, night by night.</p>"
        f"{answering('ratio', HINT)}"
        '<div id="pair-histogram"></div></div></section>',
    )


def grid() -> Widget:
    """Return small charts of all series, the newest change first."""
    badges = "".join(f'<option value="{badge}">{badge}</option>' for badge in BADGES)
    return Widget(
        anchor="all",
        begins="All series",
        html='<section id="all"><h2>All series, newest change first</h2>'
        '<p class="chooser"><label>verdict <select id="grid-badge">'
        f'<option value="">all</option>{badges}</select></label>'
        '<label>name contains <input id="grid-words" type="search"></label>'
        '<span id="grid-count" class="quiet" role="status"></span></p>'
        '<div id="grid"></div></section>',
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
    """Return the figure of a chart whose data are elsewhere on the page."""
    return (
        f'<figure class="chart" id="{name}-chart"><div class="answering">'
        '<ul class="legend"></ul>'
        f'<canvas tabindex="0" role="img" aria-label="{name}" style="height: 20rem"></canvas>'
        f'<p class="hover quiet" role="status">{hint}</p></div></figure>'
    )
