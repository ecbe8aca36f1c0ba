"""The log of an adaptive run on one rank: a row for every cycle, turned into a run."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.phases import NAMES, Phase, PhaseClock
from hindmost.harness.probes.pulse import Pulse, PulseReader
from hindmost.harness.recorder.clock import CommonClock, read_clock
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import BodyKind, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun
from hindmost.harness.runfile.cycles import (
    COUNTS,
    PULSES,
    BlockEdges,
    Blocks,
    Predictions,
    RankCycles,
)

NS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleTimes:
    """The times of one cycle on one rank.

    Attributes
    ----------
    seconds : float
        Without a checkpoint before it.
    phases_s : dict of Phase to float
        Exclusive.
    pulse : Pulse
        Read right after the cycle, so within the row of the next one.
    """

    seconds: float
    phases_s: dict[Phase, float]
    pulse: Pulse


class CycleLog:
    """Rows of cycles, and the edges and blocks of every mesh that a cycle ran on.

    Its construction is collective: the ranks compare clocks and leave a barrier together.

    Parameters
    ----------
    communicator : MPI.Intracomm
    clock : PhaseClock
    pulses : PulseReader
    """

    def __init__(self, communicator: Any, clock: PhaseClock, pulses: PulseReader) -> None:
        self._communicator = communicator
        self._clock, self._reader = clock, pulses
        self._load_before = provenance.load_of_host()
        self._walls: list[list[int]] = []
        self._cpus: list[list[int]] = []
        self._begins: list[int] = []
        self._counts: list[tuple[int, ...]] = []
        self._epochs: list[int] = []
        self._pulses: list[Pulse] = []
        self._edges: list[Edges] = []
        self._blocks: list[Blocks] = []
        self._before = read_clock(communicator)
        communicator.Barrier()
        self._begin_ns, _, _ = clock.take()
        self._at_ns = self._begin_ns
        self._switches = self._first_switches = provenance.involuntary_switches()
        self._core_wait_s = -provenance.core_wait_s()

    @property
    def cycles(self) -> int:
        """Cycles that have a row."""
        return len(self._begins)

    @property
    def last_ns(self) -> NDArray[np.float64]:
        """Nanoseconds of the last cycle by phase; shape (phase,)."""
        return np.array(self._walls[-1], np.float64)

    def add_mesh(self, epoch: int, incoming: Edges, blocks: Blocks | None) -> None:
        """Keep who sends to this rank on a mesh, and what the blocks of the mesh hold."""
        self._edges.append(
            Edges(
                source=incoming.source,
                target=incoming.target,
                bytes=incoming.bytes,
                messages=np.ones(incoming.source.size, np.int32),
                epoch=np.full(incoming.source.size, epoch, np.int32),
            )
        )
        if blocks is not None:
            self._blocks.append(blocks)

    def add_cycle(self, counts: dict[str, int], epoch: int) -> CycleTimes:
        """End the row of a cycle, which began where the row before it ended; collective.

        Parameters
        ----------
        counts : dict of str to int
            Every one of `COUNTS` but the context switches, which are counted here.
        """
        switches = provenance.involuntary_switches()
        at, wall, cpu = self._clock.take()
        counts = {**counts, "switches": switches - self._switches}
        self._begins.append(self._at_ns)
        self._walls.append(wall)
        self._cpus.append(cpu)
        self._counts.append(tuple(counts[name] for name in COUNTS))
        self._epochs.append(epoch)
        self._at_ns, self._switches = at, switches
        # All ranks at once, as they compute: they may share more than memory.
        self._communicator.Barrier()
        pulse = self._reader.read()
        self._pulses.append(pulse)
        taken = sum(wall) - wall[Phase.CHECKPOINT]
        return CycleTimes(
            seconds=taken * NS,
            phases_s={phase: wall[phase] * NS for phase in Phase},
            pulse=pulse,
        )

    def rank_run(self, predictions: Predictions) -> RankRun:
        """Return everything as it goes into the run file; collective."""
        end_ns, _, _ = self._clock.take()
        zero = self._communicator.bcast(self._begin_ns)
        clock = CommonClock(before=self._before, after=read_clock(self._communicator), zero_ns=zero)
        count = self.cycles
        wall = np.array(self._walls, np.float64).reshape(count, len(NAMES)) * NS
        begins = np.array(self._begins, np.int64)
        counts = np.array(self._counts, np.int64).reshape(count, len(COUNTS))
        pulses = np.array(self._pulses, np.float32).reshape(count, len(PULSES))
        return RankRun(
            bodies=RankBodies(
                start=clock.since_zero(begins),
                duration=wall.sum(axis=1),
                phase_duration=wall.astype(np.float32),
                phases=NAMES,
                position=np.arange(count, dtype=np.int32),
                kind=np.full(count, BodyKind.REGULAR, np.uint8),
                restart_duration=np.empty(0),
                lead_in_s=0.0,
                lead_out_s=(end_ns - self._at_ns) * NS,
                solve_time_s=(end_ns - self._begin_ns) * NS,
            ),
            residual_norm=np.full(count, np.nan),
            incoming=Edges.together(self._edges) if self._edges else no_edges(),
            mpi_other_s=0.0,
            context_switches=self._switches - self._first_switches,
            core_wait_s=self._core_wait_s + provenance.core_wait_s(),
            cpu=provenance.current_cpu(),
            cpuset=provenance.cpuset(),
            load_before=self._load_before,
            load_after=provenance.load_of_host(),
            host=socket.gethostname(),
            clock_offset_s=clock.offset_s,
            clock_uncertainty_s=clock.uncertainty_s,
            cycles=RankCycles(
                counts={name: counts[:, place] for place, name in enumerate(COUNTS)},
                phase_cpu=(np.array(self._cpus, np.float64).reshape(count, len(NAMES)) * NS).astype(
                    np.float32
                ),
                pulses={name: pulses[:, place] for place, name in enumerate(PULSES)},
                epoch=np.array(self._epochs, np.int32),
                predictions=predictions,
                blocks=joined(self._blocks),
            ),
        )


def no_edges() -> Edges:
    """Return the edges of a rank that nobody sends to."""
    none: NDArray[np.int32] = np.empty(0, np.int32)
    return Edges(source=none, target=none, bytes=np.empty(0, np.int64), messages=none, epoch=none)


def joined(blocks: list[Blocks]) -> Blocks | None:
    """Return the blocks of all meshes as one list, None where none were kept."""
    if not blocks:
        return None
    edges = [each.edges for each in blocks if each.edges is not None]
    return Blocks(
        place=np.concatenate([each.place for each in blocks]),
        load=np.concatenate([each.load for each in blocks]),
        owner=np.concatenate([each.owner for each in blocks]),
        epoch=np.concatenate([each.epoch for each in blocks]),
        edges=BlockEdges(
            source=np.concatenate([each.source for each in edges]),
            target=np.concatenate([each.target for each in edges]),
            bytes=np.concatenate([each.bytes for each in edges]),
            epoch=np.concatenate([each.epoch for each in edges]),
        ),
    )
