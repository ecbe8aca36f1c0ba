"""The sections of a page on a history: what changed, when, by how much, after which commits."""

from __future__ import annotations

from pathlib import Path

from hindmost.analysis.history.page.badges import SECTIONS
from hindmost.analysis.history.page.data import history_data, packed
from hindmost.analysis.history.page.overview import HINT
from hindmost.analysis.history.page.tables import events, failures, remarks, still_open, summary
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.show.html_charts import CHART_SCRIPTS
from hindmost.analysis.show.page import Heading, Paragraph, Part, Widget
from hindmost.analysis.show.templates import rendered

HERE = Path(__file__).parent
OWN = (
    "data",
    "chooser",
    "chart",
    "matrix",
    "start",
)
SCRIPTS = (
    *CHART_SCRIPTS,
    *(HERE / f"{name}.js" for name in OWN),
)
VERDICTS_ANCHOR = "verdicts"
METHOD = (
    "Changes are steps of the level. Nights that leave a level which later returns are outliers, "
    "and slow drifts are trends. Each change has an interval of dates; the commits to inspect are "
    "those after the last night before that interval, up to its last night."
)


def history_parts(study: HistoryStudy) -> list[Part]:
    """Return all sections after the first screen; one history on a page has them."""
    parts: list[Part] = [
        *([matrix()] if study.judged else []),
        Heading("Verdicts", anchor=VERDICTS_ANCHOR),
        *summary(study),
        *events(study),
        *still_open(study),
    ]
    if study.judged:
        parts.append(explorer(study))
    return [
        *parts,
        *failures(study.history.failures),
        *remarks(study),
        Paragraph(f"{METHOD} Method: {study.method}.", quiet=True),
    ]


def explorer(study: HistoryStudy) -> Widget:
    """Return the chosen series: chooser, chart, changes, regimes and their histograms."""
    return Widget(
        html=rendered(SECTIONS, "explorer", packed(history_data(study)), HINT),
        anchor="explorer",
        begins="One series",
        scripts=SCRIPTS,
        styles=(HERE / "history.css",),
    )


def matrix() -> Widget:
    """Return the map of all series over time."""
    return Widget(anchor="matrix", begins="All series over time", html=rendered(SECTIONS, "matrix"))
