"""One recorded solver on one linear system, for a number of iterations or to a tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hindmost.errors import DataError, UsageError
from hindmost.harness.attach.own_marks import MEMORY_BYTES, MarksOfRecorder
from hindmost.harness.attach.raw_program import RawProgram
from hindmost.harness.attach.sections import Matched
from hindmost.harness.attach.settings import event_lines
from hindmost.harness.campaign import RunPlace
from hindmost.harness.krylov.problems.problem import LinearSystem
from hindmost.harness.krylov.solvers import Solver
from hindmost.harness.memory import check_memory
from hindmost.harness.own_recording import PartRecording
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.injection import RankInjection
from hindmost.harness.recorder.library import RECORD, loaded
from hindmost.harness.runfile.contents import Header, RankRun
from hindmost.harness.runfile.ending import KEY, Ending, with_cause
from hindmost.harness.runfile.time_left import WatchedPart
from hindmost.records import from_document

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
HERE = RunPlace()
NOT_FINITE = "the residual of the solution is not finite (NaN or infinity)"


class RecordedSolver:
    """A solver that is set up on a linear system and can run repeatedly.

    Attributes
    ----------
    ksp : petsc4py.PETSc.KSP
    records_needed : int
        Records that a solve leaves on a rank, as the last warm-up counted; 0 before.

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
    workload : str
        As the records of a run that is killed name it.
    place : RunPlace
    settings : sequence of str
        Further lines for the recorder; see `hindmost.harness.attach.settings`.
    live : bool
        Whether ``hindmost watch`` can follow recorded solves.
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
        workload: str = "solve",
        place: RunPlace = HERE,
        settings: Sequence[str] = (),
        live: bool = False,
    ) -> None:
        self.solver, self._live = solver, live
        self._workload, self._place = workload, place
        self._settings = (
            "most 1",
            *event_lines(activities=activities),
            *(("count 1",) if counting else ()),
            *settings,
        )
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
        self._own_options = {} if rtol else {**solver.options, **(options or {})}
        # Other solvers of the same database are to know nothing of them.
        self._own_options = set_defaults(database, self._own_options)
        ksp.setFromOptions()
        for name in self._own_options:
            database.delValue(name)
        self._refuse_other(ksp, rtol)
        ksp.setUp()
        self.ksp = ksp

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
        part, _, sections = self._solve(MEMORY_BYTES // RECORD.itemsize)
        part.remove()
        seen = (part.facts.seen for section in sections for part in section.parts)
        self.records_needed = max(seen, default=0)

    def record(
        self,
        injection: RankInjection | None = None,
        law: str = "",
        *,
        run: int = 1,
        runs: int = 1,
    ) -> tuple[RankRun, Header, Ending]:
        """Solve and record once; collective.

        Parameters
        ----------
        injection : RankInjection or None
            Noise to inject into this rank; None if no rank gets any.
        law : str
            Of that noise.
        run, runs : int
            Which run it is of how many, for ``hindmost watch``.

        Returns
        -------
        RankRun
            What this rank brings to the run file.
        Header
            As of a recording by the program itself.
        Ending
            With what the solution is.

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
        records = needed + detours + SPARE_RECORDS
        name, total = self.solver.name, self.iterations
        watched = WatchedPart(title=name, total=total, run=run, runs=runs) if self._live else None
        part, program, sections = self._solve(records, injection, law, watched)
        if self.ksp.getIterationNumber() == 0 or not sections:
            part.remove()
            raise UsageError(
                f"{self.solver.name} ended before its first iteration, so there is nothing to "
                f"record {why_nothing(self.ksp)}"
            )
        rank, header = part.run_of(program, sections[0])
        part.remove()
        residual = true_residual(self._system)
        finite = residual is None or bool(np.isfinite(residual))
        ending = replace(
            from_document(Ending, header.spec[KEY], KEY),
            rtol=self._rtol,
            atol=self._atol,
            true_residual=residual if finite else None,
            flaw="" if finite else NOT_FINITE,
        )
        return rank, header, ending

    def begin(
        self,
        records: int,
        injection: RankInjection | None = None,
        law: str = "",
        watched: WatchedPart | None = None,
    ) -> PartRecording:
        """Begin to wait for the next solve, from zero, which is recorded; collective.

        Parameters
        ----------
        records : int
            For which there is memory.
        """
        self._system.solution.set(0.0)
        lines = [f"memory {records * RECORD.itemsize}", *self._settings]
        if injection is not None:
            lines.append(f"injected {law}")
        part = PartRecording(
            self._parallel.communicator,
            MarksOfRecorder(loaded(), self.ksp.handle, lines),
            self._place.folder.absolute() / f"{self._workload}-{self.solver.name}",
            {"name": self._workload, "mpi_seen": True, "with_mpi": True},
            self._place.origins,
            watched,
        )
        if injection is not None:
            injection.begin(loaded())
        return part

    def _solve(
        self,
        records: int,
        injection: RankInjection | None = None,
        law: str = "",
        watched: WatchedPart | None = None,
    ) -> tuple[PartRecording, RawProgram, tuple[Matched, ...]]:
        """Solve and return what was recorded: no or one section; see `begin`."""
        part = self.begin(records, injection, law, watched)
        try:
            self.ksp.solve(self._system.right_side, self._system.solution)
        except BaseException:
            part.give_up()
            raise
        if unwritten := part.end():
            part.remove()
            raise DataError(f"The solve is not kept: {unwritten}. Choose another --out.")
        program, groups = part.sections()
        return part, program, groups[0] if groups else ()


def set_defaults(options: Any, defaults: Mapping[str, str]) -> dict[str, str]:
    """Put options into PETSc's database where the user gave none; return those."""
    added = {name: value for name, value in defaults.items() if not options.hasName(name)}
    for name, value in added.items():
        options.setValue(name, value)
    return added


def converged_reason(ksp: Any) -> str:
    """Return PETSc's name of why a solver stopped."""
    reason = ksp.getConvergedReason()
    names = {
        value: name for name, value in vars(type(ksp).ConvergedReason).items() if name[0].isupper()
    }
    return str(names.get(reason, reason))


def why_nothing(ksp: Any) -> str:
    """Say why a solver did no iteration, and what to do."""
    reason = converged_reason(ksp)
    if reason.startswith("CONVERGED"):
        return f"({reason}). Choose a smaller --rtol, or a harder problem."
    cause = with_cause(reason)
    return f"({cause}). Choose another preconditioner (-- -pc_type) or solver, or another matrix."


def true_residual(system: LinearSystem) -> float | None:
    """Return the norm of b - A x over that of b, maybe NaN; None if b is zero; collective."""
    residual = system.right_side.duplicate()
    system.matrix.mult(system.solution, residual)
    residual.aypx(-1.0, system.right_side)
    # PETSc keeps norms that it has computed, and the next solve would leave its first one out.
    squares = [abs(vector.dot(vector)) for vector in (residual, system.right_side)]
    residual.destroy()
    return float(np.sqrt(squares[0] / squares[1])) if squares[1] != 0.0 else None
