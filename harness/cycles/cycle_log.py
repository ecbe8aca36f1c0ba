"""What a run keeps of its cycles on one rank: marks, a note of each, and the blocks of meshes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.checkpoint import COLUMNS
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.phases import Phase, PhaseClock, by_name
from hindmost.harness.adaptive.pulse import PulseReader
from hindmost.harness.attach.cycle_notes import CycleNote
from hindmost.harness.attach.own_iterations import BEGUN, FINISHED
from hindmost.harness.attach.own_marks import MarksOfRecorder
from hindmost.harness.own_recording import PartRecording
from hindmost.harness.recorder.library import NS, loaded
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.attributes import Json
from hindmost.harness.runfile.contents import RankRun
from hindmost.harness.runfile.cycles import COUNTS, BlockEdges, Blocks
from hindmost.harness.runfile.provenance import Origins
from hindmost.models.adaptive.work import Spent

TOGETHER = "together 1"
"""To the recorder: never keep the sums of several cycles together."""
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
    """Marks and notes of cycles on one rank, and the meshes that they ran on; collective.

    Parameters
    ----------
    communicator : MPI.Intracomm
        Nothing else uses it.
    clock : PhaseClock
    pulses : PulseReader
    stem : Path
        Of the name of the folder in which the records are until there is a run file.
    about : dict
        What the records say of the run.
    origins : Origins
    blocks : bool
        Whether to keep load and owner of the blocks of every mesh, on rank 0.
    """

    def __init__(
        self,
        communicator: Any,
        clock: PhaseClock,
        pulses: PulseReader,
        stem: Path,
        about: Json,
        origins: Origins,
        *,
        blocks: bool,
    ) -> None:
        self._communicator, self._keeps_blocks = communicator, blocks
        self._epoch, self._mesh = -1, -1
        self._clock, self._reader = clock, pulses
        self._edges: tuple[tuple[int, int], ...] = ()
        self._blocks: list[Blocks] = []
        self.cycles = 0
        self._marks = MarksOfRecorder(loaded(), settings=[TOGETHER])
        self._place = stem, about, origins

    def begin(self) -> None:
        """Begin the first cycle, where the ranks meet."""
        self._recording = PartRecording(self._communicator, self._marks, *self._place)
        self._clock.take(*self._begun())
        self._switches = provenance.involuntary_switches()

    def _begun(self) -> tuple[int, int]:
        """Mark the begin of a cycle, at the very end of the one before.

        Returns
        -------
        int, int
            That instant, and the one from which its time counts.
        """
        at_ns = self._marks.mark(BEGUN, self.cycles, self.cycles > 0)
        return at_ns, at_ns + self._marks.pause()

    @property
    def last_ns(self) -> NDArray[np.float64]:
        """Nanoseconds of the last cycle by phase; shape (phase,)."""
        return np.array(by_name(self._wall), np.float64)

    def add_mesh(self, mesh: Mesh) -> None:
        """Keep the mesh on which a cycle will run, if it is another than before."""
        self._edges = ()
        if mesh.epoch == self._epoch:
            return
        self._epoch, self._mesh = mesh.epoch, self._mesh + 1
        self._edges = tuple(mesh.senders(columns=COLUMNS))
        if self._keeps_blocks:
            parts = self._communicator.gather(mesh.blocks(columns=COLUMNS, epoch=self._mesh))
            self._blocks += parts or ()

    def add_cycle(self, counts: dict[str, int]) -> Spent:
        """End a cycle, which began where the one before it ended.

        Parameters
        ----------
        counts : dict of str to int
            Every one of `COUNTS` but the context switches, which are counted here.

        Returns
        -------
        Spent
            Without a checkpoint before it. The pulse is of this rank, read right after the cycle,
            so within the time of the next one.
        """
        switches = provenance.involuntary_switches()
        self._marks.mark(FINISHED, self.cycles, 0)
        self.cycles += 1
        wall, self._cpu = self._clock.take(*self._begun())
        self._wall = wall
        self._counts = {**counts, "switches": switches - self._switches}
        # All ranks at once, as they compute: they may share more than memory.
        before = self._clock.switch(Phase.MEETING)
        self._communicator.Barrier()
        self._clock.switch(before)
        self._pulse_s = self._reader.read()
        self._switches = switches
        return Spent(
            seconds=(sum(wall) - wall[Phase.CHECKPOINT]) * NS,
            phases_s=tuple(wall[phase] * NS for phase in OF_MODELS),
            iterations=float(counts["heat_iterations"]),
            pulse_s=self._pulse_s,
        )

    def note(self, predicted: Sequence[float] = ()) -> None:
        """Write what is known of the last cycle; on rank 0 with its predictions."""
        note = CycleNote(
            wall_ns=tuple(by_name(self._wall)),
            cpu_ns=tuple(by_name(self._cpu)),
            counts=tuple(self._counts[name] for name in COUNTS),
            mesh=self._mesh,
            pulse_s=self._pulse_s,
            predicted=tuple(each if math.isfinite(each) else None for each in predicted),
            edges=self._edges,
        )
        self._marks.note(asdict(note))

    def leave(self) -> None:
        """End where other ranks may not: the records stay as they are; not collective."""
        self._marks.end(keeps=False)

    def rank_run(self) -> RankRun | None:
        """Return everything as it goes into the run file; None if there is no cycle."""
        self._marks.stop()
        self._recording.end()
        run = None
        if self.cycles:
            program, groups = self._recording.sections()
            run, _ = self._recording.run_of(program, groups[0][0])
            assert run.cycles is not None
            run = replace(run, cycles=replace(run.cycles, blocks=joined(self._blocks)))
        self._recording.remove()
        return run


def joined(blocks: list[Blocks]) -> Blocks | None:
    """Return the blocks of all ranks and meshes as one list, None where none were kept."""
    if not blocks:
        return None

    def together(parts: Sequence[Any], *names: str) -> dict[str, Any]:
        return {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}

    edges = together([block.edges for block in blocks], "source", "target", "bytes", "epoch")
    return Blocks(**together(blocks, "place", "load", "owner", "epoch"), edges=BlockEdges(**edges))
