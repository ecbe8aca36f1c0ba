"""How PETSc says that a solve ended, and what is true of its solution."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from hindmost.harness.krylov.problems.problem import LinearSystem
from hindmost.harness.recorder.petsc_recorder import libpetsc
from hindmost.harness.runfile.ending import with_cause

PC_FAILURES = {
    1: "a zero pivot in the structure of the matrix",
    2: "a zero pivot",
    3: "not enough memory for the factorisation",
    6: "the preconditioner of a block failed, as by a zero pivot",
}
"""PETSc's numbers of what can go wrong in a preconditioner."""
NOT_FINITE = "the residual of the solution is not finite (NaN or infinity)"


def converged_reason(ksp: Any) -> str:
    """Return PETSc's name of why a solver stopped."""
    reason = ksp.getConvergedReason()
    names = {
        value: name for name, value in vars(type(ksp).ConvergedReason).items() if name[0].isupper()
    }
    return str(names.get(reason, reason))


def why_nothing(ksp: Any) -> str:
    """Say why a solver did no iteration, and what to do."""
    reason, failed = converged_reason(ksp), pc_failure(ksp.getPC())
    if reason.startswith("CONVERGED"):
        return f"({reason}). Choose a smaller --rtol, or a harder problem."
    cause = f"{reason}: {failed}" if failed else with_cause(reason)
    return f"({cause}). Choose another preconditioner (-- -pc_type) or solver, or another matrix."


def pc_failure(pc: Any) -> str:
    """Return what went wrong in a preconditioner; empty if nothing did."""
    failed = ctypes.c_int(0)
    get = libpetsc().PCGetFailedReason
    get.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    if get(pc.handle, ctypes.byref(failed)):
        return ""
    return PC_FAILURES.get(failed.value, "")


def norm_type(ksp: Any) -> str:
    """Return PETSc's name of the norm that a solver's convergence test sees, in lower case."""
    kind = ksp.getNormType()
    names = [name for name, value in vars(type(ksp).NormType).items() if value == kind]
    known = ("PRECONDITIONED", "UNPRECONDITIONED", "NATURAL", "NONE")
    return next((name.lower() for name in known if name in names), str(kind))


def true_residual(system: LinearSystem) -> float | None:
    """Return the norm of b - A x over that of b, maybe NaN; None if b is zero; collective."""
    residual = system.right_side.duplicate()
    system.matrix.mult(system.solution, residual)
    residual.aypx(-1.0, system.right_side)
    # PETSc keeps norms that it has computed, and the next solve would leave its first one out.
    squares = [abs(vector.dot(vector)) for vector in (residual, system.right_side)]
    residual.destroy()
    return float(np.sqrt(squares[0] / squares[1])) if squares[1] != 0.0 else None
