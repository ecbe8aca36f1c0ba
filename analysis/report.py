"""The page on a set of runs: models, where the time went, figures, provenance."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from hindmost.analysis.figures.run_figures import RUN_FIGURES
from hindmost.analysis.figures.style import PNG_DPI, new_figure
from hindmost.analysis.fits import FittedGroup, FittedRun
from hindmost.analysis.page.document import document
from hindmost.analysis.page.parts import Column, Heading, Paragraph, Part, Picture, Table
from hindmost.analysis.summary import RunSummary, mpi_name, summarise_run, when
from hindmost.analysis.tables.models import LEGEND, refusals
from hindmost.analysis.tables.terminal import percent, seconds


def report_page(groups: Sequence[FittedGroup]) -> str:
    """Return the HTML of the page on runs, a section a configuration."""
    parts: list[Part] = []
    for fitted in groups:
        parts += section(fitted)
    runs = sum(len(fitted.runs) for fitted in groups)
    first = groups[0].runs[0].run.header
    return document(
        title="Where the iterations lost time",
        subtitle=f"{runs} recorded solves, the first at {when(first.t0_utc)}; "
        f"{mpi_name(first.mpi_library)}, PETSc {first.environment.get('petsc')}",
        parts=parts,
    )


def section(fitted: FittedGroup) -> list[Part]:
    """Return the parts on one configuration."""
    middle = median_run(fitted)
    parts: list[Part] = [
        Heading(fitted.group.title),
        models_table(fitted),
        *(Paragraph(line) for line in refusals(fitted)),
        Paragraph(" ".join(LEGEND.split()), quiet=True),
        runs_table([summarise_run(each.run) for each in fitted.runs]),
    ]
    header = middle.run.header
    for figure in RUN_FIGURES:
        with new_figure(figure.height_inches(header.ranks)) as (canvas, axes):
            figure.draw(axes, middle.run)
            sink = io.BytesIO()
            canvas.savefig(sink, format="png", dpi=PNG_DPI)
        caption = figure.caption
        if len(fitted.runs) > 1:
            caption += f" Drawn from {middle.run.path.name}, the run of median solve time."
        parts.append(
            Picture(
                png=sink.getvalue(),
                description=f"{figure.name} of {header.solver} on {header.ranks} ranks",
                caption=caption,
            )
        )
    return parts


def median_run(fitted: FittedGroup) -> FittedRun:
    """Return the run whose solve time is the median, or the one below it."""
    order = np.argsort(fitted.solve_times_s)
    return fitted.runs[int(order[(len(order) - 1) // 2])]


def models_table(fitted: FittedGroup) -> Table:
    """Return the table of models, with what each takes the median run to be."""
    explained = {model.name: model.explain() for model in median_run(fitted).fits.models}
    return Table(
        columns=(
            Column("model"),
            Column("kind"),
            Column("predicted", "right"),
            Column("error", "right"),
            Column("what it takes the run to be", "wide"),
        ),
        rows=[
            (
                summary.name,
                summary.kind,
                seconds(summary.predicted_s),
                percent(summary.error_percent),
                explained.get(summary.name, ""),
            )
            for summary in fitted.summaries()
        ],
    )


def runs_table(summaries: Sequence[RunSummary]) -> Table:
    """Return the table of runs and where their time went."""
    phases = list(summaries[0].phase_share)
    return Table(
        columns=(
            Column("run"),
            Column("solve time", "right"),
            Column("median body", "right"),
            Column("slowest", "right"),
            *(Column(phase, "right") for phase in phases),
            Column("switches", "right"),
        ),
        rows=[
            (
                summary.file.rsplit("/", 1)[-1],
                seconds(summary.solve_time_s),
                seconds(summary.body_s["median"]),
                seconds(summary.body_s["maximum"]),
                *(f"{100 * summary.phase_share[phase]:.1f} %" for phase in phases),
                str(summary.context_switches),
            )
            for summary in summaries
        ],
    )
