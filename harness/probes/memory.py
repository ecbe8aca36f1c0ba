"""The levels of memory: the time per byte of reading vectors again and again, by their size.

The kernel adds vectors to one that stays in the innermost cache, as an orthogonalisation does with
its basis. Vectors that fit into a cache are read from there; others leave it before they are read
again.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.probes.sections.contract import ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.probes.turns import in_turn
from hindmost.models.adaptive.machine import MemoryPoint
from hindmost.models.compiled import compiled
from hindmost.text import bandwidth, byte_count

LENGTH = 2048
"""Doubles of a vector: 16 KiB."""
FOOTPRINTS = tuple(int(2 ** (each / 2)) for each in range(34, 55))
"""Bytes of all vectors on a rank: 128 KiB to 128 MiB."""
QUICK_FOOTPRINTS = FOOTPRINTS[::2]
ROUNDS, QUICK_ROUNDS = 8, 2
"""Over all sizes."""
READINGS = 3
"""Of a size in a round."""
WARM_PASSES = 2
"""Before them: some caches keep only what was read before."""
LEAST_BYTES = 1 << 23
"""Bytes that one reading reads at least."""


def add_all(vectors: NDArray[np.float64], sums: NDArray[np.float64], passes: int) -> None:
    """Add vectors of float64, shape (vector, LENGTH), to one of shape (LENGTH,)."""
    for _ in range(passes):
        for vector in range(vectors.shape[0]):
            for place in range(sums.size):
                sums[place] += 1e-9 * vectors[vector, place]


def warm_up() -> None:
    """Compile the kernel; once per process."""
    compiled(add_all)(np.ones((1, LENGTH)), np.zeros(LENGTH), 1)


def readings_of(communicator: Any, footprint: int) -> NDArray[np.float64]:
    """Return the time per byte of vectors of a size in all, of the slowest rank; collective.

    All ranks begin each reading at once, as in a run: they share caches and memory.

    Returns
    -------
    float64 array, shape (reading,), seconds
    """
    from mpi4py import MPI

    kernel = compiled(add_all)
    vectors, sums = np.ones((max(footprint // (8 * LENGTH), 1), LENGTH)), np.zeros(LENGTH)
    passes = max(1, LEAST_BYTES // vectors.nbytes)
    kernel(vectors, sums, WARM_PASSES)
    taken = np.empty(READINGS)
    for reading in range(READINGS):
        communicator.Barrier()
        begin = time.perf_counter()
        kernel(vectors, sums, passes)
        taken[reading] = (time.perf_counter() - begin) / (passes * vectors.nbytes)
    communicator.Allreduce(MPI.IN_PLACE, taken, op=MPI.MAX)
    return taken


def measure_memory(
    communicator: Any, footprints: tuple[int, ...], rounds: int
) -> tuple[float, ...]:
    """Return the time per byte of each size of vectors, of the slowest rank; collective.

    The least of all readings counts, as noise only adds. A size is read once in every round, so
    that what slows the machine for a moment does so for some sizes and in one round.
    """
    in_turn(communicator, warm_up)
    found = np.full(len(footprints), np.inf)
    for _ in range(rounds):
        for at, footprint in enumerate(footprints):
            found[at] = min(found[at], readings_of(communicator, footprint).min())
    return tuple(found.tolist())


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure all sizes; collective."""
    sizes = QUICK_FOOTPRINTS if setting.quick else FOOTPRINTS
    rounds = QUICK_ROUNDS if setting.quick else ROUNDS
    taken = measure_memory(setting.communicator, sizes, rounds)
    if setting.communicator.rank:
        return None
    ranks = setting.ranks_here
    points = tuple(
        MemoryPoint(ranks_per_node=ranks, bytes=size, seconds_per_byte=each)
        for size, each in zip(sizes, taken, strict=True)
    )
    rows = tuple(
        (
            f"{byte_count(each.bytes)} per rank, {ranks} at once",
            bandwidth(1.0 / each.seconds_per_byte),
        )
        for each in points[::4]
    )
    samples = {"bytes": list(sizes), "seconds_per_byte": list(taken)}
    return ProbeResult(changes={"memory": points}, samples=samples, rows=rows)


MEMORY = ProbeSection(
    name="memory",
    summary="time per byte of vectors from 128 KiB to 128 MiB, on all ranks at once",
    take=take,
)
