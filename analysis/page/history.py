"""The page on a history: what changed, when, by how much, and next to which commits."""

from __future__ import annotations

from pathlib import Path

from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.history.words import scope
from hindmost.analysis.page.document import document, write_page
from hindmost.analysis.page.history_data import history_data
from hindmost.analysis.page.history_panels import Comparison, Explorer, Grid
from hindmost.analysis.page.history_tables import events, failures, remarks, summary
from hindmost.analysis.page.parts import Paragraph, Part

METHOD = (
    "Changes are steps of the level; nights off a level that they come back to are outliers, and "
    "slow drifts are trends. Each change has the interval of dates that it lies in, and the "
    "commits to look at are those after the last night before that interval, up to its last night."
)


def write_history_page(study: HistoryStudy, path: Path) -> None:
    """Write the page on a history: one file that asks for nothing from anywhere.

    Parameters
    ----------
    study : HistoryStudy
    path : Path
        A page that is there is replaced, in one step.

    Raises
    ------
    UsageError
        The page cannot be written there.
    """
    write_page(path, history_page(study), "--report")


def history_page(study: HistoryStudy) -> str:
    """Return the HTML of the page on a history."""
    parts: list[Part] = [*summary(study), *events(study)]
    if study.judged:
        parts += [Explorer(history_data(study)), Comparison(), Grid()]
    parts += [*failures(study.history.failures), *remarks(study), Paragraph(METHOD, quiet=True)]
    return document(
        title="What changed, night by night",
        subtitle=f"{scope(study).split(';')[0]}; method: {study.method}.",
        parts=parts,
    )
