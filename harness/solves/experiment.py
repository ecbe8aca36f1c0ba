"""The Krylov experiment: solvers on one linear system."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness import petsc
from hindmost.harness.attach.settings import sample_lines
from hindmost.harness.campaign import (
    LARGEST,
    CampaignRun,
    MeasuredExperiment,
    RecordedRun,
    Report,
    RunPlace,
    check_count,
)
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.krylov.solvers import SOLVERS, check_types, paired, solver_named
from hindmost.harness.memory import check_memory
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.counters import open_counters
from hindmost.harness.recorder.injection import Injection
from hindmost.harness.recorder.petsc_library import option_used
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.ending import KEY
from hindmost.harness.solves.recorded import RecordedSolver
from hindmost.records import to_document
from hindmost.text import choose

RESERVED = {
    "-ksp_type": "--solver",
    "-ksp_max_it": "--iterations",
    "-ksp_rtol": "--rtol",
}
"""PETSc options for which hindmost has its own."""
MIN_ROW_BYTES = 60
"""What any system needs: a row with one entry as it is assembled (24) and as PETSc copies it (20),
and an entry of two vectors (16)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KrylovExperiment(MeasuredExperiment[str]):
    """Solvers to record on one linear system; the cases are the solvers' names.

    Attributes
    ----------
    workload : str
        Name of a problem.
    solvers : tuple of str
        Any types of KSP that PETSc has; nothing for the one that the problem stands for.
    pair : bool
        Run the pipelined variants of each solver as well.
    system : SystemRequest
        Size, case or file of the linear system.
    iterations : int
        Positive.
    petsc_options : tuple of str
        As on a command line.
    rtol : float or None
        Tolerance at which solves end; ``iterations`` is then the maximum.
    activities : bool
        Split the local work of every iteration into activities.
    injection : Injection or None
        Noise to inject into every recorded solve.
    sample : int, True or None
        Samples a second of where ranks spend processor time; True for as many as cost little.
    """

    workload: str
    solvers: tuple[str, ...]
    iterations: int
    system: SystemRequest = field(default_factory=SystemRequest)
    petsc_options: tuple[str, ...] = ()
    rtol: float | None = None
    activities: bool = False
    pair: bool = False
    injection: Injection | None = None
    sample: int | None = None

    @property
    def workload_name(self) -> str:
        """The workload in headers and file names."""
        return self.workload

    def cases(self) -> tuple[str, ...]:
        """Return the solvers."""
        own = PROBLEMS[self.workload].solver
        named = self.solvers or ((own,) if own else ())
        return paired(named) if self.pair else named

    def check_own(self) -> None:
        """Raise a UsageError for a setting that cannot be used."""
        PROBLEMS[self.workload].check_request(self.system)
        self.sample_lines()
        if not self.cases():
            known = choose(each.name for each in SOLVERS.built_in)
            raise UsageError(f"No --solver; {known}, or any other solver of PETSc.")
        if len(set(self.solvers)) < len(self.solvers):
            raise UsageError("A solver is named twice; use --repeats for more runs of each.")
        if self.system.unknowns is not None:
            check_count("unknowns", self.system.unknowns)
        if math.prod(self.system.grid) > LARGEST:
            raise UsageError(f"--grid: more than {LARGEST:,} points.")
        check_count("iterations", self.iterations)
        if self.rtol is not None and not 0.0 < self.rtol < 1.0:
            raise UsageError(f"--rtol {self.rtol:g}: it must lie between 0 and 1, as 1e-8.")
        for before, option in pairwise(("", *self.petsc_options)):
            if not option.startswith("-") and not before.startswith("-"):
                raise UsageError(
                    f"'{option}' after '--' is neither a PETSc option, which begins with a dash, "
                    "nor the value of one."
                )
            if option == "-ksp_atol" and self.rtol is None:
                raise UsageError("-ksp_atol after '--' ends solves only with --rtol; add it.")
            if option in RESERVED:
                raise UsageError(f"{option} after '--': use {RESERVED[option]} instead.")

    def sample_lines(self) -> list[str]:
        """Return what asks the recorder for samples; raise a UsageError for an odd number."""
        return sample_lines(self.sample, f"--sample {self.sample}", "no number")

    def check_ranks(self, communicator: Any) -> None:
        """Raise a UsageError for a solver that PETSc lacks, too few unknowns, or too many."""
        check_types(self.cases())
        if self.injection is not None:
            self.injection.check_ranks(communicator.size)
        if not (self.system.unknowns or self.system.grid):
            return
        asked = self.system.unknowns or math.prod(self.system.grid)
        option = "--grid" if self.system.grid else "--unknowns"
        given = f"{option} {self.system.given[option]}"
        if asked < communicator.size:
            raise UsageError(
                f"{given} on {communicator.size} ranks: every rank needs at least one."
            )
        check_memory(
            MIN_ROW_BYTES * (asked // communicator.size),
            f"{given}: a system of that size needs at least",
            "Choose a smaller one, or run on more hosts.",
            communicator,
        )

    def remarks(self, ranks: int) -> list[str]:
        """Warn of a single rank."""
        noise = [] if self.injection is None else [f"noise is injected: {self.injection}"]
        if ranks > 1:
            return noise
        return [*noise, "warning: 1 rank: it never waits; use more: mpiexec -n 2 hindmost run ..."]

    def start(self) -> Parallel:
        """Start the recorder, MPI and PETSc."""
        return petsc.start(self.petsc_options)

    def prepare(self, parallel: Parallel, report: Report, place: RunPlace) -> KrylovSolves:
        """Assemble the system, set the solvers up and warm up each of them."""
        return KrylovSolves(self, parallel, report, place)


class KrylovSolves:
    """The solvers of an experiment, set up on its linear system."""

    def __init__(
        self, experiment: KrylovExperiment, parallel: Parallel, report: Report, place: RunPlace
    ) -> None:
        self._experiment, self._parallel = experiment, parallel
        problem = PROBLEMS[experiment.workload]
        counters = open_counters()
        with petsc_errors(parallel):
            system = problem.build(experiment.system, parallel.PETSc, parallel.PETSc.COMM_WORLD)
            self._spec = {
                **petsc.nonzeros_of(system.matrix, parallel.PETSc),
                **system.spec,
                **petsc.scalar_spec(parallel.PETSc),
            }
            self._solvers = {
                name: RecordedSolver(
                    solver_named(name),
                    system,
                    iterations=experiment.iterations,
                    preconditioner=problem.preconditioner,
                    parallel=parallel,
                    counting=counters.open and counters.quick,
                    rtol=experiment.rtol,
                    activities=experiment.activities,
                    options=problem.options_for(name),
                    workload=experiment.workload,
                    place=place,
                    settings=experiment.sample_lines(),
                    live=experiment.live,
                )
                for name in experiment.cases()
            }
            for name, solver in self._solvers.items():
                for _ in range(experiment.warmup):
                    report(f"{name}: warming up")
                    solver.warm_up()

    def title(self, case: str) -> str:
        """Return how messages name a case."""
        return case

    def record(self, planned: CampaignRun[str]) -> RecordedRun:
        """Solve and record once; collective."""
        name, experiment = planned.case, self._experiment
        solver = self._solvers[name]
        injection = experiment.injection
        rank = self._parallel.communicator.rank
        mine = (
            None
            if injection is None
            else injection.of_rank(rank, seed=experiment.seed, repeat=planned.repeat)
        )
        with petsc_errors(self._parallel):
            rank_run, header, ending = solver.record(
                mine, str(injection or ""), run=planned.number, runs=len(experiment.order())
            )
        lost = (
            f"{header.spec['failure']}; the run is marked incomplete" if not header.complete else ""
        )
        generic = ending.generic.removeprefix(f"{name}: ")
        return RecordedRun(
            name=name,
            rank=rank_run,
            began=datetime.fromisoformat(header.t0_utc),
            iterations=ending.done,
            header={
                "restart": 0 if ending.generic else solver.restart,
                "synchronisation": header.synchronisation,
                "lag": header.lag,
                "complete": header.complete,
                "records_lost": header.records_lost,
                "petsc_options": solver.petsc_options,
            },
            warnings=tuple(filter(None, (lost, ending.shortfall, ending.doubt, generic))),
            spec={
                **self._spec,
                "petsc_options": list(experiment.petsc_options),
                **({} if experiment.rtol is None else {"rtol": experiment.rtol}),
                **({} if injection is None else {INJECTED: str(injection)}),
                KEY: to_document(ending),
            },
        )

    def close(self, report: Report) -> None:
        """Warn of PETSc options that nothing used: most are misspelt."""
        unused = [
            option
            for option in self._experiment.petsc_options
            if option.startswith("-") and option[1:2].isalpha() and not option_used(option)
        ]
        if unused:
            report(f"warning: PETSc did not use {', '.join(unused)}; check the spelling")


@contextmanager
def petsc_errors(parallel: Parallel) -> Iterator[None]:
    """Raise errors of PETSc as UsageErrors of a few lines."""
    try:
        yield
    except parallel.PETSc.Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = [line for line in lines[1:] if " at /" not in line and "() at " not in line]
        raise UsageError("PETSc stopped the solve: " + " ".join(said or lines)) from error
