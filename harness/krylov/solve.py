"""One solver on one linear system, made to do a number of iterations, recorded."""

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
from hindmost.harness.recorder.bodies import Recording, find_bodies
from hindmost.harness.runfile.bodies import BodyKind, RankBodies
from hindmost.harness.runfile.contents import RankRun
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
class RecordedRun:
    """One recorded solve.

    Attributes
    ----------
    rank : RankRun
        What this rank noted.
    records_lost : int
        Records of all ranks for which there was no room.
    begin_utc_ns : int
        When the barrier before the solve was left, since 1970.
    """

    rank: RankRun
    records_lost: int
    begin_utc_ns: int


class RecordedSolver:
    """A solver that is set up on a linear system and can be run again and again.

    Attributes
    ----------
    ksp : petsc4py.PETSc.KSP
    records_needed : int
        Records that a solve leaves on this rank, as the last warm-up counted; 0 before.

    Parameters
    ----------
    iterations : int
        How many iterations every solve does.
    preconditioner : str
        PETSc's name, unless the options name another.
    counting : bool
        Whether instructions and cycles are counted; their counters are open.
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
    ) -> None:
        self.solver = solver
        self._counting = counting
        self.iterations = iterations
        self._system = system
        self._parallel = parallel
        self.records_needed = 0
        set_defaults(
            parallel.PETSc.Options(), {**FORCED, **solver.options, "pc_type": preconditioner}
        )
        ksp = parallel.PETSc.KSP().create(comm=system.matrix.getComm())
        ksp.setOperators(system.matrix)
        ksp.setType(solver.name)
        ksp.setTolerances(max_it=iterations)
        ksp.setFromOptions()
        if ksp.getType() != solver.name or ksp.getTolerances()[3] != iterations:
            raise UsageError(
                f"A PETSc option (after '--', in PETSC_OPTIONS, in a .petscrc) made {solver.name} "
                f"with {iterations} iterations into {ksp.getType()} with "
                f"{ksp.getTolerances()[3]}; use --solver and --iterations instead."
            )
        ksp.setConvergenceHistory(length=2 * iterations + 100, reset=True)
        ksp.setUp()
        add_monitor(ksp, np.dtype(parallel.PETSc.RealType).itemsize)
        self.ksp = ksp
        self._incoming = incoming_edges(
            system.matrix, parallel.communicator.rank, np.dtype(parallel.PETSc.ScalarType).itemsize
        )

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

    def record(self) -> RecordedRun:
        """Solve and record once; collective.

        Raises
        ------
        UnknownPatternError
            The solve left records whose pattern is not known.
        UsageError
            The solve stopped before its iterations were done.
        """
        per_solve = self.solver.records_per_body * 2 * self.iterations
        needed = int(self.records_needed * ROOM) or per_solve
        load_before = load_of_host()
        recording = self._solve(capacity=needed + SPARE_RECORDS)
        self._check_iterations()
        communicator = self._parallel.communicator
        lost = communicator.allreduce(recording.lost)
        bodies = self._bodies(recording, lost)
        run = RankRun(
            bodies=bodies,
            residual_norm=residual_norms(bodies, self.ksp.getConvergenceHistory()),
            incoming=self._incoming,
            mpi_other_s=sum(recording.other_s.values()),
            context_switches=recording.switches,
            cpu=current_cpu(),
            cpuset=cpuset(),
            load_before=load_before,
            load_after=load_of_host(),
            host=socket.gethostname(),
            clock_offset_s=recording.clock.offset_s,
            clock_uncertainty_s=recording.clock.uncertainty_s,
        )
        return RecordedRun(rank=run, records_lost=lost, begin_utc_ns=recording.begin_utc_ns)

    def _check_iterations(self) -> None:
        """Refuse a solve that ended before its iterations were done."""
        done = self.ksp.getIterationNumber()
        if done != self.iterations:
            raise UsageError(
                f"{self.solver.name} stopped after {done} of {self.iterations} iterations "
                f"({converged_reason(self.ksp)}), though it was told to go on: there is nothing "
                "left to do, or the method broke down. Ask for fewer --iterations, a harder "
                "problem or another preconditioner."
            )

    def _solve(self, capacity: int) -> Recording:
        """Solve from zero and return what was recorded."""
        system, ksp = self._system, self.ksp
        system.solution.set(0.0)
        counting = self._counting and capacity > 0
        recorder = Recorder(self.solver.pattern, capacity, counting=counting)
        return recorder.record(
            lambda: ksp.solve(system.right_side, system.solution), self._parallel.communicator
        )

    def _bodies(self, recording: Recording, lost: int) -> RankBodies:
        """Find the bodies, and hold their number against PETSc's own count of iterations.

        Where any rank lost records, those cycles are kept that every rank has whole.
        """
        if lost:
            return self._bodies_before_loss(recording)
        bodies = find_bodies(recording, self.solver.pattern, self.solver.name)
        counted = int(np.count_nonzero(bodies.kind != BodyKind.FILL))
        if counted != self.iterations:
            raise UnknownPatternError(
                f"{self.solver.name}: {counted} iterations were found in the records, PETSc counts "
                f"{self.iterations}. The solve took a way that hindmost does not "
                "know; try again without PETSc options after '--'."
            )
        return bodies

    def _bodies_before_loss(self, recording: Recording) -> RankBodies:
        """Find the bodies that every rank has whole, where any rank lost records."""
        bodies = find_bodies(recording, self.solver.pattern, self.solver.name, cut=True)
        return bodies.first(min(self._parallel.communicator.allgather(bodies.duration.size)))


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
