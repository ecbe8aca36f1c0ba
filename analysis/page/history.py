"""The page on a history: what changed, when, by how much, and next to which commits."""

from __future__ import annotations

from pathlib import Path

from hindmost.analysis.figures.units import several
from hindmost.analysis.history.study import SECONDS_A_DAY, HistoryStudy
from hindmost.analysis.page.document import document, write_page
from hindmost.analysis.page.history_data import history_data
from hindmost.analysis.page.history_panels import Comparison, Explorer, Grid
from hindmost.analysis.page.history_tables import day_words, events, failures, remarks, summary
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
    write_page(path, history_page(study))


def history_page(study: HistoryStudy) -> str:
    """Return the HTML of the page on a history."""
    parts: list[Part] = [*summary(study), *events(study)]
    if study.judged:
        parts += [Explorer(history_data(study)), Comparison(), Grid()]
    parts += [*failures(study.history.failures), *remarks(study), Paragraph(METHOD, quiet=True)]
    machines = sorted({judged.series.name.machine for judged in study.judged} - {""})
    cases = {(j.series.name.machine, j.series.name.case) for j in study.judged}
    on = f" on {', '.join(machines)}" if machines else ""
    until = day_words(study.until / SECONDS_A_DAY)
    return document(
        title="What changed, night by night",
        subtitle=f"{several(len(cases), 'case')}{on}, up to {until}; method: {study.method}",
        parts=parts,
    )
