"""Write a run file with full records of some ranks and interval profiles of all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.reduction.decide import Kept, RankReductions, interval_edges
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.contents import Header, RankRun
from hindmost.harness.runfile.cycles import COUNTS
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.writer import gather_edges, write_run_as
from hindmost.models.ranks.body_extremes import digest_of_ranks

if TYPE_CHECKING:
    from mpi4py import MPI


ALWAYS = (0,)
"""Ranks of an adaptive run that are always kept: rank 0 has the predictions and the blocks."""


def write_reduced_run(
    folder: Path, header: Header, run: RankRun, kept: Kept, communicator: MPI.Intracomm
) -> Path:
    """Write a reduced run into a new, numbered file; collective.

    The kept ranks write their records among themselves, the first of them the file; what is of
    every rank is gathered there. Of an adaptive run rank 0 must be kept, see `ALWAYS`.

    Returns
    -------
    Path
        The file, on every rank.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    header = replace(header, spec={**header.spec, "reduction": kept.account})
    edges = gather_edges(run.incoming, communicator)
    of_all: list[Any] | None = communicator.gather(kept.every)
    of_cycles = cycles_of_all(run, communicator)
    of_bodies = bodies_of_all(run, communicator)
    # the first rank that is kept writes: it may be another than rank 0
    writer = kept.ranks[0]
    if writer != 0:
        if communicator.rank == 0:
            communicator.send((edges, of_all, of_cycles), dest=writer)
        elif communicator.rank == writer:
            edges, of_all, of_cycles = communicator.recv(source=0)
    every: dict[str, Any] = {}
    if communicator.rank == writer and of_all is not None:
        every = {
            "kept_rank": np.array(kept.ranks, np.int32),
            **{name: [each[name] for each in of_all] for name in kept.every},
            "profile_phase": np.stack([each["profile_phase"] for each in of_all], axis=1),
            **kept.shared,
            **of_cycles,
            **of_bodies,
        }
    kept_only: Any = communicator.Split(0 if kept.full else 1, communicator.rank)
    path = failure = None
    if kept.full:
        mine = replace(run, incoming=edges if communicator.rank == writer else none_of(edges))
        try:
            name = RunName.of(folder, header)
            path = write_run_as(name, header, [[mine]], kept_only, every)
        except Exception as error:  # raised on all ranks, which wait for it below
            failure = error
    kept_only.Free()
    path, failure = communicator.bcast((path, failure), root=writer)
    if failure is not None:
        raise failure
    return Path(path)


def none_of(edges: Any) -> Any:
    """Return the same without an edge."""
    return replace(
        edges,
        **{
            name: getattr(edges, name)[:0]
            for name in ("source", "target", "bytes", "messages", "epoch")
            if getattr(edges, name) is not None
        },
    )


def bodies_of_all(run: RankRun, communicator: MPI.Intracomm) -> dict[str, NDArray[Any]]:
    """Return the variables on the bodies of all ranks, the same on every rank; collective.

    None of an adaptive run, whose cycles follow no law.
    """
    if run.cycles is not None:
        return {}
    found = digest_of_ranks(
        run.bodies.duration[:, None],
        run.bodies.kind == BodyKind.FILL,
        reductions=RankReductions(communicator),
    )
    return {
        "all_least": found.fastest,
        "all_most": found.slowest,
        "all_mean": found.middle,
        "all_bin_count": found.sample.count.astype(np.int64),
        "all_bin_mean": found.sample.point,
        "all_bin_deviation": np.sqrt(found.sample.variance),
    }


def cycles_of_all(run: RankRun, communicator: MPI.Intracomm) -> dict[str, Any]:
    """Return the variables on the cycles of all ranks, on rank 0; collective.

    Sums and maxima of counts are exact, so the work of every cycle is known as if all ranks had
    kept their records. No rank holds more than the cycles of one rank, and the profiles.

    Returns
    -------
    dict of str to array
        ``count_total`` and ``count_most``, shape (iteration, count); ``profile_count``, shape
        (interval, rank, count); ``phase_least``, shape (iteration, phase), seconds. Empty on the
        other ranks, and for runs without cycles.
    """
    from mpi4py import MPI

    if run.cycles is None:
        return {}
    counts = np.stack([run.cycles.counts[name] for name in COUNTS], axis=1).astype(np.int64)
    profile = np.add.reduceat(counts, interval_edges(len(counts))[:-1], axis=0)
    phases = np.ascontiguousarray(run.bodies.phase_duration, np.float32)
    found = {
        "count_total": reduced(counts, MPI.SUM, communicator),
        "count_most": reduced(counts, MPI.MAX, communicator),
        "phase_least": reduced(phases, MPI.MIN, communicator),
    }
    profiles = communicator.gather(profile)
    if profiles is None:
        return {}
    return {**found, "profile_count": np.stack(profiles, axis=1)}


def reduced(mine: NDArray[Any], operation: Any, communicator: MPI.Intracomm) -> NDArray[Any]:
    """Return a reduction over the ranks on rank 0; elsewhere what comes back has no meaning."""
    result = np.empty_like(mine)
    communicator.Reduce(np.ascontiguousarray(mine), result, op=operation, root=0)
    return result
