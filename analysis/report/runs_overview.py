"""The first screen of a report: what ran, where the time goes, and what costs most of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.history.headline import scope
from hindmost.analysis.history.page.overview import (
    history_conclusions,
    history_headline,
    judge_nights,
    no_change,
)
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.report.comparison import solver_conclusions
from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.report.run_conclusions import PIPELINING, conclusions_on
from hindmost.analysis.report.scaling_page import by_share
from hindmost.analysis.report.time_balance import MEANINGS, PARTS
from hindmost.analysis.runs.conclusion import Conclusion, worth_saying
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.first_screen import (
    CROWDED,
    capital,
    headline_of,
    judge_data,
    small,
    statements_of,
)
from hindmost.analysis.scaling.study import KernelAtTarget, ScalingStudy
from hindmost.analysis.scaling.target import TargetScale
from hindmost.analysis.show.overview import Bar, Judgement, Overview, overview_widget
from hindmost.analysis.show.page import Widget
from hindmost.text import counted, percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """All that the first screen of a report rests on.

    Attributes
    ----------
    configurations : sequence of LookedAt
    compared : sequence of sequences of FittedGroup
        Those that differ in their solver only.
    further : sequence of Conclusion
        On predictions of cycles.
    grown : sequence of Conclusion
        On kernels of experiments.
    growing : sequence of Widget
        Their charts.
    findings : sequence of Finding
        On all run files.
    files : int
        Number of run files.
    studies : sequence of ScalingStudy
    history : HistoryStudy or None
    """

    configurations: Sequence[LookedAt]
    compared: Sequence[Sequence[FittedGroup]]
    further: Sequence[Conclusion]
    grown: Sequence[Conclusion]
    growing: Sequence[Widget]
    findings: Sequence[Finding]
    files: int
    studies: Sequence[ScalingStudy]
    history: HistoryStudy | None


MOST_JUDGED = 20
"""Kernels of a metric, the worst first, whose models are looked at for the verdict on the data."""


def overview_of(looked: Looked) -> tuple[Widget, Sequence[Widget]]:
    """Return the first screen, and the pictures on it, which lead: those of the costliest loss."""
    of_runs = run_conclusions(looked)
    said = worth_saying(of_runs)
    leading = leading_of(looked, said)
    pictures = [*(() if leading is None else leading.pictures), *looked.growing]
    of_nights = [] if looked.history is None else history_conclusions(looked.history)
    groups = {
        "Runs": [*of_runs, *looked.further],
        "Scaling experiments": looked.grown,
        "Nightly results": of_nights,
    }
    judged = judge_all(looked)
    overview = overview_widget(
        Overview(
            headline=" ".join(headlines(looked, said)),
            ran=[*what_ran(looked.configurations), *what_was_read(looked)],
            data=judged[0],
            others=judged[1:],
            parts=PARTS,
            meanings=MEANINGS,
            bars=[bar_of(one) for one in looked.configurations],
            pictures=pictures,
            statements=[
                replace(each, group=name)
                for name, found in groups.items()
                for each in statements_of(found)
            ],
            folded=face_value(looked),
            nothing=" ".join(nothing_found(looked)),
        )
    )
    return overview, pictures


def leading_of(looked: Looked, said: Sequence[Conclusion]) -> LookedAt | None:
    """Return the configuration with the costliest loss; the first one without any."""
    by_name = {one.of: one for one in looked.configurations}
    first = next((each.of for each in said if each.of in by_name), None)
    return next(iter(looked.configurations), None) if first is None else by_name[first]


def face_value(looked: Looked) -> str:
    """Return under which name conclusions are folded; empty unless they are of shared cores."""
    crowded = {each.file for each in looked.findings if each.code == CROWDED}
    alone = not (looked.studies or looked.grown) and looked.history is None
    return "At face value, all in doubt" if alone and 0 < looked.files <= len(crowded) else ""


def nothing_found(looked: Looked) -> Iterator[str]:
    """Yield what is said of runs and nights without a conclusion."""
    if looked.files:
        yield "No loss above 1 % of the time."
    if looked.history is not None:
        yield no_change(looked.history)


def run_conclusions(looked: Looked) -> list[Conclusion]:
    """Return the conclusions on runs and solvers."""
    piped = {
        id(fitted) for members in looked.compared if has_pipelined(members) for fitted in members
    }
    found = [
        each
        for one in looked.configurations
        for each in conclusions_on(one)
        if each.title != PIPELINING or id(one.fitted) not in piped  # that is measured
    ]
    for place, members in enumerate(looked.compared):
        found += solver_conclusions(members, f"solvers-{place}")
    return found


def headlines(looked: Looked, said: Sequence[Conclusion]) -> Iterator[str]:
    """Yield the most important sentence on runs, experiments and nights."""
    leading = leading_of(looked, said)
    if leading is not None:
        balance = leading.balance
        work_share = balance.work_share if balance.parts_s else None
        losses = [each.cost_s for each in said if not each.relative]
        if said and said[0].relative and abs(said[0].cost_s) > max(losses, default=0.0):
            yield f"{said[0].text.rstrip('.')} ({said[0].certainty})."
        yield capital(headline_of(said, work_share, looked.findings))
    if looked.studies and looked.studies[0].metrics:
        metric = looked.studies[0].metrics[0]
        standing = metric.at_target(by_share(metric)[:1])[0]
        yield grown_headline(standing, metric.target)
    if looked.history is not None:
        yield history_headline(looked.history)


def grown_headline(standing: KernelAtTarget, target: TargetScale) -> str:
    """Say how far a kernel is predicted to grow, and how sure that is."""
    name, at = standing.kernel.series.kernel, target.explain()
    if not (math.isfinite(standing.growth) and standing.predicted > 0.0):
        return f"How {name} grows to {at} is unknown."
    ends = [standing.growth * each / standing.predicted for each in (standing.low, standing.high)]
    may = "may" if standing.doubts(target) else "is predicted to"
    if standing.growth >= 1.0:
        how = f"grow {standing.growth:.3g}x to {at}"
    else:
        how = f"fall to {standing.growth:.3g}x at {at}"
    return (
        f"{name} {may} {how} (90 % interval {ends[0]:.3g}x to {ends[1]:.3g}x), and to be "
        f"{percent(standing.share, 0)} of all kernels there."
    )


def judge_all(looked: Looked) -> list[Judgement]:
    """Return whether the data of every kind are good enough, each for itself."""
    judged = []
    if looked.files:
        judged.append(judge_data(looked.findings, looked.files))
    if looked.history is not None:
        judged.append(judge_nights(looked.history))
    for study in looked.studies:
        judged.append(judge_experiment(study))
    names = ["Runs"] * bool(looked.files) + ["Nightly results"] * (looked.history is not None)
    names += [Path(study.experiment.source).name for study in looked.studies]
    if len(judged) < 2:
        return judged
    return [
        replace(each, text=f"{name}: {small(each.text)}")
        for name, each in zip(names, judged, strict=True)
    ]


def judge_experiment(study: ScalingStudy) -> Judgement:
    """Return whether an experiment is good enough to model."""
    at = study.target.at
    unfit = [
        each.series.kernel
        for metric in study.metrics
        for each in metric.kernels(metric.order[:MOST_JUDGED])
        if each.unexplained(at) or each.model_at(at).misfit
    ]
    if unfit and not study.warnings:
        left = f" and {len(unfit) - 1} more" if unfit[1:] else ""
        return Judgement(
            grade="fair",
            text=f"The models are usable with care: none fits {unfit[0]}{left} at the target.",
        )
    if not study.warnings:
        return Judgement(
            grade="good",
            text="All kernels could be modelled; the intervals tell how well they are known.",
        )
    first, more = study.warnings[0].rstrip("."), len(study.warnings) - 1
    left = f"; {more} more" if more else ""
    return Judgement(grade="fair", text=f"The measurements are usable with care: {first}{left}.")


def what_was_read(looked: Looked) -> list[str]:
    """Say what experiments and nights were read."""
    said = [
        f"{study.experiment.source}: {counted(sum(map(len, study.metrics)), 'kernel')} modelled"
        for study in looked.studies
    ]
    return [*said, *([scope(looked.history).rstrip(":")] if looked.history is not None else [])]


def has_pipelined(members: Sequence[FittedGroup]) -> bool:
    """Tell whether any of some solvers is pipelined."""
    return any(each.runs[0].run.header.synchronisation == "pipelined" for each in members)


def what_ran(looked: Sequence[LookedAt]) -> list[str]:
    """Say what ran, a line for every workload."""
    lines: dict[str, list[LookedAt]] = {}
    for one in looked:
        lines.setdefault(one.run.header.workload, []).append(one)
    said = []
    for workload, members in lines.items():
        solvers = ", ".join(dict.fromkeys(each.run.header.solver for each in members))
        ranks = sorted({each.run.header.ranks for each in members})
        hosts = max(len(set(each.ranks.hosts)) for each in members) or 1
        runs = sum(len(each.fitted.runs) for each in members)
        said.append(
            f"{solvers} on {workload}, {', '.join(map(str, ranks))} "
            f"{'rank' if ranks == [1] else 'ranks'} on {counted(hosts, 'host')}, "
            f"{counted(runs, 'run')}"
        )
    return said


def bar_of(looked: LookedAt) -> Bar:
    """Return where the time of a configuration goes, as a bar."""
    balance = looked.balance
    return Bar(
        name=looked.of or looked.fitted.group.title,
        whole_s=balance.whole_s,
        shares={name: balance.share(name) for name in balance.parts_s},
        anchor=looked.anchors["section"],
        instead=f"No division of the time: {balance.why_not}." if balance.why_not else "",
    )
