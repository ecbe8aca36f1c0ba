"""The ranks of a run file: stragglers, metrics, time profiles; of a reduced one from its profiles.

Of a run with full records of only some ranks it uses everything that the file contains about every
rank, and nothing about all ranks from those with full records, which are outliers by choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.straggler import RankCosts, RankCostsTally, costs_of
from hindmost.analysis.runs.tallies import (
    Block,
    Wanted,
    clock_uncertainty,
    tallied,
)
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile.all_ranks import profiles_of
from hindmost.harness.runfile.bodies import NOT_WORK
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.histogram import Histogram, empty_histogram
from hindmost.models.ranks.lateness import Lateness
from hindmost.models.ranks.profile import Profile, ProfileSum
from hindmost.models.ranks.slopes import Slopes, SlopeSum
from hindmost.models.ranks.vectors import RankMetrics
from hindmost.models.simulation.blocks import EventBlock

INTERVALS = 200
"""Of time profiles and timelines; and bins of the histogram, each 2 to 3 % of a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksOfRun:
    """All ranks of a run, with or without full records.

    Attributes
    ----------
    costs : RankCosts
        What they cost each other.
    metrics : RankMetrics
        Time by phase, messages and bytes, of the whole run.
    waiting_s : float64 array, shape (rank,), seconds
        As recorded: in halos and reductions.
    halo_s : float64 array, shape (rank,), seconds
        The part of it in halo exchanges.
    time_s : float64 array, shape (rank,), seconds
        Of all bodies.
    of_run : Profile
    of_body : Profile or None
        None if the order of work and waiting within a body is unknown.
    slopes : Slopes or None
        None in the same case.
    histogram : Histogram
        Of the own work of bodies.
    """

    costs: RankCosts
    metrics: RankMetrics
    waiting_s: NDArray[np.float64]
    halo_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    of_run: Profile
    of_body: Profile | None
    slopes: Slopes | None
    histogram: Histogram

    JSON = "waiting_recorded_share halo_share profile histogram"

    @property
    def profile(self) -> ProfileEntry:
        """When ranks work, as JSON."""
        return ProfileEntry(run=self)

    @property
    def waiting_recorded_share(self) -> float:
        """Wait time as recorded, as a share of the time of all bodies of all ranks."""
        return self.recorded_share(self.waiting_s)

    @property
    def halo_share(self) -> float:
        """The same of halo exchange."""
        return self.recorded_share(self.halo_s)

    def recorded_share(self, times_s: NDArray[np.float64]) -> float:
        """Return the share of a time, shape (rank,), in that of all bodies of all ranks."""
        return float(times_s.sum() / max(float(self.time_s.sum()), 1e-300))

    @property
    def lateness(self) -> Lateness:
        """Who is last, and what that costs."""
        return self.costs.lateness


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEntry:
    """When ranks work in a run and in an iteration, and how gradually they end and begin."""

    run: RanksOfRun

    JSON = (
        "edges_s=run.of_run.edges utilisation=run.of_run.utilisation "
        "body_edges_share=run.of_body.edges body_utilisation=run.of_body.utilisation "
        "downward_per_s=run.slopes.downward upward_per_s=run.slopes.upward "
        "fall_share=run.slopes.fall_share rise_share=run.slopes.rise_share "
        "early_end_share=run.slopes.early_end_share late_begin_share=run.slopes.late_begin_share "
        "lasting_share=run.slopes.lasting_share clock_share=run.slopes.clock_share"
    )


def analyse_ranks(run: Run) -> RanksOfRun:
    """Analyse a run file in one pass, block by block; all ranks have full records.

    Raises
    ------
    DataError
        Impossible times, a run without bodies, or bodies that take no time.
    """
    return tallied(run, ranks_of_run())


def ranks_of_run() -> Wanted[RanksOfRun]:
    """Return what `analyse_ranks` reads, to be read together with other results."""
    return Wanted(RanksTally)


class RanksTally:
    """The ranks of a run, analysed block by block; see `analyse_ranks`."""

    def __init__(self, run: Run) -> None:
        columns, body = run.columns, run.summary["body_s"]
        if not (run.bodies and run.solve_time_s > 0.0 and body["quantile_99"] > 0.0):
            raise DataError(
                f"{run.path}: its iterations take no time, so its ranks cannot be compared."
            )
        self._run = run
        self._events, clock_s = run.has("event_kind"), clock_uncertainty(run)
        self._costs = RankCostsTally(run)
        self._profile = ProfileSum(columns, run.solve_time_s, INTERVALS)
        self._slopes = SlopeSum(columns, clock_s)
        middle = body["median"] or body["quantile_99"]
        self._histogram = empty_histogram(0.1 * middle, 10.0 * body["quantile_99"], INTERVALS)

    def add(self, block: Block) -> None:
        """Look at the next bodies."""
        events = block.events
        self._costs.add(block)
        if self._events:
            own = own_share(self._run, events, block.phases)
            self._profile.add_events(
                block.start,
                block.duration,
                events,
                between=np.ones(block.start.shape) if own is None else own,
                inside=(EventKind.POST,),
            )
            self._slopes.add(block.start, block.duration, events, own)
        else:
            self._profile.add(block.start, block.work, block.duration)
        self._histogram = self._histogram.with_more(block.work)

    def result(self) -> RanksOfRun:
        """Return all that was found."""
        costs = self._costs.result()
        return RanksOfRun(
            costs=costs,
            metrics=metrics_of(self._run, costs.phase_s.T),
            waiting_s=costs.wait_s,
            halo_s=costs.sum_of(["halo"]),
            time_s=costs.time_s,
            of_run=self._profile.of_run,
            of_body=self._profile.of_body,
            slopes=self._slopes.result() if self._events else None,
            histogram=self._histogram,
        )


