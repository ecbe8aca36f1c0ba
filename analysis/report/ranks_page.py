"""The parts of a page on ranks: stragglers, outliers, and their timelines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
from markupsafe import Markup

from hindmost.analysis.ranks import figures as of_ranks
from hindmost.analysis.ranks.figures import timeline_charts, timelines_of
from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.ranks.tables import (
    ONE_RANK,
    main_stretches,
    metric_text,
    one_group,
    recorded_wait_time,
    straggler_wait_time,
    stretch_wait,
    stretch_work,
)
from hindmost.analysis.report.rank_conclusions import ranks_overview
from hindmost.analysis.report.run_figures import figure_named
from hindmost.analysis.runs.figures.run_figure import DEFAULT_HEIGHT_INCHES
from hindmost.analysis.runs.finding import OF_RANKS, caution_parts
from hindmost.analysis.runs.first_screen import data_parts
from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.html_charts import Opens, choice_chart, live_chart
from hindmost.analysis.show.page import Heading, Page, Paragraph, Part, Subheading, Widget
from hindmost.analysis.show.table import LEADING, MAX_LISTED, Column, Table
from hindmost.analysis.show.templates import rendered
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.lateness import Lateness
from hindmost.text import first_of, percent, seconds

DEVIATION = "Work of each rank"
OF_DEVIATION = (
    "The mean work of an iteration on each rank, without waiting, relative to the median of "
    "all ranks. Lines mark the first rank of each node."
)


def ranks_page(looked: Sequence[tuple[RankReport, Run | None]]) -> Page:
    """Return the page on the ranks of runs and tables.

    Parameters
    ----------
    looked : sequence of (RankReport, Run or None)
        The analysis, and the run for timelines; a table has none.
    """
    numbers = count(1)
    parts: list[Part] = []
    found: list[tuple[RankReport, str]] = []
    for report, run in looked:
        opens = None if run is None or report.numbers.size < 2 else openings(report, next(numbers))
        anchor = f"ranks-{len(found)}"
        parts.append(Heading(report.title, anchor=anchor, short=Path(report.file).name))
        found.append((report, anchor))
        if report.numbers.size < 2:
            parts.append(Paragraph(ONE_RANK))
        parts += rank_parts(report, run, opens, numbers)
    pictures = [part for part in parts if isinstance(part, Widget) and part.name == "deviation"][:1]
    return Page(
        title="Stragglers and outliers among ranks",
        subtitle=first_of([Path(report.file).name for report, _ in looked]),
        parts=[
            ranks_overview(found, pictures),
            *(part for part in parts if part not in pictures),
            *data_parts([finding for report, _ in looked for finding in report.findings]),
        ],
        headed=True,
    )


def rank_parts(
    report: RankReport, run: Run | None, opens: Opens | None, numbers: Iterator[int]
) -> list[Part]:
    """Return the parts on the ranks of a run or table; none for a single rank.

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
    parts += caution_parts(report.findings, OF_RANKS)
    if report.run is not None:
        parts.append(Paragraph(f"Recorded wait time: {recorded_wait_time(report.run)}"))
    late = report.lateness
    if late is not None and late.bodies:
        parts.append(Paragraph(straggler_wait_time(report, late)))
    parts += [
        *(
            []
            if report.withheld
            else chart("hindmost", of_ranks.hindmost_chart, report, numbers, opens)
        ),
        *drawn(
            "deviation", DEVIATION, OF_DEVIATION, of_ranks.deviation_chart, report, numbers, opens
        ),
        *([Paragraph(report.standing_text)] if report.standing_text else []),
        *([] if report.too_few else [extrema_table(report, opens)]),
        *([code_table(report)] if report.stretches else []),
    ]
    if run is not None and opens is not None:
        parts.append(timeline_part(report, run, opens))
    if late is not None and len(late.nodes) > 1 and not report.withheld:
        parts += [
            Paragraph("Wait time that nodes cause each other, largest first:"),
            node_table(late),
        ]
    parts += [
        Paragraph(groups_sentence(report)),
        *([groups_table(report, opens)] if report.clustering.k > 1 else []),
        *chart("profile", of_ranks.profile_chart, report, numbers),
        *chart("body-profile", of_ranks.body_profile_chart, report, numbers),
    ]
    return [*parts, *chart("own-work", of_ranks.own_work_chart, report, numbers)]


def openings(report: RankReport, number: int) -> Opens:
    """Return what a click on a rank opens: its timeline, for the ranks to inspect."""
    names = {place: str(report.numbers[place]) for place in sorted(report.worth_opening())}
    return Opens(number=number, places=names)


def groups_sentence(report: RankReport) -> str:
    """Say how many groups of ranks there are, and how well they are separated."""
    k, apart = report.clustering.k, report.clustering.silhouette
    if k == 1:
        return one_group(report)
    return (
        f"{k} groups of ranks, by time and messages (k-means; mean silhouette {apart:.2f}, where 1 "
        "is well separated and 0 is touching):"
    )


