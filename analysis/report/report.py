"""The page on a set of runs: solvers side by side, models, where the time went, charts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from hindmost.analysis.adaptive.study import study_runs
from hindmost.analysis.fits.study import (
    LEGEND,
    FittedGroup,
    assumption_lines,
    contradictions,
    laws_table,
    models_table,
    refusals,
)
from hindmost.analysis.history.page.history_page import history_parts
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.ranks.figures import activity_profiles
from hindmost.analysis.ranks.read import ranks_of_run
from hindmost.analysis.ranks.study import RankReport, report_run
from hindmost.analysis.report.adaptive_page import (
    adaptive_parts,
    cycles_anchor,
    figure_parts,
    looked_at,
    prediction_conclusions,
)
from hindmost.analysis.report.comparison import comparable, solvers_table
from hindmost.analysis.report.event_window import CAPTION, OF_PATH, event_window, without_events
from hindmost.analysis.report.looked_at import LookedAt, slowest_iteration
from hindmost.analysis.report.rank_conclusions import slow_ranks
from hindmost.analysis.report.ranks_page import openings, rank_parts
from hindmost.analysis.report.run_figures import figure_named
from hindmost.analysis.report.runs_overview import overview_of
from hindmost.analysis.report.scaling_page import scaling_page
from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.cycles import AdaptiveRun
from hindmost.analysis.runs.efficiency.of_run import (
    counted_efficiencies,
    efficiencies_of,
    is_kept,
)
from hindmost.analysis.runs.efficiency.scaling import (
    efficiencies_over_ranks,
    run_parts,
    scaling_charts,
    scaling_parts,
)
from hindmost.analysis.runs.figures.compare_runs import COMPARISON_FIGURES, apart
from hindmost.analysis.runs.figures.distributions import JOHNSON_SU
from hindmost.analysis.runs.figures.one_run import for_charts
from hindmost.analysis.runs.figures.run_figure import Content, FigureChoice, RunFigure
from hindmost.analysis.runs.finding import (
    OF_COMPARISON,
    OF_MODELS,
    Finding,
    Topic,
    caution_parts,
)
from hindmost.analysis.runs.first_screen import data_parts
from hindmost.analysis.runs.read import of_how_many
from hindmost.analysis.runs.remedies import Need, remedy
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.summary import mpi_name, runs_table, when
from hindmost.analysis.runs.tallies import Wanted, read_together
from hindmost.analysis.scaling.study import ScalingStudy
from hindmost.analysis.show import phrases
from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.event_chart import event_widget
from hindmost.analysis.show.facts import Fact, GrowingWork, RecurringWork, UnequalWork
from hindmost.analysis.show.heat_map import Callout, HeatMap
from hindmost.analysis.show.html_charts import Opens, live_chart
from hindmost.analysis.show.html_renderer import widgets_in
from hindmost.analysis.show.page import Folded, Heading, Page, Paragraph, Part, Widget
from hindmost.analysis.show.palette import LINES
from hindmost.analysis.whatif.gains import remedies_of, remedy_parts
from hindmost.errors import UsageError
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.text import counted

FOLDED = {
    "Iterations with waiting, and their distribution": ("map", "histogram", "cycle"),
    "Phases, activities and efficiencies": (
        "code",
        "threads",
        "phases",
        "activity-profile",
        "activities",
        "efficiency",
    ),
}
"""Figures of the median run of each configuration, under the words that unfold them."""
IN_DOUBT = "Findings that put these numbers in doubt"
MAX_CURVES = 3
"""Ranks whose growing work is drawn."""
MAX_POINTED = 60
"""Iterations that a map points at."""
OF_MODELS_TABLE = "Models that explain the measured time, or bound it, and what each assumes:"
OF_RUNS = "Each column is the median of all runs by itself."


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a report is about.

    Attributes
    ----------
    groups : sequence of FittedGroup
    adaptive : sequence of AdaptiveRun
    machine : Machine or None
        From which adaptive runs were predicted.
    studies : sequence of ScalingStudy
    history : HistoryStudy or None
    """

    groups: Sequence[FittedGroup] = ()
    adaptive: Sequence[AdaptiveRun] = ()
    machine: Machine | None = None
    studies: Sequence[ScalingStudy] = ()
    history: HistoryStudy | None = None