def own_share(
    run: Run, block: EventBlock, parts: NDArray[np.floating[Any]]
) -> NDArray[np.float64] | None:
    """Return the share of own work in the time between events, without unclassified MPI time.

    Parameters
    ----------
    parts : float array, shape (iteration, rank, phase), seconds

    Returns
    -------
    float64 array, shape (iteration, rank), or None
        None if all of it is.
    """
    if "unclassified" not in run.phases:
        return None
    unknown = parts[:, :, run.phases.index("unclassified")].astype(np.float64)
    if not unknown.any():
        return None
    between = block.work.sum(axis=2, dtype=np.float64) + block.rest
    return np.asarray(np.clip(1.0 - unknown / np.maximum(between, 1e-12), 0.0, 1.0))


def metrics_of(run: Run, phases: NDArray[np.float64]) -> RankMetrics:
    """Return the vectors of a run from the times of its phases, shape (phase, rank), seconds."""
    return RankMetrics(
        values=np.concatenate([phases, messages_sent(run)]).T,
        names=(*run.phases, "messages", "bytes"),
        units=("s",) * len(phases) + ("1", "byte"),
        domains=("time",) * len(phases) + ("count", "bytes"),
    )


def messages_sent(run: Run) -> NDArray[np.float64]:
    """Return the messages and bytes that every rank sends per exchange: (2, rank)."""
    edges = run.edges
    messages = np.ones(edges.source.size) if edges.messages is None else edges.messages
    counts = np.bincount(edges.source, messages, minlength=run.header.ranks)
    sizes = np.bincount(edges.source, edges.bytes, minlength=run.header.ranks)
    both: NDArray[np.float64] = np.stack([counts, sizes]).astype(np.float64)
    return both


def analyse_profiles(run: Run) -> RanksOfRun:
    """Analyse all ranks of a run file with full records of only some.

    Raises
    ------
    DataError
        Impossible times, a run without bodies, or a file of an older version.
    """
    profile = profiles_of(run)
    if not (run.bodies and run.solve_time_s > 0.0 and profile.sum() > 0.0):
        raise DataError(
            f"{run.path}: its iterations take no time, so its ranks cannot be compared."
        )
    own = [at for at, name in enumerate(run.phases) if name not in NOT_WORK]
    costs = costs_of(run)
    return RanksOfRun(
        costs=costs,
        metrics=metrics_of(run, costs.phase_s.T),
        waiting_s=costs.wait_s,
        halo_s=costs.sum_of(["halo"]),
        time_s=costs.time_s,
        of_run=profile_of_run(run, profile[:, :, own].sum(axis=(1, 2))),
        of_body=None,
        slopes=None,
        histogram=histogram_of(run),
    )


def profile_of_run(run: Run, own_s: NDArray[np.float64]) -> Profile:
    """Return the share of all ranks at work, by intervals of bodies.

    Parameters
    ----------
    own_s : float64 array, shape (interval,), seconds
        Own work of all ranks together.
    """
    starts = run.variable("interval_start")
    last = run.starts[-1] + run.durations[-1]
    edges = np.append(starts, max(float(last.max()), float(starts[-1])))
    width = np.diff(edges)
    if not np.isfinite(edges).all() or (width <= 0.0).any():
        raise DamagedFileError(f"{run.path}: the intervals of its profiles do not follow in time.")
    ranks = run.header.ranks
    return Profile(edges=edges, busy=np.minimum(own_s / width, ranks), ranks=ranks)


def histogram_of(run: Run) -> Histogram:
    """Return the histogram of the own work of all bodies."""
    begins, counts = run.variable("work_bin_from"), run.variable("work_bin_count")
    whole = run.bodies * run.header.ranks
    if counts.size < 3 or (np.diff(begins) <= 0.0).any() or counts.min() < 0:
        raise DamagedFileError(f"{run.path}: 'work_bin_from' does not ascend from bin to bin.")
    if int(counts.sum()) != whole:
        raise DamagedFileError(
            f"{run.path}: 'work_bin_count' counts {int(counts.sum())} iterations of {whole}."
        )
    return Histogram(
        edges=begins[1:], counts=counts[1:-1], below=int(counts[0]), above=int(counts[-1])
    )
