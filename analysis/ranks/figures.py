"""Figures of ranks: stragglers, outliers, ranks at work or in each phase over time, timelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.read import INTERVALS, RanksOfRun, own_share
from hindmost.analysis.ranks.study import RankReport, report_run
from hindmost.analysis.runs.figures.distributions import (
    first_ranks,
    in_order,
    names_of,
    stacked,
)
from hindmost.analysis.runs.figures.run_figure import FigureChoice, column_of
from hindmost.analysis.runs.read import of_how_many, title_of
from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.analysis.show.chart import Chart, Look, Quantity, Series, noted
from hindmost.analysis.show.heat_map import MAX_ROWS
from hindmost.analysis.show.palette import FILLS
from hindmost.analysis.show.phrases import times_words
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import WAITING as WAITING_PHASES
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.profile import Profile, ProfileSum
from hindmost.text import counted, unit_for

LOCAL, UNCLASSIFIED = "local", "unclassified"
OF_EVENTS = {
    "post": (EventKind.POST,),
    "halo": (EventKind.SEND, EventKind.RECEIVE),
    "wait": (
        EventKind.REDUCE,
        EventKind.COMPLETE,
        EventKind.FROM_ROOT,
        EventKind.TO_ROOT,
        EventKind.IN_ORDER,
    ),
}
"""The phase that the time in an event belongs to."""
WAITING = "waiting"
OTHERS = "others"
ROOM = 1.05
"""Height of an axis over its highest value."""


def of_report(make: Callable[[RankReport], Chart]) -> Callable[[Run, FigureChoice], Chart]:
    """Return a function that makes a figure of the ranks of a run; one rank has none."""

    def made(run: Run, choice: FigureChoice) -> Chart:
        if run.header.ranks == 1:
            raise UsageError(f"{run.path} has only one rank, so there is nothing to compare.")
        return make(report_run(run))

    return made


def hindmost_chart(report: RankReport) -> Chart:
    """Make the chart of stragglers: how often each rank is last, and the wait time it causes."""
    late = report.lateness
    if late is None:
        raise UsageError(f"{report.file} does not contain which rank is last in an iteration.")
    whole = max(float(late.charged_s.sum()), 1e-300)
    shares: tuple[tuple[str, Look, NDArray[np.float64]], ...] = (
        ("wait time of all ranks that it causes", "area", 100.0 * late.charged_s / whole),
        ("iterations in which it is last", "steps", 100.0 * late.last / max(late.bodies, 1)),
    )
    highest = ROOM * max(float(np.max([values for _, _, values in shares])), 1.0)
    return over_ranks(report, Quantity("share", "%"), shares, (0.0, highest), legend_below=True)


def over_ranks(
    report: RankReport,
    y: Quantity,
    curves: Sequence[tuple[str, Look, NDArray[np.float64]]],
    y_limits: tuple[float, float],
    *,
    legend_below: bool = False,
) -> Chart:
    """Make a chart over all ranks; of many, neighbours are pooled by their maximum.

    Parameters
    ----------
    curves : sequence of (str, str, float64 array of shape (rank,))
        Name, look and values.
    """
    ranks = report.numbers.size
    factor = -(-ranks // MAX_ROWS)
    starts = np.arange(0, ranks, factor)
    edges = np.append(starts, ranks) - 0.5
    drawn = Chart(
        title=report.title,
        x=Quantity("rank"),
        y=y,
        series=tuple(
            Series(name=name, look=look, x=edges, y=np.maximum.reduceat(values, starts))
            for name, look, values in curves
        ),
        y_limits=y_limits,
        note=f"the highest of {factor} in a step" if factor > 1 else "",
        marks=first_ranks(list(report.hosts)) if any(report.hosts) else {},
        callouts=callouts_of(report, factor),
        named_mark=report.hosts[report.culprit.rank] if report.culprit and report.hosts else "",
        counted=True,
        names=names_of(report.numbers),
        legend_below=legend_below,
    )
    return of_all(drawn, report)


def callouts_of(report: RankReport, factor: int) -> tuple[tuple[float, str], ...]:
    """Return where the culprit is, and what it does, if it is one for sure.

    Parameters
    ----------
    factor : int
        Ranks in a step of the chart.
    """
    culprit = report.culprit
    if culprit is None or not culprit.sure or culprit.node:
        return ()
    text = f"rank {report.numbers[culprit.rank]} {times_words(culprit, report.numbers.size)}"
    return ((float(culprit.rank // factor * factor) + 0.5 * (factor - 1), text),)


def outlier_chart(report: RankReport) -> Chart:
    """Make the bars of the ranks to inspect, next to the mean of all ranks."""
    places = list(report.worth_a_look())
    times = {
        name: np.array([each.mean(), *each[places]]) for name, each in parts_of(report).items()
    }
    whole = np.sum(list(times.values()), axis=0)
    unit = unit_for(whole)
    heights = {name: unit.per_second * each for name, each in times.items()}
    drawn = Chart(
        title=report.title,
        x=Quantity("rank"),
        y=Quantity("time of a rank", unit.sign),
        series=stacked(heights, np.arange(whole.size, dtype=np.float64), "bars"),
        y_limits=(0.0, ROOM * max(unit.per_second * float(whole.max()), 1e-12)),
        stacked=True,
        counted=True,
        names=("all", *(str(report.numbers[place]) for place in places)),
    )
    return of_all(drawn, report)


def deviation_chart(report: RankReport) -> Chart:
    """Make the chart of how far the work of every rank is from the median of all ranks."""
    late = report.lateness
    if late is None or not np.median(late.work_s) > 0.0:
        raise UsageError(f"{report.file} does not contain the work of ranks.")
    percent = 100.0 * (late.work_s / np.median(late.work_s) - 1.0)
    low, high = min(float(percent.min()), 0.0), max(float(percent.max()), 0.0)
    room = (ROOM - 1.0) * max(high - low, 1.0)
    y = Quantity("work, difference from the median of all ranks", "%")
    return over_ranks(report, y, [("difference", "area", percent)], (low - room, high + room))


def of_all(chart: Chart, report: RankReport) -> Chart:
    """Note that a chart is of all ranks, if only some have full records."""
    if report.run is None or len(report.recorded) == report.numbers.size:
        return chart
    return noted(chart, f"all {counted(report.numbers.size, 'rank')}")


def parts_of(report: RankReport) -> dict[str, NDArray[np.float64]]:
    """Return the times of every rank by part, as many parts as a reader can distinguish.

    Returns
    -------
    dict of str to float64 array, shape (rank,), seconds
        Waiting last, where it was recorded.
    """
    metrics = report.metrics
    times = {
        name: metrics.values[:, at]
        for at, name in enumerate(metrics.names)
        if metrics.domains[at] == "time" and metrics.values[:, at].any()
    }
    if not times:
        raise UsageError(f"{report.file} has no times of ranks to draw as bars.")
    waiting = None if report.run is None else report.run.waiting_s
    if waiting is not None:
        times = {name: each for name, each in times.items() if name not in WAITING_PHASES}
    room = len(FILLS) - (waiting is not None)
    if len(times) > room:
        order = sorted(times, key=lambda name: -float(times[name].sum()))
        times = {
            **{name: times[name] for name in order[: room - 1]},
            OTHERS: np.sum([times[name] for name in order[room - 1 :]], axis=0),
        }
    return times if waiting is None else {**times, WAITING: waiting}


def profile_chart(report: RankReport) -> Chart:
    """Make the time profile of the run."""
    profile = of_run(report).of_run
    unit = unit_for(profile.edges)
    drawn = at_work(report, profile, Quantity("time of the solve", unit.sign), unit.per_second)
    return of_all(drawn, report)


def body_profile_chart(report: RankReport) -> Chart:
    """Make the time profile of all bodies laid over each other."""
    body = of_run(report).of_body
    if body is None:
        raise UsageError(
            f"{report.file} does not contain when all ranks work within an iteration: without "
            "events, or with --keep, that is unknown."
        )
    return at_work(report, body, Quantity("share of an iteration", "%"), 100.0)


def at_work(report: RankReport, profile: Profile, x: Quantity, scale: float) -> Chart:
    """Make the chart of the share of ranks that are at work, interval by interval."""
    percent = 100.0 * profile.utilisation
    return Chart(
        title=report.title,
        x=x,
        y=Quantity("ranks at work", "%"),
        series=(Series(name="at work", look="area", x=scale * profile.edges, y=percent),),
        y_limits=(0.0, max(100.0, ROOM * float(percent.max()))),
    )


def own_work_chart(report: RankReport) -> Chart:
    """Make the histogram of the own work of bodies, with the counts outside its bins."""
    histogram = of_run(report).histogram
    used = np.flatnonzero(histogram.counts)
    if not used.size:
        raise UsageError(f"{report.file} does not contain the own work of iterations of all ranks.")
    unit = unit_for(histogram.edges)
    first, last = used[0], used[-1] + 1
    percent = 100.0 * histogram.counts[first:last] / histogram.total
    edges = unit.per_second * histogram.edges[first : last + 1]
    drawn = Chart(
        title=report.title,
        x=Quantity("own work of an iteration", unit.sign),
        y=Quantity("bodies", "%"),
        series=(Series(name="all ranks", look="area", x=edges, y=percent),),
        y_limits=(0.0, ROOM * float(percent.max())),
        note=f"outside the bins: {histogram.below:,} below, {histogram.above:,} above",
    )
    return of_all(drawn, report)


def of_run(report: RankReport) -> RanksOfRun:
    """Return the ranks of a run; a table has only sums."""
    if report.run is None:
        raise UsageError(f"{report.file} contains only sums of ranks, without times.")
    return report.run


def make_timeline(run: Run, choice: FigureChoice) -> Chart:
    """Make the timeline of one rank: the first one chosen, or the worst straggler."""
    if choice.ranks:
        place = column_of(run, choice.ranks[0])
    else:
        place = 0
        if run.columns > 1:
            place = column_of(run, next(iter(report_run(run).worth_opening())))
    (chart,) = timeline_charts(timelines_of(run, [place]), title=title_of(run))
    return chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Timelines:
    """The bodies of some ranks, neighbours pooled.

    Attributes
    ----------
    numbers : int64 array, shape (rank,)
        Of the ranks.
    edges : float64 array, shape (step + 1,)
        Numbers of the bodies between which the steps lie.
    mean : dict of str to float64 array, shape (rank, step), seconds
        Time of every phase, the mean over the bodies of a step.
    longest : float64 array, shape (rank, step), seconds
        The longest body of a step.
    """

    numbers: NDArray[np.int64]
    edges: NDArray[np.float64]
    mean: dict[str, NDArray[np.float64]]
    longest: NDArray[np.float64]

    @property
    def bodies_a_step(self) -> int:
        """Number of bodies in a step; the last step may have fewer."""
        return round(float(self.edges[1] - self.edges[0]))


def timelines_of(run: Run, places: Sequence[int]) -> Timelines:
    """Read the timelines of ranks.

    Parameters
    ----------
    run : Run
    places : sequence of int
        Columns of the file.
    """
    columns = np.asarray(places, np.int64)
    together = -(-run.bodies // INTERVALS)
    starts = np.arange(0, run.bodies, together)
    sums = np.zeros((starts.size, columns.size, len(run.phases)))
    longest = np.zeros((starts.size, columns.size))
    for rows in run.blocks():
        step = np.arange(rows.start, rows.stop) // together
        np.add.at(sums, step, run.variable("phase_duration", rows)[:, columns])
        np.maximum.at(longest, step, run.variable("duration", rows)[:, columns])
    counts = np.diff(np.append(starts, run.bodies))
    mean = (sums / counts[:, None, None]).transpose(2, 1, 0)
    return Timelines(
        numbers=run.kept_ranks[columns],
        edges=np.append(starts, run.bodies) - 0.5,
        mean={name: mean[at] for at, name in enumerate(run.phases)},
        longest=longest.T,
    )


def timeline_charts(timelines: Timelines, *, title: str) -> list[Chart]:
    """Make a chart of the bodies of each rank, all with the same axes for comparison."""
    unit = unit_for(timelines.longest)
    together = timelines.bodies_a_step
    highest = ROOM * float(timelines.longest.max()) * unit.per_second
    charts = []
    for at, number in enumerate(timelines.numbers.tolist()):
        series = stacked(
            in_order({name: unit.per_second * mean[at] for name, mean in timelines.mean.items()}),
            timelines.edges,
        )
        if together > 1:
            longest = Series(
                name="longest iteration",
                look="steps",
                x=timelines.edges,
                y=unit.per_second * timelines.longest[at],
            )
            series = (*series, longest)
        charts.append(
            Chart(
                title=f"{title}: rank {number}",
                x=Quantity("body"),
                y=Quantity("time of an iteration", unit.sign),
                series=series,
                y_limits=(0.0, highest),
                note=f"means of {together} in a step" if together > 1 else "",
                stacked=True,
                counted=True,
            )
        )
    return charts


def make_activity_profile(run: Run, choice: FigureChoice) -> Chart:
    """Make the stack of the shares of ranks in each phase, over the time of the solve.

    Raises
    ------
    UsageError
        The bodies of the run take no time.
    """
    profiles = tallied(run, activity_profiles())
    percent = {name: 100.0 * each.utilisation for name, each in profiles.items()}
    edges = next(iter(profiles.values())).edges
    unit = unit_for(edges)
    there = {name: each for name, each in percent.items() if each.any()}
    notes = [] if run.has("event_kind") else ["no event times: phases spread over their iteration"]
    if run.reduced:
        notes.insert(0, of_how_many(run))
    return Chart(
        title=title_of(run),
        x=Quantity("time of the solve", unit.sign),
        y=Quantity("ranks", "%"),
        series=stacked(in_order(there), unit.per_second * edges),
        y_limits=(0.0, 100.0),
        note="; ".join(notes),
        stacked=True,
    )


def activity_profiles() -> Wanted[dict[str, Profile]]:
    """Return what the stack reads of a run, to be read together with other results."""
    return Wanted(ActivityTally, checked=False)


class ActivityTally:
    """How many ranks are in each phase over the solve, block by block."""

    def __init__(self, run: Run) -> None:
        if not (run.bodies and run.solve_time_s > 0.0):
            raise UsageError(f"{run.path}: its iterations take no time.")
        self._run, self._events = run, run.has("event_kind")
        ranks, whole_s = run.columns, run.solve_time_s
        names = (LOCAL, UNCLASSIFIED, *OF_EVENTS) if self._events else run.phases
        self._sums = {name: ProfileSum(ranks, whole_s, INTERVALS) for name in names}

    def add(self, block: Block) -> None:
        """Take the next bodies."""
        start, duration, sums = block.start, block.duration, self._sums
        if not self._events:
            for at, name in enumerate(self._run.phases):
                sums[name].add(start, block.phases[:, :, at], duration)
            return
        events = block.events
        share = own_share(self._run, events, block.phases)
        own = np.ones(start.shape) if share is None else share
        sums[LOCAL].add_events(start, duration, events, between=own)
        sums[UNCLASSIFIED].add_events(start, duration, events, between=1.0 - own)
        for name, kinds in OF_EVENTS.items():
            sums[name].add_events(start, duration, events, inside=kinds)

    def result(self) -> dict[str, Profile]:
        """Return the profile of every phase over the solve."""
        return {name: each.of_run for name, each in self._sums.items()}