def report_page(contents: Contents) -> Page:
    """Return the page: first what costs most, then every kind of file in sections of its own."""
    numbers, groups = count(1), contents.groups
    compared = comparable(groups)
    names = apart([fitted.group for fitted in groups]) if len(groups) > 1 else [""]
    sections = [
        section(fitted, name, f"configuration-{place}", numbers)
        for place, (fitted, name) in enumerate(zip(groups, names, strict=False))
    ]
    findings = [finding for fitted in groups for finding in fitted.findings]
    solvers = [
        part
        for place, members in enumerate(compared)
        for part in comparison(members, place, numbers)
    ]
    kernels = efficiencies_over_ranks([run.run for fitted in groups for run in fitted.runs])
    scaling = scaling_parts(kernels, findings)
    curves = [
        live_chart(chart, chart.title, caption, numbers, height=2.4)
        for chart, caption in scaling_charts(kernels)
    ]
    looked = [each for each, _ in sections]
    cycles: list[Part] = []
    further: list[Fact] = []
    if contents.adaptive:
        found = findings_of(group_runs([each.run for each in contents.adaptive]))
        findings += found
        study = study_runs(contents.adaptive)
        machine = contents.machine
        cycles = adaptive_parts(study, machine, numbers, found)
        anchors = [cycles_anchor(place) for place in range(len(study.errors))]
        further += prediction_conclusions(study, anchors, found)
        looked += [
            looked_at(each, anchor, found, figure_parts("predicted", each.middle, machine, numbers))
            for each, anchor in zip(study.errors, anchors, strict=True)
        ]
    experiments = scaling_page(contents.studies, numbers)
    overview, leading = overview_of(
        looked,
        compared,
        further,
        experiments,
        findings,
        kernels=kernels,
        curves=curves,
        files=sum(len(fitted.runs) for fitted in groups) + len(contents.adaptive),
        studies=contents.studies,
        history=contents.history,
    )
    return Page(
        title=title_of(contents, scales=bool(curves)),
        subtitle=subtitle_of(contents),
        parts=[
            overview,
            *solvers,
            *scaling,
            *(part for _, parts in sections for part in parts if part not in leading),
            *cycles,
            *experiments.parts,
            *(history_parts(contents.history) if contents.history is not None else ()),
            *data_parts(findings),
        ],
        headed=True,
    )


def title_of(contents: Contents, *, scales: bool) -> str:
    """Return the title of a page; ``scales`` tells whether runs scale over ranks."""
    kinds = {
        "runs": contents.groups or contents.adaptive,
        "scaling": contents.studies,
        "nightly results": contents.history is not None,
    }
    given = [name for name, there in kinds.items() if there]
    if len(given) > 1:
        return f"Performance: {', '.join(given[:-1])} and {given[-1]}"
    if contents.groups:
        workloads = {fitted.runs[0].run.header.workload for fitted in contents.groups}
        if scales and len(workloads) == 1:
            return f"How {workloads.pop()} scales"
        return "Where iterations lost time"
    if contents.adaptive:
        return "How well cycles were predicted"
    return "How kernels scale" if contents.studies else "Performance, night by night"


def subtitle_of(contents: Contents) -> str:
    """Return what was read."""
    said = []
    headers = [run.run.header for fitted in contents.groups for run in fitted.runs]
    headers += [each.run.header for each in contents.adaptive]
    if headers:
        first, which = headers[0], "the first " if len(headers) > 1 else ""
        petsc = f", PETSc {version}" if (version := first.environment.get("petsc")) else ""
        said.append(
            f"{counted(len(headers), 'recorded run')}, {which}from {when(first.t0_utc)}; "
            f"{mpi_name(first.mpi_library)}{petsc}"
        )
    if contents.studies:
        said.append(counted(len(contents.studies), "scaling experiment"))
    if contents.history is not None:
        said.append(f"{counted(len(contents.history.judged), 'series')} of nightly results")
    return "; ".join(said)


def comparison(members: Sequence[FittedGroup], place: int, numbers: Iterator[int]) -> list[Part]:
    """Return the parts on solvers of the same workload."""
    header = members[0].runs[0].run.header
    endings = [Ending.of(run.run.header) for fitted in members for run in fitted.runs]
    to_tolerance = [ending for ending in endings if ending is not None and ending.to_tolerance]
    parts: list[Part] = [
        Heading(
            f"Solvers of {header.workload} on {counted(header.ranks, 'rank')}, side by side",
            anchor=f"solvers-{place}",
        ),
        solvers_table(members),
        Paragraph(what_is_compared(to_tolerance, members[0].runs[0].run), quiet=True),
        *doubts([finding for fitted in members for finding in fitted.findings], OF_COMPARISON),
    ]
    reduced = [run.run for fitted in members for run in fitted.runs if run.run.reduced]
    if reduced:
        parts.append(
            Paragraph(
                f"Distributions are not compared: {reduced[0].path.name} has full records of "
                f"{of_how_many(reduced[0])}."
            )
        )
    elif len(members) <= len(LINES):
        figure = next(figure for figure in COMPARISON_FIGURES if figure.name == "ecdf")
        content = figure.make([run.run for fitted in members for run in fitted.runs])
        heading = "Distribution of iteration times"
        drawn = live_chart(content, heading, figure.caption, numbers, height=2.8)
        parts.append(Folded(heading, [drawn]))
    return parts


