"""The sections on adaptive runs of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hindmost.analysis.adaptive import tables
from hindmost.analysis.adaptive.goals import goals_of
from hindmost.analysis.adaptive.replays import Replays
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.adaptive.study import Errors, Study
from hindmost.analysis.figures.adaptive.figures import ADAPTIVE_FIGURES
from hindmost.analysis.figures.choice import Choice
from hindmost.analysis.figures.run_figures import RunFigure
from hindmost.analysis.page.charts import LiveChart
from hindmost.analysis.page.draw import drawn, live_chart
from hindmost.analysis.page.parts import Beside, Column, Heading, Paragraph, Part, Picture, Table
from hindmost.analysis.summary import load_around
from hindmost.errors import UsageError
from hindmost.models.dynamic.machine import Machine

EVERY_GROUP = ("interference", "grind", "checkpoints", "phases-over-cycles", "cells", "adaption")
"""Figures of the middle run of every group; measured against predicted times stand together."""
MOST_VERDICTS = 20
SAYS = (
    "A 2-D kernel of one material on an adaptive mesh, which is not SAGE. Every cycle was "
    "predicted before it ran; errors are mean absolute ones, in percent of what the cycle took on "
    "rank 0, without checkpoints, and without the first cycle."
)
RAW = (
    "Raw errors in percent, as each run made its predictions: mean and half the range of replays; "
    "load before and after, the highest of the replays. "
    "The floor is what no prediction can better: the mean distance of a replay from the median of "
    "all replays of the same cycle."
)
DENOISED = (
    "Denoised errors in percent: every cycle is the fastest of its replays, and the "
    "predictors run over these times anew. These figures say what the models miss when the "
    "machine does not disturb them; they are not to be set beside raw ones."
)
PHASES = (
    "The offline model phase by phase, with the heat iterations that were done. Halo and reduction "
    "hold on rank 0 what it waited for others; on the rank that spends least in a phase hardly any "
    "waiting is left, and that is what the model means by communication."
)
WASTE = (
    "Waste is the expected wall time above the computed one, with failures at random; the last "
    "column is what lies above the least waste there is, in points of percent."
)


def adaptive_parts(study: Study, machine: Machine | None, numbers: Iterator[int]) -> list[Part]:
    """Return the sections: what all runs come to, then each group of replays.

    Parameters
    ----------
    numbers : iterator of int
        Gives every chart of the page its number.
    """
    parts: list[Part] = [
        Heading("Adaptive runs: how well their cycles were predicted"),
        Paragraph(SAYS),
        tables.raw_table(study.errors),
        Paragraph(RAW, quiet=True),
        *denoised(study.errors),
        Heading("Beside the paper's tables 3 and 4"),
        tables.paper_table(study.judged),
        Paragraph(
            "Errors in percent; a, b, c are timing-a, -b and -c. Rows of this machine are raw; "
            "online is the paper's model, the time per cell over all cycles before. The paper's: "
            "Mathis and Kerbyson, Dynamic Performance Prediction of an Adaptive Mesh Application, "
            "on SAGE.",
            quiet=True,
        ),
        *side_by_side(study, machine, numbers),
        Heading("What predictions are for, and what they reach"),
        tables.goal_table(goals_of(study)),
        Paragraph(
            "Limits, alarms and slowdowns are simulated on recorded cycles of undisturbed runs.",
            quiet=True,
        ),
    ]
    if study.onsets:
        parts += [
            tables.onset_table(study.onsets),
            Paragraph(
                "Errors are those of shape-level from the fourth disturbed cycle on.", quiet=True
            ),
        ]
    for place, each in enumerate(study.errors):
        parts += group_parts(study, place, each, machine, numbers)
    return parts


def denoised(errors: Sequence[Errors]) -> list[Part]:
    """Return the table of denoised errors, where there are replays."""
    if not any(each.denoised for each in errors):
        return [Paragraph("No denoised errors, and no floor: no run was replayed (--repeats).")]
    return [tables.denoised_table(errors), Paragraph(DENOISED, quiet=True)]


def side_by_side(study: Study, machine: Machine | None, numbers: Iterator[int]) -> list[Part]:
    """Return figures 2 and 3: decks in rows, ranks in columns."""
    decks: dict[str, list[Replays]] = {}
    for each in study.judged:
        decks.setdefault(each.replays.deck, []).append(each.replays)
    parts: list[Part] = []
    for groups in decks.values():
        charts = [
            chart
            for group in sorted(groups, key=lambda group: group.ranks)
            for chart in figure_parts("predicted", group.middle, machine, numbers)
            if isinstance(chart, LiveChart)
        ]
        if charts:
            parts.append(Beside(charts))
    return parts


def group_parts(
    study: Study, place: int, errors: Errors, machine: Machine | None, numbers: Iterator[int]
) -> list[Part]:
    """Return the section on replays."""
    group = errors.replays
    run = group.middle
    parts: list[Part] = [
        Heading(group.title),
        Paragraph(
            f"{len(group.runs)} replay{'s' * (len(group.runs) > 1)}; load "
            f"{tables.load_text(errors.load)}. Drawn from {run.run.path.name}."
        ),
    ]
    if place in study.phases:
        parts += [tables.phase_table(study.phases[place]), Paragraph(PHASES, quiet=True)]
    parts += [*verdict_parts(run), *written_parts(run)]
    names = EVERY_GROUP if not run.disturbed_on_purpose else ("interference",)
    for name in names:
        parts += figure_parts(name, run, machine, numbers)
        if name == "checkpoints":
            parts += [
                tables.checkpoint_table(study.checkpoints[place]),
                Paragraph(WASTE, quiet=True),
            ]
    return parts


def verdict_parts(run: AdaptiveRun) -> list[Part]:
    """Return what stood out in a run, in words."""
    verdicts = run.verdicts
    if not verdicts:
        return [Paragraph("No cycle stood out.")]
    counts: dict[str, int] = {}
    for each in verdicts:
        counts[each["kind"]] = counts.get(each["kind"], 0) + 1
    told = ", ".join(f"{kind}: {count}" for kind, count in counts.items())
    more = len(verdicts) - MOST_VERDICTS
    return [
        Paragraph(f"Cycles that stood out: {told}."),
        Table(
            columns=(Column("cycle", "right"), Column("what it shows"), Column("why", "wide")),
            rows=[
                (str(each["cycle"]), each["kind"], each["words"])
                for each in verdicts[:MOST_VERDICTS]
            ],
        ),
        *([Paragraph(f"And {more} more.", quiet=True)] if more > 0 else []),
    ]


def written_parts(run: AdaptiveRun) -> list[Part]:
    """Return the checkpoints that a run wrote, and why it stopped."""
    parts: list[Part] = []
    if run.checkpoints:
        cycles = ", ".join(f"{each['cycle']:.0f}" for each in run.checkpoints[:MOST_VERDICTS])
        took = sum(each["seconds"] for each in run.checkpoints)
        size = max(each["bytes"] for each in run.checkpoints)
        parts.append(
            Paragraph(
                f"Checkpoints written after cycles {cycles}: {took:.3g} s in all, up to "
                f"{size / 1e6:.3g} MB each."
            )
        )
    if run.spec.get("stopped"):
        parts.append(Paragraph(f"The run stopped early: {run.spec['stopped']}"))
    return parts


def figure_parts(
    name: str, run: AdaptiveRun, machine: Machine | None, numbers: Iterator[int]
) -> list[Part]:
    """Return a figure with the load of the machine in its caption; nothing if there is none."""
    figure = next(each for each in ADAPTIVE_FIGURES if each.name == name)
    try:
        content = figure.make(run.run, Choice(machine=machine))
    except UsageError:
        return []
    figure = with_load(figure, run)
    height = figure.height_inches(run.ranks)
    if any(getattr(content, "logarithmic", ())):  # charts on pages have even axes only
        return [
            Picture(
                png=drawn(content, height),
                description=f"{figure.heading}: {content.title}",
                caption=f"{figure.heading}. {figure.caption}",
            )
        ]
    heading = f"{figure.heading}: {run.title}"
    return [live_chart(content, heading, figure.caption, numbers, height=height)]


def with_load(figure: RunFigure, run: AdaptiveRun) -> RunFigure:
    """Return a figure whose caption says how busy the machine was."""
    said = tables.load_text(load_around(run.run))
    return replace(figure, caption=f"{figure.caption} Load: {said}.")
