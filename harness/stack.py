"""The MPI and PETSc of this environment, as its set-up recorded them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

RECORD = "hindmost-stack.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The MPI and PETSc of an environment.

    Attributes
    ----------
    name : str
        ``site``, ``system``, ``source``, or ``own`` where no set-up of hindmost made it.
    petsc_dir : str
        Where PETSc stands; empty if petsc4py knows.
    mpicc : str
        MPI's C compiler; empty if not found.
    """

    name: str
    petsc_dir: str
    mpicc: str


def current_stack() -> Stack:
    """Return the stack of the running interpreter's environment."""
    record = Path(sys.prefix) / RECORD
    if record.exists():
        facts = json.loads(record.read_text())
        return Stack(name=facts["stack"], petsc_dir=facts["petsc_dir"], mpicc=facts["mpicc"])
    return Stack(
        name="own",
        petsc_dir=os.environ.get("PETSC_DIR", ""),
        mpicc=os.environ.get("MPICC") or shutil.which("mpicc") or "",
    )
