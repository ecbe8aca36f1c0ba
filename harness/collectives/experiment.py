"""The experiment with MPI's collectives: each at each size, a run file for each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.errors import UsageError
from hindmost.harness import mpi
from hindmost.harness.campaign import (
    LARGEST,
    CampaignRun,
    MeasuredExperiment,
    RecordedRun,
    Report,
    RunPlace,
    check_count,
    no_garbage_collection,
)
from hindmost.harness.collectives.alignment import AlignedCall, Alignment
from hindmost.harness.collectives.operations import (
    ITEM_BYTES,
    OPERATIONS,
    Collective,
)
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.memory import check_memory
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.library import NS, load
from hindmost.harness.recorder.recording import Recording, Stretch, rank_run
from hindmost.harness.runfile.bodies import PHASES, BodyKind, RankBodies
from hindmost.text import choose

WORKLOAD = "collectives"
WAIT = PHASES.index("wait")
TRIES = 4
"""So many calls are made for each that is wanted, before late ones are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCase:
    """A collective at a size.

    Attributes
    ----------
    collective : Collective
    size : int
        Bytes; 0 for a collective without a size.
    """

    collective: Collective
    size: int

    @property
    def name(self) -> str:
        """The solver in headers and file names."""
        return self.collective.solver(self.size)

    def buffer_bytes(self, ranks: int) -> int:
        """Return the bytes that the buffers of one rank take."""
        return self.collective.blocks(ranks) * self.size


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivesExperiment(MeasuredExperiment[CollectiveCase]):
    """Collectives to record, each at each size.

    Attributes
    ----------
    operations : tuple of str
        Names of collectives.
    sizes : tuple of int
        Bytes, as each collective defines them.
    calls : int
        Recorded calls of a run.
    """

    operations: tuple[str, ...]
    sizes: tuple[int, ...]
    calls: int

    @property
    def workload_name(self) -> str:
        """The workload in headers and file names."""
        return WORKLOAD

    def cases(self) -> list[CollectiveCase]:
        """Return every collective at every size."""
        return [
            CollectiveCase(collective=collective, size=size)
            for collective in (OPERATIONS[name] for name in self.operations)
            for size in (self.sizes if collective.sized else (0,))
        ]

    def check_own(self) -> None:
        """Raise a UsageError for a setting that cannot be used."""
        sized = [OPERATIONS[name].sized for name in self.operations]
        if not self.operations:
            raise UsageError(f"--operations names no collective; {choose(OPERATIONS.names)}.")
        if any(sized) and not self.sizes:
            raise UsageError("--bytes names no size; give one or more, as 8,1024,65536.")
        for what, given in (("--operations", self.operations), ("--bytes", self.sizes)):
            if len(set(given)) < len(given):
                raise UsageError(f"{what}: a duplicate; use --repeats for more runs of each.")
        for size in self.sizes:
            if not 0 < size <= LARGEST or size % ITEM_BYTES:
                raise UsageError(
                    f"--bytes {size}: a size must be a positive multiple of {ITEM_BYTES} (the "
                    f"bytes of a double), at most {LARGEST:,}."
                )
        check_count("calls", self.calls)

    def check_ranks(self, communicator: Any) -> None:
        """Raise a UsageError on all ranks if the buffers of a case do not fit; collective."""
        largest = max(self.cases(), key=lambda case: case.buffer_bytes(communicator.size))
        check_memory(
            largest.buffer_bytes(communicator.size),
            f"{largest.name}: its buffers need",
            "Choose smaller --bytes, start fewer ranks, or leave it out with --operations.",
            communicator,
        )

    def remarks(self, ranks: int) -> list[str]:
        """Warn of a single rank."""
        if ranks > 1:
            return []
        return [
            "warning: 1 rank: a collective has no partners; use more: "
            "mpiexec -n 2 hindmost run collectives ..."
        ]

    def start(self) -> Parallel:
        """Start the recorder and MPI."""
        load()
        return Parallel(PETSc=None, communicator=mpi.start())

    def prepare(self, parallel: Parallel, report: Report, place: RunPlace) -> CollectiveCalls:
        """Return what records the calls."""
        return CollectiveCalls(self, parallel.communicator)


class CollectiveCalls:
    """Records collectives on all ranks."""

    def __init__(self, experiment: CollectivesExperiment, communicator: Any) -> None:
        self._experiment, self._communicator = experiment, communicator
        self._aligning = communicator.Dup()

    def title(self, case: CollectiveCase) -> str:
        """Return how messages name a case."""
        return case.name

    def record(self, planned: CampaignRun[CollectiveCase], feed: LiveFeed | None) -> RecordedRun:
        """Record the calls of a collective at a size, in buffers made for them; collective."""
        experiment, case = self._experiment, planned.case
        call, _ = case.collective.prepare(self._communicator, case.size // ITEM_BYTES)
        stretch = Stretch(self._aligning)
        assert stretch.clock is not None
        alignment = Alignment(self._aligning, stretch.clock)
        with no_garbage_collection():
            if experiment.warmup:
                alignment.calls(call, experiment.warmup, experiment.warmup)
            self._aligning.Barrier()
            stretch.begin()
            made = alignment.calls(call, experiment.calls, TRIES * experiment.calls)
            stretch.end()
        recording = stretch.recording()
        kept = sum(each.late for each in made)
        late = (
            f"{kept} of {experiment.calls} calls began late on some rank and are kept, "
            "because too many did: the machine is busy or has too few cores"
        )
        return RecordedRun(
            name=case.name,
            rank=rank_run([recording], bodies_of(made, recording)),
            began=stretch.began,
            iterations=experiment.calls,
            header={"restart": 1},
            warnings=(late,) if kept else (),
            spec={
                "operation": case.collective.name,
                "bytes": case.size,
                "calls": experiment.calls,
                "between": "alignments",
                "late": kept,
                "left_out": alignment.left_out,
                "margin_s": alignment.margin_ns * NS,
            },
        )

    def close(self, report: Report) -> None:
        """Free the communicator on which ranks are aligned."""
        self._aligning.Free()


def bodies_of(made: list[AlignedCall], recording: Recording) -> RankBodies:
    """Return calls as bodies: all of a body is waiting, and what lies between two is a restart.

    In the words of a run file a collective restarts after every body, so that meetings, windows and
    calls that were left out are in no body, and the parts still sum to the whole.
    """
    begin = np.array([call.begin_ns for call in made])
    end = np.maximum([call.end_ns for call in made], begin + 1)
    phases = np.zeros((begin.size, len(PHASES)), np.float32)
    phases[:, WAIT] = (end - begin) * NS
    return RankBodies(
        start=recording.clock.since_zero(begin),
        duration=(end - begin) * NS,
        phase_duration=phases,
        position=np.zeros(begin.size, np.int32),
        kind=np.full(begin.size, BodyKind.REGULAR, np.uint8),
        restart_duration=(begin[1:] - end[:-1]) * NS,
        lead_in_s=float(begin[0] - recording.begin_ns) * NS,
        lead_out_s=float(recording.end_ns - end[-1]) * NS,
        solve_time_s=float(recording.end_ns - recording.begin_ns) * NS,
    )
