"""The experiment with MPI's collectives: each at each size, a run file for each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness import mpi
from hindmost.harness.campaign import (
    LARGEST,
    CampaignRun,
    MeasuredExperiment,
    RecordedRun,
    Report,
    check_count,
)
from hindmost.harness.collectives.block import record_block
from hindmost.harness.collectives.operations import (
    ITEM_BYTES,
    OPERATIONS,
    Collective,
)
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.memory import check_memory
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.library import load
from hindmost.text import choose

WORKLOAD = "collectives"


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

    def prepare(self, parallel: Parallel, report: Report) -> CollectiveCalls:
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
        block = record_block(
            self._communicator,
            self._aligning,
            call,
            calls=experiment.calls,
            warmup=experiment.warmup,
        )
        late = (
            f"{block.late} of {experiment.calls} calls began late on some rank and are kept, "
            "because too many did: the machine is busy or has too few cores"
        )
        return RecordedRun(
            name=case.name,
            rank=block.rank,
            began=block.began,
            iterations=experiment.calls,
            restart=1,
            warnings=(late,) if block.late else (),
            spec={
                "operation": case.collective.name,
                "bytes": case.size,
                "calls": experiment.calls,
                "between": "alignments",
                "late": block.late,
                "left_out": block.left_out,
                "margin_s": block.margin_s,
            },
        )

    def close(self, report: Report) -> None:
        """Free the communicator on which ranks are aligned."""
        self._aligning.Free()
