"""An experiment: collectives at sizes, repeated in shuffled order, a run file for each."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness.collectives.block import Block, record_block
from hindmost.harness.collectives.memory import check_memory, memory_of_node
from hindmost.harness.collectives.operations import (
    ITEM_BYTES,
    OPERATIONS,
    Collective,
    refuse_wrong,
)
from hindmost.harness.folders import prepare_folder
from hindmost.harness.probes.meeting import nodes_of
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.writer import write_run
from hindmost.harness.together import on_root

WORKLOAD = "collectives"
LARGEST = 2**31 - 8
"""Bytes; the counts of MPI hold it for every type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A collective at a size, once.

    Attributes
    ----------
    collective : Collective
    size : int
        Bytes; 0 where no size applies.
    repeat : int
    """

    collective: Collective
    size: int
    repeat: int

    @property
    def name(self) -> str:
        """What the run file calls it."""
        return self.collective.solver(self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivesExperiment:
    """What is to be run.

    Attributes
    ----------
    operations : tuple of str
        Names of collectives.
    sizes : tuple of int
        Bytes, as each collective understands them.
    calls, repeats : int
        Recorded calls of a run, and runs of each collective and size.
    warmup : int
        Unrecorded calls before the recorded ones.
    seed : int
        Of the order of the runs.
    """

    operations: tuple[str, ...]
    sizes: tuple[int, ...]
    calls: int
    repeats: int
    warmup: int
    seed: int

    def check(self) -> None:
        """Raise a UsageError if this cannot be run; needs no MPI."""
        sized = [OPERATIONS[name].sized for name in self.operations]
        if not self.operations:
            raise UsageError(f"No collective; choose from: {', '.join(OPERATIONS.names)}.")
        if any(sized) and not self.sizes:
            raise UsageError("--bytes names no size; give one or more, as 8,1024,65536.")
        for what, given in (("--operations", self.operations), ("--bytes", self.sizes)):
            if len(set(given)) < len(given):
                raise UsageError(f"{what}: one is named twice; --repeats runs each more often.")
        for size in self.sizes:
            if not 0 < size <= LARGEST or size % ITEM_BYTES:
                raise UsageError(
                    f"--bytes {size}: a size is a positive multiple of {ITEM_BYTES}, the bytes of "
                    f"a double, and at most {LARGEST:,}."
                )
        for name, least in (("calls", 1), ("repeats", 1), ("warmup", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"--{name} {getattr(self, name)}: it must be at least {least}.")

    def order(self) -> list[Case]:
        """Return all runs: repeats, in each of them every collective and size once, shuffled."""
        shuffle = random.Random(self.seed).shuffle
        cases: list[Case] = []
        for repeat in range(self.repeats):
            once = [
                Case(collective=collective, size=size, repeat=repeat)
                for collective in (OPERATIONS[name] for name in self.operations)
                for size in (self.sizes if collective.sized else (0,))
            ]
            shuffle(once)
            cases += once
        return cases


def perform(
    experiment: CollectivesExperiment,
    folder: Path,
    communicator: Any,
    report: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Run an experiment on all ranks; collective.

    Parameters
    ----------
    folder : Path
        Receives the run files; made if it is not there.
    report : callable
        Told, on rank 0, what is going on.

    Returns
    -------
    list of Path
        The run files, in the order of the runs.

    Raises
    ------
    UsageError
        Buffers do not fit.
    DataError
        A collective gave a wrong result.
    """
    experiment.check()
    order = experiment.order()
    refuse_too_large(order, communicator)
    on_root(communicator, lambda: prepare_folder(folder))
    origins = on_root(communicator, lambda: provenance.origins("", communicator.size, Path.cwd()))
    aligning = communicator.Dup()
    files = []
    for number, case in enumerate(order, 1):
        report(f"run {number} of {len(order)}: {case.name}")
        block = run_case(experiment, case, communicator, aligning)
        if block.late:
            report(
                f"warning: {case.name}: of {experiment.calls} calls {block.late} began late on "
                "some rank and are kept, as too many did: the machine is busy or has too few cores"
            )
        header = describe(experiment, case, number, block, origins, communicator.size)
        files.append(write_run(folder, header, block.rank, communicator))
    aligning.Free()
    return files


def run_case(
    experiment: CollectivesExperiment, case: Case, communicator: Any, aligning: Any
) -> Block:
    """Run a collective at a size, in buffers that end with it; collective.

    Raises
    ------
    DataError
        It gave a wrong result.
    """
    prepared = case.collective.prepare(communicator, case.size // ITEM_BYTES)
    refuse_wrong(communicator, prepared, case.name)
    return record_block(
        communicator, aligning, prepared, calls=experiment.calls, warmup=experiment.warmup
    )


def refuse_too_large(cases: list[Case], communicator: Any) -> None:
    """Raise a UsageError on all ranks if buffers of a case do not fit; collective."""
    nodes = nodes_of(communicator)
    memory_bytes = min(communicator.allgather(memory_of_node()))
    for case in cases:
        check_memory(
            case.collective,
            case.size,
            communicator.size,
            ranks_here=max(nodes.count(node) for node in set(nodes)),
            memory_bytes=memory_bytes,
        )


def describe(
    experiment: CollectivesExperiment,
    case: Case,
    number: int,
    block: Block,
    origins: Origins,
    ranks: int,
) -> Header:
    """Say everything of a run but its times.

    Parameters
    ----------
    number : int
        Which run of the experiment this is, from 1.
    """
    return Header(
        workload=WORKLOAD,
        solver=case.name,
        ranks=ranks,
        iterations=experiment.calls,
        restart=1,
        synchronisation="blocking",
        lag=0,
        complete=True,
        records_lost=0,
        origin="measured",
        t0_utc=block.began.isoformat(timespec="microseconds"),
        mpi_library=provenance.mpi_library(),
        spec={
            "operation": case.collective.name,
            "bytes": case.size,
            "repeat": case.repeat,
            "order": number,
            "repeats": experiment.repeats,
            "calls": experiment.calls,
            "warmup": experiment.warmup,
            "seed": experiment.seed,
            "between": "alignments",
            "late": block.late,
            "left_out": block.left_out,
            "margin_s": block.margin_s,
        },
        environment=origins.environment,
        petsc_options={},
        scheduler=origins.scheduler,
        git=origins.git,
    )
