"""The MPI and PETSc of this environment, as its set-up recorded them."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import MissingError
from hindmost.files import read_text, reason
from hindmost.parsing import parse_json

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
    """Return the stack of the running interpreter's environment.

    Raises
    ------
    MissingError
        The record of its set-up is damaged.
    """
    record = Path(sys.prefix) / RECORD
    if record.exists():
        try:
            facts = parse_json(read_text(record))
            return Stack(name=facts["stack"], petsc_dir=facts["petsc_dir"], mpicc=facts["mpicc"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise MissingError(
                f"{record} is not what a set-up of hindmost wrote ({type(error).__name__}: "
                f"{reason(error)}). Set hindmost up again: make demo"
            ) from error
    return Stack(
        name="own",
        petsc_dir=os.environ.get("PETSC_DIR", ""),
        mpicc=os.environ.get("MPICC") or shutil.which("mpicc") or "",
    )
