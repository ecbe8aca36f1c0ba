"""Record a solve of a user's petsc4py program: ``hindmost.record_ksp``.

The recorder waits for the KSP to solve: recording begins with PETSc's event of the solve, where the
ranks meet, and ends with it. What the program does before and after is no part of the run.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.krylov.recorded import (
    RecordedSolve,
    converged_reason,
    incoming_edges,
    norm_type,
)
from hindmost.harness.krylov.solvers import solver_named
from hindmost.harness.petsc import nonzeros_of, scalar_spec
from hindmost.harness.rank_failures import first_failed, on_all, on_root
from hindmost.harness.recorder.arguments import (
    checked_name,
    checked_parameters,
    load_if_possible,
    refuse_different,
)
from hindmost.harness.recorder.library import (
    MOST_RECORDS,
    TOUCHED_RECORDS,
    loaded,
    refuse_second_recording,
)
from hindmost.harness.recorder.petsc_recorder import Recorder, add_monitor, libpetsc
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.contents import Edges, Header
from hindmost.harness.runfile.ending import KEY, Ending
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.writer import write_run_as
from hindmost.output import warn
from hindmost.records import to_document


def end_of(ksp: Any, *, last: bool = True) -> tuple[Ending, int | None, NDArray[Any]]:
    """Return what PETSc says of a solve of a KSP: of its last one, else only what does not change.

    Returns
    -------
    Ending
        Without what its bodies say.
    int or None
        Iterations; None if unknown.
    array, shape (iteration,)
        Norms of the residual; empty if unknown.
    """
    rtol, atol, _, most = ksp.getTolerances()
    ending = Ending.of_petsc(
        asked=int(most),
        done=0,
        reason=converged_reason(ksp) if last else "",
        rtol=float(rtol),
        atol=float(atol),
        norm=norm_type(ksp),
        generic="",
    )
    history = np.array(ksp.getConvergenceHistory()) if last else np.empty(0)
    return ending, int(ksp.getIterationNumber()) if last else None, history


class KSPRecorder:
    """Records a solve of a KSP on all ranks of its communicator; use it as a context.

    Parameters
    ----------
    ksp : petsc4py.PETSc.KSP
    path : Path
        The run file; must not exist.
    name : str
        What the linear system is called; empty for the KSP's options prefix.
    parameters : dict of str to str, int, float or bool, optional
        What was varied: runs of other values are no repeats of this one.
    activities : bool
        Whether the local work is split by PETSc event.
    """

    def __init__(
        self,
        ksp: Any,
        path: Path,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        activities: bool = False,
    ) -> None:
        petsc = sys.modules.get("petsc4py.PETSc")
        if petsc is None or not isinstance(ksp, petsc.KSP):
            raise UsageError(f"record_ksp needs a petsc4py.PETSc.KSP, not a {type(ksp).__name__}.")
        if path.suffix != ".h5":
            raise UsageError(f"{path}: the name of a run file must end in .h5.")
        self._petsc = petsc
        self._ksp = ksp
        self._name = RunName(path.parent, path.stem, numbered=False)
        prefix = (ksp.getOptionsPrefix() or "").rstrip("_")
        self._title = checked_name("name", name or prefix or "ksp")
        self._parameters = checked_parameters(parameters or {})
        self._activities = activities
        self._communicator: Any = None
        self.mpi_seen = False

    def __enter__(self) -> KSPRecorder:
        """Set the KSP up and wait for its solve; collective."""
        ksp = self._ksp
        comm = self._communicator = ksp.comm.tompi4py().Dup()
        try:
            refuse_different(comm, self._title, self._parameters)
            on_root(comm, self._name.refuse_taken)
            self._say_what_is_seen(on_all(comm, load_recorder))
            version = ".".join(map(str, self._petsc.Sys.getVersion()))
            self._origins = on_root(
                comm, lambda: provenance.origins(version, comm.size, Path.cwd())
            )
            ksp.setUp()
            self._most = int(ksp.getTolerances()[3])
            if ksp.getAttr("__history__") is None:  # the program keeps none itself
                length = min(2 * self._most + 100, MOST_RECORDS)
                ksp.setConvergenceHistory(length=length, reset=True)
            self._recorder = on_all(comm, self._make_recorder)
            self._end: tuple[Ending, int | None, NDArray[Any]] | None = None
            self._recorder.await_solve(comm, self._read_end)
        except BaseException:
            comm.Free()
            raise
        return self

    def _read_end(self) -> None:
        """Read how the recorded solve ended, before another solve begins."""
        self._end = end_of(self._ksp)

    def _say_what_is_seen(self, why_not: str) -> None:
        """Say on rank 0 if MPI calls are not seen on all ranks; collective."""
        reasons = [reason for reason in self._communicator.allgather(why_not) if reason]
        self.mpi_seen = not reasons
        if reasons and self._communicator.rank == 0:
            warn(
                "hindmost does not see MPI calls, so all time is unclassified; call "
                f"hindmost.listen() on every rank before importing petsc4py. {reasons[0]}"
            )

    def _make_recorder(self) -> Recorder:
        """Make room for the records of a solve of unknown length."""
        refuse_second_recording()
        self._solver = solver_named(self._ksp.getType())
        add_monitor(self._ksp, np.dtype(self._petsc.RealType).itemsize)
        return Recorder(
            self._ksp,
            self._solver.pattern,
            MOST_RECORDS,
            activities=self._activities and self.mpi_seen,
            touched=TOUCHED_RECORDS,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the run file, unless the program failed on some rank; collective."""
        comm = self._communicator
        solves = self._recorder.end_wait()
        failed = first_failed(comm, error)
        if failed is not None:
            if error is None:
                raise UsageError(f"The program failed on rank {failed}, so no run file is written.")
            return
        try:
            self._write(solves)
        finally:
            comm.Free()

    def _write(self, solves: int) -> None:
        """Write what was recorded of the first solve; collective."""
        comm, ksp = self._communicator, self._ksp
        if not all(comm.allgather(solves)):
            raise UsageError(
                "The KSP did not solve inside 'with hindmost.record_ksp(...)', so there is nothing "
                "to write."
            )
        if solves > 1 and comm.rank == 0:
            warn(
                f"{solves - 1} further solves in one record_ksp were not recorded; use one "
                "record_ksp, and one file, for each solve."
            )
        recording = replace(self._recorder.awaited(comm), mpi_seen=self.mpi_seen)
        end = self._end
        if not all(comm.allgather(end is not None)) or end is None:
            end = end_of(ksp, last=solves == 1)
        ending, counted, history = end
        iterations = recording.iterations if counted is None else counted
        if iterations == 0:
            why = ending.reason or "reason unknown"
            raise UsageError(
                f"The solve ended before its first iteration ({why}), so there is nothing to write."
            )
        solve = RecordedSolve.of(
            recording, self._solver, ending, iterations, history, self._incoming(), comm
        )
        write_run_as(self._name, self._header(solve, solves), [[solve.rank]], comm)

    def _incoming(self) -> Edges:
        """Return the halos of a product with the operator, none where its rows are not stored."""
        matrix = self._ksp.getOperators()[0]
        if not str(matrix.getType()).endswith("aij"):
            return Edges.none()
        return incoming_edges(
            matrix, self._communicator.rank, np.dtype(self._petsc.ScalarType).itemsize
        )

    def _header(self, solve: RecordedSolve, solves: int) -> Header:
        """Say everything of the run but its times; collective."""
        ksp, ending = self._ksp, solve.ending
        options = {str(name): str(text) for name, text in self._petsc.Options().getAll().items()}
        restarts = self._solver.restart_option and not ending.generic
        return self._origins.header(
            workload=self._title,
            solver=self._solver.name,
            ranks=self._communicator.size,
            iterations=ending.done,
            began=datetime.fromtimestamp(solve.begin_utc_ns * 1e-9, UTC),
            restart=restart_length(ksp) if restarts else 0,
            synchronisation=solve.synchronisation,
            lag=self._solver.lag,
            complete=solve.records_lost == 0,
            records_lost=solve.records_lost,
            petsc_options=options,
            spec={
                **of_operator(ksp, self._petsc),
                "pc_type": str(ksp.getPC().getType()),
                "rtol": ending.rtol,
                "atol": ending.atol,
                "petsc_options": [word for pair in options.items() for word in pair if word],
                "mpi_seen": self.mpi_seen,
                "pid": os.getpid(),
                **({"parameters": self._parameters} if self._parameters else {}),
                **({"activities": True} if self._activities else {}),
                **({"solves_left_out": solves - 1} if solves > 1 else {}),
                KEY: to_document(ending),
            },
        )


def load_recorder() -> str:
    """Load the recorder, before MPI if that is still possible; return why it was not."""
    _, why_not = load_if_possible()
    loaded()
    return why_not


def of_operator(ksp: Any, petsc: Any) -> dict[str, Any]:
    """Return size and kind of the matrix of a KSP; collective."""
    matrix = ksp.getOperators()[0]
    return {
        "unknowns": int(matrix.getSize()[0]),
        "mat_type": str(matrix.getType()),
        **scalar_spec(petsc),
        **nonzeros_of(matrix, petsc),
    }


def restart_length(ksp: Any) -> int:
    """Return the length of a restart cycle of a GMRES."""
    length = ctypes.c_int64(0)  # PETSc's integer has 32 or 64 bits
    get = libpetsc().KSPGMRESGetRestart
    get.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return 0 if get(ksp.handle, ctypes.byref(length)) else int(length.value)
