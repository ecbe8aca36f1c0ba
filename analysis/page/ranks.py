"""The parts of a page on ranks: who is hindmost, which stand out, and their timelines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import count
from pathlib import Path

import numpy as np

from hindmost.analysis.figures import of_ranks
from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.figures.ranks import timeline_charts
from hindmost.analysis.figures.run_figures import figure_named
from hindmost.analysis.page.charts import Opens
from hindmost.analysis.page.choice import ChoiceChart
from hindmost.analysis.page.document import document
from hindmost.analysis.page.draw import drawn, live_chart
from hindmost.analysis.page.parts import Column, Heading, Html, Paragraph, Part, Subheading, Table
from hindmost.analysis.ranks.report import RankReport
from hindmost.analysis.ranks.timelines import timelines_of
from hindmost.analysis.ranks.words import LEAST_FOR_SLOPES, written
from hindmost.analysis.tables.terminal import seconds
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.lateness import Lateness

CHART_INCHES = 2.8
MOST_FILES = 4
"""That are named over a page."""
MOST_NODES = 16
MOST_REASONS = 3
MOST_MEANS = 4
"""Metrics of the groups of ranks that are told."""


def ranks_page(looked: Sequence[tuple[RankReport, Run | None]]) -> str:
    """Return the HTML of a page on the ranks of runs and tables.

    Parameters
    ----------
    looked : sequence of (RankReport, Run or None)
        What was found, and the run for timelines; a table has none.
    """
    numbers = count(1)
    parts: list[Part] = []
    for report, run in looked:
        opens = None if run is None or report.numbers.size < 2 else openings(report, next(numbers))
        parts.append(Heading(report.title))
        if report.numbers.size < 2:
            parts.append(Paragraph("One rank has nobody to be compared with."))
        parts += rank_parts(report, run, opens, numbers)
    return document(
        "Who is hindmost",
        ", ".join(Path(report.file).name for report, _ in looked[:MOST_FILES])
        + (f" and {len(looked) - MOST_FILES} more" if len(looked) > MOST_FILES else ""),
        parts,
    )


def rank_parts(
    report: RankReport, run: Run | None, opens: Opens | None, numbers: Iterator[int]
) -> list[Part]:
    """Return the parts on the ranks of a run or table; nothing of a rank alone.

    Parameters
    ----------
    report : RankReport
    run : Run or None
        For timelines; a table has none.
    opens : Opens or None
        What `openings` gave, for a run.
    numbers : iterator of int
        Gives every chart of the page its number.
    """
    if report.numbers.size < 2:
        return []
    parts: list[Part] = [Subheading("Ranks")]
    if report.remark:
        parts.append(Paragraph(report.remark, quiet=True))
    late = report.lateness
    if late is not None and late.bodies:
        parts.append(Paragraph(waiting_words(late)))
    parts += [
        *chart("hindmost", of_ranks.hindmost_chart, report, numbers, opens),
        *chart("outliers", of_ranks.outlier_chart, report, numbers, bars_open(report, opens)),
        extrema_table(report, opens),
    ]
    if run is not None and opens is not None:
        parts.append(timeline_part(report, run, opens))
    if late is not None and len(late.nodes) > 1:
        parts += [Paragraph("What the nodes cost each other, the dearest first:"), node_table(late)]
    parts += [
        Paragraph(groups_words(report)),
        groups_table(report, opens),
        *chart("profile", of_ranks.profile_chart, report, numbers),
        *chart("body-profile", of_ranks.body_profile_chart, report, numbers),
    ]
    if report.run is not None and report.numbers.size >= LEAST_FOR_SLOPES:
        parts.append(Paragraph(report.run.slopes.explain()))
    return [*parts, *chart("own-work", of_ranks.own_work_chart, report, numbers)]


def openings(report: RankReport, number: int) -> Opens:
    """Return what a click on a rank opens: its timeline, of the ranks worth a look."""
    names = {place: str(report.numbers[place]) for place in sorted(report.worth_a_look())}
    return Opens(number=number, places=names)


def waiting_words(late: Lateness) -> str:
    """Say what all ranks lose to the last one."""
    return (
        f"{100 * late.waiting_share:.1f} % of the time of all ranks is waiting for the last one of "
        "a body."
    )


def groups_words(report: RankReport) -> str:
    """Say how many groups of ranks there are, and how well they stand apart."""
    k, apart = report.clustering.k, report.clustering.silhouette
    if k == 1:
        return "One group of ranks: none stand apart by where their time goes."
    return (
        f"{k} groups of ranks by where their time goes, and by messages (k-means; mean silhouette "
        f"{apart:.2f}, where 1 is far apart and 0 is touching):"
    )


def chart(
    name: str,
    make: Callable[[RankReport], Chart],
    report: RankReport,
    numbers: Iterator[int],
    opens: Opens | None = None,
) -> list[Part]:
    """Return a figure as a chart; nothing if the report does not allow it."""
    try:
        content = make(report)
    except UsageError:
        return []
    figure = figure_named(name)
    return [
        live_chart(
            content, figure.heading, figure.caption, numbers, height=CHART_INCHES, opens=opens
        )
    ]


def bars_open(report: RankReport, opens: Opens | None) -> Opens | None:
    """Return what a click on a bar opens: the first bar is of all ranks, then they are in order."""
    if opens is None:
        return None
    names = [str(report.numbers[place]) for place in report.worth_a_look()]
    return Opens(number=opens.number, places=dict(enumerate(names, start=1)))


def named(report: RankReport, place: int, opens: Opens | None) -> str:
    """Return the number of a rank, as a link to its timeline where there is one, as HTML."""
    name = str(report.numbers[place])
    if opens is None or place not in opens.places:
        return name
    return f'<a href="{opens.address(opens.places[place])}">{name}</a>'


def extrema_table(report: RankReport, opens: Opens | None) -> Table:
    """Return the ranks that come first by each criterion, with what is typical of all."""
    return Table(
        columns=(Column("criterion"), Column("ranks", "wide"), Column("typical", "right")),
        rows=[
            (
                each.criterion,
                Html(
                    ", ".join(
                        f"{named(report, int(rank), opens)} ({escape(written(value, each.unit))})"
                        for rank, value in zip(each.ranks, each.values, strict=True)
                    )
                ),
                written(each.typical, each.unit),
            )
            for each in report.extrema
        ],
    )


def timeline_part(report: RankReport, run: Run, opens: Opens) -> ChoiceChart:
    """Return the timelines of the ranks worth a look, the one worth most first."""
    reasons = report.worth_a_look()
    made = timeline_charts(timelines_of(run, list(reasons)), title=report.title)
    keys = [opens.places[place] for place in reasons]
    figure = figure_named("timeline")
    return ChoiceChart(
        number=opens.number,
        content=made[0],
        heading=figure.heading,
        caption=f"{figure.caption} A click on a rank above, or on its number, opens it.",
        png=drawn(made[0], CHART_INCHES),
        charts=dict(zip(keys, made, strict=True)),
        labels=labels_of(dict(zip(keys, reasons.values(), strict=True))),
        what="rank",
    )


def labels_of(reasons: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return what each rank is called where it is chosen: its number and why it is there."""
    return {
        key: f"{key}: {', '.join(each[:MOST_REASONS])}{', ...' if len(each) > MOST_REASONS else ''}"
        for key, each in reasons.items()
    }


