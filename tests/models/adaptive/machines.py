"""A machine and an application whose times are easily computed by hand."""

from dataclasses import replace

from hindmost.models.adaptive.machine import (
    GrindPoint,
    Machine,
    Network,
    SpeedPoint,
)
from hindmost.models.adaptive.offline import Application, Count, Exchange, OfflineModel
from hindmost.models.adaptive.work import PHASES, Work
from hindmost.models.simulation.network import Link, Piece


def link(latency_s: float, per_byte_s: float) -> Link:
    return Link(pieces=(Piece(from_bytes=0, latency_s=latency_s, per_byte_s=per_byte_s),))


def with_grind(machine: Machine, **costs: float) -> Machine:
    grind = tuple(
        GrindPoint(phase=phase, ranks_per_node=count, cells=1e4, seconds_per_cell=cost * factor)
        for phase, cost in costs.items()
        for count, factor in ((1, 1.0), (2, 1.25))
    )
    pulse = tuple(SpeedPoint(ranks_per_node=count, seconds=4e-6 * count) for count in (1, 2))
    return replace(machine, grind=grind, pulse=pulse)


def phases(model: OfflineModel, work: Work, iterations: float | None = None) -> dict[str, float]:
    """Return the time of each phase, and what is left of the cycle, by name."""
    done = work.iterations if iterations is None else iterations
    times = dict(zip(PHASES, model.phases_s(work, done), strict=True))
    return times | {"loop": model.cycle_s(work, done) - sum(times.values())}


PLAIN = with_grind(
    Machine(
        name="plain",
        ranks_per_node=2,
        network=Network(
            within=link(1e-6, 1e-9),
            within_both_ways=link(2e-6, 2e-9),
            across=link(1e-5, 1e-8),
            across_both_ways=link(2e-5, 2e-8),
        ),
    ),
    hydro=3e-8,
    heat=2e-9,
    adaption=5e-8,
)
DECK = Application(
    name="deck",
    exchanges=(Exchange(count=Count(per_step=1, per_iteration=2), bytes_per_cell=32.0),),
    reductions=Count(per_cycle=1, per_step=1, per_iteration=3),
    moved_share=0.1,
    bytes_moved=64.0,
)
