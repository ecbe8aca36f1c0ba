"""What a run keeps of its cycles on one rank: a row for each, and the meshes that they ran on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.checkpoint import COLUMNS
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.phases import NAMES, Phase, PhaseClock
from hindmost.harness.adaptive.pulse import PulseReader
from hindmost.harness.recorder.library import NS
from hindmost.harness.recorder.recording import Stretch, rank_run
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import BodyKind, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun
from hindmost.harness.runfile.cycles import (
    COUNTS,
    PULSE,
    BlockEdges,
    Blocks,
    Predictions,
    RankCycles,
)
from hindmost.models.adaptive.work import Spent

OF_MODELS = (
    Phase.HYDRO,
    Phase.HALO,
    Phase.HEAT,
    Phase.REDUCTION,
    Phase.ADAPTION,
    Phase.BALANCE,
)
"""Phases of a cycle in the order in which the models have them."""


class CycleLog:
    """Rows of cycles on one rank, and the edges and blocks of every mesh that a cycle ran on.

    Its construction is collective: the ranks compare clocks and leave a barrier together.

    Parameters
    ----------
    communicator : MPI.Intracomm
    clock : PhaseClock
    pulses : PulseReader
    blocks : bool
        Whether to keep load and owner of the blocks of every mesh, on rank 0.
    """

    def __init__(
        self, communicator: Any, clock: PhaseClock, pulses: PulseReader, *, blocks: bool
    ) -> None:
        self._communicator, self._keeps_blocks = communicator, blocks
        self._epoch, self._mesh = -1, -1
        self._clock, self._reader = clock, pulses
        self._stretch = Stretch(communicator)
        # Of each cycle: begin, wall and processor time by phase, counts, number of the mesh, pulse.
        self._rows: list[tuple[int, list[int], list[int], tuple[int, ...], int, float]] = []
        self._edges: list[Edges] = []
        self._blocks: list[Blocks] = []
        communicator.Barrier()
        self._stretch.begin()
        self._at_ns, _, _ = clock.take()
        self._stretch.begin_ns = self._begin_ns = self._at_ns
        self._switches = provenance.involuntary_switches()

    @property
    def cycles(self) -> int:
        """Cycles that have a row."""
        return len(self._rows)

    @property
    def last_ns(self) -> NDArray[np.float64]:
        """Nanoseconds of the last cycle by phase; shape (phase,)."""
        return np.array(self._rows[-1][1], np.float64)

    def add_mesh(self, mesh: Mesh) -> None:
        """Keep the mesh on which a cycle will run, if it is another than before; collective."""
        if mesh.epoch == self._epoch:
            return
        self._epoch, self._mesh = mesh.epoch, self._mesh + 1
        self._edges.append(mesh.edges(columns=COLUMNS, epoch=self._mesh))
        if self._keeps_blocks:
            parts = self._communicator.gather(mesh.blocks(columns=COLUMNS, epoch=self._mesh))
            self._blocks += parts or ()

    def add_cycle(self, counts: dict[str, int]) -> Spent:
        """End the row of a cycle, which began where the row before it ended; collective.

        Parameters
        ----------
        counts : dict of str to int
            Every one of `COUNTS` but the context switches, which are counted here.

        Returns
        -------
        Spent
            Without a checkpoint before it. The pulse is of this rank, read right after the cycle,
            so within the row of the next one.
        """
        switches = provenance.involuntary_switches()
        at, wall, cpu = self._clock.take()
        counts = {**counts, "switches": switches - self._switches}
        # All ranks at once, as they compute: they may share more than memory.
        self._communicator.Barrier()
        pulse = self._reader.read()
        row = tuple(counts[name] for name in COUNTS)
        self._rows.append((self._at_ns, wall, cpu, row, self._mesh, pulse))
        self._at_ns, self._switches = at, switches
        return Spent(
            seconds=(sum(wall) - wall[Phase.CHECKPOINT]) * NS,
            phases_s=tuple(wall[phase] * NS for phase in OF_MODELS),
            iterations=float(counts["heat_iterations"]),
            pulse_s=pulse,
        )

    def rank_run(self, predictions: Predictions) -> RankRun:
        """Return everything as it goes into the run file; collective."""
        end_ns, _, _ = self._clock.take()
        self._stretch.end()
        recording = self._stretch.recording()
        count = self.cycles
        begins, walls, cpus, rows, epochs, pulses = (
            [row[column] for row in self._rows] for column in range(6)
        )
        wall, cpu = (
            np.array(each, np.float64).reshape(count, len(NAMES)) * NS for each in (walls, cpus)
        )
        counts = np.array(rows, np.int64).reshape(count, len(COUNTS))
        return rank_run(
            [recording],
            RankBodies(
                start=recording.clock.since_zero(np.array(begins, np.int64)),
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
            incoming=Edges.together(self._edges) if self._edges else Edges.none(),
            cycles=RankCycles(
                counts={name: counts[:, place] for place, name in enumerate(COUNTS)},
                phase_cpu=cpu.astype(np.float32),
                pulses={PULSE: np.array(pulses, np.float32)},
                epoch=np.array(epochs, np.int32),
                predictions=predictions,
                blocks=joined(self._blocks),
            ),
        )


def joined(blocks: list[Blocks]) -> Blocks | None:
    """Return the blocks of all ranks and meshes as one list, None where none were kept."""
    if not blocks:
        return None

    def together(parts: Sequence[Any], *names: str) -> dict[str, Any]:
        return {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}

    edges = together([block.edges for block in blocks], "source", "target", "bytes", "epoch")
    return Blocks(**together(blocks, "place", "load", "owner", "epoch"), edges=BlockEdges(**edges))
