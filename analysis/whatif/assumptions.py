"""What a replay assumes, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hindmost.analysis.runs.configuration import injected_at_calls
from hindmost.models.simulation.memory import VectorGrowth

if TYPE_CHECKING:
    from hindmost.analysis.whatif.study import Replayed


OTHER_SOLVER = (
    "The other solver reads and writes as many vectors as PETSc's does, each in the time that they "
    "take in this run. The interval leaves out one step after the other."
)
"""What the prediction of a partner assumes."""


def assumptions(found: Replayed) -> Iterator[str]:
    """Yield what the prediction assumes, where the run cannot say."""
    change = found.named.change
    if found.result.hidden:
        yield (
            "Latency that hides behind work does not show in a run: the interval goes from "
            "none to all of the time that it may have taken. A --machine file whose network "
            "was probed on as many ranks may say."
        )
    if change.latency != 1.0 and found.run.edges.source.size and not found.byte_share_known:
        yield (
            "Messages between neighbours are taken as all latency; the interval has the case "
            "that they are all bytes. --machine with a file of 'hindmost probe network' says "
            "which."
        )
    if change.latency != 1.0 or change.bandwidth != 1.0:
        yield (
            "What messages and reductions typically cost is taken as the network's. It "
            "includes the time of the MPI library, so a change of the wire alone does less."
        )
    if change.of_network and found.nonblocking and change.progress:
        yield "Reductions progress while ranks work. An MPI without progress hides less."
    if change.depth is not None and change.depth > 1:
        yield (
            "A deeper pipeline also does more work per iteration and needs more iterations to "
            "fill; this is not included, so the time is a lower bound."
        )
    if not change.progress:
        yield (
            "Without progress a reduction takes its time after all ranks have come to its "
            "completion. Calls of MPI before it may do a part of it, so this is an upper bound."
        )
    if change.noise != 1.0:
        yield (
            "Undisturbed work is the median at each place of the restart cycle on each rank; "
            "the interval goes from the lower to the upper quartile. Iterations that come back "
            "longer after every so many, as with output, are such places: the program does this, "
            "and it stays."
        )
    if change.uninjected:
        yield "Injected noise is removed; the noise of the machine stays."
    without = change.uninjected or change.noise == 0.0 or change.unknowns is not None
    if (without or change.solver is not None) and injected_at_calls(found.run):
        yield (
            "The run file has the sum of the detours of each iteration, and not at which MPI calls "
            "they were taken: each sum is divided among the steps of its iteration by how much "
            "longer than usual these took."
        )
    if change.solver is not None and change.solver != found.run.header.solver:
        yield OTHER_SOLVER
    if change.unknowns is not None:
        yield (
            "Work grows with the unknowns, and as the probe of the memory says. Messages cost what "
            "they did."
            if found.memory_known
            else "Work grows with the unknowns. Vectors that no longer fit into a cache cost more; "
            "the interval has the case that they cost twice as much. --machine with a file of "
            "'hindmost probe memory' says how much."
        )
        if found.outruns_probe:
            yield (
                "The run moves its bytes faster than the probe of the memory read them, so all of "
                "its work grows with the probed times. The machine was slower then: repeat "
                "'hindmost probe memory', and compare."
            )
    if change.iterations is not None or change.restart is not None:
        yield from of_length(found)
    if change.detours is not None:
        yield (
            "The noise is added to the recorded one, independent on every rank, at the begin "
            "of iterations."
        )
    if change.speed or change.every_speed != 1.0:
        yield "All local work takes 1 / factor of its time, also where memory limits it."


def of_length(found: Replayed) -> Iterator[str]:
    """Yield what is assumed of a solve of another length."""
    header, change = found.run.header, found.named.change
    if not header.restart:
        yield "Further iterations take as long as those of the second half of the run."
        return
    if change.restart is None or change.restart <= header.restart:
        yield "A place in the restart cycle costs the same in every cycle."
    elif found.vectors is None:
        yield (
            f"Places beyond {header.restart} of a restart cycle continue the growth of work "
            "in a line. Vectors that no longer fit into a cache cost more: --machine with a "
            "file of 'hindmost probe memory' says where."
        )
    else:
        vectors = found.vectors
        if change.unknowns is not None:
            vectors = replace(vectors, vector_bytes=8.0 * change.unknowns / header.ranks)
        yield from of_memory(vectors, change.restart, header.restart)


def of_memory(vectors: VectorGrowth, restart: int, last: int) -> Iterator[str]:
    """Yield where vectors leave a cache."""
    place = vectors.change(restart)
    if place is None:
        yield (
            f"Places beyond {last} of a restart cycle continue the growth of work in a line: "
            "the probe of the memory shows no change for as many vectors."
        )
        return
    times = float(vectors.ratio(np.array([float(restart)]))[0])
    yield (
        f"From place {place} of a restart cycle on, vectors leave a cache: by the probe of the "
        f"memory, each takes up to {times:.2f} times as long as at place {last}."
    )