def doubts(findings: Sequence[Finding], topics: Collection[Topic]) -> list[Part]:
    """Return the findings that put some numbers in doubt, folded: the first screen names them."""
    cautions = caution_parts(findings, topics)
    return [Folded(IN_DOUBT, cautions)] if cautions else []


def what_is_compared(to_tolerance: Sequence[Ending], run: Run) -> str:
    """Return what the compared times are, and whether they mean the same."""
    if not to_tolerance:
        return (
            "All solvers did the same number of iterations. These times do not show that a solver "
            f"may converge in fewer{remedy(Need.TOLERANCE, run, before='; for that ')}."
        )
    norms = list(dict.fromkeys(ending.norm for ending in to_tolerance))
    differ = f" The norms differ here: {', '.join(norms)}." if len(norms) > 1 else ""
    return (
        "Each solver ends when its own residual norm reaches the tolerance."
        f"{differ} The true residual is computed after the solve, relative to the right-hand side."
    )


def wanted_of(run: Run) -> list[Wanted[Any]]:
    """Return what the section on a configuration reads of its median run, all at once."""
    if not run.bodies:
        return []
    wanted: list[Wanted[Any]] = [
        for_charts(FigureChoice().place_of(run)),
        activity_profiles(),
    ]
    if not run.reduced:
        wanted += [ranks_of_run(), *([] if is_kept(run) else [counted_efficiencies()])]
    return wanted


def section(
    fitted: FittedGroup, name: str, anchor: str, numbers: Iterator[int]
) -> tuple[LookedAt, list[Part]]:
    """Return what was looked at of one configuration, and its section.

    Parameters
    ----------
    name : str
        What the configuration is called; empty if there is no other.
    anchor : str
        Of the section.
    """
    middle = fitted.median_run.run
    read_together(middle, wanted_of(middle))
    ranks, slowest = report_run(middle), slowest_iteration(middle)
    opens = openings(ranks, next(numbers)) if middle.header.ranks > 1 else None
    facts = facts_of(middle, fitted.findings, read_large=True)
    callouts = callouts_of(facts, middle, slow_ranks(ranks))
    growing = [rank for fact in facts if isinstance(fact, GrowingWork) for rank in fact.ranks]
    choice = FigureChoice(ranks=tuple(growing[:MAX_CURVES]))
    pictures = [
        *(run_chart(figure_named("growth"), middle, numbers, None, choice) if growing else []),
        *run_chart(figure_named("work"), middle, numbers, opens, callouts=callouts),
        *run_chart(figure_named("flame"), middle, numbers, opens),
        *event_parts(middle, ranks, numbers, slowest),
        *run_chart(figure_named("time-left"), middle, numbers, opens),
    ]
    efficiencies, remedies = efficiencies_of(middle), remedies_of(middle, briefly=True)
    parts: list[Part] = [
        Heading(
            fitted.group.title,
            anchor=anchor,
            short=name or "The run",
            facets=facets_of(fitted, name),
        ),
        *pictures,
        runs_table([run.run for run in fitted.runs]),
        *(Paragraph(drawn, quiet=True) for drawn in which_run(fitted)),
        *run_parts([efficiencies_of(run.run) for run in fitted.runs], efficiencies),
        *doubts(fitted.findings, (Topic.PHASES,)),
        *remedy_parts(remedies),
        Folded("Models of the measured time", models_parts(fitted)),
    ]
    for words, names in FOLDED.items():
        folded = [
            part
            for name in names
            for part in run_chart(figure_named(name), middle, numbers, opens, callouts=callouts)
        ]
        parts += [Folded(words, folded)] if folded else []
    if of_ranks := rank_parts(ranks, middle, opens, numbers):
        parts.append(Folded("Ranks", of_ranks))
    charts = [widget for widget in widgets_in(parts) if widget.name]
    looked = LookedAt(
        fitted=fitted,
        ranks=ranks,
        slowest=slowest,
        efficiencies=efficiencies,
        remedies=remedies,
        anchors={"section": anchor, "runs": anchor}
        | {chart.name: chart.anchor for chart in charts},
        run_name=name,
        pictures=[picture for picture in pictures if isinstance(picture, Widget)],
    )
    return looked, parts


def models_parts(fitted: FittedGroup) -> list[Part]:
    """Return the models of a configuration, what each assumes, and what contradicts it."""
    laws = fitted.median_run.laws
    legend = " ".join(LEGEND.split()) + (f" {OF_RUNS}" if len(fitted.runs) > 1 else "")
    return [
        Paragraph(OF_MODELS_TABLE, quiet=True),
        models_table(fitted, explained=True),
        *caution_parts(fitted.findings, OF_MODELS),
        *map(Paragraph, (*contradictions(fitted), *refusals(fitted), *assumption_lines(fitted))),
        *([laws_table(laws)] if laws else []),
        Paragraph(legend, quiet=True),
    ]


