"""One recorded solver on one linear system, for a number of iterations or to a tolerance."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UnknownPatternError, UsageError
from hindmost.harness.krylov.edges import incoming_edges
from hindmost.harness.krylov.problems.problem import LinearSystem
from hindmost.harness.krylov.solvers.solver import Solver
from hindmost.harness.petsc import Parallel
from hindmost.harness.recorder.attach import Recorder, add_monitor
from hindmost.harness.recorder.bodies import Recording, find_bodies, generic_bodies
from hindmost.harness.runfile.bodies import BodyKind, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.provenance import cpuset, current_cpu, load_of_host

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """The tolerances of a solve; PETSc's ``rtol`` and ``atol``, 0 for none.

    Attributes
    ----------
    rtol : float
        Of the norm of the residual over that of the right side.
    atol : float
        Of the norm of the residual.
    """

    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSolve:
    """One recorded solve.

    Attributes
    ----------
    rank : RankRun
        What this rank noted.
    records_lost : int
        Records of all ranks that did not fit into memory.
    begin_utc_ns : int
        When the barrier before the solve was left, since 1970.
    ending : Ending
    """

    rank: RankRun
    records_lost: int
    begin_utc_ns: int
    ending: Ending


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
    tolerance : Tolerance or None
        None: the solve goes on until its iterations are done.
    activities : bool
        Whether the local work is divided into activities.
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
        tolerance: Tolerance | None = None,
        activities: bool = False,
    ) -> None:
        self.solver = solver
        self._counting = counting
        self._activities = activities
        self.iterations = iterations
        self._system = system
        self._parallel = parallel
        self.records_needed = 0
        forced = {} if tolerance else {**FORCED, **solver.options}
        set_defaults(parallel.PETSc.Options(), {**forced, "pc_type": preconditioner})
        ksp = parallel.PETSc.KSP().create(comm=system.matrix.getComm())
        ksp.setOperators(system.matrix)
        ksp.setType(solver.name)
        wanted = tolerance or Tolerance()
        ksp.setTolerances(rtol=wanted.rtol, atol=wanted.atol, max_it=iterations)
        real_bytes = np.dtype(parallel.PETSc.RealType).itemsize
        add_monitor(ksp, real_bytes, first=True)  # before those of options
        ksp.setFromOptions()
        self._refuse_other(ksp, wanted)
        ksp.setConvergenceHistory(length=2 * iterations + 100, reset=True)
        ksp.setUp()
        add_monitor(ksp, real_bytes)
        self.ksp = ksp
        self._incoming = incoming_edges(
            system.matrix, parallel.communicator.rank, np.dtype(parallel.PETSc.ScalarType).itemsize
        )

    def _refuse_other(self, ksp: Any, wanted: Tolerance) -> None:
        """Raise a UsageError if PETSc's options changed the solver."""
        name, iterations = self.solver.name, self.iterations
        rtol, atol, _, most = ksp.getTolerances()
        if ksp.getType() != name or most != iterations:
            raise UsageError(
                f"A PETSc option (after '--', in PETSC_OPTIONS, in a .petscrc) changed {name} "
                f"with {iterations} iterations to {ksp.getType()} with {most}; use --solver and "
                "--iterations instead."
            )
        given = wanted.rtol > 0.0 or wanted.atol > 0.0
        if given and not np.allclose((rtol, atol), (wanted.rtol, wanted.atol), rtol=1e-6, atol=0):
            raise UsageError(
                f"A PETSc option (in PETSC_OPTIONS, in a .petscrc) changed rtol {wanted.rtol:g} "
                f"and atol {wanted.atol:g} to {rtol:g} and {atol:g}; use --rtol and --atol "
                "instead."
            )
        skipped = self._parallel.PETSc.Options().getString("ksp_convergence_test", "") == "skip"
        self._tolerance = Tolerance() if skipped else Tolerance(rtol=rtol, atol=atol)

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

    def record(self) -> RecordedSolve:
        """Solve and record once; collective.

        Raises
        ------
        UsageError
            The solve ended before its first iteration.
        """
        per_solve = self.solver.records_per_body * 2 * self.iterations
        needed = int(self.records_needed * ROOM) or per_solve
        load_before = load_of_host()
        recording = self._solve(capacity=needed + SPARE_RECORDS)
        communicator = self._parallel.communicator
        self._refuse_nothing()
        lost = communicator.allreduce(recording.lost)
        bodies, generic = bodies_of_all(
            recording,
            self.solver,
            communicator,
            iterations=self.ksp.getIterationNumber(),
            lost=lost > 0,
        )
        norms = residual_norms(bodies, self.ksp.getConvergenceHistory())
        run = run_of_rank(recording, bodies, norms, self._incoming, load_before)
        ending = Ending(
            asked=self.iterations,
            done=int(np.count_nonzero(bodies.kind != BodyKind.FILL)),
            reason=converged_reason(self.ksp),
            rtol=self._tolerance.rtol,
            atol=self._tolerance.atol,
            norm=norm_type(self.ksp),
            true_residual=true_residual(self._system),
            generic=generic,
        )
        return RecordedSolve(
            rank=run, records_lost=lost, begin_utc_ns=recording.begin_utc_ns, ending=ending
        )

    def _refuse_nothing(self) -> None:
        """Refuse a solve without an iteration."""
        if self.ksp.getIterationNumber() == 0:
            raise UsageError(
                f"{self.solver.name} ended before its first iteration "
                f"({converged_reason(self.ksp)}), so there is nothing to record. Choose a smaller "
                "--rtol, a harder problem or another preconditioner."
            )

    def _solve(self, capacity: int) -> Recording:
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
        )
        return recorder.record(
            lambda: ksp.solve(system.right_side, system.solution), self._parallel.communicator
        )


