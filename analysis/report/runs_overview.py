"""The first screen of a report: what ran, where the time goes, and what costs most of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.history.headline import scope
from hindmost.analysis.history.page.data import (
    history_conclusions,
    history_sentences,
    judge_nights,
    leading_charts,
    no_change,
)
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.report.comparison import solver_conclusions
from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.report.run_conclusions import PIPELINING, facts_on
from hindmost.analysis.report.scaling_page import ScalingPage, by_share
from hindmost.analysis.runs.cores import CROWDED, shared_cores
from hindmost.analysis.runs.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.first_screen import (
    headline_of,
    judge_data,
    leading_loss,
    worth_saying,
)
from hindmost.analysis.runs.over_ranks import other_loops
from hindmost.analysis.scaling.study import KernelAtTarget, ScalingStudy
from hindmost.analysis.show import phrases
from hindmost.analysis.show.facts import Certainty, Fact, GrowingWork, NoCore
from hindmost.analysis.show.overview import Bar, Judgement, overview_widget
from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.table import LEADING, MAX_LISTED
from hindmost.models.pmnf.segments.segmentation import where
from hindmost.models.ranks.efficiencies import PARTS, WORK
from hindmost.text import capital, counted, factor, percent, small


def overview_of(
    configurations: Sequence[LookedAt],
    compared: Sequence[Sequence[FittedGroup]],
    further: Sequence[Fact],
    experiments: ScalingPage,
    findings: Sequence[Finding],
    *,
    kernels: Sequence[KernelEfficiencies],
    curves: Sequence[Widget],
    files: int,
    studies: Sequence[ScalingStudy],
    history: HistoryStudy | None,
) -> tuple[Widget, Sequence[Widget]]:
    """Return the first screen, and the pictures on it, which lead: those of the costliest loss.

    Parameters
    ----------
    compared : sequence of sequences of FittedGroup
        Those that differ in their solver only.
    further : sequence of Fact
        On predictions of cycles.
    findings : sequence of Finding
        On all run files.
    kernels : sequence of KernelEfficiencies
        Those on several numbers of ranks come first: how they scale.
    curves : sequence of Widget
        Their speed-up and efficiency.
    files : int
        Number of run files.
    """
    of_runs = run_conclusions(configurations, compared)
    said = worth_saying(of_runs)
    scale = [kernel for kernel in kernels if len(kernel.columns) > 1]
    alone = [one for one in configurations if not shared_cores(one.run)]
    if scale and alone:  # figures of the scheduler do not lead
        names = {one.run_name for one in configurations if one not in alone}
        said = [each for each in said if each.run_name not in names]
    leading = leading_of(alone if scale and alone else configurations, said)
    pictures = [*(() if leading is None else leading.pictures), *experiments.pictures]
    if said and said[0].quantity == "Communication":  # the map of work does not show it
        pictures.sort(key=lambda each: each.name != "events")
    shown = [*pictures]
    groups = {
        "Runs": [*of_runs, *further],
        "Scaling experiments": experiments.conclusions,
        "Nightly results": [] if history is None else history_conclusions(history),
    }
    read = [
        f"{study.experiment.source}: {counted(sum(map(len, study.metrics)), 'kernel')} modelled"
        for study in studies
    ]
    nothing = ["No loss above 1 % of the time."] if files else []
    top = headline_on_runs(leading, said, findings)
    if scale:  # the losses of single configurations are below
        top[-1:] = []
        scale.sort(key=lambda kernel: -kernel.columns[-1].time_s)
        first, *others = (kernel.explain() for kernel in scale)
        top[:0] = [*first, *(other[0] for other in others[: LEADING - 1] if other)]
    top += other_loops([run.run for one in configurations for run in one.fitted.runs])
    for each in further[:1]:  # leads where all runs are adaptive
        top.insert(0 if len(further) == len(configurations) else len(top), phrases.text(each))
    if studies and studies[0].metrics:
        metric = studies[0].metrics[0]
        top.append(grown_headline(metric.at_target(by_share(metric)[:1])[0]))
    if history is not None:
        top += history_sentences(history)
        shown += leading_charts(history)
        read.append(scope(history).rstrip(":"))
        nothing.append(no_change(history))
    # Conclusions are folded where all are of shared cores.
    crowded = {finding.file for finding in findings if finding.code == CROWDED}
    in_doubt = not studies and history is None and 0 < files <= len(crowded)
    in_doubt = in_doubt and not any(fact.leads for fact in said)
    overview = overview_widget(
        top[0] if top else "",
        further=" ".join(top[1:]),
        ran=[*what_ran(configurations), *read],
        data=judge_all(findings, files, studies, history),
        parts=PARTS,
        opening=curves,
        bars=[bar_of(one) for one in configurations],
        pictures=shown,
        pictured=leading.run_name if leading is not None and leading.pictures else "",
        statements={name: worth_saying(found) for name, found in groups.items()},
        folded="At face value, all in doubt" if in_doubt else "",
        nothing=" ".join(nothing),
    )
    return overview, pictures


def leading_of(configurations: Sequence[LookedAt], said: Sequence[Fact]) -> LookedAt | None:
    """Return the configuration with the costliest loss; the first one without any."""
    by_name = {one.run_name: one for one in configurations}
    first = next((by_name[each.run_name] for each in said if each.run_name in by_name), None)
    return next(iter(configurations), None) if first is None else first


def run_conclusions(
    configurations: Sequence[LookedAt], compared: Sequence[Sequence[FittedGroup]]
) -> list[Fact]:
    """Return the conclusions on runs and solvers."""
    piped = {id(fitted) for members in compared if has_pipelined(members) for fitted in members}
    found = [
        fact
        for one in configurations
        for fact in facts_on(one)
        if fact.quantity != PIPELINING or id(one.fitted) not in piped  # that is measured
    ]
    for place, members in enumerate(compared):
        found += solver_conclusions(members, f"solvers-{place}")
    return found


def headline_on_runs(
    leading: LookedAt | None, said: Sequence[Fact], findings: Sequence[Finding]
) -> list[str]:
    """Return the most important sentences on runs."""
    if leading is None:
        return []
    of, top = leading.efficiencies, []
    work_share = leading.part_s(WORK) / of.whole_s if of.parts_s else None
    losses = [each.cost_s for each in said if not each.relative]
    if said and said[0].relative and abs(said[0].cost_s) > max(losses, default=0.0):
        measured = said[0].certainty is Certainty.MEASURED
        doubt = "" if measured else f" That is {said[0].certainty}."
        top.append(f"{phrases.text(said[0])}{doubt}")
    top.append(capital(headline_of(said, work_share, findings)))
    if not isinstance(leading_loss(said), GrowingWork):  # how what leads came to be
        top += [phrases.text(fact) for fact in said if isinstance(fact, GrowingWork)][:1]
    top += [repeated.text for repeated in leading.repeats[:1]]
    if said and said[0].leads:  # the program's own fault, then what disturbed the run
        top += [
            f"{phrases.text(fact)} {fact.remedy}"
            for fact in leading.facts
            if isinstance(fact, NoCore)
        ]
    return top


def grown_headline(standing: KernelAtTarget) -> str:
    """Say how far a kernel is predicted to grow, and how sure that is."""
    name, at = standing.series.kernel, standing.target.explain()
    if not (math.isfinite(standing.growth) and standing.predicted > 0.0):
        return f"How {name} grows to {at} is unknown."
    ends = [standing.growth * each / standing.predicted for each in (standing.low, standing.high)]
    may = "may" if standing.doubts() else "is predicted to"
    if standing.growth >= 1.0:
        how = f"grow {factor(standing.growth)}x to {at}"
    else:
        how = f"fall to {factor(standing.growth)}x at {at}"
    changes = " and ".join(where(change) for change in standing.kernel.changes)
    changed = f" Its behaviour changes {changes}." if changes else ""
    known = "no interval"
    if math.isfinite(ends[0]):
        known = f"90 % interval {factor(ends[0])}x to {factor(ends[1])}x"
    return (
        f"{name} {may} {how} ({known}), where it makes up "
        f"{percent(standing.share, 0)} of the total.{changed}"
    )


def judge_all(
    findings: Sequence[Finding],
    files: int,
    studies: Sequence[ScalingStudy],
    history: HistoryStudy | None,
) -> list[Judgement]:
    """Return whether the data of every kind are good enough, each for itself."""
    judged = [("Runs", judge_data(findings, files))] if files else []
    if history is not None:
        judged.append(("Nightly results", judge_nights(history)))
    judged += [(Path(study.experiment.source).name, judge_experiment(study)) for study in studies]
    if len(judged) == 1:
        return [judged[0][1]]
    return [replace(each, text=f"{name}: {small(each.text)}") for name, each in judged]


def judge_experiment(study: ScalingStudy) -> Judgement:
    """Return whether an experiment is good enough to model."""
    at = study.target.at
    unfit = [
        each.series.kernel
        for metric in study.metrics
        for each in metric.at_target(metric.order[:MAX_LISTED])
        if each.kernel.unexplained(at) or each.kernel.model_at(at).misfit
    ]
    if unfit and not study.warnings:
        left = f" and {len(unfit) - 1} more" if unfit[1:] else ""
        return Judgement(
            grade="fair",
            text=f"The models are usable with care: no model fits {unfit[0]}{left} at the target.",
        )
    if not study.warnings:
        return Judgement(
            grade="good",
            text="All kernels could be modelled; the intervals say how well they are known.",
        )
    first, more = study.warnings[0].rstrip("."), len(study.warnings) - 1
    left = f"; {more} more" if more else ""
    return Judgement(grade="fair", text=f"The measurements are usable with care: {first}{left}.")


def has_pipelined(members: Sequence[FittedGroup]) -> bool:
    """Tell whether any of some solvers is pipelined."""
    return any(member.runs[0].run.header.synchronisation == "pipelined" for member in members)


def what_ran(looked: Sequence[LookedAt]) -> list[str]:
    """Say what ran, a line for every workload."""
    lines: dict[str, list[LookedAt]] = {}
    for one in looked:
        lines.setdefault(one.run.header.workload, []).append(one)
    said = []
    for workload, members in lines.items():
        solvers = ", ".join(dict.fromkeys(member.run.header.solver for member in members))
        ranks = sorted({member.run.header.ranks for member in members})
        hosts = max(len(set(member.ranks.hosts)) for member in members) or 1
        runs = sum(len(member.fitted.runs) for member in members)
        said.append(
            f"{solvers} on {workload}, {', '.join(map(str, ranks))} "
            f"{'rank' if ranks == [1] else 'ranks'} on {counted(hosts, 'host')}, "
            f"{counted(runs, 'run')}"
        )
    return said


def bar_of(looked: LookedAt) -> Bar:
    """Return where the time of a configuration goes, as a bar."""
    of = looked.efficiencies
    return Bar(
        name=looked.run_name or looked.fitted.group.title,
        whole_s=of.whole_s,
        shares={name: part_s / of.whole_s for name, part_s in of.parts_s.items()},
        anchor=looked.anchors["section"],
        instead=f"No division of the time: {of.withheld}." if of.withheld else "",
    )