def which_run(fitted: FittedGroup) -> Iterator[str]:
    """Yield which of several runs is charted and replayed: the median one, or one next to it."""
    runs, file = len(fitted.runs), fitted.median_run.run.path.name
    if runs == 2:
        yield f"Charts and replays are of {file}, one of the two runs."
    elif runs > 2:
        which = "with" if runs % 2 else "next to"
        yield f"Charts and replays are of {file}, the run {which} the median solve time."


def event_parts(
    run: Run, ranks: RankReport, numbers: Iterator[int], slowest: int | None
) -> list[Part]:
    """Return the timeline of single iterations, or why there is none."""
    window = event_window(run, ranks, slowest)
    if window is None:
        said = without_events(run)
        return [Paragraph(said, quiet=True)] if said else []
    caption = CAPTION + (OF_PATH if window.path is not None else "")
    return [event_widget(window, numbers, "Events of single iterations", caption)]


def facets_of(fitted: FittedGroup, name: str) -> dict[str, str]:
    """Return what the section on a configuration can be filtered by."""
    header = fitted.median_run.run.header
    return {
        "run": name,
        "workload": header.workload,
        "solver": header.solver,
        "ranks": str(header.ranks),
    }


def of_columns(opens: Opens, run: Run) -> Opens:
    """Return what a click opens in a chart whose places are the ranks with full records."""
    places = {
        column: opens.places[rank]
        for column, rank in enumerate(run.kept_ranks.tolist())
        if rank in opens.places
    }
    return Opens(number=opens.number, places=places)


def run_chart(
    figure: RunFigure,
    run: Run,
    numbers: Iterator[int],
    opens: Opens | None,
    choice: FigureChoice | None = None,
    callouts: tuple[Callout, ...] = (),
) -> list[Part]:
    """Return a figure of a run as a chart, if the run allows it."""
    try:
        content = figure.make(run, choice or FigureChoice())
    except UsageError:
        return []
    if isinstance(content, HeatMap):
        content = replace(content, callouts=callouts)
    if not figure.of_ranks:
        opens = None
    elif opens is not None and figure.by_rank:  # rows are the ranks with full records
        opens = of_columns(opens, run)
    height = figure.height_inches(run.header.ranks)
    caption = " ".join(words_of(figure, content, run))
    drawn = live_chart(content, figure.heading, caption, numbers, height=height, opens=opens)
    return [replace(drawn, name=figure.name)]


def words_of(figure: RunFigure, content: Content, run: Run) -> Iterator[str]:
    """Yield what a figure of a run shows, of what is drawn and no more."""
    yield figure.caption
    if isinstance(content, HeatMap):
        if content.selection:
            yield "The iterations at one place of the restart cycle all do the same work."
        return
    if isinstance(content, Chart) and any(each.name == JOHNSON_SU for each in content.series):
        yield f"{JOHNSON_SU} is the law that the stationary model assumes."
    if figure.name == "histogram" and run.header.synchronisation == "pipelined":
        yield (
            "Iterations that only fill the pipeline (prologue) are left out; those that drain it "
            "(epilogue) make a peak at the left."
        )


def callouts_of(facts: Sequence[Fact], run: Run, slow: Sequence[int]) -> tuple[Callout, ...]:
    """Return what facts say of single ranks, in the words of the headline, and who else is slow.

    Parameters
    ----------
    slow : sequence of int
        Ranks that the others wait for.
    """
    numbers = run.kept_ranks
    recur = [
        tuple(numbers[list(fact.recurring.columns)].tolist())
        for fact in facts
        if isinstance(fact, RecurringWork)
    ]
    callouts = []
    for fact in facts:
        ranks: tuple[int, ...] = ()
        iterations: tuple[int, ...] = ()
        match fact:
            case UnequalWork(culprit=culprit) if culprit is not None and culprit.sure:
                ranks = () if culprit.ranks in recur else culprit.ranks  # that says it with times
            case GrowingWork() if len(fact.ranks) < run.header.ranks:
                ranks = fact.ranks
            case RecurringWork():
                ranks = tuple(numbers[list(fact.recurring.columns)].tolist())
                rows = fact.recurring.rule.rows(run.bodies)
                iterations = tuple(rows[:: -(-rows.size // MAX_POINTED)].tolist())
        if ranks:
            text = phrases.brief(fact)
            callouts.append(Callout(text=text, ranks=ranks, iterations=iterations))
    named = {rank for callout in callouts for rank in callout.ranks}
    if rest := tuple(rank for rank in slow if rank not in named):
        callouts.append(Callout(text="", ranks=rest))
    return tuple(callouts)
