"""One recorded solver on one linear system, for a number of iterations or to a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hindmost.errors import UsageError
from hindmost.harness.campaign import LARGEST
from hindmost.harness.krylov.problems.problem import LinearSystem
from hindmost.harness.krylov.recorded import (
    NOT_FINITE,
    RecordedSolve,
    converged_reason,
    incoming_edges,
    norm_type,
    true_residual,
    why_nothing,
)
from hindmost.harness.krylov.solvers import Solver
from hindmost.harness.memory import check_memory
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.injection import RankInjection
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.recorder.petsc_recorder import Recorder, add_monitor
from hindmost.harness.recorder.recording import Recording
from hindmost.harness.runfile.ending import Ending

FORCED = {
    "ksp_rtol": "0",
    "ksp_atol": "0",
    "ksp_divtol": "1e300",
    "ksp_convergence_test": "skip",
}
"""PETSc options that keep every solver going until it has done its iterations."""

ROOM = 1.1
"""Memory for records, as a multiple of what the warm-up needed."""
SPARE_RECORDS = 1000


class RecordedSolver:
    """A solver that is set up on a linear system and can run repeatedly.

    Attributes
    ----------
    ksp : petsc4py.PETSc.KSP
    records_needed : int
        Records that a solve leaves on this rank, as the last warm-up counted; 0 before.

    Parameters
    ----------
    iterations : int
        Iterations of every solve; with a tolerance, the maximum.
    preconditioner : str
        PETSc's name, unless the options name another.
    counting : bool
        Whether instructions and cycles are counted; their counters are open.
    rtol : float or None
        Of the norm of the residual over that of the right side, where a solve ends; None: it
        goes on until its iterations are done.
    activities : bool
        Whether the local work is divided into activities.
    options : mapping of str to str, optional
        PETSc options of this solver without a tolerance, besides its own.
    """

    def __init__(
        self,
        solver: Solver,
        system: LinearSystem,
        *,
        iterations: int,
        preconditioner: str,
        parallel: Parallel,
        counting: bool = False,
        rtol: float | None = None,
        activities: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.solver = solver
        self._counting = counting
        self._activities = activities
        self.iterations = iterations
        self._system = system
        self._parallel = parallel
        self.records_needed = 0
        database = parallel.PETSc.Options()
        set_defaults(database, {**({} if rtol else FORCED), "pc_type": preconditioner})
        ksp = parallel.PETSc.KSP().create(comm=system.matrix.getComm())
        ksp.setOperators(system.matrix)
        ksp.setType(solver.name)
        ksp.setTolerances(rtol=rtol or 0.0, atol=0.0, max_it=iterations)
        real_bytes = np.dtype(parallel.PETSc.RealType).itemsize
        add_monitor(ksp, real_bytes, first=True)  # before those of options
        self._own_options = {} if rtol else {**solver.options, **(options or {})}
        # Other solvers of the same database are to know nothing of them.
        self._own_options = set_defaults(database, self._own_options)
        ksp.setFromOptions()
        for name in self._own_options:
            database.delValue(name)
        self._refuse_other(ksp, rtol)
        scalar_bytes = np.dtype(parallel.PETSc.ScalarType).itemsize
        # PETSc's integers may have 32 bits.
        ksp.setConvergenceHistory(length=min(2 * iterations + 100, LARGEST), reset=True)
        ksp.setUp()
        add_monitor(ksp, real_bytes)
        self.ksp = ksp
        self._incoming = incoming_edges(system.matrix, parallel.communicator.rank, scalar_bytes)

    def _refuse_other(self, ksp: Any, wanted: float | None) -> None:
        """Raise a UsageError if PETSc's options changed the solver."""
        name, iterations = self.solver.name, self.iterations
        rtol, atol, _, most = ksp.getTolerances()
        if ksp.getType() != name or most != iterations:
            raise UsageError(
                f"A PETSc option (after '--', in PETSC_OPTIONS, in a .petscrc) changed {name} "
                f"with {iterations} iterations to {ksp.getType()} with {most}; use --solver and "
                "--iterations instead."
            )
        if wanted is not None and not np.isclose(rtol, wanted, rtol=1e-6, atol=0):
            raise UsageError(
                f"A PETSc option (in PETSC_OPTIONS, in a .petscrc) changed rtol {wanted:g} to "
                f"{rtol:g}; use --rtol instead."
            )
        skipped = self._parallel.PETSc.Options().getString("ksp_convergence_test", "") == "skip"
        self._rtol, self._atol = (0.0, 0.0) if skipped else (float(rtol), float(atol))

    @property
    def petsc_options(self) -> dict[str, str]:
        """PETSc's options as this solver found them."""
        return {**self._parallel.PETSc.Options().getAll(), **self._own_options}

    @property
    def restart(self) -> int:
        """Length of a restart cycle, 0 where the solver does not restart."""
        if not self.solver.restart_option:
            return 0
        options = self._parallel.PETSc.Options()
        return int(options.getInt(self.solver.restart_option, self.solver.restart_default))

    def warm_up(self) -> None:
        """Solve once; nothing is kept but the number of records that a solve needs."""
        recording = self._solve(capacity=0)
        self.records_needed = recording.lost

    def record(self, injection: RankInjection | None = None) -> RecordedSolve:
        """Solve and record once; collective.

        Parameters
        ----------
        injection : RankInjection or None
            Noise to inject into this rank; None if no rank gets any.

        Raises
        ------
        UsageError
            The solve ended before its first iteration, or its records do not fit into memory.
        """
        communicator = self._parallel.communicator
        needed = int(self.records_needed * ROOM)
        if not needed:  # without a warm-up
            needed = self.solver.records_per_body * 2 * self.iterations
            check_memory(
                needed * RECORD.itemsize,
                f"--iterations {self.iterations}: the records of a solve may need",
                "Choose fewer iterations, or --warmup 1, which counts the records.",
                communicator,
            )
        detours = 0 if injection is None else self.iterations + 1
        recording = self._solve(needed + detours + SPARE_RECORDS, injection)
        self._refuse_nothing()
        residual = true_residual(self._system)
        finite = residual is None or bool(np.isfinite(residual))
        ending = Ending(
            asked=self.iterations,
            done=0,
            reason=converged_reason(self.ksp),
            rtol=self._rtol,
            atol=self._atol,
            norm=norm_type(self.ksp),
            true_residual=residual if finite else None,
            flaw="" if finite else NOT_FINITE,
        )
        return RecordedSolve.of(
            recording,
            self.solver,
            ending,
            self.ksp.getIterationNumber(),
            self.ksp.getConvergenceHistory(),
            self._incoming,
            communicator,
        )

    def _refuse_nothing(self) -> None:
        """Refuse a solve without an iteration."""
        if self.ksp.getIterationNumber() == 0:
            raise UsageError(
                f"{self.solver.name} ended before its first iteration, so there is nothing to "
                f"record {why_nothing(self.ksp)}"
            )

    def _solve(self, capacity: int, injection: RankInjection | None = None) -> Recording:
        """Solve from zero and return what was recorded."""
        system, ksp = self._system, self.ksp
        system.solution.set(0.0)
        counting = self._counting and capacity > 0
        recorder = Recorder(
            ksp,
            self.solver.pattern,
            capacity,
            counting=counting,
            activities=self._activities and capacity > 0,
            injection=injection,
        )
        return recorder.record(
            lambda: ksp.solve(system.right_side, system.solution), self._parallel.communicator
        )


def set_defaults(options: Any, defaults: Mapping[str, str]) -> dict[str, str]:
    """Put options into PETSc's database where the user gave none; return those."""
    added = {name: value for name, value in defaults.items() if not options.hasName(name)}
    for name, value in added.items():
        options.setValue(name, value)
    return added
