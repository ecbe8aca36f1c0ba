"""The section ``memory``: the time per byte over the size of what a rank reads again and again."""

from __future__ import annotations

from hindmost.harness.probes.memory import (
    FOOTPRINTS,
    QUICK_FOOTPRINTS,
    QUICK_ROUNDS,
    ROUNDS,
    measure_memory,
)
from hindmost.harness.probes.sections.contract import ProbeResult, ProbeSection, ProbeSetting
from hindmost.models.adaptive.machine import MemoryPoint
from hindmost.text import bandwidth, byte_count


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
