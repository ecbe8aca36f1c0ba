"""The types of KSP that the PETSc of this process has registered."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache

from hindmost.errors import MissingError, UsageError
from hindmost.harness.krylov.solvers import OTHERS, SOLVERS, solver_named
from hindmost.harness.recorder.petsc_recorder import libpetsc
from hindmost.text import choose


@cache
def registered_types() -> tuple[str, ...]:
    """Return PETSc's names of all its solvers, sorted; PETSc must have started.

    Those of libraries that PETSc has loaded with ``-dll_append`` are among them.
    """
    petsc = libpetsc()
    names, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_int(0)
    failed = petsc.KSPInitializePackage() or petsc.PetscFunctionListGet(
        ctypes.c_void_p.in_dll(petsc, "KSPList"), ctypes.byref(names), ctypes.byref(count)
    )
    if failed:
        raise MissingError(f"PETSc does not list its solvers (PETSc error {failed}).")
    # PETSc wants the list of pointers back; once a process it may keep it.
    found = (names[each] for each in range(count.value))
    return tuple(sorted(name.decode() for name in found if name))  # its end is in the list, too


def check_types(names: Iterable[str]) -> None:
    """Raise a UsageError for a solver that this PETSc does not have, or that cannot be run."""
    types = registered_types()
    for name in names:
        if name not in types:
            known = name in SOLVERS or name in OTHERS
            what = "This PETSc does not have the" if known else "Unknown"
            raise UsageError(f"{what} solver '{name}'; {choose(types, name)}.")
        why = solver_named(name).unusable
        if why:
            raise UsageError(f"--solver {name}: {why}")
