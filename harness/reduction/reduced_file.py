"""Write a run file with full records of some ranks and interval profiles of all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hindmost.harness.reduction.bodies_of_all import bodies_of_all
from hindmost.harness.reduction.cycles import cycles_of_all
from hindmost.harness.reduction.decide import Kept
from hindmost.harness.reduction.every_rank import variables
from hindmost.harness.runfile.contents import Header, RankRun
from hindmost.harness.runfile.gathering import gather_edges
from hindmost.harness.runfile.naming import RunName
from hindmost.harness.runfile.writer import write_run_as

if TYPE_CHECKING:
    from mpi4py import MPI


def write_reduced_run(
    folder: Path, header: Header, run: RankRun, kept: Kept, communicator: MPI.Intracomm
) -> Path:
    """Write a reduced run into a new, numbered file; collective.

    The kept ranks write their records among themselves, the first of them the file; what is of
    every rank is gathered there. Of an adaptive run rank 0 must be kept, see `cycles.ALWAYS`.

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
    of_all: list[Any] | None = communicator.gather((kept.profile, kept.every))
    of_cycles = cycles_of_all(run, communicator)
    of_bodies = bodies_of_all(run, edges, communicator)
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
            "profile_phase": np.stack([each[0] for each in of_all], axis=1),
            "interval_bodies": kept.interval_bodies,
            **variables([each[1] for each in of_all]),
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
            path = write_run_as(name, header, mine, kept_only, every)
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
