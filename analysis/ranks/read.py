"""The ranks of a run file: stragglers, metrics, time profiles; of a reduced one from its profiles.

Of a run with full records of only some ranks it uses everything that the file contains about every
rank, and nothing about all ranks from those with full records, which are outliers by choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.finding import WORTH_SAYING
from hindmost.analysis.runs.tallies import (
    Block,
    Wanted,
    clock_uncertainty,
    exchanges_meet_in,
    tallied,
)
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile.all_ranks import hosts_of_all, profiles_of
from hindmost.harness.runfile.bodies import IN_MPI, NOT_WORK, WAITING
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.histogram import Histogram, empty_histogram
from hindmost.models.ranks.lateness import Lateness, LatenessSum
from hindmost.models.ranks.profile import Profile, ProfileSum
from hindmost.models.ranks.slopes import Slopes, SlopeSum
from hindmost.models.ranks.transfers import SlowTransfers
from hindmost.models.ranks.vectors import RankMetrics
from hindmost.models.simulation.blocks import EventBlock

INTERVALS = 200
"""Of time profiles and timelines; and bins of the histogram, each 2 to 3 % of a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksOfRun:
    """All ranks of a run, with or without full records.

    Attributes
    ----------
    lateness : Lateness
    metrics : RankMetrics
        Time by phase, messages and bytes, of the whole run.
    waiting_s : float64 array, shape (rank,), seconds
        As recorded: in halos and reductions.
    halo_s : float64 array, shape (rank,), seconds
        The part of it in halo exchanges.
    time_s : float64 array, shape (rank,), seconds
        Of all bodies.
    in_mpi_s : float64 array, shape (rank,), seconds
        All time in MPI: an upper limit of the wait time.
    overlaps : bool
        Whether ranks work while a collective is pending, according to the events.
    of_run : Profile
    of_body : Profile or None
        None if the order of work and waiting within a body is unknown.
    slopes : Slopes or None
        None in the same case.
    transfers : bool
        Whether late neighbours and slow transfers were separated.
    histogram : Histogram
        Of the own work of bodies.
    """

    lateness: Lateness
    metrics: RankMetrics
    waiting_s: NDArray[np.float64]
    halo_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    in_mpi_s: NDArray[np.float64]
    overlaps: bool
    of_run: Profile
    of_body: Profile | None
    slopes: Slopes | None
    transfers: bool
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
    def waited_part(self) -> float:
        """Largest part of the differences of own work that ranks can have waited for: 0 to 1."""
        if not self.lateness.waited_s.any():
            return 1.0
        differences = self.lateness.waited_s
        return float(np.minimum(differences, self.in_mpi_s).sum() / differences.sum())


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


def look_at_run(run: Run) -> RanksOfRun:
    """Analyse a run file in one pass, block by block; all ranks have full records.

    Raises
    ------
    DataError
        Impossible times, a run without bodies, or bodies that take no time.
    """
    return tallied(run, ranks_of_run())


def ranks_of_run() -> Wanted[RanksOfRun]:
    """Return what `look_at_run` reads, to be read together with other results."""
    return Wanted(RanksTally)


class RanksTally:
    """The ranks of a run, looked at block by block; see `look_at_run`."""

    def __init__(self, run: Run) -> None:
        columns, body = run.columns, run.summary["body_s"]
        if not (run.bodies and run.solve_time_s > 0.0 and body["quantile_99"] > 0.0):
            raise DataError(
                f"{run.path}: its iterations take no time, so its ranks cannot be compared."
            )
        self._run = run
        self._events, clock_s = run.has("event_kind"), clock_uncertainty(run)
        self._sweep = LatenessSum(run.hosts, run.bodies)
        self._profile = ProfileSum(columns, run.solve_time_s, INTERVALS)
        self._slopes = SlopeSum(columns, clock_s)
        edges = run.edges.source, run.edges.target
        meets = exchanges_meet_in(run)
        self._transfers = SlowTransfers(columns, *edges, clock_s, exchanges_meet=meets)
        middle = body["median"] or body["quantile_99"]
        self._histogram = empty_histogram(0.1 * middle, 10.0 * body["quantile_99"], INTERVALS)
        self._phases = np.zeros((len(run.phases), columns))
        self._overlapped_s = 0.0

    def add(self, block: Block) -> None:
        """Look at the next bodies."""
        events, slow = block.events, None
        self._phases += block.phases_of_ranks.T
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
            slow = self._transfers.add(block.start, events)
            self._overlapped_s += work_under_way(events)
        else:
            self._profile.add(block.start, block.work, block.duration)
        self._sweep.add(block.work, slow)
        self._histogram = self._histogram.with_more(block.work)

    def result(self) -> RanksOfRun:
        """Return all that was found."""
        run, phases = self._run, self._phases
        waiting = phases[[run.phases.index(name) for name in WAITING]]
        return RanksOfRun(
            lateness=self._sweep.result(),
            metrics=metrics_of(run, phases),
            waiting_s=waiting.sum(axis=0),
            halo_s=waiting[0],
            time_s=phases.sum(axis=0),
            in_mpi_s=time_in_mpi(run.phases, phases),
            overlaps=self._overlapped_s > WORTH_SAYING * float(phases.sum()),
            of_run=self._profile.of_run,
            of_body=self._profile.of_body,
            slopes=self._slopes.result() if self._events else None,
            transfers=self._events,
            histogram=self._histogram,
        )


