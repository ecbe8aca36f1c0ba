"""What a page says of adaptive runs: their sections, and the conclusions on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hindmost.analysis.adaptive.figures import ADAPTIVE_FIGURES
from hindmost.analysis.adaptive.study import (
    AdaptiveStudy,
    Replays,
    checkpoint_table,
    load_text,
    onset_table,
    raw_table,
)
from hindmost.analysis.fits.study import FittedGroup, FittedRun
from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.runs.configuration import Group
from hindmost.analysis.runs.cycles import AdaptiveRun
from hindmost.analysis.runs.efficiency.of_run import efficiencies_of
from hindmost.analysis.runs.figures.run_figure import FigureChoice, RunFigure
from hindmost.analysis.runs.finding import OF_CYCLES, Finding, caution_parts
from hindmost.analysis.runs.first_screen import doubted
from hindmost.analysis.runs.summary import load_around
from hindmost.analysis.show.facts import Certainty, Link, Stated
from hindmost.analysis.show.html_charts import live_chart
from hindmost.analysis.show.page import Heading, Paragraph, Part, Widget
from hindmost.analysis.show.table import MAX_LISTED, Column, Table
from hindmost.analysis.whatif.gains import Remedies
from hindmost.errors import UsageError
from hindmost.models.adaptive.machine import Machine
from hindmost.text import counted, percent

EVERY_GROUP = ("interference", "grind", "checkpoints")
"""Figures of the middle run of every group; measured and predicted times are shown together."""
NOT_REPLAYED = "the cycles of an adaptive run do different work, so no replay applies"
INTRODUCTION = (
    "The runs are of a 2-D kernel of one material on an adaptive mesh; it is not SAGE. Each cycle "
    "was predicted before it ran. Errors are mean absolute errors in percent of a cycle's time on "
    "rank 0, without checkpoints and without the first cycle."
)


def adaptive_parts(
    study: AdaptiveStudy,
    machine: Machine | None,
    numbers: Iterator[int],
    findings: Sequence[Finding] = (),
) -> list[Part]:
    """Return the sections: first on all runs, then on each group of replays.

    Parameters
    ----------
    numbers : iterator of int
        Numbers the charts of the page.
    findings : sequence of Finding
        Of the runs.
    """
    alone = len(study.judged) == 1  # then the first screen has its chart
    parts: list[Part] = [
        Heading("Adaptive runs: how well their cycles were predicted"),
        Paragraph(INTRODUCTION),
        raw_table(study.errors),
        *caution_parts(findings, OF_CYCLES),
        *(() if alone else side_by_side(study, machine, numbers)),
    ]
    if study.onsets:
        parts += [
            Heading("How soon a neighbour was detected"),
            onset_table(study.onsets),
        ]
    for place, each in enumerate(study.errors):
        parts += group_parts(place, each, machine, numbers)
    return parts


def side_by_side(
    study: AdaptiveStudy, machine: Machine | None, numbers: Iterator[int]
) -> list[Part]:
    """Return figures 2 and 3: decks in rows, ranks in columns."""
    decks: dict[str, list[Replays]] = {}
    for each in study.judged:
        decks.setdefault(each.deck, []).append(each)
    parts: list[Part] = []
    for groups in decks.values():
        charts = [
            chart
            for group in sorted(groups, key=lambda group: group.ranks)
            for chart in figure_parts("predicted", group.middle, machine, numbers)
        ]
        parts += charts
    return parts


def group_parts(
    place: int,
    group: Replays,
    machine: Machine | None,
    numbers: Iterator[int],
) -> list[Part]:
    """Return the section on replays."""
    run = group.middle
    parts: list[Part] = [
        Heading(group.title, anchor=cycles_anchor(place), short=group.label),
        Paragraph(
            f"{counted(len(group.runs), 'replay')}; load "
            f"{load_text(group.load)}. Drawn from {run.run.path.name}."
        ),
    ]
    parts += [*verdict_parts(run), *written_parts(run)]
    names = EVERY_GROUP if not run.disturbed_on_purpose else ("interference",)
    for name in names:
        parts += figure_parts(name, run, machine, numbers)
        if name == "checkpoints":
            parts.append(checkpoint_table(group.checkpoints))
    return parts


def cycles_anchor(place: int) -> str:
    """Return the anchor of the section on a group of replays."""
    return f"cycles-{place}"


def verdict_parts(run: AdaptiveRun) -> list[Part]:
    """Return the cycles of a run that stood out."""
    verdicts = run.verdicts
    if not verdicts:
        return [Paragraph("No cycle stood out.")]
    kinds = ", ".join(f"{count} {kind}" for kind, count in run.kinds.items())
    more = len(verdicts) - MAX_LISTED
    return [
        Paragraph(f"Cycles that stood out: {kinds}."),
        Table(
            columns=(Column("cycle", "right"), Column("what it shows"), Column("why", "wide")),
            rows=[
                (str(verdict.cycle), verdict.kind, verdict.words)
                for verdict in verdicts[:MAX_LISTED]
            ],
        ),
        *([Paragraph(f"And {more} more.", quiet=True)] if more > 0 else []),
    ]


def written_parts(run: AdaptiveRun) -> list[Part]:
    """Return the checkpoints that a run wrote, and why it stopped early."""
    parts: list[Part] = []
    if run.checkpoints:
        cycles = ", ".join(f"{checkpoint.cycle}" for checkpoint in run.checkpoints[:MAX_LISTED])
        took = sum(checkpoint.seconds for checkpoint in run.checkpoints)
        size = max(checkpoint.bytes for checkpoint in run.checkpoints)
        parts.append(
            Paragraph(
                f"Checkpoints written after cycles {cycles}: {took:.3g} s in total, up to "
                f"{size / 1e6:.3g} MB each."
            )
        )
    if run.stopped:
        parts.append(Paragraph(f"The run stopped early: {run.stopped}"))
    return parts


def figure_parts(
    name: str, run: AdaptiveRun, machine: Machine | None, numbers: Iterator[int]
) -> list[Widget]:
    """Return a figure with the load of the machine in its caption, if the run allows it."""
    figure = next(figure for figure in ADAPTIVE_FIGURES if figure.name == name)
    try:
        content = figure.make(run.run, FigureChoice(machine=machine))
    except UsageError:
        return []
    figure = with_load(figure, run)
    height = figure.height_inches(run.ranks)
    heading = f"{figure.heading}: {run.title}"
    return [live_chart(content, heading, figure.caption, numbers, height=height)]


def with_load(figure: RunFigure, run: AdaptiveRun) -> RunFigure:
    """Return a figure whose caption gives the load of the machine."""
    said = load_text(load_around(run.run))
    return replace(figure, caption=f"{figure.caption} Load: {said}.")


def looked_at(
    replays: Replays, anchor: str, findings: Sequence[Finding], pictures: Sequence[Widget] = ()
) -> LookedAt:
    """Return a group of replays as conclusions on runs take it, with what shows its cycles."""
    runs = tuple(run.run for run in replays.runs)
    middle = replays.middle.run
    ranks, remedies = report_run(middle), Remedies(refused=NOT_REPLAYED)
    fitted = FittedGroup(
        group=Group(runs),
        runs=tuple(FittedRun(run=run, models=(), refused={}, laws=(), tests=()) for run in runs),
        findings=tuple(findings),
    )
    return LookedAt(
        fitted=fitted,
        ranks=ranks,
        slowest=None,
        efficiencies=efficiencies_of(middle),
        remedies=remedies,
        anchors={"section": anchor, "runs": anchor},
        run_name=replays.label,
        pictures=pictures,
    )


def prediction_conclusions(
    study: AdaptiveStudy, anchors: Sequence[str], findings: Sequence[Finding]
) -> list[Stated]:
    """Return how well the cycles of every group of replays were predicted, and what stood out."""
    return [
        doubted(prediction_conclusion(errors, anchor), findings)
        for errors, anchor in zip(study.errors, anchors, strict=True)
        if errors.raw
    ]


def prediction_conclusion(replays: Replays, anchor: str) -> Stated:
    """Return how well the cycles of one group were predicted."""
    means = {name: float(np.mean(each)) for name, each in replays.raw.items() if each}
    best = min(means, key=lambda name: means[name])
    verdicts = replays.middle.verdicts
    kinds = ", ".join(f"{count} {kind}" for kind, count in replays.middle.kinds.items())
    stood = (
        f" {counted(len(verdicts), 'cycle')} stood out: {kinds}."
        if verdicts
        else " No cycle stood out."
    )
    floor = (
        ""
        if replays.floor is None
        else f" Replays of the same cycles differ by {percent(replays.floor / 100.0)}."
    )
    return Stated(
        quantity="Prediction of cycles",
        text=f"The best predictor, {best}, misses a cycle by {percent(means[best] / 100.0)} on "
        f"average.{floor}{stood}",
        cost_s=0.0,
        amount=percent(means[best] / 100.0),
        certainty=Certainty.MEASURED,
        basis=f"{counted(len(replays.runs), 'run')}, every cycle predicted before it ran",
        run_name=replays.label,
        links=(Link(anchor=anchor, text="Cycles"),),
        topics=OF_CYCLES,
        files=tuple(str(run.run.path) for run in replays.runs),
    )