def node_table(late: Lateness) -> Table:
    """Return the nodes that cost the others most."""
    whole = max(float(late.charged_s.sum()), 1e-300)
    order = np.argsort(-late.node_charged_s, kind="stable")[:MOST_NODES]
    return Table(
        columns=(
            Column("node"),
            Column("last in", "right"),
            Column("of the waiting", "right"),
            Column("saved if as quick as the next", "right"),
        ),
        rows=[
            (
                late.nodes[at],
                f"{late.node_last[at]} of {late.bodies} bodies",
                f"{100 * late.node_charged_s[at] / whole:.1f} %",
                seconds(float(late.node_lost_s[at])),
            )
            for at in order.tolist()
        ],
    )


def groups_table(report: RankReport, opens: Opens | None) -> Table:
    """Return the groups of ranks with their exemplars, and the means that differ most."""
    metrics = report.metrics
    spread = metrics.normalised().std(axis=0)
    told = sorted(np.argsort(-spread, kind="stable")[:MOST_MEANS].tolist())
    return Table(
        columns=(
            Column("ranks in the group", "right"),
            Column("typical", "right"),
            *(Column(f"mean {metrics.names[at]}", "right") for at in told),
        ),
        rows=[
            (
                str(size),
                Html(named(report, place, opens)),
                *(written(means[at], metrics.units[at]) for at in told),
            )
            for size, place, means in zip(
                report.clustering.sizes.tolist(),
                report.exemplar_places(),
                report.cluster_means(),
                strict=True,
            )
        ],
    )
