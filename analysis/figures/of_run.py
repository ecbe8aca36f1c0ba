"""What each figure of a run shows, made from the run and from what was chosen of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.efficiency.of_run import RunEfficiencies, efficiencies_of
from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.figures.choice import Choice
from hindmost.analysis.figures.cycle import time_in_cycle
from hindmost.analysis.figures.efficiencies import in_cycle, over_windows
from hindmost.analysis.figures.heat_map import HeatMap, heat_map
from hindmost.analysis.figures.histogram import Sample, histogram, histograms
from hindmost.analysis.figures.laws import fitted_laws
from hindmost.analysis.figures.one_body import first_ranks, time_per_rank
from hindmost.analysis.figures.phases import stacked_shares
from hindmost.analysis.figures.ranks import names_of
from hindmost.analysis.runs import solve_times, title_of
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run


def fitted_bodies(run: Run) -> NDArray[np.float64]:
    """Return the bodies but those that only fill a pipeline, shape (iteration, rank), seconds."""
    return solve_times(run).fitted


def make_map(run: Run, choice: Choice) -> HeatMap:
    """Make the map of bodies."""
    return map_of(run, choice, run.durations, "time of a body")


def make_work_map(run: Run, choice: Choice) -> HeatMap:
    """Make the map of work without waiting."""
    return map_of(run, choice, run.work, "work of a body")


def map_of(run: Run, choice: Choice, times: NDArray[np.float64], what: str) -> HeatMap:
    """Make a map of the chosen bodies."""
    place, bodies = choice.place_of(run), choice.bodies_of(run)
    selection = "" if place is None else f"place {place} of every restart cycle"
    return heat_map(
        times[bodies],
        title=title_of(run),
        what=what,
        bodies=bodies,
        selection=selection,
        numbers=run.kept_ranks if run.reduced else None,
    )


def make_histogram(run: Run, choice: Choice) -> Chart:
    """Make the histogram of all bodies with laws."""
    times = fitted_bodies(run)
    return histogram(times, fitted_laws(times), title=title_of(run))


def make_rank_histograms(run: Run, choice: Choice) -> Chart:
    """Make the histograms of chosen ranks."""
    # Single ranks can be looked at where not all were kept.
    times = run.durations[run.kind != BodyKind.FILL] if run.reduced else fitted_bodies(run)
    samples = [Sample(name, times[:, rank]) for rank, name in choice.ranks_of(run).items()]
    return histograms(samples, title=title_of(run))


def make_time_per_rank(run: Run, choice: Choice) -> Chart:
    """Make the chart of one body on every rank."""
    body = choice.body_of(run)
    return time_per_rank(
        run.durations[body],
        run.work[body],
        title=f"{title_of(run)}: body {body}",
        hosts=run.hosts,
        names=names_of(run.kept_ranks),
    )


def make_fastest(run: Run, choice: Choice) -> Chart:
    """Make the histogram of a_k, the fastest rank of every body, with a Johnson SU law."""
    fastest = fitted_bodies(run).min(axis=1)
    laws = fitted_laws(fastest, normal=False)
    return histogram(
        fastest, laws, title=title_of(run), what="fastest rank of a body, aₖ", name="recorded"
    )


def make_span(run: Run, choice: Choice) -> Chart:
    """Make the histogram of s_k, from fastest to slowest rank, with a Johnson SU law."""
    if run.header.ranks == 1:
        raise UsageError(f"{run.path} has one rank, so no span from fastest to slowest.")
    span = np.ptp(fitted_bodies(run), axis=1)
    laws = fitted_laws(span, normal=False)
    return histogram(
        span, laws, title=title_of(run), what="span of a body over ranks, sₖ", name="recorded"
    )


def make_cycle(run: Run, choice: Choice) -> Chart:
    """Make the chart of body time against place in the cycle."""
    if not run.header.restart:
        raise UsageError(f"{run.path}: {run.header.solver} does not restart, so it has no cycle.")
    return time_in_cycle(run.durations, run.work, run.position, title=title_of(run))


def make_phases(run: Run, choice: Choice) -> Chart:
    """Make the stacked shares of phases per rank."""
    marks = first_ranks(run.hosts)
    return stacked_shares(
        phase_sums(run, axis=0),
        title=title_of(run),
        along="rank",
        marks=marks,
        names=names_of(run.kept_ranks),
    )


def make_phases_over_time(run: Run, choice: Choice) -> Chart:
    """Make the stacked shares of phases over the bodies, all ranks together."""
    return stacked_shares(phase_sums(run, axis=1), title=title_of(run), along="body", marks={})


def make_efficiencies(run: Run, choice: Choice) -> Chart:
    """Make the efficiencies of windows of bodies."""
    return over_windows(efficiencies_of_ranks(run), title=title_of(run))


def make_efficiencies_in_cycle(run: Run, choice: Choice) -> Chart:
    """Make the efficiencies by place in the restart cycle."""
    of = efficiencies_of_ranks(run)
    if not of.places:
        raise UsageError(f"{run.path} has no restart cycles that repeat, so no places in them.")
    return in_cycle(of, title=title_of(run))


def efficiencies_of_ranks(run: Run) -> RunEfficiencies:
    """Return the efficiencies of a run of several ranks; one alone loses nothing to others."""
    if run.header.ranks == 1:
        raise UsageError(f"{run.path} has one rank, which waits for nobody: all is work.")
    return efficiencies_of(run)


def phase_sums(run: Run, *, axis: int) -> dict[str, NDArray[np.float64]]:
    """Sum every phase over bodies (axis 0) or ranks (axis 1); one phase is held at a time."""
    return {name: run.phase(name).sum(axis=axis) for name in run.phases}
