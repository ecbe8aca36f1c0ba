"""Write a run file with full records of some ranks and interval profiles of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.reduction.decide import Kept, interval_edges, reductions_over
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.contents import Edges, Header, RankRun
from hindmost.harness.runfile.cycles import COUNTS
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.writer import (
    Blocks,
    RunsSeen,
    gather_edges,
    runs_of,
    write_run_as,
)
from hindmost.models.ranks.body_extremes import digest_of_ranks


class KeptBlocks(Sequence[list[RankRun]]):
    """The ranks of this process that are kept, in blocks; those without any are left out.

    Parameters
    ----------
    blocks : Blocks
        All of its ranks.
    sizes : sequence of int
        Ranks of each block.
    full : bool array, shape (rank,)
        Those that are kept.
    first : mapping of str
        What the first of them has instead of its own; the others have no edges.
    """

    def __init__(
        self,
        blocks: Blocks,
        sizes: Sequence[int],
        full: NDArray[np.bool_],
        first: Mapping[str, Any],
    ) -> None:
        self._blocks, self._full, self._first = blocks, full, first
        borders = enumerate(pairwise(accumulate(sizes, initial=0)))
        self._parts = [(at, begin) for at, (begin, end) in borders if full[begin:end].any()]

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._parts)

    def __getitem__(self, number: Any) -> Any:
        """Return a block."""
        at, begin = self._parts[number]
        first = int(np.argmax(self._full))
        return [
            replace(run, **self._first if rank == first else {"incoming": none_of(run.incoming)})
            for rank, run in enumerate(self._blocks[at], begin)
            if self._full[rank]
        ]


def write_reduced(
    name: RunName, header: Header, blocks: Blocks, kept: Kept, communicator: Any
) -> Path:
    """Write a run file with full records of the ranks that are kept; collective.

    They write their records among themselves, the first of them the file; what is of every rank is
    gathered there. Sums of the file are those of all ranks.

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
    seen = RunsSeen.of(blocks)
    edges = gather_edges(Edges.together(seen.edges), communicator)
    of_ranks = communicator.gather((kept.every, seen.sums))
    of_first = {name: getattr(seen.first, name) for name in ("contexts", "solves", "residual_norm")}
    at_root = edges, of_ranks, of_first, cycles_of_all(seen.first, communicator)
    of_bodies = bodies_of_all(blocks, seen.first, communicator)
    # the process of the first rank that is kept writes: it may be another than the first one
    writer = int(np.argmax(communicator.allgather(bool(kept.full.any()))))
    if writer != 0:
        if communicator.rank == 0:
            communicator.send(at_root, dest=writer)
        elif communicator.rank == writer:
            at_root = communicator.recv(source=0)
    every: dict[str, Any] = {}
    sums: dict[str, Any] = {}
    first: dict[str, Any] = {"incoming": none_of(edges)}
    if communicator.rank == writer:
        edges, of_ranks, of_first, of_cycles = at_root
        first = {"incoming": edges, **of_first}
        of_all = [of_rank for part, _ in of_ranks for of_rank in part]
        sums = {name: sum(part[name] for _, part in of_ranks) for name in seen.sums}
        every = {
            "kept_rank": np.array(kept.ranks, np.int32),
            **{name: [of_rank[name] for of_rank in of_all] for name in of_all[0]},
            "profile_phase": np.stack([of_rank["profile_phase"] for of_rank in of_all], axis=1),
            **kept.shared,
            **of_cycles,
            **of_bodies,
        }
    path = failure = None
    kept_only = communicator
    if communicator.size > 1:
        kept_only = communicator.Split(0 if kept.full.any() else 1, communicator.rank)
    if kept.full.any():
        mine = KeptBlocks(blocks, seen.blocks, kept.full, first)
        try:
            path = write_run_as(name, header, mine, kept_only, every, sums)
        except Exception as error:  # raised on all ranks, which wait for it below
            failure = error
    if communicator.size > 1:
        kept_only.Free()
    path, failure = communicator.bcast((path, failure), root=writer)
    if failure is not None:
        raise failure
    return Path(path)


def none_of(edges: Edges) -> Edges:
    """Return the same without an edge."""
    return replace(
        edges,
        **{
            name: getattr(edges, name)[:0]
            for name in ("source", "target", "bytes", "messages", "epoch")
            if getattr(edges, name) is not None
        },
    )


def bodies_of_all(blocks: Blocks, first: RankRun, communicator: Any) -> dict[str, NDArray[Any]]:
    """Return the variables on the bodies of all ranks, the same on every rank; collective.

    None of an adaptive run, whose cycles follow no law.
    """
    if first.cycles is not None:
        return {}
    found = digest_of_ranks(
        np.stack([run.bodies.duration for run in runs_of(blocks)], axis=1),
        first.bodies.kind == BodyKind.FILL,
        reductions=reductions_over(communicator),
    )
    return {
        "all_least": found.fastest,
        "all_most": found.slowest,
        "all_mean": found.middle,
        "all_bin_count": found.sample.count.astype(np.int64),
        "all_bin_mean": found.sample.point,
        "all_bin_deviation": np.sqrt(found.sample.variance),
    }


def cycles_of_all(run: RankRun, communicator: Any) -> dict[str, Any]:
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
    if run.cycles is None:
        return {}
    from mpi4py import MPI  # a process that converts a program alone has none

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


def reduced(mine: NDArray[Any], operation: Any, communicator: Any) -> NDArray[Any]:
    """Return a reduction over the ranks on rank 0; elsewhere what comes back has no meaning."""
    result = np.empty_like(mine)
    communicator.Reduce(np.ascontiguousarray(mine), result, op=operation, root=0)
    return result
