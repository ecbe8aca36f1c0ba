"""All ranks of a run with full records of only some: their profiles and counts.

Uses everything that a file contains about every rank, and nothing about all ranks from those with
full records, which are outliers and exemplars by choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.read import RanksOfRun, metrics_of, time_in_mpi
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile.all_ranks import hosts_of_all, profiles_of
from hindmost.harness.runfile.bodies import NOT_WORK, WAITING
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.histogram import Histogram
from hindmost.models.ranks.lateness import Lateness
from hindmost.models.ranks.profile import Profile


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
