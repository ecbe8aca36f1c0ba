"""The libpetsc of this process, and the events of PETSc that the recorder knows."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from hindmost.errors import MissingError

HALO_EVENTS = (
    "VecScatterBegin",
    "VecScatterEnd",
    "VecScatterEnd  ",  # so it is called up to PETSc 3.18
    "SFBcastBegin",
    "SFBcastEnd",
    "SFReduceBegin",
    "SFReduceEnd",
)
"""The PETSc events that enclose the exchange of halos."""

SOLVE_EVENT = "KSPSolve"

INNER_EVENTS = (
    "MatMult",
    "MatMultAdd",
    "MatMultTranspose",
    "MatMultTrAdd",
    "PCApply",
    "PCApplyOnBlocks",
    "PCApplyCoarse",
    "PCApplySymmLeft",
    "PCApplySymmRight",
    "PCMatApply",
    "PCSetUp",
    "PCSetUpOnBlocks",
    "PCModifySubMatri",
    "KSPSetUp",
)
"""The PETSc events inside which the work is not the method's own, whatever is logged there."""

ACTIVITIES = {
    "MatMult": ("MatMult", "MatMultAdd", "MatMultTranspose", "MatMultTrAdd"),
    "PCApply": ("PCApply", "PCApplySymmLeft", "PCApplySymmRight"),
    "VecMAXPY": ("VecMAXPY",),
    "orthogonalisation": ("KSPGMRESOrthog", "KSPOrthogonalize"),
}
"""Into what local work divides on request, each with its PETSc events."""


def libpetsc_path() -> Path:
    """Return the libpetsc that is mapped into this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = Path(line.split()[-1])
        if path.name.startswith("libpetsc") and ".so" in path.name:
            return path
    raise MissingError("No libpetsc in this process: import petsc4py.PETSc before recording.")


@cache
def libpetsc() -> ctypes.CDLL:
    """Return the libpetsc of this process; a second copy is never loaded."""
    return ctypes.CDLL(str(libpetsc_path()))


def option_used(name: str) -> bool:
    """Tell whether any part of PETSc has asked for an option, given with its dash."""
    used = ctypes.c_int(0)
    error = libpetsc().PetscOptionsUsed(None, name[1:].encode(), ctypes.byref(used))
    return error != 0 or bool(used.value)
