"""An experiment: solvers on one linear system, repeated in shuffled order, a run file each."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.harness.folders import prepare_folder
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import assemble
from hindmost.harness.krylov.solve import RecordedRun, RecordedSolver
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.live.feed import FeedWanted, feed_if
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.counters import CounterUse, use_counters
from hindmost.harness.reduction.decide import compile_choice, decide
from hindmost.harness.reduction.reduced_file import write_reduced_run
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.writer import write_run
from hindmost.harness.together import on_root

RESERVED = {
    "-ksp_type": "--solver",
    "-ksp_max_it": "--iterations",
}
"""PETSc options that hindmost has words of its own for."""


LARGEST = 2_000_000_000
"""What PETSc's integers hold, where they have 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is to be run.

    Attributes
    ----------
    workload : str
        Name of a problem.
    solvers : tuple of str
    unknowns, iterations, repeats : int
        Positive.
    warmup : int
        Unrecorded solves before the first recorded one of each solver.
    seed : int
        Of the order of the runs.
    petsc_options : tuple of str
        As on a command line.
    counters : CounterUse
        When instructions and cycles are counted.
    keep : float
        Share of the ranks that keep full records; the others keep profiles.
    live : bool
        Write a live feed beside the run files.
    """

    workload: str
    solvers: tuple[str, ...]
    unknowns: int
    iterations: int
    repeats: int
    warmup: int
    seed: int
    petsc_options: tuple[str, ...] = ()
    counters: CounterUse = CounterUse.AUTO
    keep: float = 1.0
    live: bool = False

    def check(self) -> None:
        """Raise a UsageError if this cannot be run; needs neither MPI nor PETSc."""
        _ = PROBLEMS[self.workload]
        for solver in self.solvers:
            _ = SOLVERS[solver]
        if not self.solvers:
            raise UsageError(f"No solver; choose from: {', '.join(SOLVERS.names)}.")
        if len(set(self.solvers)) < len(self.solvers):
            raise UsageError("A solver is named twice; --repeats runs each more often.")
        least = {"unknowns": 1, "iterations": 1, "repeats": 1, "warmup": 0}
        for name, smallest in least.items():
            value = getattr(self, name)
            if not smallest <= value <= LARGEST:
                raise UsageError(
                    f"--{name} {value}: it must be at least {smallest}, at most {LARGEST:,}."
                )
        if not 0.0 < self.keep <= 1.0:
            raise UsageError(f"--keep {self.keep:g}: a share above 0 and up to 1, such as 5%.")
        for before, option in pairwise(("", *self.petsc_options)):
            if not option.startswith("-") and not before.startswith("-"):
                raise UsageError(
                    f"'{option}' after '--' is neither a PETSc option, which begins with a dash, "
                    "nor the value of one."
                )
            if option in RESERVED:
                raise UsageError(f"{option} after '--': use {RESERVED[option]} instead.")

    def order(self) -> list[tuple[str, int]]:
        """Return solver and number of every run: blocks with each solver once, each shuffled."""
        shuffle = random.Random(self.seed).shuffle
        runs: list[tuple[str, int]] = []
        for repeat in range(self.repeats):
            block = [(solver, repeat) for solver in self.solvers]
            shuffle(block)
            runs += block
        return runs


def perform(
    experiment: Experiment,
    folder: Path,
    parallel: Parallel,
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
    """
    experiment.check()
    communicator = parallel.communicator
    if experiment.unknowns < communicator.size:
        raise UsageError(
            f"--unknowns {experiment.unknowns} on {communicator.size} ranks: "
            "every rank needs at least one."
        )
    on_root(communicator, lambda: prepare_folder(folder))
    petsc_version = ".".join(str(part) for part in parallel.PETSc.Sys.getVersion())
    origins = on_root(
        communicator, lambda: provenance.origins(petsc_version, communicator.size, Path.cwd())
    )
    problem = PROBLEMS[experiment.workload]
    system = assemble(problem, experiment.unknowns, parallel.PETSc, parallel.PETSc.COMM_WORLD)
    counting = use_counters(experiment.counters)
    solvers = {
        name: RecordedSolver(
            SOLVERS[name],
            system,
            iterations=experiment.iterations,
            preconditioner=problem.preconditioner,
            parallel=parallel,
            counting=counting,
        )
        for name in experiment.solvers
    }
    if experiment.keep < 1.0:
        compile_choice()
    for name, solver in solvers.items():
        for _ in range(experiment.warmup):
            report(f"{name}: warming up")
            solver.warm_up()
    files = []
    order = experiment.order()
    wanted = FeedWanted(workload=experiment.workload, runs=len(order), phases=PHASES)
    with feed_if(experiment.live, folder, communicator, wanted, report) as feed:
        for number, (name, repeat) in enumerate(order, 1):
            report(f"run {number} of {len(order)}: {name}")
            if feed is not None:
                feed.begin(name, number, experiment.iterations)
            recorded = solvers[name].record()
            place = (repeat, number)
            header = describe(experiment, solvers[name], place, recorded, origins, parallel)
            if recorded.records_lost:
                report(
                    f"warning: {name}: {recorded.records_lost} records found no room in memory; "
                    "the run is marked incomplete"
                )
            if experiment.keep < 1.0:
                kept = decide(recorded.rank, experiment.keep, communicator, seed=experiment.seed)
                report(kept.explain())
                files.append(write_reduced_run(folder, header, recorded.rank, kept, communicator))
            else:
                files.append(write_run(folder, header, recorded.rank, communicator))
            if feed is not None:
                feed.written(number, files[-1])
    return files


def describe(
    experiment: Experiment,
    solver: RecordedSolver,
    place: tuple[int, int],
    recorded: RecordedRun,
    origins: Origins,
    parallel: Parallel,
) -> Header:
    """Say everything of a run but its times.

    Parameters
    ----------
    place : tuple of int
        Which repeat of its solver this is, and which run of the experiment.
    origins : Origins
        As found before the first solve.
    """
    began = datetime.fromtimestamp(recorded.begin_utc_ns * 1e-9, UTC)
    return Header(
        workload=experiment.workload,
        solver=solver.solver.name,
        ranks=parallel.communicator.size,
        iterations=experiment.iterations,
        restart=solver.restart,
        synchronisation=solver.solver.synchronisation,
        lag=solver.solver.lag,
        complete=recorded.records_lost == 0,
        records_lost=recorded.records_lost,
        origin="measured",
        t0_utc=began.isoformat(timespec="microseconds"),
        mpi_library=provenance.mpi_library(),
        spec={
            "unknowns": experiment.unknowns,
            "repeat": place[0],
            "order": place[1],
            "repeats": experiment.repeats,
            "warmup": experiment.warmup,
            "seed": experiment.seed,
            "petsc_options": list(experiment.petsc_options),
        },
        environment=origins.environment,
        petsc_options=dict(parallel.PETSc.Options().getAll()),
        scheduler=origins.scheduler,
        git=origins.git,
    )
