"""A site's own stack: its ``mpicc``, and the PETSc that ``PETSC_DIR`` names.

petsc4py and mpi4py are built from source against them; petsc4py's version follows PETSc's.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from choice import SetupError
from environment import Environment, base_python


def prepare(environment: Environment) -> None:
    """Make an environment whose mpi4py and petsc4py use the site's MPI and PETSc."""
    petsc_dir, mpicc, mpiexec = site_tools()
    version = petsc_version(petsc_dir)
    arch = os.environ.get("PETSC_ARCH", "")
    environment.create(base_python())
    environment.step(
        "petsc4py",
        lambda: environment.pip_install(
            "--no-binary",
            "mpi4py,petsc4py",
            "--no-cache-dir",  # a cached wheel may be linked to another MPI
            "mpi4py",
            f"petsc4py=={version}.*",
            title=f"building mpi4py and petsc4py {version} against the site's MPI and PETSc",
            expected="about 8 min on 2 cores",
        ),
        environment.constraints,
        str(petsc_dir),
        str(mpicc),
        arch,
    )
    environment.step(
        "stack",
        lambda: connect(environment, petsc_dir, arch, mpicc, mpiexec),
        str(petsc_dir),
        str(mpicc),
        arch,
    )


def site_tools() -> tuple[Path, Path, Path]:
    """Find PETSC_DIR, mpicc and mpiexec, or say which is not given."""
    petsc_dir, mpicc = os.environ.get("PETSC_DIR"), shutil.which("mpicc")
    if not petsc_dir or not mpicc:
        lacks = "PETSC_DIR is not set" if not petsc_dir else "mpicc is not on PATH"
        raise SetupError(
            f"The site's own stack needs PETSC_DIR in the environment and mpicc on PATH: {lacks}.\n"
            "Load the site's modules first (on many: module load petsc), or use another STACK."
        )
    mpiexec = shutil.which("mpiexec", path=f"{Path(mpicc).parent}{os.pathsep}{os.environ['PATH']}")
    return Path(petsc_dir).resolve(), Path(mpicc), Path(mpiexec or "mpiexec")


def petsc_version(petsc_dir: Path) -> str:
    """Read PETSc's release, such as 3.22, from its headers."""
    header = petsc_dir / "include" / "petscversion.h"
    if not header.exists():
        raise SetupError(f"PETSC_DIR={petsc_dir}: no include/petscversion.h there; is it PETSc?")
    numbers = dict(re.findall(r"#define PETSC_VERSION_(MAJOR|MINOR)\s+(\d+)", header.read_text()))
    return f"{numbers['MAJOR']}.{numbers['MINOR']}"


def connect(
    environment: Environment, petsc_dir: Path, arch: str, mpicc: Path, mpiexec: Path
) -> None:
    """Write down the stack, and start ranks with the site's own launcher."""
    environment.record_stack(
        petsc_dir=str(petsc_dir), petsc_arch=arch, mpicc=str(mpicc), mpiexec=str(mpiexec)
    )
    environment.write_mpiexec(mpiexec)