def run_of_rank(
    recording: Recording,
    bodies: RankBodies,
    norms: NDArray[np.float64],
    incoming: Edges,
    load_before: float,
) -> RankRun:
    """Return what this rank brings to the run file.

    Parameters
    ----------
    norms : float64 array, shape (body,)
    incoming : Edges
        The halos that this rank receives.
    load_before : float
        Load of the host before the solve.
    """
    unclassified_s = sum(recording.other_s.values())
    return RankRun(
        bodies=bodies,
        residual_norm=norms,
        incoming=incoming,
        mpi_other_s=unclassified_s if recording.mpi_seen else bodies.solve_time_s,
        context_switches=recording.switches,
        foreign_calls=recording.foreign_calls,
        cpu=current_cpu(),
        cpuset=cpuset(),
        load_before=load_before,
        load_after=load_of_host(),
        host=socket.gethostname(),
        clock_offset_s=recording.clock.offset_s,
        clock_uncertainty_s=recording.clock.uncertainty_s,
    )


def bodies_of_all(
    recording: Recording,
    solver: Solver,
    communicator: Any,
    *,
    iterations: int,
    lost: bool,
    unknown: str = "",
) -> tuple[RankBodies, str]:
    """Find the bodies of a solve, in the same way on all ranks; collective.

    A solve that does not leave its pattern is not thrown away: its bodies are then those of any
    solver. Where any rank lost records, those bodies are kept that every rank has whole.

    Parameters
    ----------
    iterations : int
        As PETSc counts them.
    lost : bool
        Whether any rank lost records.
    unknown : str
        Why the solver's pattern is not known; empty if it is.

    Returns
    -------
    RankBodies
    str
        Why the bodies are those of any solver; empty if they follow the pattern.

    Raises
    ------
    UnknownPatternError
        Records were lost before one body was whole.
    """
    bodies, why = None, unknown
    if not unknown:
        try:
            bodies, why = find_bodies(recording, solver.pattern, solver.name, cut=lost), ""
        except UnknownPatternError as error:
            why = str(error)
    if bodies is not None and not lost:
        counted = int(np.count_nonzero(bodies.kind != BodyKind.FILL))
        # An iteration that finds that nothing is left to do counts for PETSc, though it ends
        # nowhere; the last one of a cycle of GMRES is not always reported to monitors.
        if counted not in (recording.iterations, iterations):
            why = (
                f"{solver.name}: the records contain {counted} iterations, PETSc counts "
                f"{iterations}"
            )
    why = next(filter(None, communicator.allgather(why)), "")
    if why or bodies is None:
        bodies = generic_bodies(recording)
    if lost:
        whole = min(communicator.allgather(bodies.duration.size))
        if whole == 0:
            raise UnknownPatternError(
                f"{solver.name}: records were lost before the first iteration was complete, so "
                "nothing is left of the solve; run with --warmup 1, which measures how much "
                "memory records need."
            )
        bodies = bodies.first(whole)
    return bodies, why


def residual_norms(bodies: RankBodies, history: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give every body the norm that the solver knew after it, NaN to bodies that only fill.

    Parameters
    ----------
    history : float64 array, shape (iteration + 1,)
        PETSc's residual history, that before the first iteration included.
    """
    norms = np.full(bodies.kind.size, np.nan)
    counted = np.flatnonzero(bodies.kind != BodyKind.FILL)
    known = history[1 : counted.size + 1]
    norms[counted[: known.size]] = known
    return norms


def true_residual(system: LinearSystem) -> float | None:
    """Return the norm of b - A x over that of b; None if b is zero; collective."""
    residual = system.right_side.duplicate()
    system.matrix.mult(system.solution, residual)
    residual.aypx(-1.0, system.right_side)
    # PETSc keeps norms that it has computed, and the next solve would leave its first one out.
    squares = [abs(vector.dot(vector)) for vector in (residual, system.right_side)]
    residual.destroy()
    return float(np.sqrt(squares[0] / squares[1])) if squares[1] > 0.0 else None


def norm_type(ksp: Any) -> str:
    """Return PETSc's name of the norm that a solver's convergence test sees, in lower case."""
    kind = ksp.getNormType()
    names = [name for name, value in vars(type(ksp).NormType).items() if value == kind]
    known = ("PRECONDITIONED", "UNPRECONDITIONED", "NATURAL", "NONE")
    return next((name.lower() for name in known if name in names), str(kind))


def set_defaults(options: Any, defaults: dict[str, str]) -> None:
    """Put options into PETSc's database where the user gave none."""
    for name, value in defaults.items():
        if not options.hasName(name):
            options.setValue(name, value)


def converged_reason(ksp: Any) -> str:
    """Return PETSc's name of why a solver stopped."""
    reason = ksp.getConvergedReason()
    names = {
        value: name for name, value in vars(type(ksp).ConvergedReason).items() if name[0].isupper()
    }
    return str(names.get(reason, reason))
