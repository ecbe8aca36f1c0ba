"""The content of each figure of one run; maps and phases come from one pass over its file."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies, efficiencies_of
from hindmost.analysis.runs.efficiency.withheld import why_withheld
from hindmost.analysis.runs.figures.distributions import (
    NamedLaw,
    NamedTimes,
    first_ranks,
    fitted_laws,
    histogram,
    histograms,
    names_of,
    stacked_shares,
    time_in_cycle,
    time_per_rank,
)
from hindmost.analysis.runs.figures.run_figure import FigureChoice, column_of
from hindmost.analysis.runs.read import of_how_many, title_of
from hindmost.analysis.runs.remedies import Need, remedy
from hindmost.analysis.runs.stretches import CallPlace, stretches_of
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY, Block, Wanted, solve_times, tallied
from hindmost.analysis.show.chart import Chart, Look, Quantity, Series, noted
from hindmost.analysis.show.heat_map import HeatMap, bodies_in_column, heat_map, maxima
from hindmost.analysis.show.palette import FILLS
from hindmost.errors import UsageError
from hindmost.harness.runfile.all_ranks import hosts_of_all, profiles_of
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, unit_for

WINDOWS = 30
"""Of a curve over all iterations."""


def of_kept(chart: Chart, run: Run) -> Chart:
    """Note on a chart how many ranks have full records, if not all do."""
    if not run.reduced:
        return chart
    return noted(chart, of_how_many(run))


def of_all(chart: Chart, run: Run) -> Chart:
    """Note on a chart from profiles that it shows all ranks, if only some have full records."""
    if not run.reduced:
        return chart
    return noted(chart, f"all {counted(run.header.ranks, 'rank')}")


def fitted_bodies(run: Run) -> NDArray[np.float64]:
    """Return the bodies but those that only fill a pipeline, shape (iteration, rank), seconds.

    Raises
    ------
    UsageError
        Some ranks only kept full records: theirs are not typical of all.
    """
    if run.reduced:
        raise UsageError(
            f"{run.path} has full records of {of_how_many(run)}, outliers and exemplars, which "
            "do not give a law of all iterations; --figure own-work shows all ranks."
        )
    return solve_times(run).fitted


def make_map(run: Run, choice: FigureChoice, *, of_work: bool = False) -> HeatMap:
    """Make the map of bodies, or of their work without waiting."""
    place = choice.place_of(run)
    read = one_pass(run, place)
    return heat_map(
        read.work if of_work else read.durations,
        title=title_of(run),
        what="work of an iteration" if of_work else "time of an iteration",
        bodies=read.bodies,
        selection="" if place is None else f"place {place} of every restart cycle",
        numbers=run.kept_ranks if run.reduced else None,
        of_how_many=f"{of_how_many(run)}, those that were kept" if run.reduced else "",
    )


def make_growth(run: Run, choice: FigureChoice) -> Chart:
    """Make the curves of work over the iterations: of some ranks, and of the others.

    Of each window the quickest tenth is drawn, which disturbances change least.
    """
    refuse_large(run)
    starts = np.arange(0, run.bodies, -(-run.bodies // WINDOWS))
    quick = np.array([np.quantile(part, 0.1, axis=0) for part in np.split(run.work, starts[1:])])
    third = max(len(quick) // 3, 1)
    more = quick[-third:].mean(axis=0) - quick[:third].mean(axis=0)
    columns = [column_of(run, rank) for rank in choice.ranks] or [int(more.argmax())]
    others = np.delete(quick, columns, axis=1)
    unit, middles = unit_for(quick), 0.5 * (starts + np.append(starts[1:], run.bodies) - 1)

    def curve(name: str, values: NDArray[np.float64], look: Look = "line") -> Series:
        return Series(name=name, look=look, x=middles, y=unit.per_second * values)

    series = [
        curve(f"rank {run.kept_ranks[at]}", values)
        for at, values in zip(columns, quick.T[columns], strict=True)
    ]
    if others.size:
        band = curve("others, least to most", others.max(axis=1), "band")
        series.insert(0, replace(band, base=unit.per_second * others.min(axis=1)))
        series.append(curve("others, median", np.median(others, axis=1)))
    low, high = (unit.per_second * float(end) for end in (quick.min(), quick.max()))
    room = 0.1 * max(high - low, 0.01 * high, 1e-12)
    drawn = Chart(
        title=title_of(run),
        x=Quantity("iteration"),
        y=Quantity("work of an iteration", unit.sign),
        series=tuple(series),
        y_limits=(max(low - room, 0.0), high + room),
        legend_below=True,
    )
    return of_kept(drawn, run)


def make_histogram(run: Run, choice: FigureChoice) -> Chart:
    """Make the histogram of all bodies with laws."""
    refuse_large(run)
    times = fitted_bodies(run)
    return histogram(times, fitted_laws(times), title=title_of(run))


def refuse_large(run: Run) -> None:
    """Refuse a chart of every time of a run that fills memory.

    Raises
    ------
    UsageError
        It does.
    """
    if run.bodies * run.columns > MAX_IN_MEMORY:
        raise UsageError(
            f"{run.path} has more than {MAX_IN_MEMORY:,} times of iterations, too many for this "
            "figure; --figure own-work shows their distribution, --figure map all of them."
        )


def make_rank_histograms(run: Run, choice: FigureChoice) -> Chart:
    """Make the histograms of chosen ranks."""
    # Single ranks can be looked at where not all were kept.
    times = run.durations[run.kind != BodyKind.FILL] if run.reduced else fitted_bodies(run)
    samples = [NamedTimes(name, times[:, rank]) for rank, name in choice.ranks_of(run).items()]
    return of_kept(histograms(samples, title=title_of(run)), run)


def make_time_per_rank(run: Run, choice: FigureChoice) -> Chart:
    """Make the chart of one body on every rank."""
    body = choice.body_of(run)
    drawn = time_per_rank(
        run.durations[body],
        run.work[body],
        title=f"{title_of(run)}: iteration {body}",
        hosts=run.hosts,
        names=names_of(run.kept_ranks),
    )
    return of_kept(drawn, run)


def make_uniform(run: Run, choice: FigureChoice) -> Chart:
    """Make the histogram of one body over ranks, with the uniform law from a_k to a_k + s_k."""
    if run.reduced:
        fitted_bodies(run)  # refuses: the ends of some ranks are not those of all
    body = choice.body_of(run)
    times = run.durations[body]
    low, high = float(times.min()), float(times.max())
    laws = []
    if high > low:

        def density(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.where((x >= low) & (x <= high), 1.0 / (high - low), 0.0)

        laws.append(NamedLaw("uniform from aₖ to aₖ + sₖ", density))
    drawn = histogram(
        times,
        laws,
        title=f"{title_of(run)}: iteration {body}",
        what="time of the iteration on a rank",
        name="ranks",
    )
    drawn = replace(drawn, legend_below=True)  # bins that are alike leave no room above them
    return noted(drawn, counted(times.size, "rank"))


def make_places(run: Run, choice: FigureChoice) -> Chart:
    """Make the histograms of the bodies at several places of the restart cycle.

    Raises
    ------
    UsageError
        The solver does not restart, or some ranks only kept full records.
    """
    fitted_bodies(run)
    regular = run.kind == BodyKind.REGULAR
    if run.header.restart < 2 or not regular.any():
        raise UsageError(
            f"{run.path}: {run.header.solver} does not restart, so it has no restart cycle."
        )
    places = np.unique(run.position[regular])
    shown = places[np.unique(np.linspace(0, places.size - 1, 4).astype(int))]
    samples = [
        NamedTimes(f"place {place}", run.durations[regular & (run.position == place)])
        for place in shown.tolist()
    ]
    return histograms(samples, title=title_of(run))


def make_fastest(run: Run, choice: FigureChoice) -> Chart:
    """Make the histogram of a_k, the fastest rank of every body, with a Johnson SU law."""
    fastest = fitted_bodies(run).min(axis=1)
    laws = fitted_laws(fastest, normal=False)
    return histogram(
        fastest, laws, title=title_of(run), what="fastest rank of an iteration, aₖ", name="recorded"
    )


def make_span(run: Run, choice: FigureChoice) -> Chart:
    """Make the histogram of s_k, from fastest to slowest rank, with a Johnson SU law."""
    if run.header.ranks == 1:
        raise UsageError(
            f"{run.path} has only one rank, so there is no span from fastest to slowest."
        )
    span = np.ptp(fitted_bodies(run), axis=1)
    laws = fitted_laws(span, normal=False)
    return histogram(
        span, laws, title=title_of(run), what="span of an iteration over ranks, sₖ", name="recorded"
    )


def make_cycle(run: Run, choice: FigureChoice) -> Chart:
    """Make the chart of body time against place in the cycle."""
    if run.header.restart < 2:  # of calls that repeat, 1: no body differs from the next
        raise UsageError(
            f"{run.path}: {run.header.solver} does not restart, so it has no restart cycle."
        )
    refuse_large(run)
    return of_kept(time_in_cycle(run.durations, run.work, run.position, title=title_of(run)), run)


def make_phases(run: Run, choice: FigureChoice) -> Chart:
    """Make the stacked shares of phases per rank."""
    if run.reduced:
        sums = profiles_of(run).sum(axis=0).T
    else:
        sums = one_pass(run, choice.place_of(run)).phases_of_ranks
    parts = dict(zip(run.phases, sums, strict=True))
    drawn = stacked_shares(parts, title=title_of(run), marks=first_ranks(hosts_of_all(run)))
    return of_all(drawn, run)


def make_code(run: Run, choice: FigureChoice) -> Chart:
    """Make the stacked shares of the stretches between calls of MPI per rank.

    Raises
    ------
    UsageError
        The run does not know where its calls were made.
    """
    stretches = stretches_of(run)
    if not stretches:
        raise UsageError(
            f"{run.path}: the places of its calls are not known; record it with 'hindmost attach'."
        )
    parts: dict[str, NDArray[np.float64]] = {}
    for stretch in stretches:
        after, before = map(line_of, stretch.ends)
        for name, times in (
            (f"work, {after} to {before}", stretch.work_s),
            (f"wait in {before}", stretch.wait_s),
        ):
            parts[name] = parts.get(name, np.zeros(run.columns)) + times
    first = sorted(parts, key=lambda name: -parts[name].sum())[: len(FILLS) - 1]
    shown = {name: parts[name] for name in sorted(first, key=list(parts).index)}
    shown["the rest"] = sum(parts.values(), np.zeros(run.columns)) - sum(shown.values())
    return stacked_shares(shown, title=title_of(run), marks=first_ranks(hosts_of_all(run)))


def line_of(end: CallPlace) -> str:
    """Return the file and line of a call; all that is known of it without any."""
    return f"{end.place.file}:{end.place.line}" if end.place.line else str(end)


def make_activities(run: Run, choice: FigureChoice) -> Chart:
    """Make the histograms of the activities of local work that take time.

    Raises
    ------
    UsageError
        The local work was not split.
    """
    if not run.activities:
        raise UsageError(
            f"{run.path}: local work was not split by activity"
            f"{remedy(Need.ACTIVITIES, run, before='; ')}."
        )
    times = {name: run.activity(name) for name in run.activities}
    samples = [
        NamedTimes(name, each[run.kind != BodyKind.FILL])
        for name, each in times.items()
        if each.any()
    ]
    return histograms(samples, title=title_of(run), what="time of an activity in an iteration")


def make_efficiencies(run: Run, choice: FigureChoice) -> Chart:
    """Make the efficiencies of windows of bodies, in time order."""
    windows = efficiencies_of_ranks(run).windows
    if not windows:
        raise UsageError(
            f"{run.path} has full records of {of_how_many(run)}, and times of all ranks only for "
            "the whole run; use 'hindmost show --efficiency'."
        )
    at = np.array([windows[0].first, *(window.last for window in windows)]) - 0.5
    parts = [window.efficiencies for window in windows]
    split = parts[0].transfer is not None
    factors = ("serialisation", "transfer") if split else ("communication",)
    series = tuple(
        Series(
            name=name.replace("_", " "),
            look="steps",
            x=at,
            y=np.array([100.0 * (getattr(part, name) or 0.0) for part in parts]),
        )
        for name in ("parallel", "load_balance", *factors)
    )
    return Chart(
        title=title_of(run),
        x=Quantity("body"),
        y=Quantity("efficiency", "%"),
        series=series,
        y_limits=(0.0, 100.0),
        counted=True,
        legend_below=True,
    )


def efficiencies_of_ranks(run: Run) -> RunEfficiencies:
    """Return the efficiencies of a run of several ranks; one alone loses nothing to others."""
    if run.header.ranks == 1:
        raise UsageError(f"{run.path} has only one rank: all of its time is work.")
    withheld = why_withheld(run)
    if withheld:
        raise UsageError(f"{run.path}: no efficiency is given: {withheld}.")
    return efficiencies_of(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePass:
    """What charts of a whole run need.

    Attributes
    ----------
    bodies : int64 array, shape (body,)
        Iterations that maps show.
    durations, work : float64 array, shape (column, rank), seconds
        The longest of the iterations that a column of a map pools.
    phases_of_ranks : float64 array, shape (phase, rank), seconds
        Summed over all iterations.
    """

    bodies: NDArray[np.int64]
    durations: NDArray[np.float64]
    work: NDArray[np.float64]
    phases_of_ranks: NDArray[np.float64]


def one_pass(run: Run, place: int | None) -> OnePass:
    """Read a run once.

    Parameters
    ----------
    run : Run
    place : int or None
        Maps show the iterations at this place of the restart cycle; None: all of them.
    """
    return tallied(run, for_charts(place))


def for_charts(place: int | None) -> Wanted[OnePass]:
    """Return what `one_pass` reads, to be read together with other results."""
    return Wanted(ChartsTally, (place,), checked=False, large=True)


class ChartsTally:
    """What charts need of a run, gathered block by block."""

    def __init__(self, run: Run, place: int | None) -> None:
        self._bodies = (
            np.arange(run.bodies) if place is None else np.flatnonzero(run.position == place)
        )
        self._width = bodies_in_column(self._bodies.size)
        self._longest = np.zeros((2, -(-self._bodies.size // self._width), run.columns))
        self._of_ranks = np.zeros((run.columns, len(run.phases)))

    def add(self, block: Block) -> None:
        """Take the next iterations."""
        rows, bodies, longest = block.rows, self._bodies, self._longest
        self._of_ranks += block.phases_of_ranks
        first, last = np.searchsorted(bodies, [rows.start, rows.stop])
        if last > first:
            # Columns of the map that begin in this block, and one that began in an earlier block.
            columns = np.arange(first, last) // self._width
            begins = np.flatnonzero(np.diff(columns, prepend=-1))
            at_columns = slice(int(columns[0]), int(columns[-1]) + 1)
            for at, times in enumerate((block.duration, block.work)):
                shown = times[bodies[first:last] - rows.start]
                pooled = shown if self._width == 1 else maxima(shown, begins)
                np.maximum(longest[at, at_columns], pooled, out=longest[at, at_columns])

    def result(self) -> OnePass:
        """Return all of it."""
        return OnePass(
            bodies=self._bodies,
            durations=self._longest[0],
            work=self._longest[1],
            phases_of_ranks=self._of_ranks.T,
        )
