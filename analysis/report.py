"""The page on a set of runs: solvers side by side, models, where the time went, charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from hindmost.analysis.adaptive.page import adaptive_parts
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.adaptive.study import study_runs
from hindmost.analysis.comparison import ComparedSolver, comparable, compare_solvers
from hindmost.analysis.efficiency.of_run import efficiencies_of
from hindmost.analysis.efficiency.scaling import efficiencies_over_ranks
from hindmost.analysis.figures.choice import Choice
from hindmost.analysis.figures.palette import MOST_LINES
from hindmost.analysis.figures.run_figures import RunFigure, figure_named
from hindmost.analysis.figures.together import TOGETHER_FIGURES
from hindmost.analysis.figures.units import several
from hindmost.analysis.fits import FittedGroup
from hindmost.analysis.page.charts import Opens
from hindmost.analysis.page.document import document
from hindmost.analysis.page.draw import live_chart
from hindmost.analysis.page.efficiencies import run_parts, scaling_parts
from hindmost.analysis.page.parts import Column, Heading, Paragraph, Part, Table
from hindmost.analysis.page.ranks import openings, rank_parts
from hindmost.analysis.ranks.report import report_run
from hindmost.analysis.summary import RunSummary, mpi_name, summarise_run, when
from hindmost.analysis.tables.models import LEGEND, character, refusals
from hindmost.analysis.tables.terminal import percent, seconds
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.dynamic.machine import Machine

LAWS = 5
"""Families that are shown of each ranking."""
ON_PAGE = (
    "map",
    "work",
    "histogram",
    "cycle",
    "phases",
    "phases-over-time",
    "efficiency",
    "efficiency-cycle",
)
"""Figures of the median run of every configuration."""


def report_page(
    groups: Sequence[FittedGroup],
    adaptive: Sequence[AdaptiveRun] = (),
    machine: Machine | None = None,
) -> str:
    """Return the HTML of the page on runs: solvers side by side, each configuration, adaptive runs.

    Parameters
    ----------
    groups : sequence of FittedGroup
    adaptive : sequence of AdaptiveRun
    machine : Machine, optional
        What adaptive runs were predicted from.
    """
    numbers = count(1)
    parts: list[Part] = []
    for members in comparable(groups):
        parts += comparison(members, numbers)
    kernels = efficiencies_over_ranks([each.run for fitted in groups for each in fitted.runs])
    parts += scaling_parts(kernels)
    for fitted in groups:
        parts += section(fitted, numbers)
    if adaptive:
        parts += adaptive_parts(study_runs(adaptive, machine), machine, numbers)
    headers = [each.run.header for fitted in groups for each in fitted.runs]
    headers += [each.run.header for each in adaptive]
    first = headers[0]
    petsc = f", PETSc {first.environment.get('petsc')}" if groups else ""
    return document(
        title="Where the iterations lost time" if groups else "How well cycles were predicted",
        subtitle=f"{several(len(headers), 'recorded solve' if groups else 'recorded run')}, the "
        f"first at {when(first.t0_utc)}; {mpi_name(first.mpi_library)}{petsc}",
        parts=parts,
    )


def comparison(members: Sequence[FittedGroup], numbers: Iterator[int]) -> list[Part]:
    """Return the parts on solvers of the same workload."""
    header = members[0].runs[0].run.header
    parts: list[Part] = [
        Heading(f"Solvers of {header.workload} on {several(header.ranks, 'rank')}, side by side"),
        comparison_table(members),
        Paragraph(
            "Times are those of whole solves; a solver of more work an iteration may need fewer "
            "iterations, which is not weighed here.",
            quiet=True,
        ),
    ]
    if len(members) <= MOST_LINES:
        figure = next(each for each in TOGETHER_FIGURES if each.name == "ecdf")
        content = figure.make([each.run for fitted in members for each in fitted.runs])
        parts.append(
            live_chart(content, "How long a body lasts", figure.caption, numbers, height=2.8)
        )
    return parts


def comparison_table(members: Sequence[FittedGroup]) -> Table:
    """Return the table of solvers of the same workload."""
    solvers = compare_solvers(members)
    return Table(
        columns=(
            Column("solver"),
            Column("runs", "right"),
            Column("solve time", "right"),
            Column("range of repeats", "right"),
            Column("spread", "right"),
            Column("waiting", "right"),
            Column(f"times {solvers[0].name}", "right"),
            Column("difference"),
        ),
        rows=[
            (
                solver.name,
                str(solver.runs),
                seconds(solver.median_s),
                *spread(solver),
                f"{100 * solver.wait_share:.1f} %",
                f"{solver.ratio:.2f}",
                solver.verdict,
            )
            for solver in solvers
        ],
    )


def spread(solver: ComparedSolver) -> tuple[str, str]:
    """Write the range of repeats and its width; a single run has none."""
    if solver.runs == 1:
        return "", ""
    span = f"{seconds(solver.lowest_s)} to {seconds(solver.highest_s)}"
    return span, f"{solver.spread_percent:.1f} %"


def section(fitted: FittedGroup, numbers: Iterator[int]) -> list[Part]:
    """Return the parts on one configuration."""
    parts: list[Part] = [
        Heading(fitted.group.title),
        models_table(fitted),
        *(Paragraph(line) for line in (*refusals(fitted), *character(fitted))),
        *laws_table(fitted),
        Paragraph(" ".join(LEGEND.split()), quiet=True),
        runs_table([summarise_run(each.run) for each in fitted.runs]),
    ]
    middle = fitted.median_run.run
    parts += run_parts([efficiencies_of(each.run) for each in fitted.runs], efficiencies_of(middle))
    if len(fitted.runs) > 1:
        drawn = f"Drawn from {middle.path.name}, the run of median solve time."
        parts.append(Paragraph(drawn, quiet=True))
    ranks = report_run(middle)
    opens = openings(ranks, next(numbers)) if middle.columns > 1 else None
    for name in ON_PAGE:
        figure = figure_named(name)
        parts += run_chart(figure, middle, numbers, opens if figure.of_ranks else None)
    return [*parts, *rank_parts(ranks, middle, opens, numbers)]


def run_chart(
    figure: RunFigure, run: Run, numbers: Iterator[int], opens: Opens | None = None
) -> list[Part]:
    """Return a figure of a run as a chart; nothing if the run does not allow it."""
    try:
        content = figure.make(run, Choice())
    except UsageError:
        return []
    height = figure.height_inches(run.header.ranks)
    return [
        live_chart(content, figure.heading, figure.caption, numbers, height=height, opens=opens)
    ]


def models_table(fitted: FittedGroup) -> Table:
    """Return the table of models, with what each takes the median run to be."""
    explained = {model.name: model.explanation for model in fitted.median_run.models}
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


def laws_table(fitted: FittedGroup) -> list[Part]:
    """Return the table of families that describe the median run best; none if none were tried."""
    laws = fitted.median_run.laws
    if not laws:
        return []
    by_error, by_likelihood = laws["by_squared_error"], laws["by_likelihood"]
    return [
        Table(
            columns=(
                Column("law of least squared error"),
                Column("error", "right"),
                Column("most likely law"),
                Column("nats a body below the best", "right"),
            ),
            rows=[
                (
                    one["family"],
                    f"{one['squared_error']:.3g}",
                    other["family"],
                    f"{by_likelihood[0]['log_likelihood'] - other['log_likelihood']:.4f}",
                )
                for one, other in zip(by_error[:LAWS], by_likelihood[:LAWS], strict=True)
            ],
        )
    ]


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