def chart(
    name: str,
    make: Callable[[RankReport], Chart],
    report: RankReport,
    numbers: Iterator[int],
    opens: Opens | None = None,
) -> list[Part]:
    """Return a figure as a chart; nothing if the data for it is missing."""
    figure = figure_named(name)
    return drawn(name, figure.heading, figure.caption, make, report, numbers, opens)


def drawn(
    name: str,
    heading: str,
    caption: str,
    make: Callable[[RankReport], Chart],
    report: RankReport,
    numbers: Iterator[int],
    opens: Opens | None = None,
) -> list[Part]:
    """Return a chart of ranks; nothing if the data for it is missing."""
    try:
        content = make(report)
    except UsageError:
        return []
    made = live_chart(
        content, heading, caption, numbers, height=DEFAULT_HEIGHT_INCHES["full"], opens=opens
    )
    return [replace(made, name=name)]


def named(
    report: RankReport, opens: Opens | None, places: Sequence[int], values: Sequence[str]
) -> Markup:
    """Return the numbers of ranks with their values, linked to their timelines if there are any."""
    addresses = {} if opens is None else opens.places
    return rendered(
        "report/ranks.html",
        "ranks",
        [
            (
                opens.address(addresses[place]) if opens and place in addresses else "",
                report.numbers[place],
                value,
            )
            for place, value in zip(places, values, strict=True)
        ],
    )


def extrema_table(report: RankReport, opens: Opens | None) -> Table:
    """Return the first ranks by each criterion, with the median of all ranks."""
    return Table(
        columns=(
            Column("criterion"),
            Column("first ranks", "wide"),
            Column("median", "right"),
            Column("outliers"),
        ),
        rows=[
            (
                each.criterion,
                named(
                    report,
                    opens,
                    each.ranks.tolist(),
                    [metric_text(value, each.unit) for value in each.values],
                ),
                metric_text(each.typical, each.unit),
                ", ".join(str(report.numbers[rank]) for rank in each.ranks[: each.standing_out])
                or "none",
            )
            for each in report.extrema
        ],
    )


def code_table(report: RankReport) -> Table:
    """Return where in the code the ranks work and wait, and whom they wait for."""
    return Table(
        columns=(
            Column("where in the code, in an iteration", "wide"),
            Column("work", "wide"),
            Column("waiting", "wide"),
        ),
        rows=[
            (str(stretch), stretch_work(report, stretch), stretch_wait(report, stretch))
            for stretch in main_stretches(report)
        ],
    )


def timeline_part(report: RankReport, run: Run, opens: Opens) -> Widget:
    """Return the timelines of the ranks to inspect, the most important first."""
    reasons = report.worth_opening()
    columns = np.searchsorted(run.kept_ranks, list(reasons)).tolist()
    made = timeline_charts(timelines_of(run, columns), title=report.title)
    keys = [opens.places[place] for place in reasons]
    figure = figure_named("timeline")
    return choice_chart(
        dict(zip(keys, made, strict=True)),
        {
            key: f"{key}: {first_of(list(each))}"
            for key, each in zip(keys, reasons.values(), strict=True)
        },
        "rank",
        figure.heading,
        f"{figure.caption} Click a rank above, or its number, to open it.",
        opens.number,
        height=DEFAULT_HEIGHT_INCHES["full"],
    )


def node_table(late: Lateness) -> Table:
    """Return the nodes that cause the most wait time."""
    whole = max(float(late.charged_s.sum()), 1e-300)
    lost = late.node_lost_s
    order = np.argsort(-late.node_charged_s, kind="stable")[:MAX_LISTED]
    return Table(
        columns=(
            Column("node"),
            Column("last in", "right"),
            Column("of the wait time", "right"),
            Column("saved if as fast as the next", "right"),
        ),
        rows=[
            (
                late.nodes[at],
                f"{late.node_last[at]} of {late.bodies} iterations",
                percent(late.node_charged_s[at] / whole),
                "unknown" if lost is None else seconds(float(lost[at])),
            )
            for at in order.tolist()
        ],
    )


def groups_table(report: RankReport, opens: Opens | None) -> Table:
    """Return the groups of ranks with their exemplars, and the means that differ most."""
    metrics = report.metrics
    spread = metrics.normalised().std(axis=0)
    shown = sorted(np.argsort(-spread, kind="stable")[:LEADING].tolist())
    return Table(
        columns=(
            Column("ranks in the group", "right"),
            Column("typical", "right"),
            *(Column(f"mean {metrics.names[at]}", "right") for at in shown),
        ),
        rows=[
            (
                f"{size}{where}",
                named(report, opens, [place], [""]),
                *(metric_text(means[at], metrics.units[at]) for at in shown),
            )
            for size, where, place, means in zip(
                report.clustering.sizes.tolist(),
                report.group_places(),
                report.exemplar_places(),
                report.cluster_means(),
                strict=True,
            )
        ],
    )