def work_under_way(block: EventBlock) -> float:
    """Return the work of all ranks while collectives are pending, in seconds."""
    kind = block.kind.ravel()
    steps = (kind == EventKind.POST).astype(np.int64) - (kind == EventKind.COMPLETE)
    pending = (np.cumsum(steps) - steps).reshape(block.kind.shape) > 0
    return float(block.work.sum(axis=1, dtype=np.float64)[pending].sum())


def time_in_mpi(phases: Sequence[str], times_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time of all phases in MPI, shape (rank,), of times of shape (phase, rank)."""
    found: NDArray[np.float64] = times_s[[name in IN_MPI for name in phases]].sum(axis=0)
    return found


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


def look_at_profiles(run: Run) -> RanksOfRun:
    """Analyse all ranks of a run file with full records of only some.

    Raises
    ------
    DataError
        Impossible times, a run without bodies, or a file of an older version.
    """
    profile = profiles_of(run)
    phases = profile.sum(axis=0).T
    if not (run.bodies and run.solve_time_s > 0.0 and phases.sum() > 0.0):
        raise DataError(
            f"{run.path}: its iterations take no time, so its ranks cannot be compared."
        )
    own = [at for at, name in enumerate(run.phases) if name not in NOT_WORK]
    waiting = phases[[run.phases.index(name) for name in WAITING]]
    return RanksOfRun(
        lateness=lateness_of_all(run, phases[own].sum(axis=0)),
        metrics=metrics_of(run, phases),
        waiting_s=waiting.sum(axis=0),
        halo_s=waiting[0],
        time_s=phases.sum(axis=0),
        in_mpi_s=time_in_mpi(run.phases, phases),
        overlaps=False,
        of_run=profile_of_run(run, profile[:, :, own].sum(axis=(1, 2))),
        of_body=None,
        slopes=None,
        transfers=run.has("every_transfer"),
        histogram=histogram_of(run),
    )


def lateness_of_all(run: Run, work_s: NDArray[np.float64]) -> Lateness:
    """Return what every rank costs the others.

    Parameters
    ----------
    work_s : float64 array, shape (rank,), seconds
        Own work of all bodies.
    """
    hosts = hosts_of_all(run)
    last = run.variable("every_last")
    if int(last.sum()) > run.bodies:
        raise DamagedFileError(
            f"{run.path}: 'every_last' counts {int(last.sum())} iterations of {run.bodies}."
        )
    nothing = np.zeros(work_s.size)
    slow = run.has("every_transfer")
    transfer = run.variable("every_transfer") if slow else nothing
    waited, charged = run.variable("every_waited"), run.variable("every_charged")
    nodes = tuple(dict.fromkeys(hosts))
    node_of = np.array([nodes.index(host) for host in hosts], np.int64)

    def by_node(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(node_of, values, minlength=len(nodes)), np.float64)

    return Lateness(
        bodies=run.bodies,
        # Every rank works, has slow transfers, and waits until the last one has arrived.
        total_s=float(np.median(work_s + transfer + waited)),
        last=last.astype(np.int64),
        charged_s=charged,
        lost_s=run.variable("every_lost"),
        waited_s=waited,
        transfer_s=transfer,
        transfer_charged_s=run.variable("every_transfer_charged") if slow else nothing,
        work_s=work_s / run.bodies,
        deviation_s=run.variable("every_deviation"),
        longest_s=run.variable("every_longest"),
        longest_body=run.variable("every_longest_body").astype(np.int64),
        drift=run.variable("every_drift"),
        nodes=nodes,
        node_of=node_of,
        node_last=by_node(last.astype(np.float64)).astype(np.int64),
        node_charged_s=by_node(charged),
        node_lost_s=None,
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
