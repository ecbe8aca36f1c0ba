"""What each figure of ranks shows, made from all there is to say of the ranks of a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures import ranks
from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.figures.choice import Choice, column_of
from hindmost.analysis.figures.palette import FILLS
from hindmost.analysis.figures.ranks import Bar
from hindmost.analysis.ranks.report import RankReport, report_run
from hindmost.analysis.ranks.run import RanksOfRun
from hindmost.analysis.ranks.timelines import timelines_of
from hindmost.analysis.runs import title_of
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run

WAITING = "waiting"
OTHERS = "others"


def of_report(make: Callable[[RankReport], Chart]) -> Callable[[Run, Choice], Chart]:
    """Return what makes a figure of a run by looking at its ranks; one alone has none."""

    def made(run: Run, choice: Choice) -> Chart:
        if run.columns == 1:
            raise UsageError(f"{run.path} has one rank, which has nobody to be compared with.")
        return make(report_run(run))

    return made


def hindmost_chart(report: RankReport) -> Chart:
    """Make the chart of who is last, and who causes the waiting."""
    if report.lateness is None:
        raise UsageError(f"{report.file} has no times, so nobody is last.")
    return ranks.hindmost_of_ranks(
        report.lateness, report.numbers, report.hosts, title=report.title
    )


def outlier_chart(report: RankReport) -> Chart:
    """Make the bars of the ranks worth a look, beside the mean of all."""
    times = parts_of(report)
    chosen = report.worth_a_look()
    rows = [Bar(name="all", times={name: float(each.mean()) for name, each in times.items()})]
    for place in chosen:
        named = {name: float(each[place]) for name, each in times.items()}
        rows.append(Bar(name=str(report.numbers[place]), times=named))
    return ranks.bars(rows, title=report.title, what="time of a rank")


def parts_of(report: RankReport) -> dict[str, NDArray[np.float64]]:
    """Return the times of every rank by part, as many parts as can be told apart.

    Returns
    -------
    dict of str to float64 array, shape (rank,), seconds
        Waiting last, where it was recorded.
    """
    metrics = report.metrics
    times = {
        name: metrics.values[:, at]
        for at, name in enumerate(metrics.names)
        if metrics.domains[at] == "time"
    }
    if not times:
        raise UsageError(f"{report.file} has no times of ranks to be drawn as bars.")
    room = len(FILLS) - (report.run is not None)
    if len(times) > room:
        order = sorted(times, key=lambda name: -float(times[name].sum()))
        times = {
            **{name: times[name] for name in order[: room - 1]},
            OTHERS: np.sum([times[name] for name in order[room - 1 :]], axis=0),
        }
    if report.run is not None:
        times[WAITING] = report.run.waiting_s
    return times


def profile_chart(report: RankReport) -> Chart:
    """Make the time profile of the run."""
    return ranks.at_work(of_run(report).of_run, title=report.title)


def body_profile_chart(report: RankReport) -> Chart:
    """Make the time profile of all bodies laid over each other."""
    return ranks.at_work(of_run(report).of_body, title=report.title, folded=True)


def own_work_chart(report: RankReport) -> Chart:
    """Make the histogram of the own work of bodies."""
    return ranks.own_work(of_run(report).histogram, title=report.title)


def of_run(report: RankReport) -> RanksOfRun:
    """Return what is known of a run; a table has sums only."""
    if report.run is None:
        raise UsageError(f"{report.file} has sums of ranks only, and no course of time.")
    return report.run


def make_timeline(run: Run, choice: Choice) -> Chart:
    """Make the timeline of one rank: the first chosen, or who is hindmost."""
    if choice.ranks:
        place = column_of(run, choice.ranks[0])
    else:
        place = next(iter(report_run(run).worth_a_look())) if run.columns > 1 else 0
    (chart,) = ranks.timeline_charts(timelines_of(run, [place]), title=title_of(run))
    return chart
